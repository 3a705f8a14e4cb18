//! What a connection of a case sends and reads where it speaks HTTP.

use super::connection::Connection;
use super::expect::{like, unescape};
use crate::Result;
use std::io::{BufRead, Read};

impl Connection {
    /// HTTP: `METHOD PATH` then `name: value` lines and `| BODY`; the answer is read to its end.
    /// Expected are the status first, then headers and the body in the same form.
    pub fn http(&mut self, send: &[String], expected: &[String]) -> Result<()> {
        let (first, rest) = send.split_first().ok_or("an empty request")?;
        let mut headers = String::new();
        let mut body = Vec::new();
        for line in rest {
            match line.strip_prefix("| ") {
                Some(text) => body.extend(unescape(text)),
                None => headers.push_str(&format!("{line}\r\n")),
            }
        }
        if !body.is_empty() {
            headers.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        let head = format!("{first} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.write(&[head.as_bytes(), &body].concat())?;
        let (found, body) = self.http_answer(first.starts_with("HEAD"))?;
        for line in expected {
            let agrees = match line.strip_prefix("| ") {
                Some(text) => like(text, &body.escape_ascii().to_string()),
                None => found.iter().any(|found| like(&line.to_lowercase(), &found.to_lowercase())),
            };
            if !agrees {
                let body = body.escape_ascii();
                return Err(format!("expected {line}\n   found {}\n| {body}", found.join("\n")));
            }
        }
        Ok(())
    }

    /// The status and the headers as lines, then the body.
    fn http_answer(&mut self, without_body: bool) -> Result<(Vec<String>, Vec<u8>)> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).map_err(|why| self.lost(why))?;
            match line.trim_end() {
                "" => break,
                text => lines.push(text.trim_start_matches("HTTP/1.1 ").to_string()),
            }
        }
        let length = lines.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; if without_body { 0 } else { length.unwrap_or(0) }];
        self.stream.read_exact(&mut body).map_err(|why| self.lost(why))?;
        Ok((lines, body))
    }
}
