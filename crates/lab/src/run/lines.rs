//! Sentences on a screen: a long one goes on in the next line, a little to the right.

/// Columns of a line.
const WIDTH: usize = 100;
const INDENT: &str = "  ";

/// `text` as lines of a screen. What goes into a file or a pipe stays one line, to be searched and cut.
pub fn fold(text: &str, screen: bool) -> String {
    if !screen {
        return text.to_string();
    }
    let mut folded = String::new();
    let mut column = 0;
    for (place, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if place > 0 && column + 1 + length > WIDTH {
            folded.push('\n');
            folded.push_str(INDENT);
            column = INDENT.len();
        } else if place > 0 {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += length;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_goes_on_below_and_keeps_its_words() {
        let long = format!("note: {}the end.", "a few words and ".repeat(8));
        let folded = fold(&long, true);
        assert!(folded.lines().count() == 2 && folded.lines().all(|one| one.len() <= WIDTH));
        assert_eq!(folded.replace("\n  ", " "), long);
        assert_eq!(fold(&long, false), long);
        let place = "x".repeat(2 * WIDTH);
        assert_eq!(fold(&format!("report: {place}"), true), format!("report:\n  {place}"));
        assert_eq!(fold("  indented", true), "  indented");
    }
}
