//! docs/differences.md says which commands are not there: none of them is in the table, and the page has a
//! row for whatever it says that a family lacks.

use dolium_commands::redis::table;
use std::path::Path;

#[test]
fn what_the_page_says_is_not_there_is_not_there() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let rows = page.lines().skip_while(|line| *line != "| not there | commands |").skip(2);
    let mut named = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        let commands = row.split('|').nth(2).expect("a column of commands");
        // What is there after all stands in brackets.
        let commands = commands.split('(').next().expect("a start");
        for name in commands.split('`').skip(1).step_by(2) {
            // All of a letter's, or one command, of a container perhaps.
            let name = name.to_ascii_lowercase().replace(' ', "|");
            named += 1;
            match name.len() {
                1 => {
                    let found = table::ROWS
                        .iter()
                        .find(|row| row.name.starts_with(&name) && row.name != "hello");
                    assert!(found.is_none(), "{} is there", found.map_or("", |row| row.name));
                }
                _ => assert!(table::find_full(name.as_bytes()).is_none(), "{name} is there"),
            }
        }
    }
    assert!(named > 50, "the page names {named} commands");
}
