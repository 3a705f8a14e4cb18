//! Small pieces of SVG: text, paths, boxes.

use std::fmt::Write as _;

/// Text that may hold anything.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Words at a place.
pub fn text(x: f64, y: f64, anchor: &str, size: f64, colour: &str, words: &str) -> String {
    format!(
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{}</text>"#,
        escape(words)
    )
}

/// Words on a white ground, so that lines behind them do not cross them out.
pub fn note(x: f64, y: f64, anchor: &str, colour: &str, words: &str) -> String {
    format!(
        r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="10.5" fill="{colour}" stroke="#ffffff" stroke-width="3" paint-order="stroke">{}</text>"##,
        escape(words)
    )
}

/// A line through places; gaps where there is none.
pub fn path(places: &[Option<(f64, f64)>], colour: &str, width: f64, more: &str) -> String {
    let mut d = String::new();
    let mut pen_down = false;
    for place in places {
        match place {
            Some((x, y)) => {
                let _ = write!(d, "{}{x:.1} {y:.1}", if pen_down { "L" } else { "M" });
                pen_down = true;
            }
            None => pen_down = false,
        }
    }
    format!(
        r#"<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round" {more}/>"#
    )
}

/// The field between two lines over the same places.
pub fn band(upper: &[(f64, f64)], lower: &[(f64, f64)], colour: &str) -> String {
    let mut d = String::new();
    for (number, (x, y)) in upper.iter().chain(lower.iter().rev()).enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
    }
    format!(r#"<path d="{d}z" fill="{colour}" fill-opacity="0.15"/>"#)
}

/// A filled box, whatever the order of its corners.
pub fn area(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str, more: &str) -> String {
    let (left, top) = (x1.min(x2), y1.min(y2));
    let (width, height) = ((x1 - x2).abs(), (y1 - y2).abs());
    format!(
        r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}" {more}/>"#
    )
}
