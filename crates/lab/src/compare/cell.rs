//! What a visit of `dolium lab compare` brought, and how those of two stores stand to each other.
//!
//! ```text
//! paired     of each round the mean of the middle half of its turns' ratios, of these the median:
//!            what the machine did to one turn is left out, and so is a burst of the store itself
//! CPU sum    CPU of all turns / operations of all turns: nothing is left out
//! CPU all    CPU from the first turn to the last, those of the others included: what a store does
//!            while it is not asked is its own too
//! ```

use serde::Serialize;

use super::median;
use crate::LabError;
use crate::cpu;
use crate::generator::LoadReport;
use crate::statistics::Judgement;
use crate::workload::Operation;

/// Share of its threads' time at which the generator itself is what limits a rate.
const CLIENT_FULL: f64 = 0.95;
/// Share of its cores at which a server still has time to spare.
const SERVER_IDLE: f64 = 0.9;
/// Stores whose reads without a value differ by more percentage points did not do the same work.
const MISSES_ALIKE: f64 = 1.0;

/// One visit to one store.
#[derive(Clone, Debug, Serialize)]
pub struct Visit {
    /// All that the turns took over all that was answered in them.
    pub server_us: f64,
    pub client_us: f64,
    pub rate: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub busy: f64,
    pub reads: u64,
    pub misses: u64,
    /// Of all turns, from rest to rest.
    pub server_ns: Option<u64>,
    pub operations: u64,
    /// From before the first turn of any store to after the last of all.
    pub whole_ns: Option<u64>,
    /// Of each short turn, in pairs with those of the other stores.
    pub turns_server_us: Vec<f64>,
    pub turns_rate: Vec<f64>,
}

impl Visit {
    pub(crate) fn of(turns: &[LoadReport]) -> Option<Self> {
        let (first, rest) = turns.split_first()?;
        let mut all = first.clone();
        rest.iter().for_each(|turn| all.absorb(turn));
        let server_us = |turn: &LoadReport| turn.all_server_us().unwrap_or(f64::NAN);
        Some(Self {
            server_us: server_us(&all),
            client_us: all.client_us(),
            rate: all.rate(),
            p50_us: all.latency_us(0.50),
            p99_us: all.latency_us(0.99),
            p999_us: all.latency_us(0.999),
            busy: all.server_busy().unwrap_or(f64::NAN),
            reads: all.reads,
            misses: all.misses,
            server_ns: all.all_server_ns,
            operations: all.all_operations,
            whole_ns: None,
            turns_server_us: turns.iter().map(server_us).collect(),
            turns_rate: turns.iter().map(LoadReport::rate).collect(),
        })
    }

    /// Whether the generator was at its end, with so many threads, and the server, with so many cores, was
    /// not, or nobody knows.
    fn is_client_full(&self, threads: usize, cores: usize) -> bool {
        let client = self.client_us * self.rate / 1e6 / threads.max(1) as f64;
        let busy = self.busy / cores.max(1) as f64;
        client > CLIENT_FULL && (busy.is_nan() || busy < SERVER_IDLE)
    }
}

/// CPU that the processes have taken so far; none if one of them is not known.
pub(super) fn taken_ns(pids: &[Option<u32>]) -> Result<Vec<Option<u64>>, LabError> {
    pids.iter().map(|pid| pid.map(cpu::process_run_ns).transpose()).collect()
}

/// How the visits of one store stand to those of another, round by round.
pub(crate) fn judge(above: &[Visit], below: &[Visit], turns: fn(&Visit) -> &[f64]) -> Judgement {
    Judgement::turns(above.iter().map(turns).zip(below.iter().map(turns)), 1)
}

/// All visits of one operation at one pipeline depth.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub operation: Operation,
    pub pipeline: usize,
    /// For each store of the plan, or whatever else takes turns, its visits, one a round.
    pub visits: Vec<Vec<Visit>>,
}

impl Cell {
    /// Median over the rounds of one figure of one store.
    pub fn typical(&self, store: usize, figure: impl Fn(&Visit) -> f64) -> f64 {
        median(self.visits[store].iter().map(figure))
    }

    /// How server CPU an operation of one store stands to another's.
    pub fn cost(&self, store: usize, to: usize) -> Judgement {
        judge(&self.visits[store], &self.visits[to], |visit| &visit.turns_server_us)
    }

    /// How the operations a second of one store stand to another's.
    pub fn rate(&self, store: usize, to: usize) -> Judgement {
        judge(&self.visits[store], &self.visits[to], |visit| &visit.turns_rate)
    }

    /// The same cost as a plain ratio of sums over all rounds.
    pub fn cost_of_sums(&self, store: usize, to: usize) -> f64 {
        self.summed(store, |visit| visit.server_ns) / self.summed(to, |visit| visit.server_ns)
    }

    /// The same with what each took while the others had their turns.
    pub fn cost_of_whole(&self, store: usize, to: usize) -> f64 {
        self.summed(store, |visit| visit.whole_ns) / self.summed(to, |visit| visit.whole_ns)
    }

    /// Nanoseconds an operation over all rounds; not a number where one is not known.
    fn summed(&self, store: usize, ns: impl Fn(&Visit) -> Option<u64>) -> f64 {
        let visits = &self.visits[store];
        let operations: u64 = visits.iter().map(|visit| visit.operations).sum();
        let all: Option<u64> = visits.iter().map(ns).sum();
        all.map_or(f64::NAN, |ns| ns as f64 / operations as f64)
    }

    /// Whether the generator, of so many threads, limited the rate of one of the two, whose servers can take
    /// so many cores.
    pub fn is_client_full(&self, pair: [usize; 2], threads: usize, cores: usize) -> bool {
        let full = |visit: &Visit| f64::from(u8::from(visit.is_client_full(threads, cores)));
        pair.iter().any(|&store| self.typical(store, full) > 0.5)
    }

    /// Reads of a store that found no value, in percent; zero where nothing is read.
    pub fn misses_percent(&self, store: usize) -> f64 {
        let sum = |of: fn(&Visit) -> u64| self.visits[store].iter().map(of).sum::<u64>();
        100.0 * sum(|visit| visit.misses) as f64 / sum(|visit| visit.reads).max(1) as f64
    }

    /// Whether two stores found about as many of the values.
    pub fn is_alike(&self, [one, other]: [usize; 2]) -> bool {
        (self.misses_percent(one) - self.misses_percent(other)).abs() <= MISSES_ALIKE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A visit of four turns; the third takes `burst` times what the others do.
    fn visit(us: f64, burst: f64) -> Visit {
        let turns = vec![us, us, us * burst, us];
        let ns = turns.iter().map(|us| us * 1e3 * 1000.0).sum::<f64>() as u64;
        Visit {
            server_us: ns as f64 / 4e6,
            client_us: 1.0,
            rate: 500_000.0,
            p50_us: 1.0,
            p99_us: 1.0,
            p999_us: 1.0,
            busy: 0.99,
            reads: 4000,
            misses: 0,
            server_ns: Some(ns),
            operations: 4000,
            whole_ns: Some(2 * ns),
            turns_server_us: turns,
            turns_rate: vec![500_000.0; 4],
        }
    }

    fn cell(one: Visit, other: Visit) -> Cell {
        let visits = vec![vec![one; 6], vec![other; 6]];
        Cell { operation: Operation::Get, pipeline: 1, visits }
    }

    /// The middle half of the turns leaves a burst out, whosever it is.
    #[test]
    fn a_burst_that_the_paired_ratio_leaves_out_is_in_the_sums_and_what_is_between_turns_in_the_whole()
     {
        let mut bursting = visit(2.0, 9.0);
        bursting.whole_ns = bursting.server_ns.map(|ns| 3 * ns);
        let cell = cell(bursting, visit(2.0, 1.0));
        assert!((cell.cost(0, 1).ratio.value - 1.0).abs() < 1e-9);
        assert!((cell.cost_of_sums(0, 1) - 3.0).abs() < 1e-9, "{}", cell.cost_of_sums(0, 1));
        assert!((cell.cost_of_whole(0, 1) - 4.5).abs() < 1e-9, "{}", cell.cost_of_whole(0, 1));
        let unknown = Visit { server_ns: None, ..visit(2.0, 1.0) };
        assert!(super::tests::cell(unknown, visit(2.0, 1.0)).cost_of_sums(0, 1).is_nan());
    }

    #[test]
    fn a_full_generator_and_unlike_misses_are_noticed() {
        let full = Visit { client_us: 1.95, busy: 0.7, ..visit(2.0, 1.0) };
        let quiet = visit(2.0, 1.0);
        assert!(cell(full.clone(), quiet.clone()).is_client_full([0, 1], 1, 1));
        assert!(cell(quiet.clone(), full.clone()).is_client_full([0, 1], 1, 1));
        assert!(!cell(full.clone(), quiet.clone()).is_client_full([0, 1], 2, 1));
        // Of two cores as much is little; and what is not seen is not known to be full.
        let two = Visit { busy: 1.4, ..full.clone() };
        assert!(!cell(two.clone(), quiet.clone()).is_client_full([0, 1], 1, 1));
        assert!(cell(two, quiet.clone()).is_client_full([0, 1], 1, 2));
        let unseen = Visit { busy: f64::NAN, ..full.clone() };
        assert!(cell(unseen, quiet.clone()).is_client_full([0, 1], 1, 1));
        // A server that is full too is what limits the rate.
        let both = Visit { busy: 0.97, ..full };
        assert!(!cell(both, quiet.clone()).is_client_full([0, 1], 1, 1));
        let missing = Visit { misses: 120, ..quiet.clone() };
        assert_eq!(cell(missing.clone(), quiet.clone()).misses_percent(0), 3.0);
        assert!(!cell(missing, quiet.clone()).is_alike([0, 1]));
        assert!(cell(Visit { misses: 20, ..quiet.clone() }, quiet).is_alike([0, 1]));
    }
}
