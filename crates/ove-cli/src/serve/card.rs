//! The model card as an HTML fragment, with the charts of the reports.

use ove_report::{Section, model};

use super::served::Served;

/// The sections of the card.
pub fn html(served: &Served) -> String {
    let name = |label: &str| {
        let named = served.class(label).and_then(|class| served.name(class));
        named.unwrap_or(label).to_owned()
    };
    model::card(&served.model, &name).iter().map(Section::html).collect()
}
