//! `dolium get`, `set`, `exec`, `top` and `check`: attach to a server's memory and do it.

pub mod check;
mod show;
pub mod top;

use clap::Args;
use dolium_attach::{Error, Socket, Store, Value};
use std::io::{IsTerminal, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// How the reply to AUTH begins where there is no password.
const NO_PASSWORD: &[u8] = b"ERR AUTH <password> called without any password configured";

/// Where the server's memory is: all that who only looks at it has to know.
#[derive(Args, Debug)]
pub struct Place {
    /// The server's attach-socket; without it, where a server of this user has it: dolium.attach in
    /// XDG_RUNTIME_DIR, or /tmp/dolium-UID.attach
    #[arg(long, value_name = "PATH")]
    attach_socket: Option<PathBuf>,
}

/// Where the keys are, and who is asked for them if the memory cannot be reached.
#[derive(Args, Debug)]
struct Target {
    #[command(flatten)]
    place: Place,
    /// The logical database
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 0)]
    db: u16,
    /// Whom to ask if attaching is not possible
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:6379")]
    server: String,
}

#[derive(Args, Debug)]
pub struct GetArguments {
    /// The key
    name: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Args, Debug)]
pub struct SetArguments {
    /// The key
    name: String,
    /// Its new value
    value: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Args, Debug)]
pub struct ExecArguments {
    #[command(flatten)]
    target: Target,
    /// The command and its arguments: dolium exec INCR visits
    #[arg(value_names = ["COMMAND", "ARGUMENT"], required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Place {
    pub fn attach(&self) -> Result<Store, Error> {
        match &self.attach_socket {
            Some(path) => Store::attach(path),
            None => Store::attach_usual(),
        }
    }
}

impl Target {
    fn attach(&self) -> Result<Store, Error> {
        self.place.attach()?.db(self.db)
    }

    /// Executes a command attached, or else over the socket, with a note.
    fn execute(&self, words: &[&[u8]]) -> Result<Value, String> {
        let store = match self.attach() {
            Ok(store) => store,
            Err(why) if is_elsewhere(&why) => return self.ask(&why, words),
            Err(error) => return Err(error.to_string()),
        };
        log_in(|words| store.execute(words).map_err(|error| error.to_string()))?;
        store.execute(words).map_err(|error| error.to_string())
    }

    /// The second best: over the socket.
    fn ask(&self, why: &Error, words: &[&[u8]]) -> Result<Value, String> {
        let both = |error: &dyn std::fmt::Display| {
            format!("{why}\nand {} does not answer either: {error}", self.server)
        };
        let mut socket: Socket<TcpStream> =
            Socket::tcp(&self.server).map_err(|error| both(&error))?;
        eprintln!("note: {why}\nnote: {} is asked instead", self.server);
        log_in(|words| socket.execute(words).map_err(|e| both(&e)))?;
        if self.db != 0 {
            let db = self.db.to_string();
            refused(&socket.execute(&[b"SELECT", db.as_bytes()]).map_err(|e| both(&e))?)?;
        }
        socket.execute(words).map_err(|error| both(&error))
    }
}

/// Nobody is there to attach to, who might be reached at his port. Whoever is there and says no has
/// answered: another server would be another store.
fn is_elsewhere(why: &Error) -> bool {
    matches!(why, Error::Connect { .. } | Error::NotDolium { .. } | Error::Refused(_))
}

/// Says the password first, if there is one to say. A server that has none is no reason to stop:
/// who has several servers sets the variable once for all of them.
fn log_in(ask: impl FnOnce(&[&[u8]]) -> Result<Value, String>) -> Result<(), String> {
    let Some(password) = std::env::var_os("DOLIUM_PASSWORD") else { return Ok(()) };
    let words: [&[u8]; 2] = [b"AUTH", password.as_bytes()];
    let reply = ask(&words)?;
    if reply.as_error().is_some_and(|text| text.starts_with(NO_PASSWORD)) {
        eprintln!("note: DOLIUM_PASSWORD was not needed: the server has no password");
        return Ok(());
    }
    refused(&reply)
}

/// A reply that is an error, as the reason that it gives.
fn refused(reply: &Value) -> Result<(), String> {
    reply.as_error().map_or(Ok(()), |text| Err(String::from_utf8_lossy(text).into_owned()))
}

/// `dolium get NAME`: the value and a line end; exit status 1 if there is no such key.
pub fn get(arguments: &GetArguments) -> ExitCode {
    let name = arguments.name.as_bytes();
    let value = match arguments.target.attach() {
        Ok(store) => store.get(name).map_err(|error| match error {
            Error::WrongType => format!(
                "the key holds no string: `dolium exec TYPE {}` says what it is, and `dolium exec` \
                 runs the commands for it",
                arguments.name
            ),
            error => error.to_string(),
        }),
        Err(why) if !is_elsewhere(&why) => Err(why.to_string()),
        Err(why) => match arguments.target.ask(&why, &[b"GET", name]) {
            Ok(Value::Null) => Ok(None),
            Ok(reply) => match (reply.as_error(), reply.as_bytes()) {
                (None, Some(bytes)) => Ok(Some(bytes.to_vec())),
                (text, _) => Err(String::from_utf8_lossy(text.unwrap_or(b"no value")).into()),
            },
            Err(text) => Err(text),
        },
    };
    match value {
        Ok(Some(value)) => print_bytes(&value),
        Ok(None) => {
            eprintln!("dolium: there is no key {:?}", arguments.name);
            ExitCode::FAILURE
        }
        Err(text) => fail(&text),
    }
}

/// `dolium set NAME VALUE`.
pub fn set(arguments: &SetArguments) -> ExitCode {
    let words = [b"SET", arguments.name.as_bytes(), arguments.value.as_bytes()];
    answer(arguments.target.execute(&words))
}

/// `dolium exec COMMAND ...`: any command, its reply as redis-cli shows it.
pub fn exec(arguments: &ExecArguments) -> ExitCode {
    let words: Vec<&[u8]> = arguments.words.iter().map(|word| word.as_bytes()).collect();
    answer(arguments.target.execute(&words))
}

fn answer(reply: Result<Value, String>) -> ExitCode {
    match reply {
        Ok(value) => {
            let code = print_bytes(show::reply(&value).as_bytes());
            if value.as_error().is_some() { ExitCode::FAILURE } else { code }
        }
        Err(text) => fail(&text),
    }
}

/// Writes bytes and a line end. A reader that has gone away is no failure of ours.
fn print_bytes(bytes: &[u8]) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.write_all(b"\n"));
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => fail(&error.to_string()),
        _ => ExitCode::SUCCESS,
    }
}

pub fn fail(text: &str) -> ExitCode {
    eprintln!("dolium: {text}");
    ExitCode::FAILURE
}

/// Does whoever reads our output want colour?
pub fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
