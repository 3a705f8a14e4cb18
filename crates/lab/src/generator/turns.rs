//! Several servers in short turns over connections that stay open.
//!
//! ```text
//! A warms up, B warms up,  A B  B A  A B  B A ...      a pair is one turn of each, side by side
//! ```
//!
//! What the machine does for longer than two turns meets both of a pair and leaves their ratio
//! alone; every other pair is the other way round, so that a steady change of speed cancels too.

use std::time::Duration;

use super::session::timed_step;
use super::{LoadReport, LoadSpec, Pace, Session};
use crate::LabError;
use crate::limits::{TURN, TURN_ANSWERS};
use crate::workload::RequestPool;

/// Shortest warm-up: it also tells how long a turn must be.
const WARM_UP_LEAST: Duration = Duration::from_millis(20);

/// One of those that take turns.
pub struct Side<'a> {
    spec: LoadSpec,
    pool: &'a RequestPool,
    session: Session,
    /// Of so many connections the latencies of one are kept.
    step: usize,
}

impl<'a> Side<'a> {
    /// Connects all that are to be compared. Where one of them must have every latency kept, all have:
    /// a reply with the kernel's note costs the client more, and who is asked by a slower client is
    /// asked less.
    pub fn all(
        loads: impl IntoIterator<Item = (LoadSpec, &'a RequestPool)>,
    ) -> Result<Vec<Self>, LabError> {
        let loads: Vec<(LoadSpec, &RequestPool)> = loads.into_iter().collect();
        let steps = loads.iter().map(|(spec, pool)| timed_step(spec, pool));
        let step = steps.min().unwrap_or(1);
        let open = |(spec, pool)| {
            let session = Session::timed_by(&spec, pool, step)?;
            Ok(Self { spec, pool, session, step })
        };
        loads.into_iter().map(open).collect()
    }

    /// Asks for so long, without a warm-up.
    fn ask(&mut self, window: Duration) -> Result<LoadReport, LabError> {
        if !self.session.at_rest() {
            self.session = Session::timed_by(&self.spec, self.pool, self.step)?;
        }
        let spec = LoadSpec { warm_up: Duration::ZERO, window, ..self.spec.clone() };
        self.session.run(&spec, self.pool)
    }
}

/// Lets all sides take turns until each was asked for its window. `first` begins. `around` is told
/// the number of a side before each of its turns, and after it with what came of it. Returns the
/// turns of each side, so that turns of the same number are pairs.
pub fn take_turns(
    sides: &mut [Side<'_>],
    first: usize,
    mut around: impl FnMut(usize, Option<&LoadReport>),
) -> Result<Vec<Vec<LoadReport>>, LabError> {
    let count = sides.len();
    if sides.iter().any(|side| side.step != sides[0].step) {
        let why = "those that take turns have the same share of their connections timed";
        return Err(LabError::Options(why.into()));
    }
    let mut turn = sides.iter().map(|side| side.spec.turn).max().unwrap_or(TURN);
    for place in 0..count {
        let side = &mut sides[(first + place) % count];
        if side.spec.pace != Pace::Closed {
            return Err(LabError::Options("turns are taken in a closed loop".into()));
        }
        let warm = side.ask(side.spec.warm_up.max(WARM_UP_LEAST))?;
        let outstanding = (side.spec.connections * side.spec.pipeline) as f64;
        let answers = TURN_ANSWERS * outstanding / warm.rate().max(1.0);
        turn = turn.max(Duration::try_from_secs_f64(answers).unwrap_or(Duration::MAX));
    }
    let window = sides.iter().map(|side| side.spec.window).max().unwrap_or(turn);
    let turn = turn.min(window).max(Duration::from_millis(1));
    let pairs = ((window.as_secs_f64() / turn.as_secs_f64()).round() as usize).max(1);
    let mut reports: Vec<Vec<LoadReport>> = (0..count).map(|_| Vec::new()).collect();
    for pair in 0..pairs {
        for place in 0..count {
            if crate::interrupt::asked() {
                return Err(LabError::Interrupted);
            }
            let number = (place + first + pair / 2) % count;
            let number = if pair % 2 == 0 { number } else { count - 1 - number };
            around(number, None);
            let report = sides[number].ask(turn)?;
            around(number, Some(&report));
            reports[number].push(report);
        }
    }
    Ok(reports)
}
