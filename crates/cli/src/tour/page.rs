//! How the tour looks: 80 columns, with and without colour.

use super::doors::{Door, Outcome};
use super::server::Private;
use crate::attach::{top, wants_colour};
use crate::output;

/// Columns of the longest bar.
const BAR: usize = 26;
/// The shortest bar's time: bars grow with the logarithm, a column a step.
const BAR_FROM_NANOS: f64 = 10.0;
const BAR_TO_NANOS: f64 = 200_000.0;

/// Why a line could not be written.
type Said = Result<(), String>;

pub struct Page {
    has_colour: bool,
}

impl Page {
    pub fn new() -> Page {
        Page { has_colour: wants_colour() }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.has_colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn strong(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn faint(&self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A line at once, so that who watches sees the tour go on. If nobody listens any more, it goes on in
    /// silence, and ends soon; where it cannot be written to, that is its end.
    fn say(&self, text: &str) -> Said {
        output::write(format!("{text}\n").as_bytes()).map(drop)
    }

    pub fn title(&self) -> Said {
        self.say("")?;
        self.say(&format!("  {}", self.strong("Dolium: one memory, many doors")))?;
        self.say("")
    }

    pub fn started(&self, private: &Private) -> Said {
        let pid = private.store.server_pid().unwrap_or_default();
        self.say(&format!(
            "  A server of our own runs as process {pid}, and will be gone after this:"
        ))?;
        let ports = [private.redis, private.memcached, private.http].map(|a| a.port());
        self.say(&self.faint(&format!(
            "    Redis on port {}, Memcached on {}, HTTP on {}, two Unix sockets",
            ports[0], ports[1], ports[2]
        )))?;
        self.say("")
    }

    pub fn wrote(&self, key: &str, value: &str) -> Said {
        let command = self.strong(&format!("redis-cli set {key} {value}"));
        self.say(&format!("  One write, by a Redis client over TCP:  {command}"))?;
        self.say("  and read through every door:")?;
        self.say("")
    }

    pub fn read(&self, door: Door, value: &Result<Vec<u8>, String>) -> Said {
        let answer = match value {
            Ok(value) => self.paint("32", &String::from_utf8_lossy(value)),
            Err(text) => self.paint("31", text),
        };
        self.say(&format!("    {:<22}{}  {answer}", door.name(), self.pad_faint(door.words(), 40)))
    }

    /// Faint text filled up to a width that does not count the colour's own letters.
    fn pad_faint(&self, text: &str, width: usize) -> String {
        self.faint(&format!("{text:<width$}"))
    }

    pub fn loading(&self, keys: usize, bytes: usize) -> Said {
        self.say("")?;
        self.say(&format!(
            "  What a read takes: {} keys of {bytes} bytes, in random order, one client",
            grouped(keys as u64)
        ))?;
        self.say("")
    }

    pub fn table_head(&self) -> Said {
        let head = format!("    {:<22}{:>10}{:>14}   {:<BAR$}", "door", "one read", "reads/s", "");
        self.say(&self.faint(head.trim_end()))
    }

    pub fn row(&self, door: Door, outcome: &Outcome) -> Said {
        let line = match outcome {
            Outcome::Took(nanos) => {
                let bar = self.paint("36", &"#".repeat(bar(*nanos)));
                let rate = grouped((1e9 / nanos) as u64);
                format!("    {:<22}{:>10}{rate:>14}   {bar}", door.name(), top::time(*nanos as u64))
            }
            Outcome::Failed(text) => {
                format!("    {:<22}{}", door.name(), self.paint("31", text))
            }
        };
        self.say(&line)
    }

    pub fn summary(&self, attached: Option<f64>, tcp: Option<f64>) -> Said {
        self.say(&self.faint(
            "    (bars: the time of one read; each step of the same width is the same factor)",
        ))?;
        self.say("")?;
        if let (Some(attached), Some(tcp)) = (attached, tcp) {
            let factor = self.strong(&format!("{:.0} times", tcp / attached));
            self.say(&format!(
                "  Attached, this program read {factor} faster than over TCP: it makes"
            ))?;
            self.say("  no system call and asks nobody. The server did not notice.")?;
            self.say("")?;
        }
        Ok(())
    }

    pub fn next_steps(&self) -> Said {
        self.say(&format!("  {}", self.strong("Try next")))?;
        for (command, what) in [
            ("dolium", "serve: Redis 6379, Memcached 11211, HTTP 8379"),
            ("dolium get NAME", "read a key from the server's memory"),
            ("dolium exec COMMAND ...", "any Redis command, without a port"),
            ("dolium top", "what the server does, without asking it"),
            ("dolium lab --help", "experiments that measure all of this here"),
        ] {
            self.say(&format!("    {command:<26}{}", self.faint(what)))?;
        }
        self.say("")
    }
}

fn bar(nanos: f64) -> usize {
    let share = (nanos / BAR_FROM_NANOS).ln() / (BAR_TO_NANOS / BAR_FROM_NANOS).ln();
    ((share * BAR as f64).round() as isize).clamp(1, BAR as isize) as usize
}

/// 1234567 as 1,234,567.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_eighty_columns() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!((bar(1.0), bar(1e9)), (1, BAR));
        assert!(bar(100.0) < bar(10_000.0));
        const { assert!(4 + 22 + 10 + 14 + 3 + BAR <= 80) };
        for door in super::super::doors::ALL {
            assert!(door.name().len() < 22, "{}", door.name());
            assert!(door.words().len() <= 40, "{}", door.words());
        }
    }
}
