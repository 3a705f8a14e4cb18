//! One set of requests in Memcached's three protocols. A request is put into the pipe; its answer
//! is read later, in the order of the requests.

use super::pipe::Pipe;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    Text,
    Meta,
    Binary,
}

pub const ALL: [Speech; 3] = [Speech::Text, Speech::Meta, Speech::Binary];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// With the unique number, where the protocol tells it.
    Yes(Option<u64>),
    /// The item is there (add) or not there (replace, append), or the condition failed.
    No,
    /// Of a store with a unique number: another one is there; or none is.
    Exists,
    Missing,
    /// Too large, or no memory.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub flags: u32,
    pub unique: u64,
    pub value: Vec<u8>,
}

pub struct Client {
    pub speech: Speech,
    pub pipe: Pipe,
}

impl Client {
    fn binary(&mut self, opcode: u8, extras: &[u8], key: &str, value: &[u8], unique: u64) {
        let out = &mut self.pipe.out;
        out.extend([0x80, opcode]);
        out.extend((key.len() as u16).to_be_bytes());
        out.extend([extras.len() as u8, 0, 0, 0]);
        out.extend(((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
        out.extend([0; 4]);
        out.extend(unique.to_be_bytes());
        out.extend(extras);
        out.extend(key.as_bytes());
        out.extend(value);
    }

    fn say(&mut self, line: &str) {
        self.pipe.out.extend_from_slice(line.as_bytes());
        self.pipe.out.extend_from_slice(b"\r\n");
    }

    /// `unique` is 0 for a store without that condition.
    pub fn store(&mut self, verb: Verb, key: &str, flags: u32, value: &[u8], unique: u64) {
        self.store_as(verb, key, flags, value, unique, false);
    }

    /// A set that is answered only if it fails; [`Client::was_silent`] reads whether it did.
    pub fn set_quietly(&mut self, key: &str, flags: u32, value: &[u8]) {
        self.store_as(Verb::Set, key, flags, value, 0, true);
        match self.speech {
            Speech::Binary => self.binary(0x0a, b"", "", b"", 0),
            _ => self.say("mn"),
        }
    }

    fn store_as(
        &mut self,
        verb: Verb,
        key: &str,
        flags: u32,
        value: &[u8],
        unique: u64,
        is_quiet: bool,
    ) {
        let len = value.len();
        match self.speech {
            Speech::Text => {
                let (word, condition) = match (verb, unique) {
                    (Verb::Set, 0) => ("set", String::new()),
                    (Verb::Set, unique) => ("cas", format!(" {unique}")),
                    (Verb::Add, _) => ("add", String::new()),
                    (Verb::Replace, _) => ("replace", String::new()),
                    (Verb::Append, _) => ("append", String::new()),
                    (Verb::Prepend, _) => ("prepend", String::new()),
                };
                let noreply = if is_quiet { " noreply" } else { "" };
                self.say(&format!("{word} {key} {flags} 0 {len}{condition}{noreply}"));
            }
            Speech::Meta => {
                let mode = match verb {
                    Verb::Set => "S",
                    Verb::Add => "E",
                    Verb::Replace => "R",
                    Verb::Append => "A",
                    Verb::Prepend => "P",
                };
                let condition = if unique == 0 { String::new() } else { format!(" C{unique}") };
                let quiet = if is_quiet { " q" } else { "" };
                self.say(&format!("ms {key} {len} c M{mode} F{flags} T0{condition}{quiet}"));
            }
            Speech::Binary => {
                let (opcode, has_extras) = match verb {
                    Verb::Set if is_quiet => (0x11, true),
                    Verb::Set => (0x01, true),
                    Verb::Add => (0x02, true),
                    Verb::Replace => (0x03, true),
                    Verb::Append => (0x0e, false),
                    Verb::Prepend => (0x0f, false),
                };
                let mut extras = [0; 8];
                extras[..4].copy_from_slice(&flags.to_be_bytes());
                let extras = if has_extras { &extras[..] } else { &[] };
                return self.binary(opcode, extras, key, value, unique);
            }
        }
        self.pipe.out.extend_from_slice(value);
        self.pipe.out.extend_from_slice(b"\r\n");
    }

    pub fn get(&mut self, key: &str) {
        match self.speech {
            Speech::Text => self.say(&format!("gets {key}")),
            Speech::Meta => self.say(&format!("mg {key} k f c v")),
            Speech::Binary => self.binary(0x0c, b"", key, b"", 0),
        }
    }

    /// The same, and the item lives for so many seconds from now on.
    pub fn get_and_touch(&mut self, key: &str, seconds: u32) {
        match self.speech {
            Speech::Text => self.say(&format!("gats {seconds} {key}")),
            Speech::Meta => self.say(&format!("mg {key} k f c v T{seconds}")),
            Speech::Binary => self.binary(0x23, &seconds.to_be_bytes(), key, b"", 0),
        }
    }

    /// Several keys in one request, where the protocol has that, or in quiet ones.
    pub fn get_many(&mut self, keys: &[&str]) {
        match self.speech {
            Speech::Text => self.say(&format!("gets {}", keys.join(" "))),
            Speech::Meta => {
                keys.iter().for_each(|key| self.say(&format!("mg {key} k f c v q")));
                self.say("mn");
            }
            Speech::Binary => {
                keys.iter().for_each(|key| self.binary(0x0d, b"", key, b"", 0));
                self.binary(0x0a, b"", "", b"", 0);
            }
        }
    }

    pub fn delete(&mut self, key: &str) {
        match self.speech {
            Speech::Text => self.say(&format!("delete {key}")),
            Speech::Meta => self.say(&format!("md {key}")),
            Speech::Binary => self.binary(0x04, b"", key, b"", 0),
        }
    }

    pub fn touch(&mut self, key: &str, seconds: u32) {
        match self.speech {
            Speech::Text => self.say(&format!("touch {key} {seconds}")),
            Speech::Meta => self.say(&format!("mg {key} T{seconds}")),
            Speech::Binary => self.binary(0x1c, &seconds.to_be_bytes(), key, b"", 0),
        }
    }

    pub fn count(&mut self, key: &str, delta: u64, is_up: bool) {
        match self.speech {
            Speech::Text => {
                self.say(&format!("{} {key} {delta}", if is_up { "incr" } else { "decr" }));
            }
            Speech::Meta => {
                self.say(&format!("ma {key} D{delta} M{} v", if is_up { "I" } else { "D" }));
            }
            Speech::Binary => {
                // No initial value: a missing item is said to be missing.
                let mut extras = [0xff; 20];
                extras[..8].copy_from_slice(&delta.to_be_bytes());
                extras[8..16].fill(0);
                self.binary(if is_up { 0x05 } else { 0x06 }, &extras, key, b"", 0);
            }
        }
    }
}
