//! The configuration: a table of directives, their values now, and the few that the server's
//! loop reads at every turn, kept as atomics.

mod absent;
pub mod caveats;
pub mod directive;
mod directory;
mod failure;
pub mod file;
mod included;
pub mod live;
mod misplaced;
mod names;
mod nearest;
pub mod output_limits;
pub mod page;
mod promises;
pub mod rewrite;
mod secured;
pub mod table;
pub mod value;

use crate::heap::{Heap, Untold};
use directive::Kind;
pub use directory::Entered;
pub use failure::{ConfigFailure, SetFailure};
pub use live::Live;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use table::DIRECTIVES;

#[derive(Debug)]
pub struct Config {
    values: Mutex<Vec<String>>,
    pub live: Live,
    /// The file that was read at the start, which CONFIG REWRITE writes.
    pub file: Option<PathBuf>,
    /// Port 0 means a free port rather than none: for a server within a test or the tour.
    pub takes_free_ports: bool,
    /// Set when the server was started as a Memcached: its doors and settings.
    pub memcached: Option<crate::memcached::Setup>,
    /// The allocator of the program that runs the server.
    pub heap: &'static dyn Heap,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    pub fn new() -> Self {
        let values: Vec<String> = DIRECTIVES
            .iter()
            .map(|d| value::normalise(d.kind, d.default).unwrap_or_else(|_| d.default.into()))
            .collect();
        let live = Live::new(&values);
        let config = Config {
            values: Mutex::new(values),
            live,
            file: None,
            takes_free_ports: false,
            memcached: None,
            heap: &Untold,
        };
        if let Ok(dir) = std::env::current_dir() {
            config.store("dir", dir.display().to_string());
        }
        config
    }

    /// Says which allocator the program has.
    pub fn on_heap(mut self, heap: &'static dyn Heap) -> Self {
        self.heap = heap;
        self
    }

    /// Applies directives of a file or the command line, in order: the last one wins.
    pub fn load(&self, lines: &[file::Line]) -> Result<(), ConfigFailure> {
        let mut values = self.values();
        let mut seen = vec![""; DIRECTIVES.len()];
        let mut places: Vec<Option<&String>> = vec![None; DIRECTIVES.len()];
        for line in lines {
            let fail = |reason| ConfigFailure::new(&line.place, reason);
            let Some(at) = table::position(&line.name) else {
                if absent::says_nothing(&line.name, &line.words) {
                    continue;
                }
                return Err(fail(match line.name.as_str() {
                    "include" => "'include' stands in files only: dolium serve FILE".into(),
                    name => nearest::unknown(name),
                }));
            };
            let directive = &DIRECTIVES[at];
            let text = line.words.join(" ");
            let several = matches!(directive.kind, Kind::Save | Kind::OutputLimits);
            if line.words.len() != 1 && !directive.kind.takes_words() {
                let (count, meant) = (line.words.len(), misplaced::hint(line));
                let name = directive.name;
                return Err(fail(format!("'{name}' takes one value, not {count}{meant}")));
            }
            let new = value::normalise(directive.kind, &text).map_err(|reason| {
                let example = value::example(directive.kind);
                fail(format!("'{}': {reason}{example}", directive.name))
            })?;
            values[at] = match directive.kind {
                // Lines of `save` from one place add up.
                Kind::Save if !new.is_empty() && seen[at] == "save" && !values[at].is_empty() => {
                    format!("{} {new}", values[at])
                }
                Kind::OutputLimits => output_limits::merge(&values[at], &new),
                _ => new,
            };
            seen[at] = if several { "save" } else { "" };
            places[at] = Some(&line.place);
        }
        // Not line by line: the command line may take back what somebody else's file says.
        for ((directive, value), place) in DIRECTIVES.iter().zip(&values).zip(places) {
            if let Some(place) = place
                && let Err(reason) = promises::refuse(directive.name, value)
            {
                let instead = promises::instead(directive);
                let sentence = format!("'{}': {reason}. {instead}", directive.name);
                return Err(ConfigFailure::new(place, sentence));
            }
        }
        self.put(values);
        Ok(())
    }

    /// CONFIG SET: all of it or nothing. Returns the names that changed.
    pub fn set(&self, pairs: &[(&str, &str)]) -> Result<Vec<&'static str>, SetFailure> {
        self.set_with(pairs, true, |_| Ok(()))
    }

    /// As `set`; `apply` sees the new values before they count and may still refuse them. Whether who
    /// asks is on this machine decides about what is protected.
    pub fn set_with(
        &self,
        pairs: &[(&str, &str)],
        is_local: bool,
        apply: impl FnOnce(&[String]) -> Result<(), SetFailure>,
    ) -> Result<Vec<&'static str>, SetFailure> {
        let mut values = self.values();
        let mut changed = Vec::new();
        for (name, text) in pairs {
            let Some(at) = table::position(name) else {
                return Err(SetFailure::Unknown((*name).into()));
            };
            let directive = &DIRECTIVES[at];
            let refuse = |reason| SetFailure::Refused { name: (*name).into(), reason };
            if !directive.mutable {
                // Tools that write back all that they have read must not stumble over ours.
                if table::HERE_ONLY.contains(&directive.name) && values[at] == *text {
                    continue;
                }
                return Err(refuse("can't set immutable config".into()));
            }
            if table::PROTECTED.contains(&directive.name) && !self.may_set_protected(is_local) {
                return Err(refuse("can't set protected config".into()));
            }
            if changed.contains(&directive.name) {
                return Err(refuse("duplicate parameter".into()));
            }
            let new = value::normalise(directive.kind, text).map_err(refuse)?;
            promises::refuse(directive.name, &new).map_err(refuse)?;
            values[at] = match directive.kind {
                Kind::OutputLimits => output_limits::merge(&values[at], &new),
                _ => new,
            };
            changed.push(directive.name);
        }
        apply(&values)?;
        self.put(values);
        Ok(changed)
    }

    fn may_set_protected(&self, is_local: bool) -> bool {
        match self.get("enable-protected-configs").as_str() {
            "yes" => true,
            "local" => is_local,
            _ => false,
        }
    }

    /// The value of a directive; its name must be in the table.
    pub fn get(&self, name: &str) -> String {
        let at = table::position(name).expect("the name of a directive");
        self.lock()[at].clone()
    }

    pub fn number(&self, name: &str) -> i64 {
        self.get(name).parse().unwrap_or(0)
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == "yes"
    }

    /// Puts a value without checks: what the server found out itself (a port, a limit).
    pub fn store(&self, name: &str, value: String) {
        let mut values = self.values();
        let at = table::position(name).expect("the name of a directive");
        values[at] = value;
        self.put(values);
    }

    pub fn values(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn put(&self, values: Vec<String>) {
        let mut held = self.lock();
        *held = values;
        self.live.refresh(&held);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, words: &[&str]) -> file::Line {
        let words = words.iter().map(|w| w.to_string()).collect();
        file::Line { name: name.into(), words, place: "here:1".into() }
    }

    #[test]
    fn every_default_is_a_value_of_its_kind() {
        for d in DIRECTIVES {
            assert!(value::normalise(d.kind, d.default).is_ok(), "{}", d.name);
        }
    }

    #[test]
    fn setting_is_all_or_nothing() {
        let config = Config::new();
        let failure = config.set(&[("timeout", "5"), ("hz", "x")]).unwrap_err();
        assert!(matches!(failure, SetFailure::Refused { ref name, .. } if name == "hz"));
        assert_eq!(config.get("timeout"), "0");
        assert_eq!(config.set(&[("nope", "5")]), Err(SetFailure::Unknown("nope".into())));
        assert!(matches!(config.set(&[("databases", "5")]), Err(SetFailure::Refused { .. })));
        assert!(matches!(config.set(&[("hz", "5"), ("HZ", "6")]), Err(SetFailure::Refused { .. })));
        assert_eq!(config.set(&[("TIMEOUT", "5")]).unwrap(), ["timeout"]);
        assert_eq!(config.get("timeout"), "5");
    }

    /// The slow log knows directives by their names.
    #[test]
    fn what_the_slow_log_does_not_show_is_there() {
        for name in dolium_commands::redis::slow_arguments::SECRET_PARAMETERS {
            let directive = table::position(name).map(|at| &DIRECTIVES[at]);
            assert!(directive.is_some_and(|d| d.alias.is_empty()), "{name}");
        }
    }

    #[test]
    fn lines_of_save_add_up_and_limits_merge() {
        let config = Config::new();
        config
            .load(&[
                line("save", &["60", "1"]),
                line("save", &["30", "2"]),
                line("client-output-buffer-limit", &["normal", "1mb", "0", "0"]),
                line("hash-max-ziplist-value", &["5"]),
                line("oom-score-adj-values", &["1", "2", "3"]),
            ])
            .unwrap();
        assert_eq!(config.get("save"), "60 1 30 2");
        assert!(config.get("client-output-buffer-limit").starts_with("normal 1048576 0 0 slave"));
        assert_eq!(config.get("hash-max-listpack-value"), "5");
        assert_eq!(config.get("oom-score-adj-values"), "1 2 3");
        for (name, word, said) in [
            (
                "maxmemory",
                "512x",
                "'maxmemory': argument must be a memory value, such as 512mb or 2gb",
            ),
            ("bind", "myhost", "'bind': 'myhost' is no IP address, and names are not looked up"),
        ] {
            let failure = config.load(&[line(name, &[word])]).unwrap_err();
            assert_eq!(failure.to_string(), format!("here:1: {said}"));
        }
        // A reply to CONFIG SET has Redis' words and no more.
        let reason = "argument must be a memory value".to_string();
        let refused = SetFailure::Refused { name: "maxmemory".into(), reason };
        assert_eq!(config.set(&[("maxmemory", "512x")]), Err(refused));
        let failure = config.load(&[line("prot", &["1"])]).unwrap_err();
        assert!(failure.to_string().starts_with("here:1: 'prot' is no directive"), "{failure}");
    }
}
