//! What is looked at in the words of `dolium exec` before they are sent: what would be done, and mean
//! nothing, or something else than was meant.

/// Commands that say something of their connection alone, and whether there is another way to it.
const OF_THE_CONNECTION: [(&str, &str, &str); 7] = [
    ("SELECT", "", "-n NUMBER in front of the command names the database"),
    ("MULTI", "", ""),
    ("WATCH", "", ""),
    ("UNWATCH", "", ""),
    ("CLIENT", "SETNAME", ""),
    ("CLIENT", "SETINFO", ""),
    ("CLIENT", "NO-EVICT", ""),
];

/// Options of `dolium exec`.
const OPTIONS: [&str; 6] = ["-n", "--db", "--server", "--attach-socket", "-h", "--help"];

/// Why a command is not sent whose effect would be over when its reply is here.
pub fn of_the_connection_alone(words: &[&[u8]]) -> Option<String> {
    let is = |at: usize, name: &str| {
        words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let (name, sub, instead) = OF_THE_CONNECTION
        .into_iter()
        .find(|(name, sub, _)| is(0, name) && (sub.is_empty() || is(1, sub)))?;
    let space = if sub.is_empty() { "" } else { " " };
    let instead = match instead {
        "" => "redis-cli has one that stays",
        instead => instead,
    };
    Some(format!(
        "{name}{space}{sub} lasts as long as its connection, which ends here: {instead}. It was not sent"
    ))
}

/// An option that stands where it is none. It is sent: a value may look like one.
pub fn option_behind(words: &[&[u8]]) -> Option<&'static str> {
    let begins = |word: &[u8], option: &str| {
        let rest = word.strip_prefix(option.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || option.starts_with("--") && rest[0] == b'=')
    };
    let behind = words.get(1..).unwrap_or_default();
    OPTIONS.into_iter().find(|option| behind.iter().any(|word| begins(word, option)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&[u8]> {
        line.split_whitespace().map(str::as_bytes).collect()
    }

    #[test]
    fn what_ends_with_its_connection_is_known_by_its_name() {
        for line in ["select 3", "MULTI", "Watch k", "client setname me", "CLIENT NO-EVICT on"] {
            let name = line.split(' ').next().unwrap().to_uppercase();
            let said = of_the_connection_alone(&words(line)).expect(line);
            assert!(said.starts_with(&name), "{said}");
        }
        for line in ["", "GET MULTI", "CLIENT", "CLIENT LIST", "SELECTED", "EXEC"] {
            assert_eq!(of_the_connection_alone(&words(line)), None, "{line}");
        }
    }

    #[test]
    fn options_behind_a_command_are_seen() {
        assert_eq!(option_behind(&words("DEL greeting -n 3")), Some("-n"));
        assert_eq!(option_behind(&words("PING --server=h:1")), Some("--server"));
        assert_eq!(option_behind(&words("GET --attach-socket")), Some("--attach-socket"));
        for line in ["", "--db", "SET k -5", "SET k --servers", "SET k -nil", "SET k --db-size"] {
            assert_eq!(option_behind(&words(line)), None, "{line}");
        }
    }
}
