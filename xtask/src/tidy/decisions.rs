//! The list of decisions in `docs/decisions/README.md`: it names each page with its own title.

use super::Source;

const FOLDER: &str = "docs/decisions/";
const LIST: &str = "docs/decisions/README.md";

pub fn check(sources: &[Source]) -> Vec<String> {
    let list = sources.iter().find(|source| source.path == LIST);
    let list = list.map_or("", |source| source.text.as_str());
    let pages = sources.iter().filter_map(|source| {
        let name = source.path.strip_prefix(FOLDER)?;
        let number = name.split('-').next().filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?;
        Some((name, number, title(&source.text)))
    });
    let missing = pages.filter_map(|(name, number, title)| {
        let line = format!("- [{number}]({name}) {title}");
        (!list.lines().any(|is| is == line)).then(|| format!("{LIST}: a line is missing: {line}"))
    });
    missing.collect()
}

/// The decision as a sentence: the first line behind its number.
fn title(text: &str) -> &str {
    let line = text.lines().next().unwrap_or("").trim_start_matches("# ");
    line.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ':').trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_in_the_list_is_found() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let page = source("docs/decisions/0007-a-b.md", "# 7. A is B\n");
        let list = source(LIST, "# Decisions\n- [0007](0007-a-b.md) A is B\n");
        assert!(check(&[page, list]).is_empty());
        let page = source("docs/decisions/0007-a-b.md", "# 0007: A is C\n");
        let list = source(LIST, "- [0007](0007-a-b.md) A is B\n");
        assert_eq!(check(&[page, list]).len(), 1);
    }
}
