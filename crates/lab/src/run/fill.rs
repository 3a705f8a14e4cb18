//! `kind = "fill"`: keys are stored until all are there, while the store saves itself, rewrites its
//! log or grows its index; throughput, CPU and memory inside and outside of those times.

use std::time::{Duration, Instant};

use super::results::{Event, Series, Visit};
use super::servers::Fleet;
use super::swap::Limit;
use super::watch::{self, Seen, Trigger, Watch};
use super::{Stage, visit};
use crate::LabError;
use crate::experiment::{FillCase, Setting};
use crate::generator::LoadSpec;
use crate::limits::{AFTERMATH, FILL_LONGEST};
use crate::workload::{Mix, RequestPool, Workload};

/// Keys of the pool, which only says how long requests and replies are.
const POOL_KEYS: u32 = 1_000;
/// Bytes that a store needs for a key besides its value, about: for the limit of memory only.
const AROUND_VALUE: f64 = 90.0;

/// Runs every case on every store that has it.
pub fn run(stage: &mut Stage<'_>) -> Result<(), LabError> {
    let experiment = stage.results.experiment.clone();
    let repetitions = experiment.load.repetitions;
    let wanted = |case: &FillCase, label: &str| {
        let name = label.split('#').next().unwrap_or_default();
        case.only.is_empty() || case.only.iter().any(|only| only == name)
    };
    let servers = stage.servers();
    let visits: usize = experiment
        .fill
        .iter()
        .map(|case| servers.iter().filter(|choice| wanted(case, &choice.label)).count())
        .sum();
    stage.live.expect(visits * repetitions);
    for repetition in 0..repetitions {
        for case in &experiment.fill {
            for turn in 0..servers.len() {
                let choice = &servers[(turn + repetition) % servers.len()];
                if !wanted(case, &choice.label) {
                    continue;
                }
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                stage.say(&format!("{} into {}", case.name, choice.label));
                match one(stage, case, choice) {
                    Ok((outside, inside)) => {
                        let setting = |when: &str| {
                            let part = |text: &str| Setting::Text(text.into());
                            vec![("case".into(), part(&case.name)), ("when".into(), part(when))]
                        };
                        stage.put(&choice.label, &setting("outside"), outside);
                        if let Some(inside) = inside {
                            stage.put(&choice.label, &setting("inside"), inside);
                            stage.live.unstep();
                        }
                    }
                    Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                    Err(error) => {
                        stage.note(&format!("{} cannot run {}: {error}", choice.label, case.name));
                    }
                }
            }
        }
    }
    Ok(())
}

/// A store within a limit. The fields end in this order: first the store with its swapped pages.
struct Confined {
    fleet: Fleet,
    limit: Option<Limit>,
}

/// One fill: what was outside of the store's own work, and what was inside.
fn one(
    stage: &mut Stage<'_>,
    case: &FillCase,
    choice: &super::choice::Choice,
) -> Result<(Visit, Option<Visit>), LabError> {
    let experiment = stage.results.experiment.clone();
    let shape = &experiment.workload;
    let settings: Vec<(String, String)> =
        case.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let fleet = Fleet::start(choice, &stage.around, (&experiment.load, shape), 1, &settings)?;
    stage.note_started(&fleet);
    let each = shape.value.sizes().mean() + shape.key.sizes().mean() + AROUND_VALUE;
    let data = each * f64::from(shape.keys);
    let limit = match case.memory_share > 0.0 {
        true => Some(Limit::new(&fleet.pids(), data * case.memory_share, data)?),
        false => None,
    };
    let confined = Confined { fleet, limit };
    let fleet = &confined.fleet;
    let protocol = fleet.store.protocol();
    // A pool of few requests: keys are written as they are asked for.
    let all = shape.loading(protocol)?;
    let few = shape.keys.min(POOL_KEYS);
    let pool = RequestPool::build(&Workload { keys: few, mix: Mix::Set, ..all })?;
    let spec = LoadSpec {
        connections: experiment.load.connections,
        threads: experiment.load.threads,
        cores: stage.around.client_cores(),
        window: FILL_LONGEST,
        servers: fleet.pids(),
        interval: Duration::try_from_secs_f64(experiment.load.interval).ok(),
        fill: Some(shape.keys),
        ..LoadSpec::plain(fleet.first().target.clone())
    };
    let trigger = (!case.half_way.is_empty()).then(|| Trigger {
        command: case.half_way.clone(),
        keys: u64::from(shape.keys) / 2,
        after: FILL_LONGEST,
    });
    let empty = visit::resident_mib(&fleet.pids());
    let begun = Instant::now();
    let watch = Watch::start(fleet.first().target.clone(), protocol, begun, trigger);
    let mut outside = visit::measure(&spec, &pool).map_err(|error| match &confined.limit {
        Some(limit) if limit.has_killed() => LabError::KilledAtLimit { bytes: limit.bytes },
        _ => error,
    })?;
    if begun.elapsed() >= FILL_LONGEST {
        let hours = FILL_LONGEST.as_secs() / 3600;
        let (who, case) = (&choice.label, &case.name);
        stage.note(&format!("{who}, {case}: not all keys were stored within {hours} hours."));
    }
    if !watch::settle(&fleet.first().target, protocol, AFTERMATH) {
        stage.note(&watch::unsettled(&choice.label));
    }
    let grown = (visit::resident_mib(&fleet.pids()) - empty) * f64::from(1u32 << 20);
    outside.put("bytes_per_key", grown / f64::from(shape.keys));
    let Seen { events, refusal } = watch.finish();
    if let Some(refusal) = refusal {
        return Err(LabError::Refused { reply: refusal });
    }
    let end = outside.series.as_ref().and_then(|series| series.at.last()).copied().unwrap_or(0.0);
    outside.events = events.into_iter().filter(|event| event.from < end).collect();
    let inside = split(&mut outside);
    Ok((outside, inside))
}

/// Means over the intervals inside of events; those outside replace the visit's own.
fn split(whole: &mut Visit) -> Option<Visit> {
    let series = whole.series.clone()?;
    let within =
        |at: f64, events: &[Event]| events.iter().any(|event| at >= event.from && at <= event.to);
    let events = whole.events.clone();
    let inside = means(&series, |at| within(at, &events));
    let outside = means(&series, |at| !within(at, &events));
    for (name, value) in outside {
        whole.put(&name, value);
    }
    if inside.is_empty() {
        return None;
    }
    let mut visit = Visit::default();
    for (name, value) in inside {
        visit.put(&name, value);
    }
    Some(visit)
}

/// Mean of each line where `chosen`, and the growth of memory there.
fn means(series: &Series, chosen: impl Fn(f64) -> bool) -> Vec<(String, f64)> {
    // The last interval is rarely whole.
    let count = series.at.len().saturating_sub(1);
    let mut out = Vec::new();
    for name in ["rate", "cpu", "swap", "rss_mib"] {
        let Some(line) = series.lines.get(name) else { continue };
        let values: Vec<f64> =
            (0..count).filter(|&n| chosen(series.at[n])).filter_map(|n| line[n]).collect();
        if !values.is_empty() {
            out.push((name.to_string(), values.iter().sum::<f64>() / values.len() as f64));
        }
    }
    if let Some(memory) = series.lines.get("rss_mib") {
        let steps: Vec<f64> = (1..count)
            .filter(|&n| chosen(series.at[n]))
            .filter_map(|n| {
                let grown = (memory[n]? - memory[n - 1]?) * 1024.0;
                Some(grown / (series.at[n] - series.at[n - 1]))
            })
            .collect();
        if !steps.is_empty() {
            let mean = steps.iter().sum::<f64>() / steps.len() as f64;
            out.push(("growth_kib_s".into(), mean));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_inside_and_outside_of_events_are_told_apart() {
        let mut whole = Visit::default();
        let mut series =
            Series { at: (0..11).map(|n| f64::from(n) / 10.0).collect(), ..Series::default() };
        let rates = (0..11).map(|n| Some(if (4..=6).contains(&n) { 50.0 } else { 100.0 }));
        series.lines.insert("rate".into(), rates.collect());
        let memory = (0..11).map(|n| Some(f64::from(n)));
        series.lines.insert("rss_mib".into(), memory.collect());
        whole.series = Some(series);
        whole.events.push(Event { name: "snapshot".into(), from: 0.35, to: 0.65 });
        let inside = split(&mut whole).unwrap();
        assert_eq!((inside.figures["rate"], whole.figures["rate"]), (50.0, 100.0));
        assert!((inside.figures["growth_kib_s"] - 10_240.0).abs() < 1.0);
    }
}
