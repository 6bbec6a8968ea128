"""The output layer for PyTorch. Skipped without torch; `make torch-test` runs it."""

import json
import math

import numpy as np
import pytest

import ove

torch = pytest.importorskip("torch")
head_of = pytest.importorskip("ove.torch").OneVsEachLoss

K, D, N = 12, 4, 5
COUNTS = list(range(1, K + 1))
OBJECTIVES = ["one-vs-each", "merged", "sampled-softmax", "normalised", "softmax"]


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(N, D, dtype=torch.float64, generator=generator), torch.tensor([3, 1, 0, 11, 3])


def head(objective="one-vs-each", **settings):
    settings = {"num_negatives": 5, "class_counts": COUNTS, "merge": 3, "dtype": torch.float64, **settings}
    layer = head_of(D, K, objective=objective, generator=torch.Generator().manual_seed(2), **settings)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        layer.weight.weight.normal_(generator=generator)
        layer.bias.weight.normal_(generator=generator)
    return layer


def scores_of(layer, x):
    return (x @ layer.weight.weight.t() + layer.bias.weight.squeeze(-1)).detach().numpy()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_with_all_classes_the_values_are_those_of_the_library(batch, objective):
    x, target = batch
    layer = head(objective, num_negatives=K)
    row_ids = torch.arange(N)
    output = layer(x, target, row_ids).output.detach().numpy()
    # The first visit takes the u of its own estimate, which all classes make exact.
    kind = {"sampled-softmax": "softmax", "normalised": "softmax"}.get(objective, objective)
    merge = [K - 3, K - 2, K - 1] if objective == "merged" else []
    expected = ove.log_softmax_bound(scores_of(layer, x), target.numpy(), kind, merge=merge)
    np.testing.assert_allclose(output, expected, rtol=1e-12)


@pytest.mark.parametrize("objective", ["one-vs-each", "merged", "softmax"])
def test_gradients_are_those_of_the_library(batch, objective):
    x, target = batch
    layer = head(objective, num_negatives=K, sparse=False, reduction="sum")
    x = x.clone().requires_grad_()
    layer(x, target).loss.backward()
    merge = [K - 3, K - 2, K - 1] if objective == "merged" else []
    _, gradient = ove.log_softmax_bound(
        scores_of(layer, x), target.numpy(), objective, merge=merge, return_gradient=True
    )
    np.testing.assert_allclose(layer.bias.weight.grad.squeeze(-1).numpy(), -gradient.sum(0), atol=1e-12)
    np.testing.assert_allclose(layer.weight.weight.grad.numpy(), -gradient.T @ x.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), -gradient @ layer.weight.weight.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("normalize", [False, True])
def test_gradcheck(batch, objective, normalize):
    x, target = batch
    layer = head(objective, sparse=False, normalize=normalize, temperature=0.5).eval()
    start = layer.generator.get_state()

    def loss(x, weight, bias):
        layer.generator.set_state(start)
        for module, value in [(layer.weight, weight), (layer.bias, bias)]:
            del module._parameters["weight"]
            module.weight = value
        return layer(x, target).loss

    inputs = [x.clone().requires_grad_(), layer.weight.weight, layer.bias.weight]
    assert torch.autograd.gradcheck(loss, inputs)


@pytest.mark.parametrize("sampler", ["uniform", "frequency", "log-uniform"])
@pytest.mark.parametrize("objective", ["one-vs-each", "merged"])
def test_sampled_values_are_unbiased(batch, sampler, objective):
    x, target = batch
    full = head(objective, num_negatives=K)(x, target).output
    layer = head(objective, sampler=sampler, num_negatives=4)
    with torch.no_grad():
        values = torch.stack([layer(x, target).output for _ in range(4000)])
    error = values.std(0) / math.sqrt(len(values))
    assert ((values.mean(0) - full).abs() <= 5 * error).all(), (values.mean(0) - full, error)


def test_in_batch_negatives_are_unbiased_where_targets_occur_as_counted(batch):
    x, _ = batch
    layer = head(sampler="in-batch")
    full = head(num_negatives=K)
    weights = torch.tensor(COUNTS, dtype=torch.float64)
    generator = torch.Generator().manual_seed(5)
    drawn = torch.multinomial(weights, 4000 * 7, replacement=True, generator=generator).view(4000, 7)
    x = x[:1]
    with torch.no_grad():
        labels, expected = torch.tensor([2]), full(x, torch.tensor([2])).output
        own = layer._scores_of(layer._embed(x), labels.unsqueeze(-1))
        values = []
        for classes in drawn:
            counts = torch.ones(7, 1, dtype=torch.bool)
            ids, log_weights = layer._negatives(classes.unsqueeze(-1), counts)
            log_weights = layer._without_labels(ids, log_weights, labels.unsqueeze(-1), counts[:1])
            negatives = layer._shared_scores(layer._embed(x), ids)
            values.append(ove.torch.one_vs_each_bound(own, negatives.unsqueeze(1), log_weights.unsqueeze(1)).item())
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - expected.item()) <= 5 * error


def test_a_callable_draws(batch):
    x, target = batch

    def all_but_the_last(targets, generator):
        assert targets.tolist() == [3, 1, 0, 11, 3]
        return torch.arange(K - 1), torch.zeros(K - 1)

    output = head(sampler=all_but_the_last)(x, target).output.detach().numpy()
    layer = head()
    expected = ove.log_softmax_bound(scores_of(layer, x)[:3, :-1], target.numpy()[:3])
    np.testing.assert_allclose(output[:3], expected, rtol=1e-12)


def test_a_uniform_draw_has_distinct_classes_each_equally_often():
    generator = torch.Generator().manual_seed(0)
    for everything, count in [(40, 4), (40, 30)]:
        times = torch.zeros(everything)
        for _ in range(2000):
            drawn = ove.torch._subset(everything, count, "cpu", generator)
            assert len(drawn.unique()) == count
            times[drawn] += 1
        expected = 2000 * count / everything
        assert (times - expected).abs().max() < 5 * math.sqrt(expected)


def test_several_labels_are_compared_with_the_other_classes(batch):
    x, _ = batch
    layer = head(num_negatives=K, multilabel=True)
    target = torch.tensor([[3, 5, -100], [1, -100, -100], [0, 2, 4], [-100, -100, -100], [7, 11, -100]])
    output = layer(x, target).output.detach().numpy()
    scores = scores_of(layer, x)
    for row, labels in enumerate(target.tolist()):
        labels = [label for label in labels if label >= 0]
        others = [k for k in range(K) if k not in labels]
        expected = -sum(np.log1p(np.exp(scores[row, others] - scores[row, label])).sum() for label in labels)
        assert output[row] == pytest.approx(expected, rel=1e-12)


def test_rows_to_ignore_do_not_count(batch):
    x, target = batch
    some = target.clone()
    some[1] = -100
    layer = head(num_negatives=K)
    kept = torch.tensor([0, 2, 3, 4])
    found, expected = layer(x, some), layer(x[kept], target[kept])
    assert found.loss.item() == pytest.approx(expected.loss.item(), rel=1e-12)
    assert found.bound.item() == pytest.approx(-expected.loss.item(), rel=1e-12)
    assert found.output[1] == 0
    nothing = layer(x, torch.full((N,), -100)).loss
    nothing.backward()
    assert nothing == 0


def test_gradients_are_sparse(batch):
    x, target = batch
    layer = head(sampler="uniform", num_negatives=2)
    layer(x, target).loss.backward()
    gradient = layer.weight.weight.grad
    assert gradient.is_sparse and gradient.coalesce().indices().shape[1] <= 4 + 2
    torch.optim.SparseAdam(layer.parameters()).step()


def test_normalised_needs_row_ids_and_learns_the_normaliser(batch):
    x, target = batch
    layer = head("normalised", num_negatives=3)
    with pytest.raises(ValueError, match="`row_ids` must be given in training"):
        layer(x, target)
    rows = torch.tensor([4, 2, 9, 0, 7])
    with torch.no_grad():
        for _ in range(3000):
            bound = layer(x, target, rows).output
    exact = layer.log_prob(x).gather(1, target.unsqueeze(-1)).squeeze(-1)
    learned = -layer.normalisers[rows, 0]
    assert (learned - exact).abs().max() < 0.15, (learned, exact)
    assert layer.visits[rows].tolist() == [3000] * N and layer.visits[1] == 0 and len(layer.visits) == 10
    again = head("normalised", num_negatives=3)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again.normalisers, layer.normalisers) and torch.isfinite(bound).all()


def test_prediction(batch):
    x, _ = batch
    layer = head()
    logs = layer.log_prob(x)
    assert torch.allclose(logs.exp().sum(-1), torch.ones(N, dtype=torch.float64))
    assert torch.equal(layer.predict(x), logs.argmax(-1))
    values, classes = layer.topk(x, 100)
    assert classes.shape == (N, K) and torch.equal(values, logs.gather(1, classes))


@pytest.mark.parametrize("normalize", [False, True])
def test_an_exported_layer_predicts_the_same(batch, tmp_path, normalize):
    x, _ = batch
    layer = head(normalize=normalize, temperature=0.7)
    names = [f"class {k}" for k in range(K)]
    layer.export(tmp_path / "head.model", classes=names)
    model = ove.load(tmp_path / "head.model")
    assert list(model.classes_) == names
    rows = torch.nn.functional.normalize(x, dim=-1) if normalize else x
    found = model.predict_log_proba(rows.numpy().astype(np.float32))
    np.testing.assert_allclose(found, layer.log_prob(x).numpy(), atol=1e-5)


def test_half_precision_is_scored_in_32_bits():
    layer = head_of(D, K, num_negatives=5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(torch.randn(3, D, dtype=torch.bfloat16), torch.tensor([1, 2, 3]))
    assert found.loss.dtype == torch.float32
    found.loss.backward()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_negatives": 0}, "`num_negatives` must be at least 1, got 0"),
        ({"objective": "hinge"}, "`objective` must be one of 'one-vs-each', .*, got 'hinge'"),
        ({"sampler": "rivals"}, "`sampler` must be one of .*, got 'rivals'"),
        ({"sampler": "frequency"}, "`class_counts` must be given with sampler='frequency'"),
        ({"objective": "merged"}, "`class_counts` must be given with objective='merged'"),
        ({"class_counts": [1, 2]}, "`class_counts` must be 12 numbers"),
        ({"temperature": 0}, "`temperature` must be a positive number, got 0"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        head_of(D, K, **settings)


def test_wrong_inputs(batch):
    x, target = batch
    layer = head()
    for wrong_x, wrong_target, message in [
        (x[:, :2], target, r"`x` must have the shape \(rows, 4\), got \(5, 2\)"),
        (x, target[:3], r"`target` must have the shape \(rows,\) with 5 rows, got \(3,\)"),
        (x, target.double(), "`target` must have class numbers, got torch.float64"),
    ]:
        with pytest.raises(ValueError, match=message):
            layer(wrong_x, wrong_target)


def test_the_settings_are_in_the_exported_card(tmp_path):
    layer = head_of(D, K, objective="one-vs-each")
    layer.export(tmp_path / "head.model")
    card = json.loads(ove.load(tmp_path / "head.model")._model.card())
    assert card["options"]["scores"]["objective"] == "one-vs-each"
