//! The frame of a plot: title, axes, grid, legend; and the text that makes it a file.

use std::fmt::Write as _;

use super::draw::{escape, text};
use super::scale::{Scale, Unit};
use super::style::{FAINT, FONT, GRID, INK, mark};

pub const WIDTH: f64 = 560.0;
pub const HEIGHT: f64 = 340.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
const BOTTOM: f64 = 50.0;
const TITLE: f64 = 26.0;
const LEGEND_LINE: f64 = 18.0;
/// Mean width of a letter at the legend's size, on the wide side.
const LETTER: f64 = 6.6;

/// One entry of a legend.
pub struct Key {
    pub label: String,
    pub colour: String,
    pub shape: usize,
}

/// What a frame is made from.
pub struct Ask<'a> {
    pub title: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    pub x_unit: Unit,
    pub y_unit: Unit,
    pub keys: Vec<Key>,
    pub width: f64,
}

/// A plot that is being drawn.
pub struct Frame {
    pub out: String,
    pub x: Scale,
    pub y: Scale,
    width: f64,
    top: f64,
}

impl Frame {
    /// A frame with numbers on both axes.
    pub fn new(ask: &Ask<'_>, x: Scale, y: Scale) -> Self {
        let mut frame = Self::empty(ask, y);
        frame.x = x.between(LEFT + 6.0, ask.width - RIGHT - 6.0);
        let bottom = HEIGHT - BOTTOM;
        let mut last = f64::NEG_INFINITY;
        for tick in frame.x.ticks() {
            let at = frame.x.place(tick);
            let name = ask.x_unit.text(tick);
            frame.rule(at, frame.top, at, bottom, GRID);
            // Names that would run into each other are left out; their lines stay.
            let half = name.chars().count() as f64 * LETTER / 2.0;
            if at - half > last + 6.0 {
                frame.out.push_str(&text(at, bottom + 16.0, "middle", 11.0, FAINT, &name));
                last = at + half;
            }
        }
        frame
    }

    /// A frame with named places along the bottom. Returns the middle of each and its width.
    pub fn with_names(ask: &Ask<'_>, names: &[String], y: Scale) -> (Self, Vec<f64>, f64) {
        let mut frame = Self::empty(ask, y);
        let band = (ask.width - LEFT - RIGHT) / names.len().max(1) as f64;
        frame.x =
            Scale::exactly(0.0, names.len().max(1) as f64, false).between(LEFT, ask.width - RIGHT);
        let mut middles = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let middle = LEFT + band * (place as f64 + 0.5);
            middles.push(middle);
            let letters = (band / LETTER).max(4.0) as usize;
            for (line, words) in wrapped(name, letters).into_iter().take(2).enumerate() {
                let y = HEIGHT - BOTTOM + 15.0 + 13.0 * line as f64;
                frame.out.push_str(&text(middle, y, "middle", 11.0, INK, &words));
            }
        }
        (frame, middles, band)
    }

    fn empty(ask: &Ask<'_>, y: Scale) -> Self {
        let (lines, legend) = legend(&ask.keys, ask.width);
        let top = TITLE + 8.0 + LEGEND_LINE * lines as f64;
        let mut frame = Self {
            out: String::new(),
            x: Scale::exactly(0.0, 1.0, false),
            y: y.between(HEIGHT - BOTTOM, top),
            width: ask.width,
            top,
        };
        let (title, subtitle) = ask.title.split_once(": ").unwrap_or((ask.title, ""));
        let _ = write!(
            frame.out,
            r#"<text x="12" y="18" font-size="13.5" fill="{INK}"><tspan font-weight="600">{}</tspan>"#,
            escape(title)
        );
        if !subtitle.is_empty() {
            let _ =
                write!(frame.out, r#"<tspan fill="{FAINT}" dx="7">{}</tspan>"#, escape(subtitle));
        }
        frame.out.push_str("</text>");
        frame.out.push_str(&legend);
        for tick in frame.y.ticks() {
            let at = frame.y.place(tick);
            frame.rule(LEFT, at, ask.width - RIGHT, at, GRID);
            let name = ask.y_unit.text(tick);
            frame.out.push_str(&text(LEFT - 7.0, at + 4.0, "end", 11.0, FAINT, &name));
        }
        let bottom = HEIGHT - BOTTOM;
        frame.rule(LEFT, bottom, ask.width - RIGHT, bottom, FAINT);
        let x_label = ask.x_unit.axis_label(ask.x_label);
        let middle = f64::midpoint(LEFT, ask.width - RIGHT);
        frame.out.push_str(&text(middle, HEIGHT - 8.0, "middle", 11.5, INK, &x_label));
        let y_label = ask.y_unit.axis_label(ask.y_label);
        let centre = f64::midpoint(frame.top, bottom);
        let _ = write!(
            frame.out,
            r#"<text transform="translate(15 {centre:.1}) rotate(-90)" text-anchor="middle" font-size="11.5" fill="{INK}">{}</text>"#,
            escape(&y_label)
        );
        frame
    }

    /// Top and bottom of the field.
    pub fn field(&self) -> (f64, f64) {
        (self.top, HEIGHT - BOTTOM)
    }

    /// Left and right of the field.
    pub fn sides(&self) -> (f64, f64) {
        (LEFT, self.width - RIGHT)
    }

    /// A thin line.
    pub fn rule(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) {
        let _ = write!(
            self.out,
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}"/>"#
        );
    }

    /// The file.
    pub fn finish(self) -> String {
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {HEIGHT}" width="{w}" height="{HEIGHT}" {FONT} role="img"><rect width="100%" height="100%" fill="#ffffff"/>{}</svg>"##,
            self.out,
            w = self.width,
        )
    }
}

/// The legend below the title: how many lines it takes, and its text.
fn legend(keys: &[Key], width: f64) -> (usize, String) {
    let mut out = String::new();
    let (mut x, mut line) = (14.0, 0);
    for key in keys {
        let room = 20.0 + key.label.chars().count() as f64 * LETTER + 10.0;
        if x + room > width && x > 14.0 {
            x = 14.0;
            line += 1;
        }
        let y = TITLE + 10.0 + LEGEND_LINE * f64::from(line);
        out.push_str(&mark(key.shape, x + 5.0, y - 4.0, &key.colour));
        out.push_str(&text(x + 14.0, y, "start", 11.5, INK, &key.label));
        x += room;
    }
    (if keys.is_empty() { 0 } else { line as usize + 1 }, out)
}

/// Words in lines of at most so many letters, where words allow it.
fn wrapped(words: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let last = lines.last_mut().expect("there is a line from the start");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= letters {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    if lines.len() > 2 {
        let rest = lines.split_off(1).join(" ");
        lines.push(rest);
    }
    for line in &mut lines {
        if line.chars().count() > letters {
            *line = line.chars().take(letters.saturating_sub(1)).collect::<String>() + "…";
        }
    }
    lines
}
