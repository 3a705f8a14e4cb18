//! A graph as objects in a store: `n:17` the neighbours of node 17, `r:17` its rank, as text.
//!
//! Requests go in batches, as the study's clients sent them without waiting for each answer.

use super::{BASE, DAMPING, Graph};
use crate::LabError;
use crate::generator::Target;
use crate::stores::talk::{Answer, Talk, push_command};
use crate::workload::Protocol;

/// Objects in one batch: small enough that neither side's socket fills while both write.
const BATCH: u32 = 200;

/// The objects of one graph.
pub struct Objects {
    talk: Talk,
    redis: bool,
    nodes: u32,
}

impl Objects {
    /// Opens a conversation with the store that shall hold them.
    pub fn open(target: &Target, protocol: Protocol) -> Result<Self, LabError> {
        Ok(Self { talk: Talk::open(target)?, redis: protocol.is_redis(), nodes: 0 })
    }

    /// Stores all neighbours, and ranks of one.
    pub fn store(&mut self, graph: &Graph) -> Result<(), LabError> {
        self.nodes = graph.nodes();
        for first in (0..self.nodes).step_by(BATCH as usize) {
            let end = (first + BATCH).min(self.nodes);
            let mut pairs = Vec::new();
            for node in first..end {
                let names: Vec<String> = graph.of(node).iter().map(u32::to_string).collect();
                pairs.push((format!("n:{node}"), names.join(" ")));
                pairs.push((format!("r:{node}"), "1".to_string()));
            }
            self.set(&pairs)?;
        }
        Ok(())
    }

    /// One iteration over all nodes.
    pub fn iterate(&mut self, nodes: u32) -> Result<(), LabError> {
        let mut sums = vec![0.0f64; nodes as usize];
        for first in (0..nodes).step_by(BATCH as usize) {
            let end = (first + BATCH).min(nodes);
            let names: Vec<String> =
                (first..end).flat_map(|node| [format!("n:{node}"), format!("r:{node}")]).collect();
            let values = self.get(&names)?;
            for pair in values.chunks_exact(2) {
                let neighbours: Vec<usize> = text(&pair[0])
                    .split_ascii_whitespace()
                    .filter_map(|word| word.parse().ok())
                    .collect();
                let rank: f64 = text(&pair[1]).parse().unwrap_or(f64::NAN);
                let share = rank / neighbours.len().max(1) as f64;
                for other in neighbours {
                    if let Some(sum) = sums.get_mut(other) {
                        *sum += share;
                    }
                }
            }
        }
        for first in (0..nodes).step_by(BATCH as usize) {
            let end = (first + BATCH).min(nodes);
            let pairs: Vec<(String, String)> = (first..end)
                .map(|node| {
                    let rank = BASE + DAMPING * sums[node as usize];
                    (format!("r:{node}"), format!("{rank}"))
                })
                .collect();
            self.set(&pairs)?;
        }
        Ok(())
    }

    /// How many ranks differ from what they should be.
    pub fn compare(&mut self, expected: &[f64]) -> Result<usize, LabError> {
        let mut wrong = 0;
        for first in (0..self.nodes).step_by(BATCH as usize) {
            let end = (first + BATCH).min(self.nodes);
            let names: Vec<String> = (first..end).map(|node| format!("r:{node}")).collect();
            for (node, value) in (first..end).zip(self.get(&names)?) {
                let rank: f64 = text(&value).parse().unwrap_or(f64::NAN);
                let good = (rank / expected[node as usize] - 1.0).abs() < 1e-9;
                wrong += usize::from(!good);
            }
        }
        Ok(wrong)
    }

    fn set(&mut self, pairs: &[(String, String)]) -> Result<(), LabError> {
        let mut out = Vec::new();
        if self.redis {
            let words: Vec<&str> = std::iter::once("MSET")
                .chain(pairs.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]))
                .collect();
            push_command(&mut out, &words);
            self.talk.send(&out)?;
            return match self.talk.answer()? {
                Answer::Error(reply) => Err(LabError::Refused { reply }),
                _ => Ok(()),
            };
        }
        for (name, value) in pairs {
            out.extend_from_slice(
                format!("set {name} 0 0 {}\r\n{value}\r\n", value.len()).as_bytes(),
            );
        }
        self.talk.send(&out)?;
        for _ in pairs {
            let line = self.talk.line()?;
            if line != "STORED" {
                return Err(LabError::Refused { reply: line });
            }
        }
        Ok(())
    }

    /// Values in the order of the names; empty for what is not there.
    fn get(&mut self, names: &[String]) -> Result<Vec<Vec<u8>>, LabError> {
        let mut out = Vec::new();
        if self.redis {
            let words: Vec<&str> =
                std::iter::once("MGET").chain(names.iter().map(String::as_str)).collect();
            push_command(&mut out, &words);
            self.talk.send(&out)?;
            return match self.talk.answer()? {
                Answer::Many(values) => Ok(values
                    .into_iter()
                    .map(|value| match value {
                        Answer::Text(text) => text,
                        _ => Vec::new(),
                    })
                    .collect()),
                Answer::Error(reply) => Err(LabError::Refused { reply }),
                other => Err(LabError::Unexpected { bytes: format!("{other:?}") }),
            };
        }
        out.extend_from_slice(format!("get {}\r\n", names.join(" ")).as_bytes());
        self.talk.send(&out)?;
        let mut values = vec![Vec::new(); names.len()];
        let mut place = 0;
        loop {
            let line = self.talk.line()?;
            if line == "END" {
                return Ok(values);
            }
            let mut words = line.split(' ').skip(1);
            let name = words.next().unwrap_or_default().to_string();
            let len = words.nth(1).and_then(|word| word.parse().ok());
            let len = len.ok_or_else(|| LabError::Refused { reply: line.clone() })?;
            let body = self.talk.body(len)?;
            // What was found comes in the order in which it was asked for.
            while place < names.len() && names[place] != name {
                place += 1;
            }
            if let Some(value) = values.get_mut(place) {
                *value = body;
            }
        }
    }
}

fn text(value: &[u8]) -> &str {
    std::str::from_utf8(value).unwrap_or_default()
}
