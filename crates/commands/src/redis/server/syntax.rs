//! What a row says of its arguments: from one line to the tree that COMMAND DOCS tells.
//!
//! A line reads as redis-cli shows the tree again, but for the round brackets:
//!
//! ```text
//!   key value               two values, whose names say of which type they are
//!   COUNT count             a value with its token
//!   REPLACE                 a token alone
//!   [NX|XX]                 may be left out; either of two
//!   (LEFT|RIGHT)            either of two, where brackets must hold the choice together
//!   [TYPE (SET|LIST)]       a choice with its token
//!   key [key ...]           once or more often
//!   key value [key value ...]
//!   (...) [...]             the same, of what is too long to be said twice
//!   increment{double}       a value of another type than its name says elsewhere
//!   pattern{block}          one that Redis calls a block, though it has no other part
//! ```

use std::iter::Peekable;
use std::vec::IntoIter;

/// What stands between words, and is a word itself unless it is the blank.
const MARKS: &[char] = &[' ', '[', ']', '(', ')', '|'];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument<'a> {
    pub name: String,
    pub kind: Kind,
    pub token: Option<&'a str>,
    pub optional: bool,
    pub multiple: bool,
    /// What is chosen from, or what comes one after the other.
    pub parts: Vec<Argument<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Key,
    String,
    Integer,
    Double,
    Pattern,
    UnixTime,
    PureToken,
    OneOf,
    Block,
}

impl Kind {
    /// As COMMAND DOCS names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Key => "key",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Double => "double",
            Kind::Pattern => "pattern",
            Kind::UnixTime => "unix-time",
            Kind::PureToken => "pure-token",
            Kind::OneOf => "oneof",
            Kind::Block => "block",
        }
    }

    /// Of a value. One name is of one type in all rows.
    fn of(name: &str) -> Kind {
        match name {
            "key" | "key1" | "key2" | "newkey" | "source" | "destination" => Kind::Key,
            "pattern" => Kind::Pattern,
            "timeout" => Kind::Double,
            "unix-time-seconds" | "unix-time-milliseconds" => Kind::UnixTime,
            "client-id" | "count" | "cursor" | "db" | "decrement" | "destination-db" | "end"
            | "flags" | "increment" | "index" | "index1" | "index2" | "len" | "limit"
            | "milliseconds" | "num-matches" | "numkeys" | "offset" | "protover" | "rank"
            | "seconds" | "start" | "stop" | "unique" | "version" => Kind::Integer,
            _ => Kind::String,
        }
    }
}

impl<'a> Argument<'a> {
    fn new(name: String, kind: Kind) -> Self {
        let parts = Vec::new();
        Argument { name, kind, token: None, optional: false, multiple: false, parts }
    }

    fn value(word: &str) -> Self {
        let (name, kind) = word.split_once('{').unwrap_or((word, ""));
        let kind = match kind {
            "double}" => Kind::Double,
            "integer}" => Kind::Integer,
            "block}" => {
                let parts = vec![Argument::value(name)];
                return Argument { parts, ..Argument::new(name.to_owned(), Kind::Block) };
            }
            _ => Kind::of(name),
        };
        Argument::new(name.to_owned(), kind)
    }

    /// One argument of several, or the only one itself.
    fn joined(kind: Kind, mut parts: Vec<Argument<'a>>) -> Option<Self> {
        if parts.len() < 2 {
            return parts.pop();
        }
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        let name = name_of_parts(&names.join("_")).to_owned();
        Some(Argument { parts, ..Argument::new(name, kind) })
    }
}

/// What Redis calls an argument of several parts, which a line does not say: its parts' names, one
/// behind the other, unless it has a name of its own.
fn name_of_parts(joined: &str) -> &str {
    match joined {
        "nx_xx" | "nx_xx_gt_lt" => "condition",
        "before_after" | "left_right" => "where",
        "on_off" => "enabled",
        "write_all" => "mode",
        "async_sync" => "async",
        "module-name_category_pattern" => "filterby",
        "normal_master_slave_replica_pubsub" => "normal_master_slave_pubsub",
        "ip:port_new-format" => "filter",
        _ if joined.starts_with("seconds_milliseconds_") => "expiration",
        _ if joined.starts_with("client-id_") => "new-format",
        _ if joined.starts_with("protover_") => "arguments",
        _ => joined,
    }
}

/// The line without the types, which are not for people.
pub fn readable(syntax: &str) -> String {
    let untyped = |part: &str| part.split_once('}').map_or(part, |(_, rest)| rest).to_owned();
    syntax.split('{').map(untyped).collect()
}

/// The arguments of a line; `None` if it cannot be read, which a test rules out for every row.
pub fn parse(syntax: &str) -> Option<Vec<Argument<'_>>> {
    let mut reader = Reader { words: words(syntax).into_iter().peekable() };
    let mut arguments = reader.items()?;
    let mut places: Vec<_> = arguments.iter_mut().filter(|each| each.name == "where").collect();
    if let [from, to] = &mut places[..] {
        from.name = "wherefrom".to_owned();
        to.name = "whereto".to_owned();
    }
    reader.words.next().is_none().then_some(arguments)
}

fn words(syntax: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in syntax.split_inclusive(MARKS) {
        let word = part.trim_end_matches(MARKS);
        let mark = part[word.len()..].trim();
        words.extend([word, mark].into_iter().filter(|word| !word.is_empty()));
    }
    words
}

fn is_end(word: &str) -> bool {
    matches!(word, "|" | "]" | ")" | "...")
}

fn is_token(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
}

fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
}

struct Reader<'a> {
    words: Peekable<IntoIter<&'a str>>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, word: &str) -> bool {
        self.words.next_if(|next| *next == word).is_some()
    }

    /// One argument after another, up to something that ends them, which stays.
    fn items(&mut self) -> Option<Vec<Argument<'a>>> {
        let mut items = Vec::new();
        while let Some(word) = self.words.next_if(|word| !is_end(word)) {
            match word {
                "[" => self.bracket(&mut items)?,
                "(" => items.push(self.group()?),
                word if is_token(word) => items.push(self.token(word)?),
                word => items.push(Argument::value(word)),
            }
        }
        Some(items)
    }

    /// After `[`: an argument that may be left out, or what was said before and may come again.
    fn bracket(&mut self, before: &mut Vec<Argument<'a>>) -> Option<()> {
        let items = self.items()?;
        if self.take("...") {
            repeat(before, items)?;
        } else {
            let choice = self.choice(items)?;
            before.push(Argument { optional: true, ..choice });
        }
        self.take("]").then_some(())
    }

    /// After `(`.
    fn group(&mut self) -> Option<Argument<'a>> {
        let items = self.items()?;
        let choice = self.choice(items)?;
        self.take(")").then_some(choice)
    }

    /// The first way has been read.
    fn choice(&mut self, first: Vec<Argument<'a>>) -> Option<Argument<'a>> {
        let mut ways = vec![Argument::joined(Kind::Block, first)?];
        while self.take("|") {
            let items = self.items()?;
            ways.push(Argument::joined(Kind::Block, items)?);
        }
        Argument::joined(Kind::OneOf, ways)
    }

    /// A value or a group right behind a token is the token's.
    fn token(&mut self, token: &'a str) -> Option<Argument<'a>> {
        let argument = if self.take("(") {
            self.group()?
        } else if let Some(name) = self.words.next_if(|word| is_value(word)) {
            Argument::value(name)
        } else {
            Argument::new(token.to_lowercase(), Kind::PureToken)
        };
        Some(Argument { token: Some(token), ..argument })
    }
}

/// Has the last arguments come again, if they are those that `again` repeats; nothing repeats the
/// last one alone.
fn repeat<'a>(before: &mut Vec<Argument<'a>>, again: Vec<Argument<'a>>) -> Option<()> {
    let at = before.len().checked_sub(again.len().max(1))?;
    let last = Argument::joined(Kind::Block, before.split_off(at))?;
    if let Some(again) = Argument::joined(Kind::Block, again) {
        // A token is written the first time only.
        let bare = Argument { token: None, ..last.clone() };
        if again != bare {
            return None;
        }
    }
    before.push(Argument { multiple: true, ..last });
    Some(())
}

#[cfg(test)]
mod tests;
