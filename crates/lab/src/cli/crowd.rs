//! `dolium lab crowd`: what hard clients of a Memcached server do to the latency of the others.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::crowd::measure::{self, Beside, CONNECTIONS, Contender, Phase, Plan, RATE, Window};
use crate::statistics::{Estimate, median};
use crate::{LabError, cpu, interrupt, output};

#[derive(Args)]
pub(super) struct Options {
    /// Rounds in which the servers take turns
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// The binary to serve Dolium with; this one if not given
    #[arg(long)]
    dolium: Option<PathBuf>,
    /// The real Memcached; without one, Dolium is measured alone
    #[arg(long, default_value = "/usr/bin/memcached")]
    memcached: PathBuf,
    /// Measure beside these only: idle, active, slow, half-open, resets, datagrams, all
    #[arg(long, value_delimiter = ',', value_parser = beside)]
    beside: Vec<Beside>,
    /// Leave other programs of the machine their share of the server's core
    #[arg(long)]
    shared: bool,
    /// Keep every window in this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        self.json.as_deref().map_or(Ok(()), super::may_write)?;
        interrupt::install()?;
        let cores = cpu::allowed();
        let (Some(server_core), Some(client)) = (cores.first(), cores.last()) else {
            return Err(LabError::Options("no core can be used".into()));
        };
        let window = Duration::try_from_secs_f64(self.seconds)
            .map_err(|_| LabError::Options(format!("{} is no time", self.seconds)))?;
        let itself = std::env::current_exe()
            .map_err(|error| LabError::system("find this program's own file", error))?;
        let mut contenders = vec![Contender {
            name: "dolium".into(),
            program: self.dolium.clone().unwrap_or(itself),
            words: vec!["memcached".into()],
        }];
        if self.memcached.exists() {
            let (name, program) = ("memcached".into(), self.memcached.clone());
            contenders.push(Contender { name, program, words: Vec::new() });
        }
        let comes_first = !self.shared && measure::may_come_first();
        if !comes_first && !self.shared {
            output::note(
                "chrt cannot give the servers real-time priority here: other programs of the \
                 machine share their core, and its pauses are in the figures",
            );
        }
        let plan = Plan {
            contenders,
            beside: self.beside.clone(),
            rounds: self.rounds,
            window,
            server_core: *server_core,
            comes_first,
            client_cores: vec![*client],
        };
        let mut windows = Vec::new();
        let ended = measure::run(&plan, &mut windows, &mut |window| {
            output::note(format_args!(
                "round {} {:<10} {:<8} {:<10} p99 {:>8.0} us",
                window.round + 1,
                window.beside,
                name(window.phase),
                window.store,
                window.p99_us
            ));
        });
        // What was measured until Ctrl-C, or until something failed, is kept and shown.
        let kept = self.json.as_deref().map_or(Ok(()), |path| super::write_json(path, &windows));
        let mut lines = vec![format!(
            "{RATE} requests/s over {CONNECTIONS} connections, open loop; medians of {} rounds",
            windows.last().map_or(0, |window| window.round + 1)
        )];
        lines.push(
            "| beside | crowd | store | p50 us | p99 us of 0.1 s | in the quiet | ratio | p99 us | ratio to quiet | late p99 us | server busy | MiB resident |".into()
        );
        lines.push("|---|---|---|---|---|---|---|---|---|---|---|---|".into());
        let mut besides: Vec<&str> = Vec::new();
        for window in &windows {
            if !besides.contains(&window.beside.as_str()) {
                besides.push(&window.beside);
            }
        }
        for beside in besides {
            for contender in &plan.contenders {
                for phase in [Phase::Arriving, Phase::Standing] {
                    lines.extend(rows(&windows, beside, phase, &contender.name));
                }
            }
        }
        kept.and(output::print(lines.join("\n") + "\n")).and(ended)
    }
}

fn beside(name: &str) -> Result<Beside, String> {
    let every = Beside::every();
    every.iter().copied().find(|one| one.name() == name).ok_or_else(|| {
        let names: Vec<_> = every.iter().map(Beside::name).collect();
        format!("one of {}", names.join(", "))
    })
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Quiet => "quiet",
        Phase::Arriving => "arriving",
        Phase::Standing => "standing",
    }
}

/// The row of a store, and one for what it never answered.
fn rows(windows: &[Window], beside: &str, phase: Phase, store: &str) -> Vec<String> {
    let of = |phase: Phase| -> Vec<&Window> {
        let fits = |one: &&Window| one.store == store && one.beside == beside;
        windows.iter().filter(fits).filter(|one| one.phase == phase).collect()
    };
    let (these, quiet) = (of(phase), of(Phase::Quiet));
    let middle = |figure: &dyn Fn(&Window) -> f64| median(these.iter().map(|one| figure(one)));
    let p99 = |of: &[&Window]| of.iter().map(|one| one.p99_us).collect::<Vec<_>>();
    let slice = |of: &[&Window]| of.iter().map(|one| one.slice_p99_us).collect::<Vec<_>>();
    // Each beside the quiet window before the crowd: what the machine does from minute to minute is in both.
    let ratio = |of: &dyn Fn(&[&Window]) -> Vec<f64>| {
        let ratio = Estimate::of_ratio(&of(&these), &of(&quiet));
        let [value, low, high] =
            [ratio.value, ratio.low, ratio.high].map(|one| output::number(one, 2));
        format!("{value} ({low} to {high})")
    };
    if these.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![format!(
        "| {beside} | {} | {store} | {:.0} | {:.0} | {:.0} | {} | {:.0} | {} | {:.0} | {:.0} % | {:.0} |",
        name(phase),
        middle(&|one| one.p50_us),
        median(slice(&these)),
        median(slice(&quiet)),
        ratio(&slice),
        median(p99(&these)),
        ratio(&p99),
        middle(&|one| one.late_p99_us),
        100.0 * middle(&|one| one.server_busy),
        middle(&|one| one.resident_mib),
    )];
    let unanswered: u64 = these.iter().map(|one| one.unanswered).sum();
    if unanswered > 0 {
        let never = format!("| | | | {unanswered} requests were never answered | | | | | | | | |");
        rows.push(never);
    }
    rows
}
