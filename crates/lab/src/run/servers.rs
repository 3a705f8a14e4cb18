//! The stores of a run: started with what a combination needs, filled, emptied, started again.

use crate::LabError;
use crate::experiment::{LoadShape, WorkloadShape};
use crate::generator::{self, Target};
use crate::stores::talk::Talk;
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Mix, Operation, Protocol};

use super::choice::Choice;

/// In place of what the data in a store were made from, when keys were inserted besides.
const GROWN: &str = "more";

/// The processes of one store.
pub struct Fleet {
    pub choice: Choice,
    pub store: Store,
    nodes: Vec<Running>,
    /// What the data in it were made from; empty if there are none.
    filled_with: String,
}

impl Fleet {
    /// Starts `nodes` processes of a store.
    pub fn start(
        choice: &Choice,
        around: &Surroundings,
        shape: (&LoadShape, &WorkloadShape),
        nodes: usize,
        settings: &[(String, String)],
    ) -> Result<Self, LabError> {
        let (load, workload) = shape;
        let store = choice
            .store()
            .ok_or_else(|| LabError::Options(format!("{} is no server", choice.label)))?;
        let mut around = around.with(load.unix_socket, load.server_threads, load.pinned);
        around.namespaces = load.namespaces.then_some(load.gigabits);
        if let Some(binary) = &choice.binary {
            around.dolium.clone_from(binary);
        }
        let operation =
            if workload.operations.mix()? == Mix::Set { Operation::Set } else { Operation::Get };
        let role = Role {
            store,
            operation,
            key_bytes: workload.key.sizes().mean() as usize,
            value_bytes: workload.value.sizes().mean() as usize,
            settings: bounded(settings, load.memory_mib),
        };
        let nodes: Result<Vec<Running>, LabError> =
            (0..nodes.max(1)).map(|_| Running::start(role.clone(), &around)).collect();
        Ok(Self { choice: choice.clone(), store, nodes: nodes?, filled_with: String::new() })
    }

    /// The first process.
    pub fn first(&self) -> &Running {
        &self.nodes[0]
    }

    /// Where the others are asked.
    pub fn others(&self, tls: bool) -> Vec<Target> {
        self.nodes[1..].iter().map(|node| node.door(tls).clone()).collect()
    }

    /// All processes.
    pub fn pids(&self) -> Vec<u32> {
        self.nodes.iter().filter_map(Running::pid).collect()
    }

    /// The protocol in which it is asked here.
    pub fn protocol(&self, workload: &WorkloadShape) -> Protocol {
        workload.protocol.unwrap_or(self.store.protocol())
    }

    /// Why this store cannot be asked for this, if it cannot.
    pub fn cannot(&self, workload: &WorkloadShape) -> Option<String> {
        let protocol = self.protocol(workload);
        if !self.store.speaks(protocol) {
            return Some(format!("it does not speak {}", protocol.name()));
        }
        let mix = workload.operations.mix().ok()?;
        if self.store.is_null() && !matches!(mix, Mix::Get | Mix::Set) {
            return Some("a server that parses nothing answers one operation".into());
        }
        None
    }

    /// What was asked of it has stored keys that no filling stores: the next filling begins anew.
    pub fn has_grown(&mut self) {
        self.filled_with = GROWN.into();
    }

    /// Removes everything from a process of it. A store that somebody else started is somebody else's, and
    /// so is what is in it: false, and nothing is removed.
    pub fn empty(&self, node: &Running) -> Result<bool, LabError> {
        if self.store.is_external() {
            return Ok(false);
        }
        empty(&node.target, self.store.protocol())?;
        Ok(true)
    }

    /// Makes its data those of `workload`, if they are not already. False: what was stored for earlier ones
    /// is in it still.
    pub fn fill(&mut self, workload: &WorkloadShape) -> Result<bool, LabError> {
        if self.store.is_null() {
            return Ok(true);
        }
        let nodes = self.nodes.len() as u32;
        let mut loading = workload.loading(self.store.protocol())?;
        loading.protocol = self.store.protocol();
        loading.keys = (loading.keys / nodes).max(1);
        let key = if workload.preload {
            format!(
                "{} {} {} {}",
                loading.keys, loading.key_bytes, loading.value_bytes, loading.ttl
            )
        } else {
            String::new()
        };
        if key == self.filled_with {
            return Ok(true);
        }
        let mut is_alone = true;
        for node in &self.nodes {
            if !self.filled_with.is_empty() {
                is_alone &= self.empty(node)?;
            }
            if workload.preload {
                generator::preload(&node.target, &loading, |_| {})?;
            }
        }
        self.filled_with = key;
        Ok(is_alone)
    }
}

/// The directives with the bound on memory that the experiment gives all its stores alike, unless they
/// name one.
fn bounded(settings: &[(String, String)], memory_mib: Option<u64>) -> Vec<(String, String)> {
    let mut all = settings.to_vec();
    if let Some(mib) = memory_mib
        && !all.iter().any(|(name, _)| name == "maxmemory")
    {
        all.push(("maxmemory".into(), (mib << 20).to_string()));
    }
    all
}

fn empty(target: &Target, protocol: Protocol) -> Result<(), LabError> {
    let mut talk = Talk::open(target)?;
    if protocol.is_redis() {
        talk.insist(&["FLUSHALL"]).map(|_| ())
    } else {
        talk.send(b"flush_all\r\n")?;
        talk.line().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use super::*;

    /// Somebody's own store, and the names of the commands that it is sent.
    fn somebodys() -> (Choice, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = format!("external:{}", listener.local_addr().unwrap());
        let (told, commands) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = String::new();
                while reader.read_line(&mut head).is_ok_and(|len| len > 0) {
                    let mut words = Vec::new();
                    for _ in 0..head.trim()[1..].parse().unwrap() {
                        let mut size = String::new();
                        reader.read_line(&mut size).unwrap();
                        let mut word = vec![0; size.trim()[1..].parse::<usize>().unwrap() + 2];
                        reader.read_exact(&mut word).unwrap();
                        words.push(String::from_utf8_lossy(&word).trim().to_string());
                    }
                    let _ = told.send(words[0].clone());
                    stream.write_all(b"+OK\r\n").unwrap();
                    head.clear();
                }
            }
        });
        (name.parse().unwrap(), commands)
    }

    /// A run over several numbers of keys, or sizes, emptied a store that it had only been lent.
    #[test]
    fn somebody_elses_store_is_never_emptied() {
        let (choice, commands) = somebodys();
        let around = Surroundings::new(false, 1, None).unwrap();
        let (load, of) = (LoadShape::default(), WorkloadShape::default());
        let mut fleet = Fleet::start(&choice, &around, (&load, &of), 1, &[]).unwrap();
        let of = |keys| WorkloadShape { keys, ..of.clone() };
        assert!(fleet.fill(&of(3)).unwrap() && fleet.fill(&of(3)).unwrap());
        assert!(!fleet.fill(&of(5)).unwrap(), "who asks is told that the three are there still");
        fleet.has_grown();
        assert!(!fleet.fill(&of(5)).unwrap());
        assert!(!fleet.empty(fleet.first()).unwrap());
        drop(fleet);
        let commands: Vec<String> = commands.try_iter().collect();
        assert_eq!(commands, vec!["SET"; 3 + 5 + 5]);
    }
}
