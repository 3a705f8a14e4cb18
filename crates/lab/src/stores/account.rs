//! What a store says of itself: INFO and `stats`, as names and numbers.

use std::collections::BTreeMap;

use super::talk::{Answer, Talk};
use crate::LabError;
use crate::generator::Target;
use crate::workload::Protocol;

/// A store's own figures by its own names.
pub type Account = BTreeMap<String, String>;

/// Asks a store for its figures. Empty where the protocol has no such question.
pub fn read(target: &Target, protocol: Protocol) -> Result<Account, LabError> {
    let mut talk = Talk::open(target)?;
    match protocol {
        Protocol::Resp | Protocol::Resp3 => info(&mut talk, &["everything"]),
        Protocol::Memcached | Protocol::Meta => stats(&mut talk),
        Protocol::Binary | Protocol::Http => Ok(Account::new()),
    }
}

/// Some sections of INFO, or all.
pub fn info(talk: &mut Talk, sections: &[&str]) -> Result<Account, LabError> {
    let answer = talk.ask(&[&["INFO"], sections].concat())?;
    let Answer::Text(_) = answer else { return Ok(Account::new()) };
    let text = answer.text();
    let pairs = text.lines().filter_map(|line| line.trim().split_once(':'));
    Ok(pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect())
}

/// Answers of `stats`.
pub fn stats(talk: &mut Talk) -> Result<Account, LabError> {
    let mut account = Account::new();
    talk.send(b"stats\r\n")?;
    loop {
        let line = talk.line()?;
        let mut words = line.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("STAT"), Some(name), value) => {
                account.insert(name.into(), value.unwrap_or_default().into());
            }
            (Some("END"), ..) => return Ok(account),
            _ => return Ok(account),
        }
    }
}

/// A number of an account; not a number if it is not there.
pub fn number(account: &Account, name: &str) -> f64 {
    account.get(name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// Bytes that a store says its data take.
pub fn used_bytes(account: &Account) -> f64 {
    let redis = number(account, "used_memory");
    if redis.is_finite() { redis } else { number(account, "bytes") }
}
