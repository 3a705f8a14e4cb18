//! Whose keys are meant, and how they are asked for: attached, or else over a socket, with a note.

use super::shell;
use crate::output::note;
use clap::Args;
use dolium_attach::{Error, Socket, Store, Value};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How the reply to AUTH begins where there is no password.
const NO_PASSWORD: &[u8] = b"ERR AUTH <password> called without any password configured";

/// Who is asked over TCP if nobody has said anything.
const USUAL_SERVER: &str = "127.0.0.1:6379";

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
pub struct Target {
    #[command(flatten)]
    pub(super) place: Place,
    /// The logical database
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) db: u16,
    /// Whom to ask if nobody listens at the attach socket; without it 127.0.0.1:6379, or nobody if
    /// --attach-socket says whose memory it is to be
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    server: Option<String>,
}

/// Has it the form of a place that can be asked? Whether somebody is there is seen when it is.
fn host_and_port(text: &str) -> Result<String, String> {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && is_port(port) => Ok(text.into()),
        _ => Err(format!("a host and a port are needed, such as {USUAL_SERVER}")),
    }
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
    pub fn attach(&self) -> Result<Store, Error> {
        self.place.attach()?.db(self.db)
    }

    /// How `dolium exec` is told of the same target, for who is to copy it into a shell.
    pub fn exec(&self) -> String {
        let mut line = String::from("dolium exec");
        if let Some(path) = &self.place.attach_socket {
            line += &format!(" --attach-socket {}", shell::word(path.as_os_str().as_bytes()));
        }
        if self.db != 0 {
            line += &format!(" -n {}", self.db);
        }
        line
    }

    /// Executes a command attached, or else over the socket, with a note. `None`: the server has ended
    /// because of it.
    pub fn execute(&self, words: &[&[u8]]) -> Result<Option<Value>, String> {
        let store = match self.attach() {
            Ok(store) => store,
            Err(why) => return self.ask_instead(&why, words),
        };
        log_in(|words| store.execute(words).map_err(|error| error.to_string()))?;
        last_word(words, store.execute(words)).map_err(|error| match error {
            Error::Command(text) => reason(text.as_bytes()),
            error => error.to_string(),
        })
    }

    /// The second best, over the socket, if nobody is there to attach to. Whoever is there and says no, or
    /// nothing, has answered: another server would be another store. And so it would where the socket was
    /// named, unless the server was named as well.
    pub fn ask_instead(&self, why: &Error, words: &[&[u8]]) -> Result<Option<Value>, String> {
        if !matches!(why, Error::Connect { .. }) {
            return Err(why.to_string());
        }
        match (&self.server, &self.place.attach_socket) {
            (Some(server), _) => self.ask(server, why, words),
            (None, None) => self.ask(USUAL_SERVER, why, words),
            (None, Some(_)) => Err(format!(
                "{why}\nNobody else was asked, as --attach-socket names one server; --server \
                 HOST:PORT names where the same one is to be asked if it cannot be attached to"
            )),
        }
    }

    fn ask(&self, server: &str, why: &Error, words: &[&[u8]]) -> Result<Option<Value>, String> {
        let mut socket: Socket<TcpStream> = Socket::tcp(server)
            .map_err(|error| format!("{why}\nand {server} does not answer either: {error}"))?;
        note(format_args!("note: {why}\nnote: {server} is asked instead"));
        let unanswered = |error| unanswered(server, &error);
        log_in(|words| socket.execute(words).map_err(unanswered))?;
        if self.db != 0 {
            let db = self.db.to_string();
            refused(&socket.execute(&[b"SELECT", db.as_bytes()]).map_err(unanswered)?)?;
        }
        last_word(words, socket.execute(words)).map_err(unanswered)
    }
}

/// Why nothing is known from whom a connection could be made to. What has been noted of the attach socket
/// is not said again.
fn unanswered(server: &str, error: &Error) -> String {
    match error {
        // In words of somebody attached, who has a memory to go on reading.
        Error::ServerGone => format!(
            "{server} closed the connection without an answer: a port that is not Redis' (one of TLS, \
             which is not spoken here; tls-port is another than port), or a server that is stopping"
        ),
        Error::Reply(error) => format!("{server} does not answer as a port of Redis does: {error}"),
        error => error.to_string(),
    }
}

/// A server that does as SHUTDOWN says has no reply to it: it is gone.
fn last_word(words: &[&[u8]], reply: Result<Value, Error>) -> Result<Option<Value>, Error> {
    let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    match reply {
        Err(Error::ServerGone | Error::Closed)
            if words.first().is_some_and(|word| is(word, "SHUTDOWN"))
                && !words.iter().any(|word| is(word, "ABORT")) =>
        {
            Ok(None)
        }
        reply => reply.map(Some),
    }
}

/// Says the password first, if there is one to say. A server that has none is no reason to stop:
/// who has several servers sets the variable once for all of them.
fn log_in(ask: impl FnOnce(&[&[u8]]) -> Result<Value, String>) -> Result<(), String> {
    let Some(password) = std::env::var_os("DOLIUM_PASSWORD") else { return Ok(()) };
    let words: [&[u8]; 2] = [b"AUTH", password.as_bytes()];
    let reply = ask(&words)?;
    if reply.as_error().is_some_and(|text| text.starts_with(NO_PASSWORD)) {
        note("note: DOLIUM_PASSWORD was not needed: the server has no password");
        return Ok(());
    }
    refused(&reply)
}

/// A reply that is an error, as the reason that it gives.
fn refused(reply: &Value) -> Result<(), String> {
    reply.as_error().map_or(Ok(()), |text| Err(reason(text)))
}

pub fn reason(text: &[u8]) -> String {
    let said = String::from_utf8_lossy(text);
    match advice(text) {
        Some(advice) => format!("{said} ({advice})"),
        None => said.into_owned(),
    }
}

/// What to do about an error that a server's sentence leaves open.
pub fn advice(text: &[u8]) -> Option<&'static str> {
    let is_for_password = text.starts_with(b"NOAUTH");
    is_for_password.then_some("the password is taken from the environment: DOLIUM_PASSWORD=...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shutdown_that_is_obeyed_has_no_reply() {
        let gone = |words: &[&[u8]]| last_word(words, Err(Error::ServerGone));
        assert!(matches!(gone(&[b"shutdown", b"NOSAVE"]), Ok(None)));
        assert!(gone(&[b"SHUTDOWN", b"abort"]).is_err());
        assert!(gone(&[b"SET", b"k", b"SHUTDOWN"]).is_err());
        let refused = || Value::Error(b"ERR no".to_vec());
        assert_eq!(last_word(&[b"SHUTDOWN"], Ok(refused())).unwrap(), Some(refused()));
        assert!(last_word(&[b"SHUTDOWN"], Err(Error::TimedOut)).is_err());
    }
}
