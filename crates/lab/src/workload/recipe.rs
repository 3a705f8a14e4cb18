//! What a workload is made of: operations by weight, and commands as templates.
//!
//! ```text
//! get=95 set=5                                       YCSB B
//! command = ["HSET", "{key}", "{field}", "{value}"]  any Redis command
//! ```
//!
//! A word of a template may hold `{key}`, `{value}`, `{element}` (one of the numbers of the
//! record's elements, as the element is stored), `{field}` (its name), `{score}` (its number) and
//! `{elements}`, `{pairs}`, `{scored}`: all elements, all fields with values, all scores with
//! elements, each as words of their own, which load a whole record with one command.

use serde::{Deserialize, Serialize};

use super::value;
use crate::LabError;

/// What one request of a recipe does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Get,
    Set,
    /// Stores a key that does not exist yet.
    Insert,
    /// Reads a key, then writes it.
    ReadModifyWrite,
    /// Reads up to this many keys with following numbers in one request.
    Scan(u16),
    /// Reads exactly this many keys, each drawn by itself, in one request.
    Gets(u16),
    /// Any Redis command.
    Command(Template),
    /// A command and the one that undoes it, on the same key and element.
    Pair(Template, Template),
}

/// One action and how often it comes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    pub weight: f64,
    pub action: Action,
}

/// Actions by weight.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Recipe {
    /// What tables call it.
    pub name: String,
    pub parts: Vec<Part>,
}

impl Recipe {
    /// Refuses what cannot be asked.
    pub fn check(&self) -> Result<(), LabError> {
        let good = |part: &Part| part.weight.is_finite() && part.weight >= 0.0;
        let sum: f64 = self.parts.iter().map(|part| part.weight).sum();
        if !self.parts.iter().all(good) || sum <= 0.0 {
            return Err(LabError::Options(format!("{}: weights are above zero", self.name)));
        }
        if self.parts.len() > usize::from(u8::MAX) {
            return Err(LabError::Options(format!("{}: too many operations", self.name)));
        }
        for part in &self.parts {
            match &part.action {
                Action::Command(template) => template.check()?,
                Action::Pair(one, other) => {
                    one.check()?;
                    other.check()?;
                }
                Action::Scan(0) | Action::Gets(0) => {
                    return Err(LabError::Options(format!("{}: a scan reads a key", self.name)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether it stores keys that did not exist.
    pub fn inserts(&self) -> bool {
        self.parts.iter().any(|part| part.action == Action::Insert && part.weight > 0.0)
    }

    /// Whether one request must follow another on its connection.
    pub fn pairs(&self) -> bool {
        let pair = |part: &Part| matches!(part.action, Action::ReadModifyWrite | Action::Pair(..));
        self.parts.iter().any(pair)
    }

    /// Keys that the longest request of it names.
    pub fn keys_at_once(&self) -> usize {
        let keys = |part: &Part| match part.action {
            Action::Gets(count) => usize::from(count),
            _ => 1,
        };
        self.parts.iter().map(keys).max().unwrap_or(1)
    }

    /// Number of the part that `draw`, from 0 to 1, stands for.
    pub fn choose(&self, draw: f64) -> usize {
        let sum: f64 = self.parts.iter().map(|part| part.weight).sum();
        let mut left = draw * sum;
        for (number, part) in self.parts.iter().enumerate() {
            left -= part.weight;
            if left < 0.0 {
                return number;
            }
        }
        self.parts.len() - 1
    }
}

/// A command with places for what the workload draws.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Template {
    pub words: Vec<String>,
    /// Elements of a record.
    #[serde(default)]
    pub elements: u32,
    /// Bytes of an element.
    #[serde(default)]
    pub element_bytes: usize,
    /// Elements are numbers in place of letters, as an intset needs them.
    #[serde(default)]
    pub integers: bool,
}

const PLACES: [&str; 8] =
    ["{key}", "{value}", "{element}", "{field}", "{score}", "{elements}", "{pairs}", "{scored}"];

impl Template {
    fn check(&self) -> Result<(), LabError> {
        if self.words.is_empty() {
            return Err(LabError::Options("a command has at least a name".into()));
        }
        for word in &self.words {
            if word.starts_with('{') && !PLACES.contains(&word.as_str()) {
                return Err(LabError::Options(format!(
                    "{word} is no place of a command: use {}",
                    PLACES.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Appends the command as a RESP array. `number` draws the element.
    pub fn push(&self, out: &mut Vec<u8>, key: &[u8], value: &[u8], number: u32) {
        let element_number = if self.elements == 0 { number } else { number % self.elements };
        let mut words: Vec<Vec<u8>> = Vec::with_capacity(self.words.len());
        for word in &self.words {
            match word.as_str() {
                "{key}" => words.push(key.to_vec()),
                "{value}" => words.push(value.to_vec()),
                "{element}" => words.push(self.element(element_number)),
                "{field}" => words.push(field(element_number)),
                "{score}" => words.push(element_number.to_string().into_bytes()),
                "{elements}" => words.extend((0..self.elements).map(|n| self.element(n))),
                "{pairs}" => {
                    words.extend((0..self.elements).flat_map(|n| [field(n), self.element(n)]));
                }
                "{scored}" => words.extend(
                    (0..self.elements).flat_map(|n| [n.to_string().into_bytes(), self.element(n)]),
                ),
                plain => words.push(plain.as_bytes().to_vec()),
            }
        }
        out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            out.extend_from_slice(&word);
            out.extend_from_slice(b"\r\n");
        }
    }

    fn element(&self, number: u32) -> Vec<u8> {
        if self.integers {
            return number.to_string().into_bytes();
        }
        let mut out = Vec::new();
        value::push(&mut out, number, self.element_bytes.max(1));
        out
    }
}

fn field(number: u32) -> Vec<u8> {
    format!("field{number:05}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_becomes_the_command_that_it_says() {
        let template = Template {
            words: ["ZADD", "{key}", "{scored}"].map(String::from).to_vec(),
            elements: 2,
            element_bytes: 3,
            integers: true,
        };
        let mut out = Vec::new();
        template.push(&mut out, b"k", b"", 0);
        let text = "*6\r\n$4\r\nZADD\r\n$1\r\nk\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n1\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn weights_are_kept() {
        let part = |weight, action| Part { weight, action };
        let recipe = Recipe {
            name: "b".into(),
            parts: vec![part(95.0, Action::Get), part(5.0, Action::Set)],
        };
        let gets = (0..1000).filter(|n| recipe.choose(f64::from(*n) / 1000.0) == 0).count();
        assert_eq!(gets, 950);
        assert_eq!(recipe.choose(0.999_999), 1);
    }

    #[test]
    fn a_place_that_nobody_knows_is_refused() {
        let template = Template {
            words: vec!["GET".into(), "{name}".into()],
            elements: 0,
            element_bytes: 0,
            integers: false,
        };
        let recipe = Recipe {
            name: "x".into(),
            parts: vec![Part { weight: 1.0, action: Action::Command(template) }],
        };
        assert!(recipe.check().unwrap_err().to_string().contains("{name}"));
    }
}
