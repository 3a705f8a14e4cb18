//! The command page, `docs/commands.md`, made from the rows.

use crate::redis::row::{Group, Row};
use crate::redis::server::syntax::readable;
use crate::redis::table;
use std::fmt::Write;

const GROUPS: [(Group, &str); 10] = [
    (Group::String, "Strings"),
    (Group::Bitmap, "Bits of strings"),
    (Group::List, "Lists"),
    (Group::Set, "Sets"),
    (Group::Generic, "Keys"),
    (Group::Connection, "Connection"),
    (Group::Transactions, "Transactions"),
    (Group::PubSub, "Publish and subscribe"),
    (Group::Scripting, "Functions"),
    (Group::Server, "Server"),
];

/// The page as it should be.
pub fn page() -> String {
    let mut page = String::from(
        "# Commands\n\n\
         Made from the rows in `crates/commands/src/redis/table/`; \
         `DOLIUM_WRITE_PAGES=1 cargo test -p dolium-commands` writes it anew.\n\n\
         What Redis has and Dolium has not, or does otherwise: \
         [differences.md](differences.md). `COMMAND INFO` says the flags and the categories of each.\n\n\
         Arity counts the name; a negative number is the least. Since: the version of Redis in \
         which the command appeared (–: Redis has none).\n\n\
         Arguments: words in capitals are written as they are, `[...]` behind something means \
         that it may come again, and round brackets hold together what is chosen from.\n",
    );
    for (group, title) in GROUPS {
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## {title}\n\n\
             | Command | Arguments | Arity | What it does | Complexity | Since |\n\
             |---|---|---|---|---|---|\n"
        );
        let mut rows: Vec<&Row> = table::ROWS.iter().filter(|row| row.group == group).collect();
        rows.sort_by_key(|row| row.name);
        for row in rows {
            write_row(&mut page, row);
        }
    }
    page
}

fn write_row(page: &mut String, row: &Row) {
    let deprecated = row.replaced_by.map_or_else(String::new, |(since, by)| {
        format!(" Deprecated since {since}: {}.", by.replace('!', ""))
    });
    let _ = writeln!(
        page,
        "| `{}` | {} | {} | {}{deprecated} | {} | {} |",
        row.name.replace('|', " ").to_uppercase(),
        arguments(row),
        row.arity,
        row.summary,
        row.complexity,
        if row.name.starts_with("dolium") { "–" } else { row.since },
    );
}

/// A bar would end the cell, even within a piece of code.
fn arguments(row: &Row) -> String {
    match row.syntax {
        "" => String::new(),
        syntax => format!("`{}`", readable(syntax).replace('|', "\\|")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_the_one_the_rows_make() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
        if std::env::var_os("DOLIUM_WRITE_PAGES").is_some() {
            std::fs::write(path, super::page()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == super::page(), "docs/commands.md is not up to date: see its head");
    }
}
