//! `dolium get`, `set`, `exec`, `top` and `check`: attach to a server's memory and do it.

pub mod check;
mod sent;
mod shell;
mod show;
mod target;
mod terminal;
mod texts;
pub mod top;

use crate::output::{self, fail, note};
use clap::Args;
use dolium_attach::{Error, Value};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
pub use target::Place;
use target::{Target, advice, reason};

const HOW_VALUES_ARE_SHOWN: &str = "\
A pipe or a file gets the value's bytes and a line end. On a terminal a value with control
characters, or one that is no UTF-8, is shown with those as \\x1b, \\r and the like.";

#[derive(Args, Debug)]
#[command(after_help = HOW_VALUES_ARE_SHOWN)]
pub struct GetArguments {
    /// The key
    name: OsString,
    #[command(flatten)]
    target: Target,
}

#[derive(Args, Debug)]
pub struct SetArguments {
    /// The key
    name: OsString,
    /// Its new value; behind -- it may look like one of the options
    #[arg(allow_hyphen_values = true)]
    value: OsString,
    #[command(flatten)]
    target: Target,
}

const WHERE_OPTIONS_STAND: &str = "\
Options stand before the command; what stands behind it is sent:
  dolium exec -n 3 DEL greeting";

#[derive(Args, Debug)]
#[command(after_help = WHERE_OPTIONS_STAND)]
pub struct ExecArguments {
    #[command(flatten)]
    target: Target,
    /// The command and its arguments, behind all options: dolium exec INCR visits
    #[arg(value_names = ["COMMAND", "ARGUMENT"], required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// `dolium get NAME`: the value and a line end; exit status 1 if there is no such key.
pub fn get(arguments: &GetArguments) -> ExitCode {
    let name = arguments.name.as_bytes();
    let value = match arguments.target.attach() {
        Ok(store) => store.get(name).map_err(|error| match error {
            Error::WrongType => format!(
                "the key holds no string: `{} TYPE {}` says what it is, and `dolium exec` runs the \
                 commands for it",
                arguments.target.exec(),
                shell::word(name)
            ),
            error => error.to_string(),
        }),
        Err(why) => match arguments.target.ask_instead(&why, &[b"GET", name]) {
            Ok(None | Some(Value::Null)) => Ok(None),
            Ok(Some(reply)) => match (reply.as_error(), reply.as_bytes()) {
                (None, Some(bytes)) => Ok(Some(bytes.to_vec())),
                (text, _) => Err(reason(text.unwrap_or(b"no value"))),
            },
            Err(text) => Err(text),
        },
    };
    match value {
        Ok(Some(value)) => print_value(value),
        Ok(None) => fail(&format!("there is no key {:?}", arguments.name)),
        Err(text) => fail(&text),
    }
}

/// `dolium set NAME VALUE`.
pub fn set(arguments: &SetArguments) -> ExitCode {
    let words = [b"SET", arguments.name.as_bytes(), arguments.value.as_bytes()];
    answer(&words, arguments.target.execute(&words))
}

/// `dolium exec COMMAND ...`: any command, its reply as redis-cli shows it.
pub fn exec(arguments: &ExecArguments) -> ExitCode {
    let words: Vec<&[u8]> = arguments.words.iter().map(|word| word.as_bytes()).collect();
    if let Some(text) = sent::of_the_connection_alone(&words) {
        return fail(&text);
    }
    if let Some(option) = sent::option_behind(&words) {
        note(format_args!(
            "note: {option} stands behind the command and is sent with it; as an option of dolium exec \
             it would stand before the command"
        ));
    }
    answer(&words, arguments.target.execute(&words))
}

fn answer(words: &[&[u8]], reply: Result<Option<Value>, String>) -> ExitCode {
    match reply {
        Ok(Some(value)) => {
            let shown = texts::of(words, &value);
            let code = print_line(shown.unwrap_or_else(|| show::reply(&value).into_bytes()));
            let Some(text) = value.as_error() else { return code };
            if let Some(advice) = advice(text) {
                note(format_args!("dolium: {advice}"));
            }
            ExitCode::FAILURE
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(text) => fail(&text),
    }
}

/// As it is, but to a terminal.
fn print_value(value: Vec<u8>) -> ExitCode {
    match terminal::escaped(&value).filter(|_| std::io::stdout().is_terminal()) {
        None => print_line(value),
        Some(text) => {
            let code = print_line(text.into_bytes());
            note(
                "note: shown escaped, as a terminal would obey its control characters or cannot show its \
                 bytes: a file or a pipe gets it as it is",
            );
            code
        }
    }
}

fn print_line(mut bytes: Vec<u8>) -> ExitCode {
    bytes.push(b'\n');
    output::finish(&bytes)
}

/// Does whoever reads our output want colour, and can it be had there?
pub fn wants_colour() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && knows_escapes(std::env::var_os("TERM").as_deref())
}

/// A terminal that calls itself dumb, or nothing, shows escape sequences as text.
fn knows_escapes(terminal: Option<&OsStr>) -> bool {
    terminal.is_some_and(|name| !name.is_empty() && name != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_is_shown_no_escapes() {
        let knows = |name: Option<&str>| knows_escapes(name.map(OsStr::new));
        assert_eq!([knows(Some("xterm")), knows(Some("dumb")), knows(None)], [true, false, false]);
    }
}
