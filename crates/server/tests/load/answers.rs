//! The answers to requests, read in the requests' order, in three protocols.

use super::speech::{Client, Item, Speech, Stored};

const HEAD_BYTES: usize = 24;

/// A part of the answer of gets.
enum Got {
    Item(String, Item),
    /// Not there; or no memory for its unique number, so that to the client it is not.
    Nothing,
    /// Of a text retrieval, or the no-op behind quiet ones.
    End,
}

/// The status of a binary reply that says so.
const NO_MEMORY: u16 = 0x82;

fn is_no_memory(line: &str) -> bool {
    line.starts_with("SERVER_ERROR out of memory")
}

struct BinaryReply {
    opcode: u8,
    status: u16,
    unique: u64,
    extras: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Client {
    fn reply(&mut self) -> BinaryReply {
        let head = self.pipe.take(HEAD_BYTES);
        assert_eq!(head[0], 0x81, "no reply begins with {}", head.escape_ascii());
        let key_len = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let body = u32::from_be_bytes(head[8..12].try_into().unwrap()) as usize;
        let mut rest = self.pipe.take(body);
        let value = rest.split_off(usize::from(head[4]) + key_len);
        let key = rest.split_off(usize::from(head[4]));
        BinaryReply {
            opcode: head[1],
            status: u16::from_be_bytes([head[6], head[7]]),
            unique: u64::from_be_bytes(head[16..24].try_into().unwrap()),
            extras: rest,
            key,
            value,
        }
    }

    pub fn stored(&mut self) -> Stored {
        if self.speech == Speech::Binary {
            let reply = self.reply();
            return match reply.status {
                0 => Stored::Yes(Some(reply.unique)),
                1 => Stored::Missing,
                2 => Stored::Exists,
                5 => Stored::No,
                3 | NO_MEMORY => Stored::Refused(String::from_utf8_lossy(&reply.value).into()),
                status => panic!("a store: status {status:#x}, {}", reply.value.escape_ascii()),
            };
        }
        let line = self.pipe.line();
        match (line.as_str(), line.strip_prefix("HD c")) {
            (_, Some(unique)) => Stored::Yes(Some(unique.parse().expect("a unique number"))),
            ("STORED", _) => Stored::Yes(None),
            ("NOT_STORED", _) => Stored::No,
            ("EXISTS", _) => Stored::Exists,
            ("NOT_FOUND", _) => Stored::Missing,
            _ if line.starts_with("SERVER_ERROR ") => Stored::Refused(line),
            _ if line.starts_with("NS") => Stored::No,
            _ if line.starts_with("EX") => Stored::Exists,
            _ if line.starts_with("NF") => Stored::Missing,
            _ => panic!("a store is answered {line}"),
        }
    }

    /// Reads up to the no-op behind a quiet request: what came before it.
    pub fn was_silent(&mut self) -> Result<(), String> {
        let (said, end) = match self.speech {
            Speech::Binary => {
                let reply = self.reply();
                (format!("status {:#x}", reply.status), reply.opcode == 0x0a)
            }
            _ => {
                let line = self.pipe.line();
                let end = line == "MN";
                (line, end)
            }
        };
        if end { Ok(()) } else { Err(said) }
    }

    pub fn got(&mut self, key: &str) -> Option<Item> {
        let mut items = self.got_many(&[key], false);
        items.remove(0)
    }

    /// The items under these keys. Answers come in the order of the keys, those that miss say
    /// nothing.
    pub fn got_many(&mut self, keys: &[&str], has_end: bool) -> Vec<Option<Item>> {
        let mut items = vec![None; keys.len()];
        let mut at = 0;
        let has_end = has_end || self.speech == Speech::Text;
        while has_end || at < keys.len() {
            match self.one_got() {
                Got::End => break,
                Got::Nothing => at += usize::from(!has_end),
                Got::Item(key, item) => {
                    let found = keys[at..].iter().position(|asked| *asked == key);
                    at += found.unwrap_or_else(|| panic!("{key} was not asked for: {keys:?}"));
                    items[at] = Some(item);
                    at += 1;
                }
            }
        }
        items
    }

    /// The answer of one get, whatever it is.
    pub fn got_any(&mut self) {
        if self.speech == Speech::Text {
            while !matches!(self.one_got(), Got::End) {}
        } else {
            self.one_got();
        }
    }

    fn one_got(&mut self) -> Got {
        if self.speech == Speech::Binary {
            let reply = self.reply();
            match (reply.opcode, reply.status) {
                (0x0a, _) => return Got::End,
                (_, 1 | NO_MEMORY) => return Got::Nothing,
                (_, status) => assert_eq!(status, 0, "{}", reply.value.escape_ascii()),
            }
            let flags = u32::from_be_bytes(reply.extras[..4].try_into().expect("flags"));
            let key = String::from_utf8(reply.key).expect("our key");
            return Got::Item(key, Item { flags, unique: reply.unique, value: reply.value });
        }
        let line = self.pipe.line();
        if ["END", "MN"].contains(&line.as_str()) {
            return Got::End;
        }
        if line.starts_with("EN") || is_no_memory(&line) {
            return Got::Nothing;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let (key, flags, len, unique) = match words[..] {
            ["VALUE", key, flags, len, unique] => (key, flags, len, unique),
            ["VA", len, key, flags, unique] => (&key[1..], &flags[1..], len, &unique[1..]),
            _ => panic!("a get is answered {line}"),
        };
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let mut value = self.pipe.take(number(len) as usize + 2);
        assert!(value.ends_with(b"\r\n"), "behind {line} comes no value of that length");
        value.truncate(value.len() - 2);
        let (flags, unique) = (number(flags) as u32, number(unique));
        Got::Item(key.into(), Item { flags, unique, value })
    }

    /// Of a delete or a touch: was the item there? `None`: there was no memory for the change.
    pub fn was_there(&mut self) -> Option<bool> {
        if self.speech == Speech::Binary {
            let reply = self.reply();
            return match reply.status {
                0 | 1 => Some(reply.status == 0),
                NO_MEMORY => None,
                status => panic!("a delete or touch: status {status:#x}"),
            };
        }
        let line = self.pipe.line();
        match line.as_str() {
            "DELETED" | "TOUCHED" | "HD" => Some(true),
            "NOT_FOUND" | "NF" | "EN" => Some(false),
            _ if is_no_memory(&line) => None,
            _ => panic!("a delete or touch is answered {line}"),
        }
    }

    /// `None`: there is no such item, or no memory for the change.
    pub fn counted(&mut self) -> Option<u64> {
        if self.speech == Speech::Binary {
            let reply = self.reply();
            assert!([0, 1, NO_MEMORY].contains(&reply.status), "status {:#x}", reply.status);
            return (reply.status == 0)
                .then(|| u64::from_be_bytes(reply.value.try_into().expect("eight bytes")));
        }
        let mut line = self.pipe.line();
        if line.starts_with("VA ") {
            line = self.pipe.line();
        }
        match line.as_str() {
            "NOT_FOUND" | "NF" => None,
            _ if is_no_memory(&line) => None,
            number => Some(number.trim_end().parse().unwrap_or_else(|_| panic!("counted {line}"))),
        }
    }
}
