//! `kind = "commands"` and `"memory"`: records of data types, what their commands cost and how much
//! memory they take.

use std::time::Duration;

use super::results::Visit;
use super::servers::Fleet;
use super::{Stage, visit};
use crate::LabError;
use crate::experiment::{Kind, Record, RecordCommand, Setting, Size};
use crate::generator::{self, LoadSpec, Target};
use crate::probes::process::Process;
use crate::stores::account::{self, Account};
use crate::stores::talk::Talk;
use crate::workload::{
    Action, Distribution, Mix, Part, Protocol, Recipe, RequestPool, Sizes, Template, Workload, wire,
};

const KEY_BYTES: usize = 16;

/// Runs every record on every store that can hold it.
pub fn run(stage: &mut Stage<'_>) -> Result<(), LabError> {
    let experiment = stage.results.experiment.clone();
    let servers = stage.servers();
    let cells: usize = experiment
        .record
        .iter()
        .map(|record| record.sizes.len() * record.command.len().max(1))
        .sum();
    stage.live.expect(cells * servers.len() * experiment.load.repetitions);
    let memory = experiment.kind == Kind::Memory;
    for record in &experiment.record {
        for size in &record.sizes {
            // The first axis of a table is the record; a size that is the only one needs no name.
            let mut settings = vec![("record".to_string(), Setting::Text(record.name.clone()))];
            if record.sizes.len() > 1 {
                settings.push(("size".into(), Setting::Text(size.name.clone())));
            }
            let mut fleets = Vec::new();
            for choice in &servers {
                let shape = (&experiment.load, &experiment.workload);
                let fleet = Fleet::start(choice, &stage.around, shape, 1, &[])?;
                stage.note_started(&fleet);
                let before = resident(&fleet);
                stage.say(&format!("building {} in {}", record.name, choice.label));
                match build(&fleet, record, size) {
                    Ok(encoding) => {
                        if let Some(other) = encoding {
                            stage.note(&format!(
                                "{}: {} of {} elements is a {other}",
                                choice.label, record.name, size.elements
                            ));
                        }
                    }
                    Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                    Err(error) => {
                        stage.note(&format!(
                            "{} cannot hold {}: {error}",
                            choice.label, record.name
                        ));
                        continue;
                    }
                }
                if memory {
                    let visit = weigh(&fleet, record, size, before);
                    stage.put(&choice.label, &settings, visit);
                } else {
                    fleets.push(fleet);
                }
            }
            if !memory {
                commands(stage, record, size, &settings, &fleets)?;
            }
        }
    }
    Ok(())
}

fn resident(fleet: &Fleet) -> f64 {
    fleet.pids().iter().filter_map(|&pid| Process::read(pid)).map(|one| one.rss_kib * 1024.0).sum()
}

fn workload(size: &Size, mix: Mix) -> Workload {
    Workload {
        protocol: Protocol::Resp,
        mix,
        keys: size.records,
        key_bytes: Sizes::Constant(KEY_BYTES),
        value_bytes: Sizes::Constant(size.bytes),
        distribution: Distribution::Uniform,
        ttl: 0,
        seed: 1,
    }
}

/// Whether the record is nothing but a value under a key, which every store can hold.
fn plain(record: &Record) -> bool {
    record.load.iter().all(|words| words.first().is_some_and(|word| word == "SET"))
}

/// Sets the store so that it keeps the encoding, builds all records, and looks. Returns the
/// encoding if it is another one.
fn build(fleet: &Fleet, record: &Record, size: &Size) -> Result<Option<String>, LabError> {
    let target = &fleet.first().target;
    let protocol = fleet.store.protocol();
    if plain(record) {
        let sets = Workload { protocol, ..workload(size, Mix::Set) };
        generator::preload(target, &sets, |_| {})?;
        return Ok(None);
    }
    if !protocol.is_redis() {
        return Err(LabError::Options("it has no data types".into()));
    }
    // First, so that a store which is not emptied is not told to keep other encodings either.
    if !fleet.empty(fleet.first())? {
        let why = "it runs elsewhere, and is not emptied for records of other types";
        return Err(LabError::Options(why.into()));
    }
    let mut talk = Talk::open(target)?;
    for (name, value) in &record.settings {
        // A store without the setting keeps the encoding that it chooses: it is looked at below.
        let _ = talk.ask(&["CONFIG", "SET", name, value])?;
    }
    let templates: Vec<Template> =
        record.load.iter().map(|words| record.template(words, size)).collect();
    generator::preload_records(target, &workload(size, Mix::Set), &templates, |_| {})?;
    let mut key = Vec::new();
    wire::push_key(&mut key, 0, KEY_BYTES);
    let said = talk.ask(&[&b"OBJECT"[..], b"ENCODING", &key])?.text();
    let expected = record.encoding.is_empty() || record.encoding.contains(&said);
    Ok((!expected).then_some(said))
}

/// Memory that the records took.
fn weigh(fleet: &Fleet, record: &Record, size: &Size, before: f64) -> Visit {
    let data = if record.integers {
        // Numbers up to four digits: what their text takes.
        f64::from(size.records)
            * (0..size.elements).map(|n| n.to_string().len() as f64).sum::<f64>()
    } else {
        f64::from(size.records) * f64::from(size.elements) * size.bytes as f64
    };
    let account = account::read(&fleet.first().target, fleet.store.protocol()).unwrap_or_default();
    let (now, used) = (resident(fleet), account::used_bytes(&account));
    let mut visit = Visit::default();
    visit.put("rss_mib", now / 1_048_576.0);
    visit.put("used_mib", used / 1_048_576.0);
    visit.put("of_data", (now - before) / data);
    visit.put("used_of_data", used / data);
    visit.put("fragmentation", now / used);
    visit
}

fn commands(
    stage: &mut Stage<'_>,
    record: &Record,
    size: &Size,
    settings: &[(String, Setting)],
    fleets: &[Fleet],
) -> Result<(), LabError> {
    let load = stage.results.experiment.load.clone();
    if fleets.is_empty() {
        return Ok(());
    }
    for command in &record.command {
        let pool = RequestPool::build(&workload(size, mix(record, command, size)))?;
        let mut settings = settings.to_vec();
        settings.push(("command".into(), Setting::Text(command.name.clone())));
        for repetition in 0..load.repetitions {
            for turn in 0..fleets.len() {
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                let fleet = &fleets[(turn + repetition) % fleets.len()];
                let target = &fleet.first().target;
                let spec = LoadSpec {
                    connections: load.connections,
                    cores: stage.around.client_cores(),
                    warm_up: Duration::try_from_secs_f64(load.warm_up).unwrap_or_default(),
                    window: Duration::try_from_secs_f64(load.seconds).unwrap_or_default(),
                    servers: fleet.pids(),
                    ..LoadSpec::plain(target.clone())
                };
                let before = statistics(target, &command.words[0]);
                let mut visit = visit::measure(&spec, &pool)?;
                let after = statistics(target, &command.words[0]);
                // A command that was never asked has no account yet.
                let (before_calls, before_us) = before.unwrap_or((0.0, 0.0));
                if let Some((calls, us)) = after {
                    visit.put("command_us", (us - before_us) / (calls - before_calls));
                }
                stage.put(&fleet.choice.label, &settings, visit);
            }
        }
    }
    Ok(())
}

fn mix(record: &Record, command: &RecordCommand, size: &Size) -> Mix {
    let one = record.template(&command.words, size);
    let action = if command.undo.is_empty() {
        Action::Command(one)
    } else {
        Action::Pair(one, record.template(&command.undo, size))
    };
    Mix::Recipe(Recipe { name: command.name.clone(), parts: vec![Part { weight: 1.0, action }] })
}

/// Calls of a command and microseconds in it, by the store's own account.
fn statistics(target: &Target, command: &str) -> Option<(f64, f64)> {
    let mut talk = Talk::open(target).ok()?;
    let account: Account = account::info(&mut talk, &["commandstats"]).ok()?;
    let line = account.get(&format!("cmdstat_{}", command.to_lowercase()))?;
    let field = |name: &str| -> Option<f64> {
        line.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?.parse().ok()
    };
    Some((field("calls")?, field("usec")?))
}
