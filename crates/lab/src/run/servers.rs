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

    /// Makes its data those of `workload`, if they are not already.
    pub fn fill(&mut self, workload: &WorkloadShape) -> Result<(), LabError> {
        if self.store.is_null() {
            return Ok(());
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
            return Ok(());
        }
        for node in &self.nodes {
            if !self.filled_with.is_empty() {
                empty(&node.target, self.store.protocol())?;
            }
            if workload.preload {
                generator::preload(&node.target, &loading, |_| {})?;
            }
        }
        self.filled_with = key;
        Ok(())
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

/// Removes everything from a store.
pub fn empty(target: &Target, protocol: Protocol) -> Result<(), LabError> {
    let mut talk = Talk::open(target)?;
    if protocol.is_redis() {
        talk.insist(&["FLUSHALL"]).map(|_| ())
    } else {
        talk.send(b"flush_all\r\n")?;
        talk.line().map(|_| ())
    }
}
