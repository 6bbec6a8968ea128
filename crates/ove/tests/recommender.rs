//! Recommenders: what they learn, same bits for any number of threads, resume, new users, files.

use std::ops::ControlFlow;

use ove::data::Interactions;
use ove::io::read::{InteractionColumns, OnError, read_interactions_bytes, read_interactions_in};
use ove::options::RecommenderOptions;
use ove::train::{RecommenderEvent, RecommenderTraining, Stop, fit_recommender};
use ove::{Error, Model, synthetic, with_threads};
use serde_json::json;

fn options(settings: serde_json::Value) -> RecommenderOptions {
    RecommenderOptions::from_settings(&settings).unwrap()
}

fn trained(data: &Interactions, settings: serde_json::Value) -> Model {
    let mut training = RecommenderTraining::new(data, &options(settings)).unwrap();
    while training.step().unwrap().is_some() {}
    training.finish().unwrap()
}

/// Users who choose from one of five groups of items; nine in ten of their items are of their group.
fn groups() -> (Interactions, Interactions) {
    synthetic::interactions(600, 100, 5, 0).split(0.2, 0)
}

fn small() -> serde_json::Value {
    json!({ "rank": 4, "epochs": 60, "batch": 64, "negatives": 50, "temperature": 0.5, "learning_rate": 0.1 })
}

/// The share of recommended items that are of the user's group.
fn in_group(model: &Model) -> f64 {
    let recommender = model.recommender().unwrap();
    let users: Vec<u32> = (0..600).collect();
    let tops = recommender.recommend(&users, 5);
    let hits = tops.iter().zip(&users).flat_map(|(top, &user)| top.iter().map(move |one| one.item % 5 == user % 5));
    hits.filter(|&hit| hit).count() as f64 / 3000.0
}

#[test]
fn recommendations_are_of_the_group_of_the_user() {
    let (train, test) = groups();
    for change in [
        json!({}),
        json!({ "normalize": false }),
        json!({ "objective": "one-vs-each" }),
        json!({ "dropout": 0.2 }),
        json!({ "history": 0.0 }),
        json!({ "co_occurrence": 0.0 }),
    ] {
        let mut settings = small();
        change.as_object().unwrap().iter().for_each(|(name, value)| settings[name] = value.clone());
        let model = trained(&train, settings);
        let share = in_group(&model);
        assert!(share > 0.9, "{change}: {share}");
        // Nothing that the user had in training is recommended.
        let recommender = model.recommender().unwrap();
        let tops = recommender.recommend(&[3, 8], 100);
        for (top, user) in tops.iter().zip([3, 8]) {
            assert!(top.iter().all(|one| !train.items_of(user).contains(&one.item)));
            assert_eq!(top.len() + train.items_of(user).len(), 100);
        }
        // Twenty items of the own group, some of them seen: chance would be a twentieth of a hundred, five times less.
        let ranking = recommender.measure(&test, &train, &[5]);
        assert!(ranking.at[0].recall.value > 0.2, "{change}: {ranking:?}");
    }
}

/// A user has the items of a user of the next group too; the group with the larger weights is recommended.
#[test]
fn weights_of_interactions_count() {
    let (plain, _) = groups();
    let share = |own: f32, others: f32| {
        let mut data = Interactions::new(plain.item_names.clone());
        for user in 0..600 {
            let of = |user: usize, weight| plain.items_of(user).iter().map(move |&item| (item, weight));
            data.push(user.to_string(), of(user, own).chain(of((user + 1) % 600, others)).collect());
        }
        in_group(&trained(&data, small()))
    };
    let (heavy, light) = (share(10.0, 0.1), share(0.1, 10.0));
    assert!(heavy > 2.0 * light && heavy > 0.5, "{heavy} {light}");
}

/// A new user and a new item are kept, beside what the model had.
#[test]
fn a_model_grows_without_training() {
    let (train, _) = groups();
    let mut model = trained(&train, small());
    let before = model.clone();
    let mut new = Interactions::new(train.item_names.clone());
    new.push("late", vec![(2, 1.0), (7, 1.0), (12, 3.0)]);
    model.fold_in_users(&[600], &new).unwrap();
    let mut users = Interactions::new(model.card.feature_names.clone());
    users.push("fresh", (1..100).step_by(5).map(|user| (user, 1.0)).collect());
    model.fold_in_items(&[100], &users).unwrap();
    let recommender = model.recommender().unwrap();
    assert_eq!((recommender.user_number("late"), recommender.item_numbers()["fresh"]), (Some(600), 100));
    assert_eq!(recommender.seen().items_of(600), [2, 7, 12]);
    assert!(recommender.seen().items_of(1).contains(&100) && !recommender.seen().items_of(2).contains(&100));
    assert!(recommender.recommend(&[600], 5)[0].iter().all(|one| one.item % 5 == 2));
    assert!(recommender.similar_items(100, 5)[1..].iter().all(|one| one.item % 5 == 1));
    assert_eq!(recommender.user_vector(3), before.recommender().unwrap().user_vector(3));
    // The new item occurs with those of its users.
    let co_occurrence = &model.card.recommender.as_ref().unwrap().co_occurrence;
    let (items, weights) = co_occurrence.of_item(100);
    let strongest = items.iter().zip(weights).max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    assert_eq!(strongest.0 % 5, 1);
    let read = ove::Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!((&read.scores, &read.card.recommender), (&model.scores, &model.card.recommender));
    assert_eq!(
        model.fold_in_users(&[700], &new).unwrap_err().to_string(),
        "the interactions have 100 items, the model has 101"
    );
    assert_eq!(
        model.fold_in_items(&[102], &users).unwrap_err().to_string(),
        "a new item must have the next number, 101, got 102"
    );
}

#[test]
fn same_bits_for_any_number_of_threads_and_after_a_resume() {
    let (train, _) = groups();
    for change in
        [json!({}), json!({ "objective": "one-vs-each", "normalize": false }), json!({ "dropout": 0.3, "l2": 0.01 })]
    {
        let mut settings = small();
        settings["epochs"] = 2.into();
        change.as_object().unwrap().iter().for_each(|(name, value)| settings[name] = value.clone());
        let one = with_threads(1, || trained(&train, settings.clone())).unwrap();
        let three = with_threads(3, || trained(&train, settings.clone())).unwrap();
        assert_eq!(one.to_bytes(), three.to_bytes(), "{settings}");

        let start = || RecommenderTraining::new(&train, &options(settings.clone())).unwrap();
        let (mut first, mut second) = (start(), start());
        for _ in 0..13 {
            first.step().unwrap();
        }
        second.step().unwrap();
        second.restore(&first.state()).unwrap();
        while second.step().unwrap().is_some() {}
        assert_eq!(second.finish().unwrap().to_bytes(), one.to_bytes(), "{settings}");
        settings["seed"] = 1.into();
        let other = RecommenderTraining::new(&train, &options(settings)).unwrap();
        let refused = { other }.restore(&first.state()).unwrap_err();
        assert_eq!(refused.to_string(), "`seed` is 1; the checkpoint was written with 0");
    }
}

#[test]
fn a_file_has_all_of_a_model_and_a_new_user_gets_what_a_known_one_would() {
    let (train, _) = groups();
    let model = trained(&train, small());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    model.save(&path).unwrap();
    let loaded = Model::load(&path).unwrap();
    assert_eq!((&loaded.card.recommender, &loaded.scores), (&model.card.recommender, &model.scores));

    let recommender = loaded.recommender().unwrap();
    let mut hits = 0;
    for user in 0..100 {
        let items: Vec<(u32, f32)> = train.items_of(user).iter().map(|&item| (item, 1.0)).collect();
        let top = recommender.top(&[recommender.new_user(&items)], &[train.items_of(user)], 5).remove(0);
        hits += top.iter().filter(|one| one.item as usize % 5 == user % 5).count();
    }
    assert!(hits > 430, "{hits} of 500");

    // A new user with items of two groups: each recommendation is explained by items of its own group.
    let items: Vec<(u32, f32)> = [0, 5, 10, 1, 6, 11].map(|item| (item, 1.0)).to_vec();
    for item in [20, 21] {
        let reasons = recommender.explain(&items, item);
        assert!(reasons[..3].iter().all(|reason| reason.item % 5 == item % 5), "{item}: {reasons:?}");
    }
    // The weights of the items decide between the groups.
    for group in [0, 1] {
        let weight = |item: u32| if item % 5 == group { 10.0 } else { 0.1 };
        let items: Vec<(u32, f32)> = items.iter().map(|&(item, _)| (item, weight(item))).collect();
        let top = recommender.top(&[recommender.new_user(&items)], &[&[]], 5).remove(0);
        assert!(top.iter().all(|one| one.item % 5 == group), "{group}: {top:?}");
    }
    let similar = recommender.similar_items(7, 6);
    assert!(similar[0].item == 7 && similar.iter().all(|one| one.item % 5 == 2), "{similar:?}");
    let similar = recommender.similar_users(9, 6);
    assert!(similar[0].item == 9 && similar.iter().all(|one| one.item % 5 == 4), "{similar:?}");
    // Scores are inner products, and what co-occurrence adds; explanations say how much of that each item added.
    let user = recommender.user(20);
    let scores = recommender.scores(&user);
    let co_occurrence = &model.card.recommender.as_ref().unwrap().co_occurrence;
    for item in [3, 50] {
        let product: f32 = user.vector.iter().zip(recommender.item(item)).map(|(a, b)| a * b).sum();
        let counted: f32 = user.items.iter().map(|&(own, _)| 5.0 / 0.5 * co_occurrence.weight(own, item)).sum();
        assert!((scores[item as usize] - product - counted).abs() < 1e-4 && counted > 0.0);
    }
    let top = &recommender.recommend(&[20], 7)[0];
    assert!(top.iter().all(|one| (one.score - scores[one.item as usize]).abs() < 1e-4));
    let among =
        recommender.top_among(&[top[2].item.min(top[4].item), top[2].item.max(top[4].item)], &[user], &[&[]], 1);
    assert_eq!(among[0][0].item, top[2].item);
    // One user at a time has the scores of many at once.
    let users: Vec<u32> = (0..37).collect();
    let (many, one) = (recommender.recommend(&users, 7), recommender.recommend(&[20], 7));
    let items = |top: &[ove::model::Recommendation]| top.iter().map(|one| one.item).collect::<Vec<_>>();
    assert_eq!(items(&many[20]), items(&one[0]));
    let plain = ove::fit(&synthetic::plane(100, 0), &ove::TrainOptions::default(), |_| ControlFlow::Continue(()));
    assert!(plain.unwrap().recommender().is_err());
}

#[test]
fn the_number_of_epochs_is_chosen_and_a_stopped_run_keeps_the_best() {
    let (train, test) = groups();
    let mut settings = small();
    settings["epochs"] = serde_json::Value::Null;
    let (mut measured, mut chosen) = (0, 0);
    let model = fit_recommender(&train, &options(settings.clone()), None, None, &mut |event| {
        match event {
            RecommenderEvent::Measured { .. } => measured += 1,
            RecommenderEvent::Chosen { epochs, .. } => chosen = epochs,
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let model = model.unwrap();
    assert!(measured > 2 && chosen > 0 && model.card.options.epochs == Some(chosen) && model.card.finished);
    assert!(in_group(&model) > 0.9);

    // With validation interactions the best point is kept, also when the run is stopped.
    let mut best = 0.0;
    let stopped = fit_recommender(&train, &options(settings.clone()), Some(&test), None, &mut |event| match event {
        RecommenderEvent::Measured { recall, .. } => {
            best = recall.value.max(best);
            ControlFlow::Continue(())
        }
        RecommenderEvent::Step { progress, .. } if progress.epochs > 40.0 => ControlFlow::Break(Stop::Keep),
        _ => ControlFlow::Continue(()),
    });
    let stopped = stopped.unwrap();
    assert!(!stopped.card.finished);
    assert_eq!(stopped.recommender().unwrap().measure(&test, &train, &[20]).at[0].recall.value, best);
    let discarded = fit_recommender(&train, &options(settings), None, None, &mut |_| ControlFlow::Break(Stop::Discard));
    assert!(matches!(discarded, Err(Error::Stopped)));
}

fn read(text: &str) -> ove::Result<Interactions> {
    read_interactions_bytes("a.txt".as_ref(), text.into(), OnError::Stop)
}

#[test]
fn both_forms_of_lines_are_read() {
    let lists = read("10 3 20 3\n2 20\n\n7\n").unwrap();
    assert_eq!(
        (&lists.users, &lists.item_names),
        (&["2", "7", "10"].map(String::from).to_vec(), &["3", "20"].map(String::from).to_vec())
    );
    assert_eq!((lists.items_of(0), lists.items_of(1), lists.items_of(2)), (&[1][..], &[][..], &[0, 1][..]));
    assert_eq!(lists.weights_of(2), [2.0, 1.0]);
    let pairs = read("Ann\tgreen tea\t2.5\t1700000000\nBob\tmilk\r\nAnn\tmilk\t1\n").unwrap();
    assert_eq!(
        (pairs.users.as_slice(), pairs.item_names.as_slice()),
        (&["Ann".to_owned(), "Bob".into()][..], &["green tea".to_owned(), "milk".into()][..])
    );
    assert_eq!((pairs.items_of(0), pairs.weights_of(0), pairs.items_of(1)), (&[0, 1][..], &[2.5, 1.0][..], &[1][..]));
}

#[test]
fn tables_are_read() {
    let named = |text: &str, user: &str, item: &str, weight: Option<&str>| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let columns =
            InteractionColumns { user: Some(user.into()), item: Some(item.into()), weight: weight.map(str::to_owned) };
        read_interactions_in(file.path(), &columns, OnError::Stop)
    };
    let expected = read("Ann\tgreen, tea\t2\nBob\tmilk\t1.5\n").unwrap();
    for text in [
        "user,item,weight\nAnn,\"green, tea\",2\nBob,milk,1.5\n",
        "time;User_ID;weight;item id\n7;Ann;2;green, tea\n\n;Bob;1.5;milk\n",
        "user\titem\tweight\nAnn\tgreen, tea\t2\nBob\tmilk\t1.5\n",
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text}");
    }
    let text = "userId,movieId,rating\nAnn,\"green, tea\",2\nBob,milk,1.5\n";
    assert_eq!(named(text, "userId", "movieId", Some("rating")).unwrap(), expected);
    assert_eq!(named(text, "userId", "movieId", None).unwrap().weights_of(1), [1.0]);
    let error = named(text, "userId", "film", Some("rating")).unwrap_err().to_string();
    assert!(
        error.ends_with(":1: expected columns `userId`, `film`, `rating`, found userId, movieId, rating"),
        "{error}"
    );
    // Without a header it is a list of items.
    assert_eq!(read("user item weight\n").unwrap().items_of(0), [0, 1]);
}

#[test]
fn wrong_lines_are_named() {
    for (text, message) in [
        ("", "a.txt: expected at least one row, found none"),
        ("ann\n", "a.txt: expected at least one row, found none"),
        ("a b\na\tb\t0\n", "a.txt:2:5: expected a weight, finite and above 0, found '0'"),
        ("a\tb\tx\n", "a.txt:1:5: expected a weight, finite and above 0, found 'x'"),
        ("a\tb\t1\tnoon\n", "a.txt:1:7: expected a time, a finite number, found 'noon'"),
        ("a\t\n", "a.txt:1:3: expected an item, found none"),
        ("\tb\n", "a.txt:1:1: expected a user, found none"),
        ("user,item,weight\na,b,1\na,,1\n", "a.txt:3:3: expected an item, found none"),
        ("user,item,weight\na,b,-1\n", "a.txt:2:5: expected a weight, finite and above 0"),
        ("a\tb\t1\t2\t3\n", "a.txt:1:9: expected at most four columns: user, item, weight and time, found more"),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), message, "{text:?}");
    }
    let skipped = read_interactions_bytes("a".as_ref(), b"a\tb\nc\td\tx\n".to_vec(), OnError::Skip).unwrap();
    assert_eq!((skipped.pairs(), skipped.skipped.count()), (1, 1));
}

#[test]
fn wrong_settings_are_named() {
    for (settings, message) in [
        (json!({ "rank": 0 }), "`rank` must be at least 1, got 0"),
        (json!({ "temperature": 0.0 }), "`temperature` must be a positive number, got 0"),
        (json!({ "dropout": 1.0 }), "`dropout` must be at least 0 and below 1, got 1"),
        (
            json!({ "objective": "bouchard" }),
            "`objective` must be sampled-softmax or one-vs-each for recommenders, got bouchard",
        ),
        (json!({ "trees": 3 }), "`trees` is not a setting of recommenders"),
    ] {
        assert_eq!(RecommenderOptions::from_settings(&settings).unwrap_err().to_string(), message);
    }
    let data = synthetic::interactions(50, 20, 2, 0);
    let large = options(json!({ "memory": "1kB" }));
    let error = RecommenderTraining::new(&data, &large).err().unwrap().to_string();
    assert_eq!(error, "70 vectors of 64 numbers need 71.7 kB; `memory` allows 1.0 kB; try a smaller rank");
}
