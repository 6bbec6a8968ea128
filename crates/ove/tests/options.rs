//! Options from settings by name: which settings choose which scores, what is not used beside what, and every range.

use ove::options::{ClassWeight, Schedule, ScoreKind, ScoreOptions, Solver, SolverKind};
use ove::sample::SamplerKind;
use ove::{Objective, TrainOptions};
use serde_json::{Value, json};

use crate::fitted::options;

/// The scores and the solver of options, as on the command line.
fn chosen(options: &TrainOptions) -> &'static str {
    match options.scores.as_ref() {
        None => "none",
        Some(ScoreOptions::Linear(linear)) => match &linear.solver {
            Solver::Stochastic(_) => "linear",
            Solver::Batch(_) => "batch",
            other => panic!("{other:?}"),
        },
        Some(scores) => scores.kind().name(),
    }
}

fn refused(settings: Value) -> String {
    TrainOptions::from_settings(&settings).expect_err(&settings.to_string()).to_string()
}

#[test]
fn settings_choose_the_scores_that_have_them() {
    for (settings, expected) in [
        // What all have leaves it open.
        (json!({}), "none"),
        (json!({ "epochs": 3, "learning_rate": 0.5, "l2": 0.1, "seed": 4 }), "none"),
        (json!({ "class_weight": "balanced", "calibrate": true, "memory": "1GB" }), "none"),
        // What is null is not given.
        (json!({ "rank": null, "trees": null, "batch": null, "solver": null, "scores": null }), "none"),
        (json!({ "scores": "linear" }), "linear"),
        (json!({ "objective": "merged" }), "linear"),
        (json!({ "merge": 3 }), "linear"),
        (json!({ "penalty_on_bias": false }), "linear"),
        (json!({ "cells": 100 }), "linear"),
        (json!({ "negatives": 7 }), "linear"),
        (json!({ "sampler": "rivals" }), "linear"),
        (json!({ "power": 0.5 }), "linear"),
        (json!({ "batch": 1 }), "linear"),
        (json!({ "step": "sgd" }), "linear"),
        (json!({ "schedule": 0.9 }), "linear"),
        (json!({ "solver": "stochastic" }), "linear"),
        (json!({ "solver": "batch" }), "batch"),
        (json!({ "solver": "batch", "tolerance": 1e-3, "iterations": 7 }), "batch"),
        (json!({ "scores": "linear", "solver": "batch", "objective": "bouchard" }), "batch"),
        (json!({ "rank": 8 }), "factored"),
        (json!({ "scores": "factored" }), "factored"),
        (json!({ "rank": 8, "objective": "one-vs-each", "negatives": 3, "solver": "stochastic" }), "factored"),
        (json!({ "trees": 2 }), "trees"),
        (json!({ "rivals": 0 }), "trees"),
        (json!({ "trees": 2, "objective": "one-vs-each" }), "trees"),
        (json!({ "scores": "trees", "epochs": 3 }), "trees"),
        // As it was called before.
        (json!({ "solver": "forest" }), "trees"),
        (json!({ "solver": "forest", "trees": 5 }), "trees"),
    ] {
        assert_eq!(chosen(&options(settings.clone())), expected, "{settings}");
    }
    assert_eq!(ScoreKind::ALL.len() + SolverKind::ALL.len(), 5, "a kind more belongs into this table");
}

#[test]
fn settings_are_what_they_say() {
    let found = options(json!({
        "objective": "merged", "merge": 4, "penalty-on-bias": false, "negatives": 7, "sampler": "uniform", "power": 0.5,
        "batch": 9, "step": "sgd", "schedule": "0.5", "cells": 99, "epochs": 6, "learning-rate": 0.25, "l2": 0.125,
        "class-weight": [1.0, 2.0], "seed": 11, "calibrate": true, "memory": "2GB",
    }));
    assert_eq!((found.epochs, found.learning_rate, found.l2, found.seed), (Some(6), Some(0.25), Some(0.125), 11));
    assert_eq!((found.class_weight.clone(), found.calibrate), (ClassWeight::Listed(vec![1.0, 2.0]), true));
    assert_eq!(found.memory.0, 2_000_000_000);
    let bound = found.bound().unwrap();
    assert_eq!((bound.objective, bound.merge, bound.penalty_on_bias), (Objective::Merged, 4, false));
    let stochastic = found.stochastic().unwrap();
    assert_eq!((stochastic.negatives, stochastic.batch, stochastic.power), (7, 9, 0.5));
    assert_eq!((stochastic.sampler, stochastic.schedule), (SamplerKind::Uniform, Schedule::Geometric(0.5)));
    assert_eq!(stochastic.step.name(), "sgd");
    let Some(ScoreOptions::Linear(linear)) = &found.scores else { panic!("linear scores") };
    assert_eq!(linear.cells, Some(99));

    let Some(ScoreOptions::Linear(linear)) =
        options(json!({ "solver": "batch", "tolerance": 0.5, "iterations": 3 })).scores
    else {
        panic!("linear scores")
    };
    let Solver::Batch(batch) = linear.solver else { panic!("the batch solver") };
    assert_eq!((batch.tolerance, batch.iterations), (0.5, 3));
    let Some(ScoreOptions::Trees(trees)) = options(json!({ "trees": 4 })).scores else { panic!("trees") };
    assert_eq!(trees.trees, 4);
    let Some(ScoreOptions::Factored(factored)) = options(json!({ "rank": 4 })).scores else { panic!("vectors") };
    assert_eq!((factored.rank, factored.bound.objective), (4, Objective::SampledSoftmax));
    assert_eq!((factored.stochastic.negatives, factored.stochastic.sampler), (50, SamplerKind::Frequency));
}

#[test]
fn a_setting_that_nothing_uses_is_refused() {
    let stochastic = ["negatives", "sampler", "power", "batch", "step", "schedule"];
    let value = |name: &str| match name {
        "sampler" => json!("rivals"),
        "step" => json!("sgd"),
        "schedule" => json!("linear"),
        "objective" => json!("merged"),
        "penalty_on_bias" => json!(true),
        _ => json!(1),
    };
    let beside = |scores: Value, name: &str| {
        let mut settings = scores;
        settings[name] = value(name);
        refused(settings)
    };
    for name in stochastic {
        assert_eq!(
            beside(json!({ "solver": "batch" }), name),
            format!("`{name}` is a setting of the stochastic solver, which the batch solver does not use")
        );
        assert_eq!(
            beside(json!({ "scores": "trees" }), name),
            format!("`{name}` is a setting of the stochastic solver, which trees do not use")
        );
    }
    for name in ["tolerance", "iterations"] {
        for (scores, chosen) in [
            (json!({ "scores": "linear" }), "the stochastic solver does"),
            (json!({ "scores": "factored" }), "factored scores do"),
            (json!({ "scores": "trees" }), "trees do"),
        ] {
            assert_eq!(
                beside(scores, name),
                format!("`{name}` is a setting of the batch solver, which {chosen} not use")
            );
        }
    }
    for (name, shown) in [("merge", "merge"), ("penalty_on_bias", "penalty-on-bias")] {
        assert_eq!(
            beside(json!({ "scores": "trees" }), name),
            format!("`{shown}` is a setting of linear and factored scores, which trees do not use")
        );
    }
    for (scores, chosen) in [("factored", "factored scores"), ("trees", "trees")] {
        assert_eq!(
            beside(json!({ "scores": scores }), "cells"),
            format!("`cells` is a setting of linear scores, which {chosen} do not use")
        );
    }
    for (scores, name, expected) in [
        ("linear", "rank", "`rank` is a setting of factored scores, which linear scores do not use"),
        ("trees", "rank", "`rank` is a setting of factored scores, which trees do not use"),
        ("linear", "trees", "`trees` is a setting of trees, which linear scores do not use"),
        ("factored", "trees", "`trees` is a setting of trees, which factored scores do not use"),
    ] {
        assert_eq!(beside(json!({ "scores": scores }), name), expected);
    }
    assert_eq!(
        refused(json!({ "rank": 3, "trees": 3 })),
        "`trees` is a setting of trees, which factored scores do not use"
    );
    for (name, value) in [("epochs", json!(3)), ("learning-rate", json!(0.1))] {
        assert_eq!(
            refused(json!({ "solver": "batch", name: value })),
            format!("`{name}` is a setting of the stochastic solver and of trees, which the batch solver does not use")
        );
    }
    assert_eq!(refused(json!({ "treees": 3 })), "`treees` is not a setting of training");
    assert_eq!(refused(json!({ "scores": "trees", "threads": 3 })), "`threads` is not a setting of training");
}

#[test]
fn solvers_that_scores_do_not_have_are_refused() {
    for (settings, expected) in [
        (
            json!({ "scores": "trees", "solver": "batch" }),
            "`solver` must be left out for trees, which have their own, got batch",
        ),
        (
            json!({ "trees": 2, "solver": "stochastic" }),
            "`solver` must be left out for trees, which have their own, got stochastic",
        ),
        (json!({ "rank": 2, "solver": "batch" }), "`solver` must be stochastic for factored scores, got batch"),
        (
            json!({ "solver": "batch", "objective": "sampled-softmax" }),
            "`solver` must be stochastic for the objectives sampled-softmax and normalised, got batch",
        ),
        (
            json!({ "solver": "batch", "cells": 9 }),
            "`cells` must be left out for the batch solver, whose weights are dense, got 9",
        ),
        (json!({ "scores": "linear", "solver": "forest" }), "`solver` must be one of stochastic, batch, got `forest`"),
    ] {
        assert_eq!(refused(settings.clone()), expected, "{settings}");
    }
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    let negative = "be a number of at least 0, got -1";
    for (settings, expected) in [
        (json!({ "l2": -1 }), format!("`l2` must {negative}")),
        (json!({ "learning_rate": 0 }), "`learning-rate` must be a positive number, got 0".into()),
        (json!({ "learning-rate": -0.5 }), "`learning-rate` must be a positive number, got -0.5".into()),
        (json!({ "epochs": 0 }), "`epochs` must be at least 1, got 0".into()),
        (json!({ "class_weight": [1.0, -1.0] }), format!("`class-weight` must {negative}")),
        (json!({ "negatives": 0 }), "`negatives` must be at least 1, got 0".into()),
        (json!({ "rank": 3, "negatives": 0 }), "`negatives` must be at least 1, got 0".into()),
        (json!({ "batch": 0 }), "`batch` must be at least 1, got 0".into()),
        (json!({ "cells": 0 }), "`cells` must be at least 1, got 0".into()),
        (json!({ "power": -1 }), format!("`power` must {negative}")),
        (json!({ "schedule": 0 }), "`schedule` must be `linear` or a factor above 0 and at most 1, got 0".into()),
        (json!({ "schedule": 1.5 }), "`schedule` must be `linear` or a factor above 0 and at most 1, got 1.5".into()),
        (json!({ "rank": 0 }), "`rank` must be at least 1, got 0".into()),
        (json!({ "trees": 0 }), "`trees` must be at least 1, got 0".into()),
        (json!({ "solver": "batch", "tolerance": 0 }), "`tolerance` must be a positive number, got 0".into()),
        (json!({ "solver": "batch", "iterations": 0 }), "`iterations` must be at least 1, got 0".into()),
        (
            json!({ "objective": "merged", "sampler": "rivals", "negatives": 1 }),
            "`negatives` must be at least 2 with the sampler rivals, some of which are drawn from the other classes, got 1"
                .into(),
        ),
    ] {
        assert_eq!(refused(settings.clone()), expected, "{settings}");
    }
    // As Python and programs give what JSON has no number for.
    let mut options = options(json!({ "scores": "linear" }));
    for bad in [f64::NAN, f64::INFINITY] {
        options.l2 = Some(bad);
        assert_eq!(options.check().unwrap_err().to_string(), format!("`l2` must be a number of at least 0, got {bad}"));
    }
}

#[test]
fn values_of_another_type_are_refused_with_the_type() {
    for (settings, expected) in [
        (json!({ "epochs": "many" }), "`epochs` must be an integer of at least 1, got \"many\""),
        (json!({ "epochs": -1 }), "`epochs` must be an integer of at least 1, got -1"),
        (json!({ "epochs": 1.5 }), "`epochs` must be an integer of at least 1, got 1.5"),
        (json!({ "seed": -1 }), "`seed` must be an integer of at least 0, got -1"),
        (json!({ "cells": -1 }), "`cells` must be an integer of at least 1, got -1"),
        (json!({ "l2": "little" }), "`l2` must be a number, got \"little\""),
        (json!({ "learning_rate": [1] }), "`learning-rate` must be a number, got [1]"),
        (json!({ "calibrate": 3 }), "`calibrate` must be true or false, got 3"),
        (json!({ "negatives": -3 }), "`negatives` must be an integer of at least 1, got -3"),
        (json!({ "trees": "2" }), "`trees` must be an integer of at least 1, got \"2\""),
        (json!({ "rank": 2.5 }), "`rank` must be an integer of at least 1, got 2.5"),
        (json!({ "power": "half" }), "`power` must be a number, got \"half\""),
        (json!({ "solver": "batch", "tolerance": true }), "`tolerance` must be a number, got true"),
        (json!({ "penalty_on_bias": 1 }), "`penalty-on-bias` must be true or false, got 1"),
        (
            json!({ "schedule": "cosine" }),
            "`schedule` must be `linear` or the factor per epoch (1: constant), got `cosine`",
        ),
        (
            json!({ "objective": "hinge" }),
            "`objective` must be one of softmax, one-vs-each, merged, bouchard, sampled-softmax, normalised, got `hinge`",
        ),
        (json!({ "sampler": "best" }), "`sampler` must be one of uniform, systematic, frequency, rivals, got `best`"),
        (json!({ "step": "adam" }), "`step` must be one of sgd, adagrad, got `adam`"),
        (json!({ "solver": "newton" }), "`solver` must be one of stochastic, batch, got `newton`"),
        (json!({ "scores": "deep" }), "`scores` must be one of linear, factored, trees, got `deep`"),
        (json!({ "scores": 3 }), "`scores` must be a name, got 3"),
        (
            json!({ "class_weight": "inverse" }),
            "`class-weight` must be `balanced` or a list of weights, got \"inverse\"",
        ),
        (json!({ "class_weight": ["a"] }), "`class-weight` must be a list of numbers, got [\"a\"]"),
    ] {
        assert_eq!(refused(settings.clone()), expected, "{settings}");
    }
}

/// A model that goes on keeps what is not given.
#[test]
fn settings_change_options_that_are_there() {
    let first = options(json!({ "objective": "merged", "negatives": 7, "epochs": 3, "seed": 5 }));
    let second = first.clone().with_settings(&json!({ "negatives": 9, "l2": 0.5 })).unwrap();
    let stochastic = second.stochastic().unwrap();
    assert_eq!((second.objective(), stochastic.negatives), (Some(Objective::Merged), 9));
    assert_eq!((second.epochs, second.seed, second.l2), (Some(3), 5, Some(0.5)));
    assert_eq!(first.clone().with_settings(&json!({})).unwrap(), first);
    // Under its former name, also in the cards of models.
    assert_eq!(first.clone().with_settings(&json!({ "classes": 9, "l2": 0.5 })).unwrap(), second);
    let card = serde_json::to_string(&second).unwrap().replace("\"negatives\"", "\"classes\"");
    assert_eq!(serde_json::from_str::<TrainOptions>(&card).unwrap(), second);
    // Other scores begin with their own defaults.
    let trees = first.clone().with_settings(&json!({ "scores": "trees" })).unwrap();
    assert_eq!((chosen(&trees), trees.epochs), ("trees", None));
    let rank = first.with_settings(&json!({ "rank": 3 })).unwrap_err().to_string();
    assert_eq!(rank, "`rank` is a setting of factored scores, which linear scores do not use");
    // The solver may change, and takes its defaults then.
    let stochastic =
        options(json!({ "objective": "merged", "negatives": 7, "epochs": 3, "learning_rate": 0.2, "l2": 0.5 }));
    let same = stochastic.clone().with_settings(&json!({ "solver": "stochastic" })).unwrap();
    assert_eq!(same, stochastic);
    let batch = stochastic.clone().with_settings(&json!({ "solver": "batch" })).unwrap();
    assert_eq!((chosen(&batch), batch.epochs, batch.learning_rate, batch.l2), ("batch", None, None, Some(0.5)));
    assert_eq!(batch.objective(), Some(Objective::Merged));
    let back = batch.with_settings(&json!({ "solver": "stochastic", "epochs": 4 })).unwrap();
    assert_eq!((back.epochs, back.learning_rate), (Some(4), None));
    let trees = stochastic.with_settings(&json!({ "scores": "trees", "learning_rate": 0.4 })).unwrap();
    assert_eq!((trees.epochs, trees.learning_rate), (None, Some(0.4)));
}

/// The card of a model holds them as JSON.
#[test]
fn options_survive_json() {
    for settings in [
        json!({}),
        json!({ "objective": "merged", "schedule": 0.3, "class_weight": [0.1, 2.5], "seed": u64::MAX }),
        json!({ "class_weight": "balanced", "cells": 5 }),
        json!({ "solver": "batch", "tolerance": 0.1, "l2": 0.1 }),
        json!({ "rank": 7, "sampler": "rivals", "learning_rate": 0.1 }),
        json!({ "trees": 7, "epochs": 2 }),
    ] {
        let options = options(settings);
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<TrainOptions>(&text).unwrap(), options, "{text}");
    }
}
