#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Chart::svg`] and [`Chart::standalone_svg`] draw a chart; [`Page::html`] writes a page with charts, [`Table`]s and
//! settings. [`model::card`] and [`comparison::plane`] build such parts from what `ove` computes.

mod chart;
pub mod comparison;
mod markup;
pub mod model;
mod page;
mod table;
mod theme;

pub use chart::style::{Dash, Hatch, Marker, Style};
pub use chart::{Axis, Chart, Layer};
pub use page::{Block, Page, Section, css};
pub use table::Table;
