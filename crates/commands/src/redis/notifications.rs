//! Keyspace notifications: from a change to the names that subscribers know it by.
//!
//! The server reads the engine's change stream and asks here what to publish:
//!
//! ```text
//!   __keyspace@<db>__:<key>   payload: name of the event     (flag K)
//!   __keyevent@<db>__:<name>  payload: the key               (flag E)
//! ```

use dolium_engine::{Db, Event};

/// `notify-keyspace-events`: which notifications are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifications(u16);

const KEYSPACE: u16 = 1;
const KEYEVENT: u16 = 1 << 1;
const GENERIC: u16 = 1 << 2;
const STRING: u16 = 1 << 3;
const LIST: u16 = 1 << 4;
const SET: u16 = 1 << 5;
const EXPIRED: u16 = 1 << 9;
const EVICTED: u16 = 1 << 10;
const NEW: u16 = 1 << 13;

/// Letters in the order in which Redis prints them, without K, E, m and n, which `A` is not for.
const CLASSES: [(u8, u16); 10] = [
    (b'g', GENERIC),
    (b'$', STRING),
    (b'l', LIST),
    (b's', SET),
    (b'h', 1 << 6),
    (b'z', 1 << 7),
    (b'x', EXPIRED),
    (b'e', EVICTED),
    (b't', 1 << 8),
    (b'd', 1 << 11),
];
const OTHERS: [(u8, u16); 3] = [(b'K', KEYSPACE), (b'E', KEYEVENT), (b'm', 1 << 12)];

const ALL: u16 = {
    let (mut all, mut i) = (0, 0);
    while i < CLASSES.len() {
        all |= CLASSES[i].1;
        i += 1;
    }
    all
};

impl Notifications {
    /// Reads the configuration's letters; `None`: one of them is unknown.
    pub fn parse(letters: &str) -> Option<Self> {
        let mut bits = 0;
        for letter in letters.bytes() {
            bits |= match letter {
                b'A' => ALL,
                b'n' => NEW,
                _ => CLASSES.iter().chain(&OTHERS).find(|(known, _)| *known == letter)?.1,
            };
        }
        Some(Notifications(bits))
    }

    /// The letters as CONFIG GET prints them, in Redis' order. Beside `A` Redis leaves `n` out, and so
    /// forgets it with CONFIG REWRITE and a restart; here it stands behind all others then.
    pub fn letters(self) -> String {
        let all = self.0 & ALL == ALL;
        let new = [(b'n', NEW)];
        let (before, behind): (&[_], &[_]) = if all { (&[], &new) } else { (&new, &[]) };
        let classes: &[_] = if all { &[(b'A', ALL)] } else { &CLASSES };
        [classes, before, &OTHERS, behind]
            .into_iter()
            .flatten()
            .filter(|(_, bit)| self.0 & bit != 0)
            .map(|(letter, _)| *letter as char)
            .collect()
    }

    /// Is there anything to publish at all? If not, nobody need read the change stream.
    pub fn any(self) -> bool {
        self.0 & (KEYSPACE | KEYEVENT) != 0 && self.0 & !(KEYSPACE | KEYEVENT) != 0
    }

    pub fn keyspace(self) -> bool {
        self.0 & KEYSPACE != 0
    }

    pub fn keyevent(self) -> bool {
        self.0 & KEYEVENT != 0
    }

    /// The names under which an event is to be published, in order; whether it made the key, too.
    pub fn names(self, event: Event, created: bool) -> impl Iterator<Item = &'static str> {
        let first: &[(u16, &str)] = if created { &[(NEW, "new")] } else { &[] };
        let all = first.iter().chain(named(event));
        all.filter(move |(class, _)| self.0 & class != 0).map(|(_, name)| *name)
    }
}

/// Class and name of what Redis would publish for a change.
fn named(event: Event) -> &'static [(u16, &'static str)] {
    match event {
        Event::Set => &[(STRING, "set")],
        Event::SetExpire => &[(STRING, "set"), (GENERIC, "expire")],
        Event::SetRange => &[(STRING, "setrange")],
        Event::SetBit => &[(STRING, "setbit")],
        Event::LPush => &[(LIST, "lpush")],
        Event::RPush => &[(LIST, "rpush")],
        Event::LPop => &[(LIST, "lpop")],
        Event::RPop => &[(LIST, "rpop")],
        Event::LSet => &[(LIST, "lset")],
        Event::LRem => &[(LIST, "lrem")],
        Event::LTrim => &[(LIST, "ltrim")],
        Event::LInsert => &[(LIST, "linsert")],
        Event::SAdd => &[(SET, "sadd")],
        Event::SRem => &[(SET, "srem")],
        Event::SPop => &[(SET, "spop")],
        Event::SInterStore => &[(SET, "sinterstore")],
        Event::SUnionStore => &[(SET, "sunionstore")],
        Event::SDiffStore => &[(SET, "sdiffstore")],
        Event::Append => &[(STRING, "append")],
        Event::IncrBy => &[(STRING, "incrby")],
        Event::IncrByFloat => &[(STRING, "incrbyfloat")],
        Event::Del => &[(GENERIC, "del")],
        Event::Expire => &[(GENERIC, "expire")],
        Event::Persist => &[(GENERIC, "persist")],
        Event::Expired => &[(EXPIRED, "expired")],
        Event::Evicted => &[(EVICTED, "evicted")],
        Event::RenameFrom => &[(GENERIC, "rename_from")],
        Event::RenameTo => &[(GENERIC, "rename_to")],
        Event::MoveFrom => &[(GENERIC, "move_from")],
        Event::MoveTo => &[(GENERIC, "move_to")],
        Event::CopyTo => &[(GENERIC, "copy_to")],
        // Redis publishes nothing for these: no single key changed.
        Event::Flush | Event::SwapDb | Event::Quiet => &[],
    }
}

/// The channel on which events of one key are published.
pub fn keyspace_channel(db: Db, key: &[u8]) -> Vec<u8> {
    [format!("__keyspace@{}__:", db.0).as_bytes(), key].concat()
}

/// The channel on which the keys of one event are published.
pub fn keyevent_channel(db: Db, name: &str) -> Vec<u8> {
    format!("__keyevent@{}__:{name}", db.0).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_printed_as_redis_prints_them() {
        for (typed, printed) in [
            ("KEA", "AKE"),
            ("KE$lshzxeg", "g$lshzxeKE"),
            ("g$lshzxetdKE", "AKE"),
            ("", ""),
            ("Kx", "xK"),
            ("nKE", "nKE"),
            ("mnE$", "$nEm"),
            ("KEAmn", "AKEmn"),
        ] {
            assert_eq!(Notifications::parse(typed).unwrap().letters(), printed, "{typed}");
        }
        assert_eq!(Notifications::parse("KEq"), None);
    }

    #[test]
    fn only_chosen_classes_are_named() {
        let made = |letters: &str, event, created| {
            Notifications::parse(letters).unwrap().names(event, created).collect::<Vec<_>>()
        };
        let names = |letters: &str, event| made(letters, event, false);
        assert_eq!(made("KEAn", Event::SetExpire, true), ["new", "set", "expire"]);
        assert_eq!(made("Kn", Event::Quiet, true), ["new"]);
        assert_eq!(made("KEA", Event::SAdd, true), ["sadd"]);
        assert_eq!(names("KEA", Event::SetExpire), ["set", "expire"]);
        assert_eq!(names("K$", Event::SetExpire), ["set"]);
        assert_eq!(names("K$", Event::Del), Vec::<&str>::new());
        assert!(!Notifications::parse("A").unwrap().any());
        assert!(!Notifications::parse("KE").unwrap().any());
        assert_eq!(keyspace_channel(Db(9), b"k"), b"__keyspace@9__:k");
        assert_eq!(keyevent_channel(Db(0), "del"), b"__keyevent@0__:del");
    }
}
