//! The syntax of `redis.conf`: a directive a line, words quoted where needed, `#` comments,
//! `include` of other files, by name or pattern. A file is bytes: only what is said in it has to be
//! UTF-8.

use super::ConfigFailure;
use super::included;
use crate::limits::INCLUDE_DEPTH;
use std::io::ErrorKind;
use std::path::Path;

/// The place of what was given when the program was started.
pub const COMMAND_LINE: &str = "the command line";

/// One directive as a file or the command line gives it: its name and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub name: String,
    pub words: Vec<String>,
    /// `file:line`, or the command line, for error messages.
    pub place: String,
}

/// The lines of a file, without their ends.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// Splits a line into words. `"..."` knows `\n \r \t \b \a \xHH \c`, `'...'` only `\'`.
/// `None`: the quotes do not pair, or text follows a closing one.
pub fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.iter().copied().peekable();
    loop {
        while rest.next_if(u8::is_ascii_whitespace).is_some() {}
        if rest.peek().is_none() {
            return Some(words);
        }
        let mut word = Vec::new();
        loop {
            match rest.next() {
                None => break,
                Some(byte) if byte.is_ascii_whitespace() => break,
                Some(b'"') => {
                    loop {
                        match rest.next()? {
                            b'"' => break,
                            b'\\' => word.push(escaped(&mut rest)?),
                            byte => word.push(byte),
                        }
                    }
                    if rest.peek().is_some_and(|byte| !byte.is_ascii_whitespace()) {
                        return None;
                    }
                }
                Some(b'\'') => {
                    loop {
                        match rest.next()? {
                            b'\'' => break,
                            b'\\' if rest.peek() == Some(&b'\'') => word.push(rest.next()?),
                            byte => word.push(byte),
                        }
                    }
                    if rest.peek().is_some_and(|byte| !byte.is_ascii_whitespace()) {
                        return None;
                    }
                }
                Some(byte) => word.push(byte),
            }
        }
        words.push(word);
    }
}

/// A byte, not a letter: of one beyond ASCII Redis writes the bytes of UTF-8, each by its number.
fn escaped(rest: &mut (impl Iterator<Item = u8> + Clone)) -> Option<u8> {
    Some(match rest.next()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => b'\x08',
        b'a' => b'\x07',
        b'x' => {
            let mut ahead = rest.clone();
            let mut digit = || ahead.next().and_then(|byte| char::from(byte).to_digit(16));
            match (digit(), digit()) {
                (Some(high), Some(low)) => {
                    rest.nth(1);
                    (high * 16 + low) as u8
                }
                _ => b'x',
            }
        }
        byte => byte,
    })
}

/// The directives of a file and of what it includes, in order.
pub fn read(path: &Path) -> Result<Vec<Line>, ConfigFailure> {
    let mut lines = Vec::new();
    let text = std::fs::read(path).map_err(|error| {
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
    text: &[u8],
    depth: usize,
    read: &mut Vec<Line>,
) -> Result<(), ConfigFailure> {
    if depth > INCLUDE_DEPTH {
        return Err(ConfigFailure::new(
            path.display(),
            format!("include goes deeper than {INCLUDE_DEPTH} files; is it a circle?"),
        ));
    }
    for (number, line) in lines(text).enumerate() {
        let place = format!("{}:{}", path.display(), number + 1);
        let fail = |reason: &str| ConfigFailure::new(&place, reason.into());
        if is_comment(line) {
            continue;
        }
        let words = split(line).ok_or_else(|| fail("the quotes do not pair"))?;
        let words: Result<Vec<String>, _> = words.into_iter().map(String::from_utf8).collect();
        let mut words = words.map_err(|_| fail("names and values must be UTF-8 here"))?;
        if words.is_empty() {
            continue;
        }
        let name = words.remove(0);
        if name.eq_ignore_ascii_case("include") {
            for included in words {
                for included in included::files(path, &included).map_err(|reason| fail(&reason))? {
                    let text = std::fs::read(&included).map_err(|error| {
                        fail(&format!("'include': {} cannot be read: {error}", included.display()))
                    })?;
                    read_into(&included, &text, depth + 1, read)?;
                }
            }
        } else {
            read.push(Line { name, words, place });
        }
    }
    Ok(())
}

pub fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"#")
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
            lines.push(Line { name: name.into(), words: word, place: COMMAND_LINE.into() });
        } else if let Some(line) = lines.last_mut() {
            line.words.push(argument.clone());
        } else {
            return Err(ConfigFailure::new(
                COMMAND_LINE,
                format!(
                    "'{argument}' belongs to no directive: directives begin with --, as in dolium serve \
                     --port 7000"
                ),
            ));
        }
    }
    Ok(lines)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn words_are_split_as_redis_does() {
        for (line, words) in [
            ("port 7000", vec!["port", "7000"]),
            ("  save \"\"  ", vec!["save", ""]),
            (r#"requirepass "a b\n\x41\"""#, vec!["requirepass", "a b\nA\""]),
            (r"logfile 'it\'s'", vec!["logfile", "it's"]),
            (r#"a "\xC3\xa9\xg" é"#, vec!["a", "éxg", "é"]),
            ("", vec![]),
        ] {
            let words: Vec<Vec<u8>> = words.into_iter().map(Vec::from).collect();
            assert_eq!(split(line.as_bytes()).unwrap(), words, "{line}");
        }
        for line in ["a \"b", "a 'b", "a \"b\"c", "a \"\\"] {
            assert_eq!(split(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn arguments_gather_words() {
        let words = ["--port", "1", "--save", "60", "1", "--hz=5"].map(String::from);
        let lines = from_arguments(&words).unwrap();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1].words, ["60", "1"]);
        assert_eq!((lines[2].name.as_str(), lines[2].words[0].as_str()), ("hz", "5"));
        let letter = from_arguments(&["-p".into(), "7000".into()]).unwrap_err().to_string();
        assert!(
            letter.contains("'-p' belongs to no directive: directives begin with --"),
            "{letter}"
        );
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
    /// A folder that goes with the test.
    pub struct Folder(pub PathBuf);

    impl Folder {
        pub fn with(name: &str, files: &[(&str, &[u8])]) -> Folder {
            let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            for (name, text) in files {
                std::fs::write(folder.join(name), text).unwrap();
            }
            Folder(folder)
        }

        pub fn read(&self, name: &str) -> Result<Vec<String>, String> {
            let lines = read(&self.0.join(name)).map_err(|failure| failure.to_string())?;
            Ok(lines.into_iter().map(|l| format!("{} {}", l.name, l.words.join(" "))).collect())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_matter_outside_of_comments_only() {
        let folder = Folder::with(
            "bytes",
            &[
                ("comment.conf", b"# caf\xe9\r\n  # \xff\nport 1\r\n"),
                ("value.conf", b"port 1\nrequirepass caf\xe9\n"),
                ("escaped.conf", b"requirepass \"\\xe9\"\n"),
            ],
        );
        assert_eq!(folder.read("comment.conf").unwrap(), ["port 1"]);
        for (name, line) in [("value.conf", 2), ("escaped.conf", 1)] {
            let place = format!("{name}:{line}: names and values must be UTF-8 here");
            let failure = folder.read(name).unwrap_err();
            assert!(failure.ends_with(&place), "{failure}");
        }
    }
}
