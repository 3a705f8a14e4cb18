//! `dolium lab crowd`: what hard clients of a Memcached server do to the latency of the others.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::crowd::measure::{self, CONNECTIONS, Contender, Plan, RATE, Window};
use crate::statistics::median;
use crate::{LabError, cpu};

#[derive(Args)]
pub(super) struct Options {
    /// Rounds in which the servers take turns
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// The binary to serve Dolium with; this one if not given
    #[arg(long)]
    dolium: Option<PathBuf>,
    /// The real Memcached; without one, Dolium is measured alone
    #[arg(long, default_value = "/usr/bin/memcached")]
    memcached: PathBuf,
    /// Keep every window in this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
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
        let plan = Plan {
            contenders,
            rounds: self.rounds,
            window,
            server_core: *server_core,
            client_cores: vec![*client],
        };
        let windows = measure::run(&plan, &mut |window| {
            eprintln!(
                "round {} {:<10} {:<10} p99 {:>8.0} us",
                window.round + 1,
                window.beside,
                window.store,
                window.p99_us
            );
        })?;
        if let Some(path) = &self.json {
            super::write_json(path, &windows)?;
        }
        println!(
            "{RATE} requests/s over {CONNECTIONS} connections, open loop; medians of {} rounds",
            self.rounds
        );
        println!(
            "| beside | store | p50 us | p99 us | p99 of quiet | p99.9 us | late p99 us | server busy | MiB resident |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        let mut besides: Vec<&str> = Vec::new();
        for window in &windows {
            if !besides.contains(&window.beside.as_str()) {
                besides.push(&window.beside);
            }
        }
        for beside in besides {
            for contender in &plan.contenders {
                row(&windows, beside, &contender.name);
            }
        }
        Ok(())
    }
}

fn row(windows: &[Window], beside: &str, store: &str) {
    let of = |beside: &str| -> Vec<&Window> {
        windows.iter().filter(|one| one.beside == beside && one.store == store).collect()
    };
    let (these, quiet) = (of(beside), of("quiet"));
    let middle = |figure: &dyn Fn(&Window) -> f64| median(these.iter().map(|one| figure(one)));
    // Within a round: what the machine does from minute to minute is in both.
    let ratios = these.iter().zip(&quiet).map(|(one, quiet)| one.p99_us / quiet.p99_us);
    println!(
        "| {beside} | {store} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} | {:.0} % | {:.0} |",
        middle(&|one| one.p50_us),
        middle(&|one| one.p99_us),
        median(ratios),
        middle(&|one| one.p999_us),
        middle(&|one| one.late_p99_us),
        100.0 * middle(&|one| one.server_busy),
        middle(&|one| one.resident_mib),
    );
    let unanswered: u64 = these.iter().map(|one| one.unanswered).sum();
    if unanswered > 0 {
        println!("| | | {unanswered} requests were never answered | | | | | | |");
    }
}
