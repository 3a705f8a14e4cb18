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

/// Whether a line says only what is so here: each file that Redis has rewritten holds the default user without
/// a password, who may do everything.
pub fn says_nothing(name: &str, words: &[String]) -> bool {
    let nothing = ["nopass", "sanitize-payload", "~*", "&*", "+@all"];
    name.eq_ignore_ascii_case("user")
        && words.len() > 2
        && words[..2] == ["default", "on"]
        && words[2..].iter().all(|word| nothing.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_user_of_a_file_that_redis_has_rewritten_says_nothing() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert!(says_nothing("user", &words("default on nopass ~* &* +@all")));
        assert!(says_nothing("user", &words("default on nopass sanitize-payload ~* &* +@all")));
        for other in ["default", "default on", "default off nopass ~* &* +@all", "alice on nopass"]
        {
            assert!(!says_nothing("user", &words(other)), "{other}");
        }
        assert!(!says_nothing("user", &words("default on nopass ~cached:* &* +@all")));
        assert!(!says_nothing("users", &words("default on nopass ~* &* +@all")));
    }
    use crate::config::table;

    #[test]
    fn what_is_absent_is_in_no_row() {
        for (name, _) in ABSENT {
            assert!(table::position(name).is_none(), "{name}");
        }
    }
}
