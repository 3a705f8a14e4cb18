//! Colours, marks and sizes that all plots share.

/// A colour for each store that has one of its own, so that a reader need not look twice.
const STORES: [(&str, &str); 10] = [
    ("dolium", "#0072b2"),
    ("redis", "#d55e00"),
    ("memcached", "#009e73"),
    ("valkey", "#cc79a7"),
    ("dolium-memcached", "#56b4e9"),
    ("dolium-attached", "#003f66"),
    ("ems", "#e69f00"),
    ("null", "#777777"),
    ("null-uring", "#bbbbbb"),
    ("spark", "#9a8700"),
];

/// For everything else, in turn.
const OTHERS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777"];

/// For what belongs to no store.
pub const NEUTRAL: &str = "#52606d";
pub const INK: &str = "#1f2933";
pub const FAINT: &str = "#7b8794";
pub const GRID: &str = "#e4e7eb";
pub const SHADE: &str = "#f0f2f5";
pub const ALARM: &str = "#b00020";
pub const FONT: &str = "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\"";

/// The colour of number `place` among those that are drawn together.
pub fn colour(label: &str, place: usize) -> &'static str {
    let known = STORES.iter().find(|(name, _)| *name == label);
    known.map_or(OTHERS[place % OTHERS.len()], |(_, colour)| colour)
}

/// A mark at a place: circle, square, diamond, triangle, in turn.
pub fn mark(shape: usize, x: f64, y: f64, colour: &str) -> String {
    const R: f64 = 3.6;
    match shape % 4 {
        0 => format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{R}" fill="{colour}"/>"#),
        1 => {
            let (left, top, side) = (x - R, y - R, 2.0 * R);
            format!(
                r#"<rect x="{left:.1}" y="{top:.1}" width="{side}" height="{side}" fill="{colour}"/>"#
            )
        }
        2 => {
            let r = R * 1.3;
            format!(
                r#"<path d="M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z" fill="{colour}"/>"#,
                y - r
            )
        }
        _ => {
            let r = R * 1.25;
            format!(
                r#"<path d="M{x:.1} {:.1}l{r} {:.1}h-{:.1}z" fill="{colour}"/>"#,
                y - r,
                r * 1.9,
                2.0 * r
            )
        }
    }
}
