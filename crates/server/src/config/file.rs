//! The syntax of `redis.conf`: a directive a line, words quoted where needed, `#` comments,
//! `include` of other files.

use super::ConfigFailure;
use crate::limits::INCLUDE_DEPTH;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// One directive as a file or the command line gives it: its name and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub name: String,
    pub words: Vec<String>,
    /// `file:line`, or the command line, for error messages.
    pub place: String,
}

/// Splits a line into words. `"..."` knows `\n \r \t \b \a \xHH \c`, `'...'` only `\'`.
/// `None`: the quotes do not pair, or text follows a closing one.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_ascii_whitespace()).is_some() {}
        if rest.peek().is_none() {
            return Some(words);
        }
        let mut word = String::new();
        loop {
            match rest.next() {
                None => break,
                Some(c) if c.is_ascii_whitespace() => break,
                Some('"') => {
                    loop {
                        match rest.next()? {
                            '"' => break,
                            '\\' => word.push(escaped(&mut rest)?),
                            c => word.push(c),
                        }
                    }
                    if rest.peek().is_some_and(|c| !c.is_ascii_whitespace()) {
                        return None;
                    }
                }
                Some('\'') => {
                    loop {
                        match rest.next()? {
                            '\'' => break,
                            '\\' if rest.peek() == Some(&'\'') => word.push(rest.next()?),
                            c => word.push(c),
                        }
                    }
                    if rest.peek().is_some_and(|c| !c.is_ascii_whitespace()) {
                        return None;
                    }
                }
                Some(c) => word.push(c),
            }
        }
        words.push(word);
    }
}

fn escaped(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    Some(match rest.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\x08',
        'a' => '\x07',
        'x' => {
            let mut ahead = rest.clone();
            let digits: Option<Vec<u32>> =
                (0..2).map(|_| ahead.next().and_then(|c| c.to_digit(16))).collect();
            match digits.as_deref() {
                Some([high, low]) => {
                    rest.nth(1);
                    char::from_u32(high * 16 + low)?
                }
                _ => 'x',
            }
        }
        c => c,
    })
}

/// The directives of a file and of what it includes, in order.
pub fn read(path: &Path) -> Result<Vec<Line>, ConfigFailure> {
    let mut lines = Vec::new();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "; directives begin with --, as in dolium --port 7000",
            _ => "",
        };
        let reason = format!("this configuration file cannot be read: {error}{hint}");
        ConfigFailure::new(path.display(), reason)
    })?;
    read_into(path, &text, 0, &mut lines)?;
    Ok(lines)
}

fn read_into(
    path: &Path,
    text: &str,
    depth: usize,
    lines: &mut Vec<Line>,
) -> Result<(), ConfigFailure> {
    if depth > INCLUDE_DEPTH {
        return Err(ConfigFailure::new(
            path.display(),
            format!("include goes deeper than {INCLUDE_DEPTH} files; is it a circle?"),
        ));
    }
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}", path.display(), number + 1);
        if is_comment(line) {
            continue;
        }
        let mut words = split(line)
            .ok_or_else(|| ConfigFailure::new(&place, "the quotes do not pair".into()))?;
        if words.is_empty() {
            continue;
        }
        let name = words.remove(0);
        if name.eq_ignore_ascii_case("include") {
            for included in words {
                let included = relative_to(path, &included);
                let text = std::fs::read_to_string(&included).map_err(|error| {
                    let included = included.display();
                    let reason = format!("'include': {included} cannot be read: {error}");
                    ConfigFailure::new(&place, reason)
                })?;
                read_into(&included, &text, depth + 1, lines)?;
            }
        } else {
            lines.push(Line { name, words, place });
        }
    }
    Ok(())
}

pub fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// An included file is named from the working directory, as in Redis, or beside its includer.
fn relative_to(includer: &Path, name: &str) -> PathBuf {
    let named = PathBuf::from(name);
    if named.is_absolute() || named.exists() {
        return named;
    }
    includer.parent().map_or(named.clone(), |dir| dir.join(&named))
}

/// `--port 7000 --save 60 1 --bind ::1`: each `--name` and the words up to the next.
pub fn from_arguments(arguments: &[String]) -> Result<Vec<Line>, ConfigFailure> {
    let mut lines: Vec<Line> = Vec::new();
    for argument in arguments {
        if let Some(name) = argument.strip_prefix("--").filter(|name| !name.is_empty()) {
            let (name, word) = match name.split_once('=') {
                Some((name, word)) => (name, vec![word.to_string()]),
                None => (name, Vec::new()),
            };
            lines.push(Line { name: name.into(), words: word, place: "the command line".into() });
        } else if let Some(line) = lines.last_mut() {
            line.words.push(argument.clone());
        } else {
            return Err(ConfigFailure::new(
                "the command line",
                format!("'{argument}' belongs to no directive; write --directive value"),
            ));
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_redis_does() {
        for (line, words) in [
            ("port 7000", vec!["port", "7000"]),
            ("  save \"\"  ", vec!["save", ""]),
            (r#"requirepass "a b\n\x41\"""#, vec!["requirepass", "a b\nA\""]),
            (r"logfile 'it\'s'", vec!["logfile", "it's"]),
            ("", vec![]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        for line in ["a \"b", "a 'b", "a \"b\"c"] {
            assert_eq!(split(line), None, "{line}");
        }
    }

    #[test]
    fn arguments_gather_words() {
        let words = ["--port", "1", "--save", "60", "1", "--hz=5"].map(String::from);
        let lines = from_arguments(&words).unwrap();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1].words, ["60", "1"]);
        assert_eq!((lines[2].name.as_str(), lines[2].words[0].as_str()), ("hz", "5"));
        assert!(from_arguments(&["x".into()]).is_err());
    }

    #[test]
    fn includes_are_read_in_place_and_circles_end() {
        let dir = std::env::temp_dir().join(format!("dolium-include-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("a.conf"), "# first\nport 1\ninclude b.conf\nhz 2\n").unwrap();
        std::fs::write(dir.join("b.conf"), "timeout 3\n").unwrap();
        std::fs::write(dir.join("c.conf"), "include c.conf\n").unwrap();
        let names: Vec<String> =
            read(&dir.join("a.conf")).unwrap().into_iter().map(|l| l.name).collect();
        let circle = read(&dir.join("c.conf"));
        std::fs::write(dir.join("d.conf"), "hz 1\ninclude gone.conf\n").unwrap();
        let gone = read(&dir.join("d.conf")).unwrap_err();
        let nowhere = read(&dir.join("nowhere")).unwrap_err();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(gone.place.ends_with("d.conf:2"), "{gone}");
        assert!(gone.reason.starts_with("'include': "), "{gone}");
        let start = "this configuration file cannot be read: No such file";
        assert!(nowhere.reason.starts_with(start), "{nowhere}");
        assert!(nowhere.reason.contains("directives begin with --"), "{nowhere}");
        assert_eq!(names, ["port", "timeout", "hz"]);
        assert!(circle.unwrap_err().to_string().contains("circle"));
    }
}
