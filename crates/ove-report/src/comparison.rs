//! The comparison of the one-vs-each paper: several methods trained on one data set, and figures of the results.

mod boundaries;
mod pictures;

use ove::scores::Linear;
use ove::{Evaluation, Model, Scores};

use crate::chart::style::Style;
pub use pictures::{bounds, plane};

/// The methods that the paper compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// SOFT: the exact likelihood, over all rows and classes.
    Softmax,
    /// BOUCHARD: Bouchard's bound, over all rows and classes.
    Bouchard,
    /// OVE: the one-vs-each bound, over all rows and classes.
    OneVsEach,
    /// OVE-SGD: the one-vs-each bound, with sampled rows and classes.
    OneVsEachStochastic,
}

impl Method {
    /// Every method, in the order of the paper's table.
    pub const ALL: [Method; 4] = [Method::Softmax, Method::Bouchard, Method::OneVsEach, Method::OneVsEachStochastic];

    /// Name in tables, legends and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::Softmax => "softmax",
            Method::Bouchard => "bouchard",
            Method::OneVsEach => "one-vs-each",
            Method::OneVsEachStochastic => "one-vs-each-stochastic",
        }
    }

    /// Its style in every chart.
    pub fn style(self) -> Style {
        Style::nth(self as usize)
    }
}

/// The result of one method.
#[derive(Debug)]
pub struct Outcome {
    /// The method.
    pub method: Method,
    /// The trained model, which is linear.
    pub model: Model,
    /// Evaluation on the test rows.
    pub evaluation: Evaluation,
    /// The objective over all training rows, minus the penalty.
    pub maximum: f64,
    /// Training time.
    pub train_seconds: f64,
    /// The bound along the run: one point per evaluation of the batch solver, or per batch.
    pub curve: Vec<CurvePoint>,
}

impl Outcome {
    /// The weights.
    ///
    /// # Panics
    ///
    /// If the model is not linear.
    pub fn linear(&self) -> &Linear {
        match &self.model.scores {
            Scores::Linear(linear) => linear,
            _ => panic!("every method trains linear scores"),
        }
    }
}

/// The bound at one point of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Seconds since the start.
    pub seconds: f64,
    /// Number of epochs so far.
    pub epochs: f64,
    /// The objective summed over all rows, minus the penalty: exact, or an unbiased estimate.
    pub bound: f64,
}

/// Mean bound over the last `window` points at each point, as the paper smooths its stochastic bounds.
pub fn smooth(curve: &[CurvePoint], window: usize) -> Vec<CurvePoint> {
    let mut sum = 0.0;
    let mean = |(i, &point): (usize, &CurvePoint)| {
        sum += point.bound;
        if i >= window {
            sum -= curve[i - window].bound;
        }
        CurvePoint { bound: sum / (i + 1).min(window) as f64, ..point }
    };
    curve.iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_averages_the_last_values() {
        let curve = [4.0, 2.0, 0.0, 10.0].map(|bound| CurvePoint { seconds: 0.0, epochs: 0.0, bound });
        let bounds: Vec<f64> = smooth(&curve, 2).iter().map(|point| point.bound).collect();
        assert_eq!(bounds, [4.0, 3.0, 1.0, 5.0]);
    }
}
