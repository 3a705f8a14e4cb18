//! Values of directives: checked, and brought to the one form in which CONFIG GET shows them.

use super::directive::Kind;
use super::output_limits;
use crate::doors::parse_host;
use dolium_commands::redis::notifications::Notifications;
use dolium_protocol::number::parse_i64;

/// Brings `text` to its normal form, or says why not in the words of Redis.
pub fn normalise(kind: Kind, text: &str) -> Result<String, String> {
    match kind {
        Kind::Bool => match text.to_ascii_lowercase().as_str() {
            "yes" => Ok("yes".into()),
            "no" => Ok("no".into()),
            _ => Err("argument must be 'yes' or 'no'".into()),
        },
        Kind::Int { min, max } => in_range(integer(text)?, min, max).map(|n| n.to_string()),
        Kind::Clamped { min, max } => {
            in_range(integer(text)?, 0, i32::MAX.into()).map(|n| n.clamp(min, max).to_string())
        }
        Kind::Bytes { min, max } => {
            let n = parse_bytes(text).ok_or("argument must be a memory value")?;
            in_range(n, min, max).map(|n| n.to_string())
        }
        Kind::BytesOrPercent => match text.strip_suffix('%') {
            Some(n) => match parse_i64(n.as_bytes()) {
                Some(n @ 0..=100) => Ok(format!("{n}%")),
                Some(101..) => Err("percentage argument must be less or equal to 100".into()),
                _ => Err("argument must be a memory or percent value".into()),
            },
            None => parse_bytes(text)
                .map(|n| n.to_string())
                .ok_or_else(|| "argument must be a memory or percent value".into()),
        },
        Kind::Text => Ok(text.into()),
        Kind::Words => Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Kind::Addresses => {
            let words: Vec<&str> = text.split_whitespace().collect();
            words.iter().try_for_each(|word| {
                parse_host(word.strip_prefix('-').unwrap_or(word)).map(drop)
            })?;
            Ok(words.join(" "))
        }
        Kind::Percentiles => percentiles(text),
        Kind::ShutdownWays => shutdown_ways(text),
        Kind::OomScores => oom_scores(text),
        Kind::Choice(words) => one_of(words, text).map(String::from),
        Kind::Octal => u32::from_str_radix(text, 8)
            .ok()
            .filter(|mode| *mode <= 0o777)
            .map(|mode| format!("{mode:o}"))
            .ok_or_else(|| "argument couldn't be parsed into an octal number".into()),
        Kind::Save => save_points(text),
        Kind::OutputLimits => {
            output_limits::parse(text)?;
            Ok(text.into())
        }
        Kind::Notify => Notifications::parse(text)
            .map(Notifications::letters)
            .ok_or_else(|| "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into()),
    }
}

/// What a value that is refused could look like, for who writes files and command lines.
pub fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Bytes { .. } | Kind::BytesOrPercent => ", such as 512mb or 2gb",
        _ => "",
    }
}

/// As strictly as everywhere: no sign but a minus, no zeros in front, no blanks.
fn integer(text: &str) -> Result<i64, String> {
    parse_i64(text.as_bytes())
        .ok_or_else(|| "argument couldn't be parsed into an integer".to_string())
}

fn in_range(n: i64, min: i64, max: i64) -> Result<i64, String> {
    if (min..=max).contains(&n) {
        Ok(n)
    } else {
        Err(format!("argument must be between {min} and {max} inclusive"))
    }
}

/// `1gb`, `64k`, `100`: k, m, g are powers of 1000, kb, mb, gb of 1024 (as in Redis, where no digits are 0).
pub fn parse_bytes(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let n: i64 = if digits == 0 { 0 } else { text[..digits].parse().ok()? };
    let unit: i64 = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    n.checked_mul(unit)
}

fn save_points(text: &str) -> Result<String, String> {
    if text.is_empty() || text == "\"\"" {
        return Ok(String::new());
    }
    // One blank parts two words: with another there is an empty word.
    let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
    match numbers {
        Ok(n) if n.len() % 2 == 0 && n.chunks(2).all(|p| p[0] > 0) => {
            Ok(n.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
        }
        _ => Err("Invalid save parameters".into()),
    }
}

fn one_of(words: &[&'static str], text: &str) -> Result<&'static str, String> {
    let known = words.iter().copied().find(|word| word.eq_ignore_ascii_case(text));
    known.ok_or_else(|| format!("argument(s) must be one of the following: {}", words.join(", ")))
}

/// None at all is a value too: INFO shows no percentiles then.
fn percentiles(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let mut shown = Vec::new();
    for word in text.split(' ') {
        let percent = word.parse::<f64>().ok().filter(|percent| !percent.is_nan());
        let percent = percent.ok_or("Invalid latency-tracking-info-percentiles parameters")?;
        if !(0.0..=100.0).contains(&percent) {
            let reason =
                "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
            return Err(reason.into());
        }
        shown.push(percent.to_string());
    }
    Ok(shown.join(" "))
}

fn shutdown_ways(text: &str) -> Result<String, String> {
    let ways = ["default", "save", "nosave", "now", "force"];
    let mut given = Vec::new();
    for word in text.split(' ') {
        given.push(one_of(&ways, word)?);
    }
    if given.contains(&"save") && given.contains(&"nosave") {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".into());
    }
    // Each once, in this order; the first of them says no more than the lack of all others.
    let shown: Vec<&str> = ways[1..].iter().copied().filter(|way| given.contains(way)).collect();
    Ok(if shown.is_empty() { "default".into() } else { shown.join(" ") })
}

fn oom_scores(text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split(' ').collect();
    if words.len() != 3 {
        return Err("wrong number of arguments".into());
    }
    let score = |word: &&str| word.parse::<i64>().ok().filter(|n| (-2000..=2000).contains(n));
    let scores: Option<Vec<String>> =
        words.iter().map(|word| score(word).map(|n| n.to_string())).collect();
    scores.map(|scores| scores.join(" ")).ok_or_else(|| {
        "Invalid oom-score-adj-values, elements must be between -2000 and 2000.".into()
    })
}

/// A value as a line of a configuration file holds it: quoted where it must be.
pub fn quote(text: &str) -> String {
    let plain = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'#' | b'\\'));
    if plain {
        return text.into();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        for (text, n) in [
            ("0", 0),
            ("1k", 1000),
            ("1KB", 1024),
            ("2mb", 2 << 20),
            ("3Gb", 3 << 30),
            ("", 0),
            ("gb", 0),
        ] {
            assert_eq!(parse_bytes(text), Some(n), "{text}");
        }
        for text in ["1tb", "-1", "1.5gb", "99999999999gb"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn refusals_are_redis_words() {
        let int = Kind::Int { min: 1, max: 5 };
        assert_eq!(normalise(Kind::Bool, "maybe").unwrap_err(), "argument must be 'yes' or 'no'");
        assert_eq!(normalise(int, "9").unwrap_err(), "argument must be between 1 and 5 inclusive");
        assert!(normalise(int, "x").is_err());
        assert_eq!(normalise(Kind::Bool, "YES").unwrap(), "yes");
        for text in ["01", "+1", " 1", "1 ", "-0", "", "1.0"] {
            let reason = "argument couldn't be parsed into an integer";
            assert_eq!(normalise(int, text).unwrap_err(), reason, "{text}");
            assert_eq!(normalise(Kind::Clamped { min: 1, max: 5 }, text).unwrap_err(), reason);
        }
        assert_eq!(normalise(Kind::Octal, "700").unwrap(), "700");
        assert!(normalise(Kind::Octal, "999").is_err());
    }
    #[test]
    fn save_points_are_parted_by_single_blanks() {
        let of = |text| normalise(Kind::Save, text);
        for (text, shown) in [("900 1", "900 1"), ("+900 01 60 0", "900 1 60 0"), ("", "")] {
            assert_eq!(of(text).unwrap(), shown, "{text}");
        }
        for text in ["900 1 ", " 900 1", "900  1", "900\t1", "900", "0 1", "900 -1"] {
            assert_eq!(of(text).unwrap_err(), "Invalid save parameters", "{text}");
        }
    }

    #[test]
    fn percentiles_are_numbers_from_0_to_100() {
        let of = |text| normalise(Kind::Percentiles, text);
        for (text, shown) in
            [("50 99 99.9", "50 99 99.9"), ("", ""), ("0 100", "0 100"), ("1e1 50.0", "10 50")]
        {
            assert_eq!(of(text).unwrap(), shown, "{text}");
        }
        for text in ["abc", "50 abc", "nan", "50  99", " 50", "50,99"] {
            let reason = of(text).unwrap_err();
            assert_eq!(reason, "Invalid latency-tracking-info-percentiles parameters", "{text}");
        }
        for text in ["101", "-1", "50 100.1", "inf"] {
            assert!(of(text).unwrap_err().ends_with("between [0.0,100.0]"), "{text}");
        }
    }

    #[test]
    fn ways_to_shut_down_are_known_and_do_not_contradict_each_other() {
        let of = |text| normalise(Kind::ShutdownWays, text);
        for (text, shown) in [
            ("default", "default"),
            ("SAVE", "save"),
            ("now now", "now"),
            ("default nosave", "nosave"),
            ("force now save", "save now force"),
        ] {
            assert_eq!(of(text).unwrap(), shown, "{text}");
        }
        for text in ["foo", "", "nosave  now"] {
            let reason =
                "argument(s) must be one of the following: default, save, nosave, now, force";
            assert_eq!(of(text).unwrap_err(), reason, "{text}");
        }
        assert!(of("nosave save").unwrap_err().ends_with("can't be used simultaneously"));
    }

    #[test]
    fn scores_for_the_system_are_three_numbers() {
        let of = |text| normalise(Kind::OomScores, text);
        assert_eq!(of("-2000 +5 2000").unwrap(), "-2000 5 2000");
        for text in ["", "1 2", "1 2 3 4", "0  1 2"] {
            assert_eq!(of(text).unwrap_err(), "wrong number of arguments", "{text}");
        }
        for text in ["a b c", "1 2 x", "2001 1 1", "1.5 2 3"] {
            assert!(of(text).unwrap_err().starts_with("Invalid oom-score-adj-values"), "{text}");
        }
    }

    #[test]
    fn quoted_text_is_what_the_file_reader_reads_back() {
        for text in ["plain", "", "two words", "with \"quotes\"", "back\\slash", "tab\t#x"] {
            let line = format!("name {}", quote(text));
            let words = crate::config::file::split(line.as_bytes()).unwrap();
            assert_eq!(words[1], text.as_bytes(), "{line}");
        }
    }
}
