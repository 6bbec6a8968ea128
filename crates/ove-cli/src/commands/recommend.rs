//! `ove recommend`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ove::Model;
use ove::data::Interactions;
use ove::io::read::{OnError, read_interactions};
use ove::model::{Recommendation, Recommending, User};
use serde_json::json;

use crate::flags::{self, ThreadFlags};
use crate::terminal::{note, printable};

/// Users whose recommendations are computed before their lines are written.
const CHUNK: usize = 4096;

/// Recommend items to users
///
/// Prints one line per user: the user, item, score, item, score, …, separated by tabs, best first. Items that a user
/// had in training are left out.
#[derive(clap::Args)]
#[command(
    after_help = "Example: ove recommend my.model ann --top 20\n         ove recommend my.model --items tea,milk --explain"
)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Users; all of them if none is given
    users: Vec<String>,
    /// Items of a user that the model does not know, separated by commas
    #[arg(long, value_name = "ITEM,…", value_delimiter = ',', conflicts_with = "users")]
    items: Vec<String>,
    /// Number of items per user
    #[arg(long, value_name = "K", value_parser = flags::top, default_value_t = 10)]
    top: usize,
    /// Interactions whose items are left out, instead of those of training; `none` to leave out no items
    #[arg(long, value_name = "FILE|none")]
    exclude_seen: Option<PathBuf>,
    /// Also print, for each recommendation, the items of the user that speak for it most
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Print one JSON object per user
    #[arg(long)]
    json: bool,
}

/// Number of reasons per recommendation.
const REASONS: usize = 3;

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let model = Model::load(&args.model)?;
    let recommender = model.recommender()?;
    let mut out = Out { args: &args, recommender: &recommender, out: BufWriter::new(std::io::stdout().lock()) };
    if !args.items.is_empty() {
        out.of_items()?;
    } else {
        out.of_users()?;
    }
    out.out.flush()?;
    Ok(())
}

struct Out<'a, W: Write> {
    args: &'a Args,
    recommender: &'a Recommending<'a>,
    out: W,
}

impl<W: Write> Out<'_, W> {
    /// Recommends to somebody with the items of `--items`.
    fn of_items(&mut self) -> Result<()> {
        let numbers = self.recommender.item_numbers();
        let mut items = Vec::new();
        for name in &self.args.items {
            match numbers.get(name.as_str()) {
                Some(&item) => items.push((item, 1.0)),
                None => note!("the item `{name}` is not one of the model's {}; it is ignored", numbers.len()),
            }
        }
        if items.is_empty() {
            bail!("`items` must name at least one of the model's {} items", numbers.len());
        }
        items.sort_unstable_by_key(|&(item, _)| item);
        items.dedup_by_key(|&mut (item, _)| item);
        let excludes = self.args.exclude_seen.as_deref() != Some(Path::new("none"));
        let own: Vec<u32> = items.iter().map(|&(item, _)| item).filter(|_| excludes).collect();
        let user = self.recommender.new_user(&items);
        let top = self.recommender.top(&[user], &[&own], self.args.top).remove(0);
        self.write(None, &top, &items)
    }

    /// Recommends to users of the training data.
    fn of_users(&mut self) -> Result<()> {
        let names = &self.recommender.model().card.feature_names;
        let mut users = Vec::new();
        for name in &self.args.users {
            match self.recommender.user_number(name) {
                Some(user) => users.push(user),
                None => bail!(
                    "the user `{name}` is not one of the model's {}; give the items of an unknown user with --items",
                    names.len()
                ),
            }
        }
        if self.args.users.is_empty() {
            users = (0..names.len() as u32).collect();
        }
        let given = match self.args.exclude_seen.as_deref() {
            Some(path) if path != Path::new("none") => {
                let data = read_interactions(path, OnError::Stop)?;
                Some(data.numbered_as(names, &self.recommender.model().card.classes))
            }
            _ => None,
        };
        let excludes = self.args.exclude_seen.as_deref() != Some(Path::new("none"));
        let seen: &Interactions = given.as_ref().unwrap_or(self.recommender.seen());
        for users in users.chunks(CHUNK) {
            let known: Vec<User<'_>> = users.iter().map(|&user| self.recommender.user(user)).collect();
            let own = |user: &u32| if excludes { seen.items_of(*user as usize) } else { &[] };
            let excluded: Vec<&[u32]> = users.iter().map(own).collect();
            let tops = self.recommender.top(&known, &excluded, self.args.top);
            for ((&user, known), top) in users.iter().zip(&known).zip(&tops) {
                self.write(Some(&names[user as usize]), top, &known.items)?;
            }
        }
        Ok(())
    }

    /// Writes the line of a user, who has the given items.
    fn write(&mut self, user: Option<&str>, top: &[Recommendation], items: &[(u32, f32)]) -> Result<()> {
        let name = |item: u32| self.recommender.model().card.classes[item as usize].as_str();
        let reasons: Vec<Vec<&str>> = match self.args.explain {
            true => top
                .iter()
                .map(|one| {
                    let reasons = self.recommender.explain(items, one.item);
                    reasons.iter().filter(|reason| reason.score > 0.0).take(REASONS).map(|r| name(r.item)).collect()
                })
                .collect(),
            false => Vec::new(),
        };
        if self.args.json {
            let mut object = json!({
                "user": user,
                "items": top.iter().map(|one| name(one.item)).collect::<Vec<_>>(),
                "scores": top.iter().map(|one| one.score).collect::<Vec<_>>(),
            });
            if self.args.explain {
                object["because"] = json!(reasons);
            }
            writeln!(self.out, "{object}")?;
            return Ok(());
        }
        let mut fields: Vec<String> = user.iter().map(|user| printable(user).into_owned()).collect();
        for (n, one) in top.iter().enumerate() {
            let because = reasons
                .get(n)
                .filter(|reasons| !reasons.is_empty())
                .map_or(String::new(), |reasons| format!(" (because of {})", printable(&reasons.join(", "))));
            fields.push(format!("{}\t{:.4}{because}", printable(name(one.item)), one.score));
        }
        writeln!(self.out, "{}", fields.join("\t"))?;
        Ok(())
    }
}
