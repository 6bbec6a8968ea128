//! The colours of pages and charts, once for light and once for dark screens.
//!
//! The series colours follow Okabe and Ito's colour-blind-safe set, darkened or lightened where the original would
//! be too faint on the background. The tests check every colour for the contrast that WCAG AA requires.

/// The colours of one scheme, as `#rrggbb`.
pub struct Scheme {
    /// The background.
    pub paper: &'static str,
    /// A slightly different background, behind table heads and settings.
    pub tint: &'static str,
    /// Text.
    pub ink: &'static str,
    /// Secondary text: tick labels, captions.
    pub muted: &'static str,
    /// Grid lines and rules; decoration only, so deliberately faint.
    pub rule: &'static str,
    /// Links.
    pub link: &'static str,
    /// What [`crate::Style::colour`] selects from.
    pub series: [&'static str; 6],
}

/// For light screens, and for print.
pub const LIGHT: Scheme = Scheme {
    paper: "#ffffff",
    tint: "#f5f6f8",
    ink: "#1d2128",
    muted: "#545b66",
    rule: "#dde1e6",
    link: "#00598c",
    series: ["#0072b2", "#c84f00", "#00805d", "#b04a8b", "#8f6a00", "#4a4f57"],
};

/// For dark screens.
pub const DARK: Scheme = Scheme {
    paper: "#14171c",
    tint: "#1c2027",
    ink: "#e7e9ed",
    muted: "#a8b0bc",
    rule: "#333a44",
    link: "#7cc4f2",
    series: ["#56b4e9", "#f58a45", "#2fc79b", "#e596c8", "#f0cb4e", "#c3c8d0"],
};

/// The rules that `rules` writes for a scheme: for light everywhere, then for dark on dark screens only.
pub fn for_both(rules: impl Fn(&Scheme) -> String) -> String {
    format!("{}@media screen and (prefers-color-scheme:dark){{{}}}", rules(&LIGHT), rules(&DARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of WCAG 2.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_series_have_the_contrast_of_wcag_aa() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        for scheme in [LIGHT, DARK] {
            for background in [scheme.paper, scheme.tint] {
                for text in [scheme.ink, scheme.muted, scheme.link] {
                    assert!(contrast(text, background) >= 4.5, "{text} on {background}");
                }
                for series in scheme.series {
                    assert!(contrast(series, background) >= 3.0, "{series} on {background}");
                }
            }
        }
    }

    #[test]
    fn dark_never_reaches_print() {
        let css = for_both(|scheme| scheme.paper.to_string());
        assert_eq!(css, "#ffffff@media screen and (prefers-color-scheme:dark){#14171c}");
    }
}
