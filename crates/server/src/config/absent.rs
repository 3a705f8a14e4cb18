//! Directives of Redis 7.0 that Dolium has not at all, and what that means for who has them in a file.
//! They are refused, not kept: whoever takes a command away by its name must not believe that it is gone.

/// A name, and what is so here instead.
pub const ABSENT: [(&str, &str); 9] = [
    ("rename-command", "every command keeps its name, and none can be taken away"),
    ("user", "there are no ACL users yet; requirepass is the password of all"),
    ("loadmodule", "there are no modules"),
    ("sentinel", "there is no Sentinel"),
    (
        "list-max-ziplist-entries",
        "it means nothing, to Redis neither; there is list-max-listpack-size",
    ),
    (
        "list-max-ziplist-value",
        "it means nothing, to Redis neither; there is list-max-listpack-size",
    ),
    ("lua-replicate-commands", "it means nothing, to Redis neither, and there are no scripts"),
    ("use-exit-on-panic", "it is for the tests of Redis itself"),
    ("watchdog-period", "the watchdog is for who debugs Redis itself"),
];

/// The sentence for a name of Redis', if it is one of these.
pub fn sentence(name: &str) -> Option<String> {
    let (name, instead) = ABSENT.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(format!("Redis has '{name}', Dolium does not: leave it out ({instead})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::table;

    #[test]
    fn what_is_absent_is_in_no_row() {
        for (name, _) in ABSENT {
            assert!(table::position(name).is_none(), "{name}");
        }
    }
}
