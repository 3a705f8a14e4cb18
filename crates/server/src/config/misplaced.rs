//! A word too many behind a directive of the command line, and what was meant by it.
//!
//! ```text
//!   dolium serve --port 7000 my.conf   the file, which stands first
//!   dolium serve --port 7000 -t 5      a directive, which begins with --
//! ```

use super::file::{COMMAND_LINE, Line};
use std::path::Path;

/// The end of the sentence that a directive has too many values. Of a line in a file there is nothing to say.
pub fn hint(line: &Line) -> String {
    let Some((first, others)) = line.words.split_first().filter(|_| line.place == COMMAND_LINE)
    else {
        return String::new();
    };
    let name = &line.name;
    let is_file = |word: &&String| word.ends_with(".conf") || Path::new(word).is_file();
    if let Some(file) = others.iter().find(is_file) {
        format!("; a configuration file stands first, as in dolium serve {file} --{name} {first}")
    } else if let Some(word) = others.iter().find(|word| word.starts_with('-')) {
        format!("; '{word}' is taken for one of them, as directives begin with --")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::from_arguments;

    /// The file was said to be the second value of the directive in front of it.
    #[test]
    fn a_word_too_many_is_told_where_it_stands() {
        let told = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| String::from(*word)).collect();
            hint(&from_arguments(&words).unwrap()[0])
        };
        let here = std::env::current_exe().unwrap();
        for file in ["my.conf", here.to_str().unwrap()] {
            let said = told(&["--port", "7000", file]);
            let end = format!("first, as in dolium serve {file} --port 7000");
            assert!(said.ends_with(&end), "{said}");
        }
        assert!(told(&["--port", "7000", "-t", "5"]).contains("'-t' is taken for one of them"));
        assert_eq!(told(&["--port", "7000", "8000"]), "");
        assert_eq!(told(&["--port"]), "");
        let words = ["7000", "my.conf"].map(String::from).to_vec();
        let in_a_file = Line { name: "port".into(), words, place: "a.conf:1".into() };
        assert_eq!(hint(&in_a_file), "");
    }
}
