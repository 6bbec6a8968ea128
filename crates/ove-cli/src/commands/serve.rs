//! `ove serve`.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use ove::Model;

use crate::flags::ThreadFlags;
use crate::serve::{self, Hosts, Project, Served, ServedRecommender, ServedWords, Token};

/// Serve a model over HTTP, with a web page to explore it
///
/// Endpoints: POST /predict, POST /explain, GET /model, GET /classes, GET /health and GET /metrics, described by
/// /openapi.json; the page is at /. Word vectors, of `ove embed` or in a form of word2vec or GloVe, have GET /similar,
/// /analogy and /words instead of predictions, and a recommender has POST /recommend and GET /similar, /users and
/// /items. SIGHUP reloads the model without interrupting requests; SIGTERM and Ctrl-C stop the server after the current
/// requests.
#[derive(clap::Args)]
#[command(after_help = "Example: ove serve my.model\n\
    \n  curl localhost:8080/predict -H 'content-type: application/json' -d '{\"text\": \"Timber in the city\", \"top\": 3}'")]
pub struct Args {
    /// Model file, or word vectors in a form of word2vec or GloVe
    model: PathBuf,
    /// Address to listen on; an address that other machines can reach needs --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// File with a token; requests must have the header `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Host name that requests may be sent to, in addition to localhost and IP addresses; may be repeated. With a token
    /// any name is answered
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    allow_host: Vec<String>,
    /// File with names of the classes, or of the items of a recommender, as lines `class<TAB>name`, in place of those
    /// in the model
    #[arg(long, visible_alias = "label-names", value_name = "FILE")]
    names: Option<PathBuf>,
    /// Also answer POST /v1/projects/NAME/suggest and GET /v1/projects/NAME, as Annif's http backend asks; for a model of
    /// texts whose classes are the URIs of subjects
    #[arg(long, value_name = "NAME")]
    annif_project: Option<Project>,
    /// Do not read the whole model file to check its checksum before it is served
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    threads: ThreadFlags,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let address = serve::resolve("--listen", &args.listen)?;
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    if token.is_none() && !address.ip().is_loopback() {
        bail!("--listen {address} is reachable from other machines and needs --token-file");
    }
    let hosts = match token {
        Some(_) => Hosts::all(),
        None => Hosts::known(&args.listen, &args.allow_host, "allow it with --allow-host NAME")?,
    };
    let threads = args.threads.threads;
    if ServedWords::are_in(&args.model)? {
        for (name, is_given) in [("names", args.names.is_some()), ("annif-project", args.annif_project.is_some())] {
            ensure!(!is_given, "`{name}` must be left out for word vectors, which have no classes");
        }
        return serve::serve(address, hosts, token, threads, move || ServedWords::load(&args.model));
    }
    // A file that cannot be read is reported when it is loaded.
    if ServedRecommender::is_in(&args.model).unwrap_or(false) {
        ensure!(
            args.annif_project.is_none(),
            "`annif-project` must be left out for a recommender, which takes no texts"
        );
        let load = move || {
            verify(&args)?;
            ServedRecommender::load(&args.model, args.names.as_deref())
        };
        return serve::serve(address, hosts, token, threads, load);
    }
    let load = move || {
        verify(&args)?;
        Served::load(&args.model, args.names.as_deref(), args.annif_project.clone())
    };
    serve::serve(address, hosts, token, threads, load)
}

/// Checks the checksum of the model file, unless that is not wanted.
fn verify(args: &Args) -> Result<()> {
    if !args.no_verify {
        Model::verify(&args.model)?;
    }
    Ok(())
}
