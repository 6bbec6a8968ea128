//! `ove serve`.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::flags::ThreadFlags;
use crate::serve::{self, Served, Token};

/// Serve a model over HTTP, with a page to explore it
///
/// POST /predict, POST /explain, GET /model, GET /classes, GET /health and GET /metrics, described by /openapi.json;
/// the page is at /. SIGHUP loads the model again without losing a request; SIGTERM and Ctrl-C stop once every request
/// is answered.
#[derive(clap::Args)]
#[command(after_help = "Example: ove serve my.model\n\
    \n  curl localhost:8080/predict -H 'content-type: application/json' -d '{\"text\": \"Timber in the city\", \"top\": 3}'")]
pub struct Args {
    /// The model
    model: PathBuf,
    /// Where to listen; beyond this machine only with a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// A file with the token that requests have to carry: `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file of lines `class<TAB>name`, where classes have names for people
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadFlags,
}

/// Serves until stopped.
pub fn run(args: Args) -> Result<()> {
    let address = serve::resolve("--listen", &args.listen)?;
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    if token.is_none() && !address.ip().is_loopback() {
        bail!("--listen {address} is open to other machines, so it needs a --token-file");
    }
    let load = move || Served::load(&args.model, args.names.as_deref());
    serve::serve(address, token, args.threads.threads, load)
}
