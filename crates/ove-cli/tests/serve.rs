//! `ove serve`, by running it on loopback: each answer with its status, what must not stop it, and how it starts,
//! reloads and stops.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::util::*;

const TITLES: &str = "the sea and its fish\tsea\nfish of the deep sea\tsea\nsea birds\tsea\n\
    a history of trees\tforest\ntrees of the north\tforest\nbirds and trees\tforest\n\
    the house and its garden\thouse\na house of wood\thouse\nhistory of the house\thouse\n";

/// A folder with `titles.model` and `fruit.model`.
fn models() -> Dir {
    let dir = Dir::with_model();
    dir.create("titles.tsv", TITLES);
    dir.run("train titles.tsv -o titles.model --min-df 1 --epochs 60").ok();
    dir
}

/// A server that is killed when it goes out of scope.
struct Server {
    process: Child,
    address: SocketAddr,
    words: BufReader<Box<dyn Read>>,
}

impl Server {
    fn start(dir: &Dir, words: &str) -> Self {
        let command = format!("serve --listen 127.0.0.1:0 {words}");
        let mut process = dir.command(&command).stderr(Stdio::piped()).spawn().unwrap();
        let mut words: BufReader<Box<dyn Read>> = BufReader::new(Box::new(process.stderr.take().unwrap()));
        let mut line = String::new();
        words.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect(&line).parse().unwrap();
        Server { process, address, words }
    }

    fn signal(&self, name: &str) {
        signal(&self.process, name);
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends bytes and reads until the server closes.
    fn exchange(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        Answer::read(stream)
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
        );
        self.exchange(format!("{head}{body}").as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, "content-type: application/json\r\n", &body.to_string())
    }

    fn predict(&self, body: Value) -> Answer {
        self.post("/predict", &body)
    }

    fn is_up(&self) {
        assert_eq!(self.get("/health").status, 200);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Self {
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_lowercase(), body: body.into() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The message of an answer that went wrong so.
    #[track_caller]
    fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.head.contains("content-type: application/json"), "{self:?}");
        self.json()["error"].as_str().expect("an error").to_owned()
    }
}

#[test]
fn texts_are_predicted_as_on_the_command_line() {
    let dir = models();
    let server = Server::start(&dir, "titles.model");
    let answer = server.predict(json!({ "text": "fish of the sea", "top": 2 })).json();
    dir.create("text", "fish of the sea\n");
    let expected = dir.run("predict titles.model text --top 2 --json").json();
    for key in ["labels", "probabilities"] {
        assert_eq!(answer["predictions"][0][key], expected[key]);
    }
    assert_eq!(answer["predictions"][0]["known"], 4);
    assert_eq!(server.predict(json!({ "text": "nothing known" })).json()["predictions"][0]["known"], 0);
    assert_eq!(answer["predictions"][0]["labels"][0], "sea");

    // Many come back in order, cut into pieces on the way.
    let texts: Vec<&str> = (0..100).map(|n| ["fish", "trees", "house"][n % 3]).collect();
    let answer = server.predict(json!({ "texts": texts, "top": 1 })).json();
    let labels: Vec<&str> =
        answer["predictions"].as_array().unwrap().iter().map(|p| p["labels"][0].as_str().unwrap()).collect();
    assert_eq!(labels, (0..100).map(|n| ["sea", "forest", "house"][n % 3]).collect::<Vec<_>>());

    // A model of texts takes its terms as features too.
    let answer = server.predict(json!({ "features": { "trees": 1, "unheard-of": 2 }, "top": 1 })).json();
    assert_eq!(answer["predictions"][0]["labels"], json!(["forest"]));
}

#[test]
fn features_are_predicted_one_or_many() {
    let dir = models();
    let server = Server::start(&dir, "fruit.model");
    let one = server.predict(json!({ "features": { "2": 1.0, "4": 0.5 }, "top": 1 })).json();
    assert_eq!(one["predictions"][0]["labels"], json!(["pear"]));
    let many = server.predict(json!({ "features": [{ "1": 1 }, {}, { "3": 1, "999999999": 4 }], "top": 3 })).json();
    assert_eq!(many["predictions"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&many["predictions"][0]["labels"][0], &many["predictions"][2]["labels"][0]),
        (&json!("apple"), &json!("plum"))
    );
    let total: f64 =
        many["predictions"][1]["probabilities"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    let error = server.predict(json!({ "text": "pear" })).error(422);
    assert_eq!(error, "text: the model was not trained on texts; give it `features`");
    let error = server.predict(json!({ "features": { "pear": 1 } })).error(422);
    assert_eq!(error, "features: the features of this model are numbers from 0, got `pear`");
}

#[test]
fn a_class_is_explained_by_its_words() {
    let dir = models();
    dir.create("names.tsv", "sea\tThe sea\nforest\tForests\nelsewhere\tNot in the model\n");
    let server = Server::start(&dir, "titles.model --names names.tsv");
    let answer = server.post("/explain", &json!({ "class": "sea", "text": "fish and trees" })).json();
    assert_eq!((&answer["name"], &answer["count"], &answer["rows"]), (&json!("The sea"), &json!(3), &json!(9)));
    assert_eq!(answer["row"]["for"][0]["feature"], "fish");
    assert!(answer["row"]["for"][0]["product"].as_f64().unwrap() > 0.0);
    assert_eq!(answer["row"]["against"][0]["feature"], "trees");
    assert_eq!(answer["general"]["for"][0]["feature"], "sea");
    let rivals: Vec<&str> = answer["rivals"].as_array().unwrap().iter().map(|r| r["class"].as_str().unwrap()).collect();
    assert_eq!(rivals.len(), 2);
    assert!(!rivals.contains(&"sea"));
    // The parts add up to the score that the probabilities come from.
    let all = server.post("/explain", &json!({ "class": "sea", "text": "fish and trees", "top": 1000 })).json();
    let sum = |side: &str| -> f64 {
        all["row"][side].as_array().unwrap().iter().map(|word| word["product"].as_f64().unwrap()).sum()
    };
    let score = |class: &str| {
        let all = server.post("/explain", &json!({ "class": class, "text": "fish and trees", "top": 1000 })).json();
        let sides = ["for", "against"].map(|side| {
            all["row"][side].as_array().unwrap().iter().map(|word| word["product"].as_f64().unwrap()).sum::<f64>()
        });
        all["bias"].as_f64().unwrap() + sides[0] + sides[1]
    };
    assert!(sum("for") > 0.0 && sum("against") < 0.0);
    let predicted = server.predict(json!({ "text": "fish and trees", "top": 3 })).json();
    let probability = |class: &str| {
        let at = predicted["predictions"][0]["labels"].as_array().unwrap().iter().position(|c| c == class).unwrap();
        predicted["predictions"][0]["probabilities"][at].as_f64().unwrap()
    };
    let ratio = (probability("sea") / probability("house")).ln();
    assert!((score("sea") - score("house") - ratio).abs() < 1e-4, "{ratio}");

    let without = server.post("/explain", &json!({ "class": "house" })).json();
    assert!(without.get("row").is_none() && without.get("name").is_none());
    let error = server.post("/explain", &json!({ "class": "moon" })).error(404);
    assert_eq!(error, "class: the model has no `moon`; GET /classes?search= lists those it has");
}

#[test]
fn names_in_the_model_are_served() {
    let dir = models();
    dir.create("names.tsv", "sea\tOceans\tBlue water\n");
    dir.run("train titles.tsv -o named.model --epochs 1 --label-names names.tsv --name-weight 0").ok();
    let server = Server::start(&dir, "named.model");
    let found = server.get("/classes?prefix=blue").json();
    assert_eq!(found["classes"], json!([{ "class": "sea", "count": 3, "name": "Oceans" }]));
    let predicted = server.predict(json!({ "text": "the sea", "top": 3 })).json();
    assert!(predicted["predictions"][0]["names"].as_array().unwrap().contains(&json!("Oceans")));
}

/// The requests of the `http` backend of Annif 1.4.
#[test]
fn annif_asks_for_subjects() {
    let dir = models();
    dir.create(
        "uris.tsv",
        &TITLES.replace("\tsea", "\thttp://example.org/s1").replace("\tforest", "\thttp://example.org/s2"),
    );
    dir.run("train uris.tsv -o uris.model --min-df 1 --epochs 60").ok();
    dir.create("labels.tsv", "http://example.org/s1\tThe sea\n");
    let server = Server::start(&dir, "uris.model --annif-project ove-en --label-names labels.tsv");
    let path = "/v1/projects/ove-en";
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let suggest = |body: &str| server.send("POST", &format!("{path}/suggest"), form, body);

    let project = server.get(path).json();
    assert_eq!((&project["project_id"], &project["is_trained"]), (&json!("ove-en"), &json!(true)));
    let time = project["modification_time"].as_str().unwrap();
    assert!(time.len() == 20 && time.starts_with("20") && time.ends_with('Z'), "{time}");

    let results = suggest("text=fish+of+the+sea%21&limit=2&project=x&metadata_title=y").json()["results"].clone();
    dir.create("text", "fish of the sea!\n");
    let expected = dir.run("predict uris.model text --top 2 --json").json();
    assert_eq!(results.as_array().unwrap().len(), 2);
    for n in 0..2 {
        assert_eq!((&results[n]["uri"], &results[n]["score"]), (&expected["labels"][n], &expected["probabilities"][n]));
    }
    assert_eq!(results[0]["uri"], "http://example.org/s1");
    assert_eq!((&results[0]["label"], &results[0]["notation"]), (&json!("The sea"), &Value::Null));
    let trees = &suggest("text=trees&limit=1").json()["results"][0];
    assert_eq!((&trees["uri"], &trees["label"]), (&json!("http://example.org/s2"), &json!("http://example.org/s2")));

    // All by default, none below a threshold, none of a text without a known word.
    let count = |body: &str| suggest(body).json()["results"].as_array().unwrap().len();
    let counts = ["text=fish", "text=fish&threshold=0.5", "text=fish&limit=0", "text=xyzzy", "text="].map(count);
    assert_eq!(counts, [3, 1, 0, 0, 0]);

    assert_eq!(suggest("limit=3").error(400), "`text` must be given");
    assert_eq!(suggest("text=a&limit=-1").error(400), "`limit` must be a whole number from 0 to 1000, got `-1`");
    assert_eq!(suggest("text=a&threshold=2").error(400), "`threshold` must be a number from 0 to 1, got `2`");
    let wrong = server.post(&format!("{path}/suggest"), &json!({ "text": "fish" }));
    assert_eq!(wrong.error(415), "the content type must be application/x-www-form-urlencoded");
    assert_eq!(server.get("/v1/projects/other").error(404), "no project `other`; this server has `ove-en`");
    server.send("POST", "/v1/projects/other/suggest", form, "text=a").error(404);

    let paths = server.get("/openapi.json").json()["paths"].clone();
    assert!(paths[path]["get"].is_object() && paths[format!("{path}/suggest")]["post"].is_object());
    let metrics = server.get("/metrics").body;
    for counted in ["{project}\",status=\"200\"} 1", "{project}/suggest\",status=\"415\"} 1"] {
        assert!(metrics.contains(&format!("ove_requests_total{{path=\"/v1/projects/{counted}")), "{metrics}");
    }
}

#[test]
fn annif_is_answered_only_where_that_is_wanted() {
    let dir = models();
    let server = Server::start(&dir, "titles.model");
    assert_eq!(server.get("/v1/projects/any").error(404), "no project; start the server with --annif-project NAME");
    assert!(server.get("/openapi.json").json()["paths"].as_object().unwrap().keys().all(|path| !path.contains("/v1/")));
}

/// Every metric that the dashboard shows is one that the server has.
#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let dir = models();
    let server = Server::start(&dir, "titles.model");
    server.is_up();
    let metrics = server.get("/metrics").body;
    let there: Vec<&str> = metrics.lines().filter_map(|line| line.split([' ', '{']).next()).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/grafana/ove-serve.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut shown = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let words = target["expr"].as_str().unwrap().split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            shown.extend(words.filter(|word| word.starts_with("ove_") || word.starts_with("process_")));
        }
    }
    assert!(shown.len() >= 10, "{shown:?}");
    for metric in &shown {
        assert!(there.contains(metric), "{metric} is not in {metrics}");
    }
    // And the other way round: the type of each metric is known by the name that its lines begin with.
    for line in metrics.lines().filter(|line| line.starts_with("# TYPE ")) {
        let name = line.split(' ').nth(2).unwrap();
        assert!(shown.iter().any(|metric| metric.starts_with(name)), "{name} is on no panel");
    }
}

#[test]
fn what_can_be_asked_of_a_model() {
    let dir = models();
    dir.create("names.tsv", "sea\tOceans\n");
    let server = Server::start(&dir, "titles.model --names names.tsv");
    let model = server.get("/model").json();
    assert_eq!((&model["classes"], &model["rows"], &model["takes_texts"]), (&json!(3), &json!(9), &json!(true)));
    assert_eq!(model["options"]["scores"]["objective"], "one-vs-each");
    let classes = |query: &str| server.get(&format!("/classes?{query}")).json();
    assert_eq!(classes("prefix=F")["classes"], json!([{ "class": "forest", "count": 3 }]));
    assert_eq!(classes("search=RES")["classes"], json!([{ "class": "forest", "count": 3 }]));
    assert_eq!(classes("prefix=f&search=q")["total"], 0);
    assert_eq!(classes("prefix=oce")["classes"], json!([{ "class": "sea", "count": 3, "name": "Oceans" }]));
    assert_eq!((&classes("limit=2")["total"], classes("limit=2")["classes"].as_array().unwrap().len()), (&json!(3), 2));
    assert_eq!(server.get("/classes?limit=0").error(400), "`limit` must be a number from 1 to 100, got 0");
    server.predict(json!({ "text": "sea" }));
    let metrics = server.get("/metrics");
    assert!(metrics.head.contains("text/plain; version=0.0.4"));
    for line in
        ["ove_requests_total{path=\"/predict\",status=\"200\"} 1", "ove_rows_total 1", "# TYPE ove_waiting gauge"]
    {
        assert!(metrics.body.lines().any(|found| found == line), "{line} not in {}", metrics.body);
    }
    assert!(server.get("/").head.contains("content-security-policy"));
    assert!(server.get("/card").body.contains("<h2>Training</h2>"));
    server.get("/nowhere").error(404);
    let wrong = server.send("DELETE", "/predict", "", "");
    wrong.error(405);
    assert!(wrong.head.contains("allow: post"));
}

#[test]
fn what_cannot_be_read_has_its_status_and_its_reason() {
    let dir = models();
    let server = Server::start(&dir, "titles.model");
    let json_type = "content-type: application/json\r\n";
    let broken = |body: &str| server.send("POST", "/predict", json_type, body).error(400);
    assert!(broken("{\"text\": ").starts_with("not JSON: EOF while parsing"));
    assert!(broken("").starts_with("not JSON: EOF"));
    broken(&"[".repeat(10_000));
    assert_eq!(
        server.send("POST", "/predict", "content-type: text/plain\r\n", "{}").error(415),
        "the content type must be application/json"
    );
    for (body, error) in [
        (json!([]), "the body must be a JSON object"),
        (json!({}), "`text`, `texts` or `features` must be given"),
        (json!({ "text": null }), "text: expected a value, got null; leave the field out"),
        (json!({ "text": ["a"] }), "text: invalid type: sequence, expected a string"),
        (json!({ "texts": ["a", 1] }), "texts[1]: invalid type: integer `1`, expected a string"),
        (json!({ "texts": [] }), "texts: expected 1 to 1000 rows, got 0"),
        (json!({ "texts": vec!["a"; 1001] }), "texts: expected 1 to 1000 rows, got 1001"),
        (json!({ "text": "a", "texts": ["b"] }), "only one kind of input may be given, got `text` and `texts`"),
        (
            json!({ "text": "a", "topp": 3 }),
            "unknown field `topp`, expected one of `text`, `texts`, `features`, `top`, `threshold`",
        ),
        (json!({ "text": "a", "top": 0 }), "top: expected a whole number from 1 to 1000, got 0"),
        (json!({ "text": "a", "top": 2.5 }), "top: expected a whole number from 1 to 1000, got 2.5"),
        (json!({ "text": "a", "top": null }), "top: expected a value, got null; leave the field out"),
        (json!({ "features": { "sea": "x" } }), "features.sea: invalid type: string \"x\", expected f64"),
        (json!({ "features": [{}, 3] }), "features[1]: invalid type: integer `3`, expected a map"),
        (
            json!({ "features": 3 }),
            "features: invalid type: integer `3`, expected an object of features and values, or an array of such objects",
        ),
        (json!({ "features": { "sea": 1e300 } }), "features.sea: expected a number from -1e9 to 1e9, got 1e300"),
    ] {
        assert_eq!(server.predict(body).error(422), error);
    }
    // Not HTTP at all.
    assert_eq!(server.exchange(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").status, 400);
    server.is_up();
}

#[test]
fn a_body_of_100_megabytes_is_refused() {
    let dir = models();
    let server = Server::start(&dir, "titles.model");
    let length = 100 << 20;
    let head = format!(
        "POST /predict HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
    );
    let before = resident(&server);
    let mut stream = server.connect();
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    let piece = vec![b' '; 1 << 20];
    for _ in 0..100 {
        stream.write_all(&piece).expect("it is taken, and thrown away");
    }
    let error = Answer::read(stream).error(413);
    assert_eq!(error, "the body is too long: it may have at most 4194304 bytes");
    assert!(resident(&server) < before + (32 << 20), "kept what it should throw away");

    // Whoever asks first is told before sending anything.
    assert_eq!(server.exchange(format!("{head}expect: 100-continue\r\n\r\n").as_bytes()).status, 413);
    // Without an announced length too.
    let mut stream = server.connect();
    stream.write_all(b"POST /predict HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    for _ in 0..5 {
        stream.write_all(b"100000\r\n").unwrap();
        stream.write_all(&piece).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    Answer::read(stream).error(413);
    server.is_up();
}

fn resident(server: &Server) -> u64 {
    let metrics = server.get("/metrics").body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes ")).unwrap();
    line.parse().unwrap()
}

/// Half of them never finish their head, the others never their body.
#[test]
fn a_thousand_slow_connections_starve_nobody() {
    let dir = models();
    let server = Server::start(&dir, "titles.model");
    let _ = rlimit::increase_nofile_limit(4096);
    let start = Instant::now();
    let slow: Vec<TcpStream> = (0..1000)
        .map(|n| {
            let mut stream = server.connect();
            let head =
                "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            if n % 2 == 0 {
                stream.write_all(b"\r\n{").unwrap();
            }
            stream
        })
        .collect();
    let mut longest = Duration::ZERO;
    for _ in 0..200 {
        let start = Instant::now();
        assert_eq!(server.predict(json!({ "text": "fish of the sea" })).status, 200);
        longest = longest.max(start.elapsed());
    }
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    // Patience ends: with an answer where there was a head, without one where there was not.
    for (n, stream) in slow.into_iter().enumerate() {
        let answer = Answer::read(stream);
        let expected: &[u16] = if n % 2 == 0 { &[408] } else { &[0, 408] };
        assert!(expected.contains(&answer.status), "{answer:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(25));
    server.is_up();
}

#[test]
fn a_token_guards_all_but_the_page() {
    let dir = models();
    dir.create("token", "correct-horse\n");
    let server = Server::start(&dir, "titles.model --token-file token");
    let with = |header: &str| server.send("GET", "/model", header, "");
    for header in [
        "",
        "authorization: Bearer wrong-horse\r\n",
        "authorization: Bearer correct-horse-and-more\r\n",
        "authorization: Bearer \r\n",
        "authorization: Basic correct-horse\r\n",
        "authorization: correct-horse\r\n",
    ] {
        let answer = with(header);
        answer.error(401);
        assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
    }
    for header in ["authorization: Bearer correct-horse\r\n", "Authorization: bearer correct-horse\r\n"] {
        assert_eq!(with(header).status, 200, "{header}");
    }
    for path in ["/predict", "/explain"] {
        server.post(path, &json!({ "text": "sea" })).error(401);
    }
    for (path, status) in
        [("/classes", 401), ("/metrics", 401), ("/card", 401), ("/", 200), ("/health", 200), ("/openapi.json", 401)]
    {
        assert_eq!(server.get(path).status, status, "{path}");
    }
    // With the token, the description has the facts of the model.
    let described = server.send("GET", "/openapi.json", "authorization: Bearer correct-horse\r\n", "").json();
    contains(described["info"]["description"].as_str().unwrap(), "with 3 classes");
}

#[test]
fn it_does_not_start_where_it_should_not() {
    let dir = models();
    dir.create("empty", "\n");
    for (words, error) in [
        ("serve titles.model --listen 0.0.0.0:0", "is reachable from other machines and needs --token-file"),
        ("serve titles.model --listen [::]:0", "is reachable from other machines and needs --token-file"),
        ("serve titles.model --token-file empty", "empty"),
        ("serve titles.model --listen nonsense", "an address must have the form 127.0.0.1:8080"),
        ("serve titles.tsv", "titles.tsv is neither a model nor a file of word vectors: titles.tsv:1:1: expected"),
        ("serve titles.model --names titles.model", "titles.model"),
        ("serve fruit.model --annif-project x", "--annif-project needs a model that was trained on texts"),
        ("serve titles.model --annif-project a/b", "must have only letters, digits, `-` and `_`, got `a/b`"),
    ] {
        contains(&dir.run(words).refused(), error);
    }
}

/// Requests come without a pause while the model is replaced, twice by a good one and once by nonsense: none fails.
#[test]
fn a_new_model_is_loaded_without_losing_a_request() {
    let dir = models();
    let path = |name: &str| dir.path(name);
    fs::copy(path("titles.model"), path("served")).unwrap();
    let mut server = Server::start(&dir, "served");
    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let replace = |server: &Server, name: &str| {
        fs::copy(path(name), path("new")).unwrap();
        fs::rename(path("new"), path("served")).unwrap();
        server.signal("-HUP");
    };
    let heard = |server: &mut Server| {
        let mut line = String::new();
        server.words.read_line(&mut line).unwrap();
        line
    };
    let address = server.address;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let body = "{\"features\":{\"1\":1}}";
                    write!(stream, "POST /predict HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
                    let answer = Answer::read(stream);
                    assert_eq!(answer.status, 200, "{answer:?}");
                    answered.fetch_add(1, SeqCst);
                }
            });
        }
        let wait_for_more = || {
            let before = answered.load(SeqCst);
            let start = Instant::now();
            while answered.load(SeqCst) < before + 50 && start.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        wait_for_more();
        replace(&server, "fruit.model");
        assert_eq!(heard(&mut server), "reloaded the model\n");
        assert_eq!(server.get("/model").json()["takes_texts"], false);
        wait_for_more();
        replace(&server, "titles.tsv");
        assert!(heard(&mut server).starts_with("reloading failed, the old model stays in use: "));
        assert_eq!(server.get("/model").json()["takes_texts"], false);
        wait_for_more();
        replace(&server, "titles.model");
        assert_eq!(heard(&mut server), "reloaded the model\n");
        assert_eq!(server.get("/model").json()["takes_texts"], true);
        wait_for_more();
        done.store(true, SeqCst);
    });
    assert!(answered.load(SeqCst) >= 200);
    assert!(server.get("/metrics").body.contains("ove_model_load_failures_total 1"));
}

/// A page of another site reaches a server on loopback by a name of its own that it lets resolve to 127.0.0.1.
#[test]
fn without_a_token_only_known_hosts_are_answered() {
    let dir = models();
    dir.create("token", "correct-horse\n");
    let ask = |server: &Server, host: &str, path: &str| {
        server.exchange(format!("GET {path} HTTP/1.1\r\n{host}connection: close\r\n\r\n").as_bytes())
    };
    let server = Server::start(&dir, "titles.model --allow-host models.example.org --allow-host Other.");
    for host in [
        "localhost",
        "LocalHost:8080",
        "localhost.",
        "127.0.0.1",
        "127.0.0.1:99",
        "[::1]",
        "[::1]:8080",
        // An address is not a name, so that nothing can let it resolve to another one.
        "192.168.1.5:8080",
        "models.example.org",
        "MODELS.example.org.:443",
        "other",
    ] {
        assert_eq!(ask(&server, &format!("host: {host}\r\n"), "/model").status, 200, "{host}");
    }
    for host in [
        "host: evil.example\r\n",
        "host: evil.example:8080\r\n",
        "host: localhost.evil.example\r\n",
        "host: 127.0.0.1.evil.example\r\n",
        "host: localhost@evil.example\r\n",
        "host: example.org\r\n",
        "host: \r\n",
        "host: localhost\r\nhost: evil.example\r\n",
        "",
    ] {
        for path in ["/model", "/", "/health", "/openapi.json", "/nowhere"] {
            let error = ask(&server, host, path).error(421);
            contains(&error, "--allow-host NAME");
        }
    }
    // The address of the request counts before the header.
    assert_eq!(ask(&server, "host: localhost\r\n", "http://evil.example/model").status, 421);
    contains(&server.get("/metrics").body, "ove_requests_total{path=\"/model\",status=\"421\"} 10");

    // Who has the token is no page of another site.
    let server = Server::start(&dir, "titles.model --token-file token");
    let with_token = "host: evil.example\r\nauthorization: Bearer correct-horse\r\n";
    assert_eq!(ask(&server, with_token, "/model").status, 200);

    for (words, error) in [
        ("--allow-host http://a", "`allow-host` must be a host name without scheme and port, got `http://a`"),
        ("--allow-host a:80", "`allow-host` must be a host name without scheme and port, got `a:80`"),
        ("--allow-host a --token-file token", "cannot be used with"),
    ] {
        contains(&dir.run(&format!("serve titles.model {words}")).refused(), error);
    }
}

#[test]
fn the_page_of_a_run_answers_only_known_hosts() {
    let dir = Dir::with_big_data();
    let mut process = dir.command("train big.svm -o m --epochs 100000 --watch").stderr(Stdio::piped()).spawn().unwrap();
    let mut words: BufReader<Box<dyn Read>> = BufReader::new(Box::new(process.stderr.take().unwrap()));
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("watch at http://").expect(&line).parse().unwrap();
    let server = Server { process, address, words };
    let ask = |host: &str| {
        let request = format!("GET /training HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        server.exchange(request.as_bytes())
    };
    assert_eq!((ask("localhost").status, ask(&address.to_string()).status), (200, 200));
    let error = ask("evil.example").error(421);
    assert_eq!(error, "the host `evil.example` is not this server; use localhost or its address");
}

/// A body with spaces behind the JSON, of so many bytes.
fn padded(bytes: usize) -> String {
    let body = json!({ "text": "fish of the sea" }).to_string();
    let spaces = " ".repeat(bytes - body.len());
    body + &spaces
}

/// More than a quarter of a gigabyte of bodies that never end: what is kept of them is bounded, and short requests are
/// still answered.
#[test]
fn unfinished_bodies_take_bounded_memory() {
    let dir = models();
    let server = Server::start(&dir, "titles.model");
    let gauge = |name: &str| -> u64 {
        let metrics = server.get("/metrics").body;
        metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).expect(name)
    };
    let (before, length) = (gauge("process_resident_memory_bytes"), 4 << 20);
    let body = padded(length);
    let unfinished: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = server.connect();
            let head = "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
            write!(stream, "{head}content-length: {length}\r\n\r\n").unwrap();
            stream.write_all(&body.as_bytes()[..length - 1]).unwrap();
            stream
        })
        .collect();
    let large = || server.send("POST", "/predict", "content-type: application/json\r\n", &padded(1 << 20));
    let refused = large();
    assert_eq!(refused.error(503), "the server holds too many bytes of request bodies; try again later");
    contains(&refused.head, "retry-after: 1");
    let held = gauge("ove_body_bytes");
    assert!((200 << 20..=256 << 20).contains(&held), "{held}");
    let resident = gauge("process_resident_memory_bytes") - before;
    assert!(resident < 330 << 20, "{resident}");
    assert_eq!(server.predict(json!({ "text": "fish of the sea" })).status, 200);
    drop(unfinished);
    let start = Instant::now();
    while gauge("ove_body_bytes") > 0 && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(gauge("ove_body_bytes"), 0);
    assert_eq!(large().status, 200);
}

/// As under `2>&1 | head -1`: what cannot be said must not end the task that reloads.
#[test]
fn a_closed_stderr_does_not_end_reloading() {
    let dir = models();
    fs::copy(dir.path("titles.model"), dir.path("served")).unwrap();
    let mut server = Server::start(&dir, "served");
    // Its stderr is a pipe without a reader from now on.
    server.words = BufReader::new(Box::new(std::io::empty()));
    for (name, takes_texts) in [("fruit.model", false), ("titles.model", true)] {
        fs::copy(dir.path(name), dir.path("new")).unwrap();
        fs::rename(dir.path("new"), dir.path("served")).unwrap();
        server.signal("-HUP");
        let start = Instant::now();
        while server.get("/model").json()["takes_texts"] != takes_texts {
            assert!(start.elapsed() < Duration::from_secs(10), "{name} is not served");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A request that has begun when the server has to stop is answered; new ones find nobody.
#[test]
fn it_stops_after_the_last_answer() {
    let dir = models();
    for signal in ["-TERM", "-INT"] {
        let mut server = Server::start(&dir, "titles.model");
        let mut begun = server.connect();
        begun.write_all(b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n{\"text\"").unwrap();
        // So that the server has seen it.
        std::thread::sleep(Duration::from_millis(200));
        server.signal(signal);
        std::thread::sleep(Duration::from_millis(200));
        assert!(TcpStream::connect(server.address).is_err(), "{signal}");
        begun.write_all(b":\"sea\"}").unwrap();
        let answer = Answer::read(begun);
        assert_eq!(answer.status, 200, "{signal}: {answer:?}");
        assert_eq!(server.process.wait().unwrap().code(), Some(0), "{signal}");
    }
}

/// Vectors of words answer with neighbours and analogies, each with a map.
#[test]
fn word_vectors_are_served() {
    let dir = Dir::new();
    dir.create("vectors.txt", "king 2 1 0\nman 2 0 0.1\nqueen 0.1 1 2\nwoman 0 0 2.2\nknight 2 0.7 0\n");
    let server = Server::start(&dir, "vectors.txt");
    assert_eq!(server.get("/health").json()["serves"], "words");
    let model = server.get("/model").json();
    assert_eq!((&model["name"], &model["words"], &model["rank"]), (&"vectors".into(), &5.into(), &3.into()));
    assert_eq!((&model["examples"], &model["trained"]), (&json!(["king"]), &Value::Null));

    let found = server.get("/similar?word=king&top=2").json();
    assert_eq!(found["words"], json!(["knight", "man"]));
    let places: Vec<Vec<f64>> = serde_json::from_value(found["map"].clone()).unwrap();
    let distance = |a: usize, b: usize| (places[a][0] - places[b][0]).hypot(places[a][1] - places[b][1]);
    assert!(places.len() == 3 && distance(0, 1) < distance(0, 2), "{found}");
    let found = server.get("/analogy?a=man&b=king&c=woman").json();
    assert_eq!((&found["words"], found["map"].as_array().unwrap().len()), (&json!(["queen", "knight"]), 5));
    let found = server.get("/words?prefix=k&limit=1").json();
    assert_eq!(found, json!({ "words": ["king"], "total": 2 }));

    let unknown = server.get("/similar?word=nobody").error(404);
    contains(&unknown, "`nobody` is not one of the 5 words");
    contains(&server.get("/similar").error(400), "word");
    contains(&server.get("/similar?word=king&top=0").error(400), "`top` must be a number from 1 to 100, got 0");
    contains(&server.get("/words?limit=101").error(400), "`limit` must be a number from 1 to 100, got 101");
    server.get("/analogy?a=man&b=king&c=nobody").error(404);
    server.predict(json!({ "text": "king" })).error(404);
    contains(&server.get("/metrics").body, "ove_requests_total{path=\"/similar\",status=\"200\"} 1");
    let paths = server.get("/openapi.json").json()["paths"].clone();
    assert_eq!(keys(&paths), ["/analogy", "/health", "/metrics", "/model", "/similar", "/words"]);

    // A new file is taken at SIGHUP, and one that cannot be read is not.
    for (content, expected) in [("red 1 0\nblue 0 1\n", "red"), ("red 1 x\n", "red")] {
        dir.create("vectors.txt", content);
        server.signal("-HUP");
        let start = Instant::now();
        let is_counted = || {
            let metrics = server.get("/metrics").body;
            let name =
                if content.contains('x') { "ove_model_load_failures_total 1" } else { "ove_model_loads_total 1" };
            metrics.contains(name)
        };
        while !is_counted() {
            assert!(start.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(server.get("/words").json()["words"][0], expected);
    }
    contains(&dir.run("serve vectors.txt --names vectors.txt").refused(), "`names` must be left out for word vectors");
    contains(&dir.run("serve vectors.txt").refused(), "expected a finite number, found `x`");
}

/// A recommender answers for users and for items, with reasons.
#[test]
fn a_recommender_is_served() {
    let dir = Dir::new();
    let data = ove::synthetic::interactions(200, 40, 4, 0);
    let line = |user: usize| {
        let items = data.items_of(user).iter().map(|&item| format!(" {}", data.item_names[item as usize]));
        format!("{}{}\n", data.users[user], items.collect::<String>())
    };
    dir.create("visits.txt", &(0..data.len()).map(line).collect::<String>());
    let train = "train visits.txt --format interactions -o m --rank 4 --temperature 0.5 --learning-rate 0.1 --batch 16";
    dir.run(&format!("{train} --epochs 40")).ok();
    let names = |item: usize| format!("i{item}\tItem {item}\n");
    dir.create("names.tsv", &(0..40).map(names).collect::<String>());
    let server = Server::start(&dir, "m --names names.tsv");
    assert_eq!(server.get("/health").json()["serves"], "recommender");
    let model = server.get("/model").json();
    assert_eq!((&model["users"], &model["items"], &model["rank"]), (&200.into(), &40.into(), &4.into()));
    assert_eq!(model["interactions"], data.pairs());

    let group = |item: &Value| item["item"].as_str().unwrap()[1..].parse::<u32>().unwrap() % 4;
    let found = server.post("/recommend", &json!({ "user": "u7", "top": 3 })).json();
    let expected = dir.run("recommend m u7 --top 3 --explain --json").json();
    let has: Vec<&Value> = found["has"].as_array().unwrap().iter().map(|item| &item["item"]).collect();
    assert_eq!(has.len(), data.items_of(7).len());
    for n in 0..3 {
        let item = &found["items"][n];
        assert_eq!((&item["item"], group(item)), (&expected["items"][n], 3));
        assert_eq!(item["name"], format!("Item {}", &item["item"].as_str().unwrap()[1..]));
        let because = item["because"].as_array().unwrap();
        assert!(because.iter().all(|reason| has.contains(&&reason["item"]) && reason["score"].as_f64() > Some(0.0)));
        let because: Vec<&Value> = because.iter().map(|reason| &reason["item"]).collect();
        assert!(!because.is_empty() && json!(because) == expected["because"][n], "{found}");
    }
    // Somebody new, and what is left out.
    let found = server.post("/recommend", &json!({ "items": ["i2", "i6"], "top": 5 })).json();
    assert!(found["items"].as_array().unwrap().iter().all(|item| group(item) == 2 && item["item"] != "i2"), "{found}");
    let all = json!({ "items": ["i2"], "top": 100, "exclude_seen": false });
    assert_eq!(server.post("/recommend", &all).json()["items"].as_array().unwrap().len(), 40);
    let found = server.get("/similar?item=i13&top=3").json();
    assert!(found["similar"].as_array().unwrap().iter().all(|item| group(item) == 1 && item["item"] != "i13"));
    assert_eq!(found["count"], data.counts()[13]);
    let found = server.get("/users?search=U19&limit=2").json();
    assert_eq!(
        (&found["total"], &found["users"][0]["user"], found["users"][1]["user"].as_str()),
        (&11.into(), &"u19".into(), Some("u190"))
    );
    assert_eq!(found["users"][0]["count"], data.items_of(19).len());
    assert_eq!(server.get("/items?search=item%2013").json()["items"][0]["item"], "i13");

    for (body, status, message) in [
        (json!({}), 422, "`user` or `items` must be given"),
        (json!({ "user": "u7", "items": ["i2"] }), 422, "only one of `user` and `items` may be given"),
        (json!({ "user": "nobody" }), 404, "user: the model has no `nobody`; GET /users?search= lists those it has"),
        (json!({ "items": ["what"] }), 404, "item: the model has no `what`"),
        (json!({ "items": [] }), 422, "items: expected 1 to 1000 items, got 0"),
        (json!({ "user": "u7", "top": 0 }), 422, "top: expected a whole number from 1 to 1000, got 0"),
    ] {
        contains(&server.post("/recommend", &body).error(status), message);
    }
    server.get("/similar?item=what").error(404);
    server.predict(json!({ "features": {} })).error(404);
    let paths = server.get("/openapi.json").json()["paths"].clone();
    assert_eq!(keys(&paths), ["/health", "/items", "/metrics", "/model", "/recommend", "/similar", "/users"]);
}
