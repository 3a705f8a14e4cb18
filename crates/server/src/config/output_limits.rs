//! `client-output-buffer-limit`: how much unsent output a client of each class may have. One value names as many
//! classes as it likes; those that it does not name keep what they had.

use super::value::parse_bytes;

/// Most unsent output of a client: closed at once over `hard`, after `seconds` over `soft`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    pub hard: u64,
    pub soft: u64,
    pub seconds: u64,
}

/// The limits of (normal, replica, pubsub) clients that a value names. One blank parts two words: with another there is
/// an empty word, which as a number is 0.
pub(super) fn parse(text: &str) -> Result<[Option<OutputLimit>; 3], String> {
    let words: Vec<&str> = text.split(' ').collect();
    if !words.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".into());
    }
    let mut limits = [None; 3];
    for four in words.chunks(4) {
        let class = match four[0].to_ascii_lowercase().as_str() {
            "normal" => 0,
            "slave" | "replica" => 1,
            "pubsub" => 2,
            _ => return Err("Invalid client class specified in buffer limit configuration.".into()),
        };
        let bad = || {
            "Error in hard, soft or soft_seconds setting in buffer limit configuration.".to_string()
        };
        let number = |w: &str| parse_bytes(w).map(|n| n as u64).ok_or_else(bad);
        let seconds = if four[3].is_empty() { Ok(0) } else { four[3].parse::<i32>() };
        limits[class] = Some(OutputLimit {
            hard: number(four[1])?,
            soft: number(four[2])?,
            seconds: seconds.ok().and_then(|n| u64::try_from(n).ok()).ok_or_else(bad)?,
        });
    }
    Ok(limits)
}

/// Classes that a new value does not name keep their limits.
pub(super) fn merge(old: &str, new: &str) -> String {
    let (Ok(old), Ok(new)) = (parse(old), parse(new)) else {
        return old.into();
    };
    let mut words = Vec::new();
    for (class, name) in ["normal", "slave", "pubsub"].iter().enumerate() {
        if let Some(limit) = new[class].or(old[class]) {
            words.push(format!("{name} {} {} {}", limit.hard, limit.soft, limit.seconds));
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of these is what Redis 7.0.15 says.
    #[test]
    fn limits_of_output_are_parted_by_single_blanks() {
        let limit = |hard, soft, seconds| Some(OutputLimit { hard, soft, seconds });
        for (text, normal) in [
            ("normal 1kb 2 3", limit(1024, 2, 3)),
            ("NORMAL 0 0 +1", limit(0, 0, 1)),
            ("normal 5 0 ", limit(5, 0, 0)),
            ("normal 5  1", limit(5, 0, 1)),
            ("pubsub 1 1 1", None),
        ] {
            assert_eq!(parse(text).unwrap()[0], normal, "{text}");
        }
        for text in ["normal 0 0 0 ", " normal 0 0 0", "normal  0 0 0", "normal\t0\t0\t0", ""] {
            let reason = parse(text).unwrap_err();
            assert!(reason.starts_with("Wrong number of arguments"), "{text}: {reason}");
        }
        for text in ["normal 0 0 -1", "normal x 0 0", "normal 0 0 1x", "normal 0 0 2147483648"] {
            let reason = parse(text).unwrap_err();
            assert!(reason.starts_with("Error in hard"), "{text}: {reason}");
        }
    }
}
