//! Reading `*.case` files: lines to cases, cases to steps. What the steps mean is `run.rs`.

use crate::Result;
use crate::servers::Kind;
use std::path::Path;
use std::time::Duration;

pub struct File {
    pub name: String,
    pub cases: Vec<Case>,
}

pub struct Case {
    pub name: String,
    pub steps: Vec<Step>,
    /// The one server that the case is about, when the peers differ.
    pub only: Option<Kind>,
}

pub enum Step {
    /// Lines to send at once, then what must come back.
    Exchange {
        line: usize,
        door: Door,
        send: Vec<String>,
        expect: Vec<String>,
    },
    Sleep(Duration),
}

/// Which connection a line is for: `redis.b> GET k` is connection `b` of protocol `redis`. A bare
/// `>` is the nameless connection of the protocol that the folder is named for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Door {
    pub protocol: String,
    pub name: String,
}

pub fn read_folder(folder: &Path) -> Result<Vec<File>> {
    let unreadable = |why: std::io::Error| format!("cannot read {}: {why}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|end| end == "case") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        let cases = parse(&text).map_err(|why| format!("{name}: {why}"))?;
        files.push(File { name, cases });
    }
    Ok(files)
}

/// `#` starts a comment line, an empty line ends an exchange.
pub fn parse(text: &str) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = Vec::new();
    let mut open = false; // Whether the last step still takes expected lines.
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            open = false;
            continue;
        }
        if let Some(name) = line.strip_prefix("case: ") {
            cases.push(Case { name: name.to_string(), steps: Vec::new(), only: None });
            open = false;
            continue;
        }
        let case = cases.last_mut().ok_or(format!("line {number} comes before any case"))?;
        if let Some(kind) = line.strip_prefix("only: ") {
            case.only = Some(kind_named(kind).ok_or(format!("line {number}: no server {kind}"))?);
        } else if let Some(time) = line.strip_prefix("sleep ") {
            let time = time.trim_end_matches(" ms").parse();
            let time = time.map_err(|_| format!("line {number}: sleep takes `N ms`"))?;
            case.steps.push(Step::Sleep(Duration::from_millis(time)));
            open = false;
        } else if let Some((door, sent)) = sent_line(line) {
            extend_or_begin(case, number, door, sent, open);
            open = true;
        } else {
            match case.steps.last_mut() {
                Some(Step::Exchange { expect, .. }) if open => expect.push(line.to_string()),
                _ => return Err(format!("line {number} answers nothing: {line}")),
            }
        }
    }
    Ok(cases)
}

/// Lines sent one after another on one connection go out together, as a pipeline.
fn extend_or_begin(case: &mut Case, line: usize, door: Door, sent: &str, open: bool) {
    if let Some(Step::Exchange { door: last, send, expect, .. }) = case.steps.last_mut()
        && open
        && expect.is_empty()
        && *last == door
    {
        send.push(sent.to_string());
        return;
    }
    let send = vec![sent.to_string()];
    case.steps.push(Step::Exchange { line, door, send, expect: Vec::new() });
}

fn sent_line(line: &str) -> Option<(Door, &str)> {
    let (prefix, sent) = match line.split_once("> ") {
        Some(split) => split,
        None => (line.strip_suffix('>')?, ""),
    };
    let (protocol, name) = prefix.split_once('.').unwrap_or((prefix, ""));
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let known = ["", "redis", "memcache", "http"].contains(&protocol) && is_word(name);
    known.then(|| (Door { protocol: protocol.to_string(), name: name.to_string() }, sent))
}

fn kind_named(name: &str) -> Option<Kind> {
    [Kind::Dolium, Kind::Redis, Kind::Memcached].into_iter().find(|kind| kind.name() == name)
}

#[cfg(test)]
mod tests {
    use super::{Step, parse};

    #[test]
    fn lines_in_a_row_are_one_pipeline() {
        let cases = parse("# x\ncase: one\n> SET k v\n> GET k\n+OK\n\"v\"\n\n.b> GET k\nnil\n");
        let cases = cases.expect("parses");
        assert_eq!(cases.len(), 1);
        let Step::Exchange { send, expect, .. } = &cases[0].steps[0] else { panic!("no exchange") };
        assert_eq!((send.len(), expect.len()), (2, 2));
        let Step::Exchange { door, .. } = &cases[0].steps[1] else { panic!("no exchange") };
        assert_eq!(door.name, "b");
    }

    #[test]
    fn an_expectation_without_a_request_is_refused() {
        assert!(parse("case: one\n+OK\n").is_err());
    }
}
