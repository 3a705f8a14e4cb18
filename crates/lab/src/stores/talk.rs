//! A plain conversation with a store: one command, one answer. For settings, statistics and
//! drivers that ask in batches; never for what is timed request by request.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use rustix::net::sockopt;

use crate::LabError;
use crate::error::excerpt;
use crate::generator::Target;

/// An answer in RESP.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    Nothing,
    Text(Vec<u8>),
    Number(i64),
    Many(Vec<Answer>),
    Error(String),
}

impl Answer {
    /// As text; empty for what is none.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Self::Number(number) => number.to_string(),
            Self::Error(error) => error.clone(),
            Self::Nothing | Self::Many(_) => String::new(),
        }
    }
}

/// While an answer is awaited, Ctrl-C is looked for so often.
const LOOK_UP: Duration = Duration::from_millis(100);

/// A socket that waits as long as it takes, but not longer than the user.
struct Patient(File);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if crate::interrupt::asked() {
                        return Err(io::Error::from(io::ErrorKind::TimedOut));
                    }
                }
                other => return other,
            }
        }
    }
}

/// An open conversation.
pub struct Talk {
    reader: BufReader<Patient>,
    writer: File,
}

impl Talk {
    /// Connects.
    pub fn open(target: &Target) -> Result<Self, LabError> {
        if let Target::Tls(..) = target {
            let why = "a store is asked for its figures at its plain port";
            return Err(LabError::Options(why.into()));
        }
        let socket = target.connect()?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(LOOK_UP))
            .map_err(|error| failed(error.into()))?;
        let writer = File::from(socket);
        let reader = Patient(writer.try_clone().map_err(failed)?);
        Ok(Self { reader: BufReader::with_capacity(1 << 18, reader), writer })
    }

    /// Sends commands without waiting for the answers.
    pub fn send(&mut self, commands: &[u8]) -> Result<(), LabError> {
        self.writer.write_all(commands).map_err(failed)
    }

    /// One command and its answer, which may be an error.
    pub fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<Answer, LabError> {
        let mut out = Vec::new();
        push_command(&mut out, words);
        self.send(&out)?;
        self.answer()
    }

    /// One command whose refusal is an error of the lab.
    pub fn insist<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<Answer, LabError> {
        match self.ask(words)? {
            Answer::Error(reply) => Err(LabError::Refused { reply }),
            good => Ok(good),
        }
    }

    /// The next answer in RESP.
    pub fn answer(&mut self) -> Result<Answer, LabError> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).ok_or(LabError::Closed)?;
        let number = || {
            rest.parse::<i64>()
                .map_err(|_| LabError::Unexpected { bytes: excerpt(line.as_bytes()) })
        };
        Ok(match kind {
            "+" => Answer::Text(rest.as_bytes().to_vec()),
            "-" => Answer::Error(rest.to_string()),
            ":" => Answer::Number(number()?),
            "_" => Answer::Nothing,
            "$" => match number()? {
                -1 => Answer::Nothing,
                len => Answer::Text(self.body(len as usize)?),
            },
            "*" | "~" => match number()? {
                -1 => Answer::Nothing,
                len => Answer::Many((0..len).map(|_| self.answer()).collect::<Result<_, _>>()?),
            },
            _ => return Err(LabError::Unexpected { bytes: excerpt(line.as_bytes()) }),
        })
    }

    /// The next line without its end.
    pub fn line(&mut self) -> Result<String, LabError> {
        let mut line = Vec::new();
        if self.reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Err(LabError::Closed);
        }
        while matches!(line.last(), Some(b'\r' | b'\n')) {
            line.pop();
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// So many bytes and the end of line after them.
    pub fn body(&mut self, len: usize) -> Result<Vec<u8>, LabError> {
        let mut body = vec![0; len + 2];
        self.reader.read_exact(&mut body).map_err(failed)?;
        body.truncate(len);
        Ok(body)
    }
}

/// Appends a command as RESP.
pub fn push_command<W: AsRef<[u8]>>(out: &mut Vec<u8>, words: &[W]) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        let word = word.as_ref();
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

fn failed(error: io::Error) -> LabError {
    if error.kind() == io::ErrorKind::TimedOut && crate::interrupt::asked() {
        return LabError::Interrupted;
    }
    LabError::system("talk to the store", error)
}
