//! What the tests share: a folder to run `ove` in, what a run printed, and waiting for a process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ove::synthetic::{Sparse, sparse};
pub use serde_json::Value;
use tempfile::TempDir;

/// Three kinds of fruit; feature 4 tells nothing.
pub const FRUIT: &str = "apple 1:1 4:0.5\napple 1:0.9\npear 2:1 4:0.5\npear 2:1.1\nplum 3:1\nplum 3:0.8 4:1\n";

/// A folder to run `ove` in.
pub struct Dir(TempDir);

impl Dir {
    pub fn new() -> Self {
        Dir(TempDir::new().unwrap())
    }

    /// With `fruit.svm` and, trained on it, `fruit.model`.
    pub fn with_model() -> Self {
        let dir = Dir::new();
        dir.create("fruit.svm", FRUIT);
        dir.run("train fruit.svm -o fruit.model --epochs 100").ok();
        dir
    }

    /// With `big.svm`, which trains on several threads.
    pub fn with_big_data() -> Self {
        let dir = Dir::new();
        let data = sparse(Sparse { rows: 5000, features: 300, classes: 40, entries: 15, signal: 0.5 }, 1, 0);
        let line = |n: usize| {
            let row = data.rows().row(n);
            let entries = row.indices.iter().zip(row.values).map(|(d, x)| format!(" {d}:{x}"));
            format!("{}{}\n", data.classes[data.labels[n][0] as usize], entries.collect::<String>())
        };
        dir.create("big.svm", &(0..data.len()).map(line).collect::<String>());
        dir
    }

    pub fn create(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Names of the files in the folder, sorted.
    pub fn files(&self) -> Vec<String> {
        self.files_in("")
    }

    /// Names of the files in a folder of it, sorted.
    pub fn files_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn command(&self, words: &str) -> Command {
        ove(self.0.path(), words)
    }

    /// Runs `ove` with words as a shell would split them.
    pub fn run(&self, words: &str) -> Run {
        let output = self.command(words).output().unwrap();
        Run {
            words: words.to_owned(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
        }
    }
}

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    #[expect(dead_code, reason = "shown by a failed assertion")]
    pub words: String,
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Run {
    /// The stdout of a run that went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The one JSON object that a run printed.
    #[track_caller]
    pub fn json(self) -> Value {
        let text = self.ok();
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The stderr of a run that was refused: exit code 2, and nothing on stdout.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        self.stderr
    }
}

pub fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort();
    keys
}

pub fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
pub fn near(found: &[f64], expected: &[f64], within: f64) {
    let close = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= within);
    assert!(close, "{found:?}, not {expected:?}");
}

#[track_caller]
pub fn contains(text: &str, part: &str) {
    assert!(text.contains(part), "no `{part}` in:\n{text}");
}

/// `ove` with words as a shell would split them, in a folder and without stdin.
pub fn ove(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ove"));
    command.current_dir(folder).args(words.split_whitespace()).stdin(Stdio::null());
    command
}

/// Sends a signal such as `-TERM`.
pub fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// The exit code of a process that has to end by itself.
#[track_caller]
pub fn code_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    panic!("still running after {limit:?}");
}
