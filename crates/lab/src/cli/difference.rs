//! `dolium lab compare A B`: two runs of the same experiments, point by point.
//!
//! The runs were made at different times, so their rounds are no pairs: ranks decide. Stores that took
//! turns with a reference are compared by their ratios to it, which the machine's own speed leaves
//! alone; where there was none, the change of that speed between the two is held against every
//! difference.

use std::path::Path;

use crate::run::figures;
use crate::run::results::{Point, Results};
use crate::statistics::{Judgement, Noise, Verdict};
use crate::{LabError, output, report};

/// How much the machine's speed differed between two runs, and within each of them.
fn drift(a: &Results, b: &Results) -> f64 {
    let pairs = a.noise.iter().flat_map(|one| b.noise.iter().map(move |other| one.drift(other)));
    let within = |results: &Results| match results.noise.as_slice() {
        [before, after] => Noise::drift(after, before),
        _ => 0.0,
    };
    pairs.fold(within(a).max(within(b)), f64::max)
}

/// One line of the comparison.
pub struct Line {
    pub store: String,
    pub settings: String,
    pub judgement: Judgement,
}

/// All points that both runs have, the second run against the first.
pub fn lines(a: &Results, b: &Results) -> Vec<Line> {
    let figure = &a.experiment.figure;
    let same =
        |one: &Point, other: &Point| one.store == other.store && one.settings == other.settings;
    let pairs: Vec<(&Point, &Point)> = b
        .points
        .iter()
        .filter_map(|one| Some((one, a.points.iter().find(|other| same(one, other))?)))
        .filter(|(one, other)| !one.rounds(figure).is_empty() && !other.rounds(figure).is_empty())
        .collect();
    let drift = drift(a, b);
    let judge =
        |one: &Point, other: &Point| match (one.to_reference(figure), other.to_reference(figure)) {
            (Some(one), Some(other)) => Judgement::referred(&one, &other, pairs.len()),
            _ => {
                let (one, other) = (one.rounds(figure), other.rounds(figure));
                Judgement::unpaired(&one, &other, pairs.len(), drift)
            }
        };
    pairs
        .iter()
        .map(|(one, other)| Line {
            store: one.store.clone(),
            settings: one.words(""),
            judgement: judge(one, other),
        })
        .collect()
}

/// Reads two runs and prints what differs.
pub fn run(a: &Path, b: &Path) -> Result<(), LabError> {
    let (first, second) = (report::read(a)?, report::read(b)?);
    let (mut any, mut said) = (false, Vec::new());
    for one in &first {
        let name = &one.experiment.name;
        let Some(other) = second.iter().find(|results| results.experiment.name == *name) else {
            said.push(format!("{name}: only in {}", a.display()));
            continue;
        };
        any = true;
        said.push(format!("{name}: {}", figures::label(&one.experiment.figure)));
        said.push(format!("  {} against {}", b.display(), a.display()));
        let lines = lines(one, other);
        for line in &lines {
            said.push(format!("  {:<12} {:<34} {}", line.store, line.settings, line.judgement));
        }
        let told = |line: &&Line| matches!(line.judgement.verdict, Verdict::More | Verdict::Less);
        let differences = lines.iter().filter(told).count();
        let drift = 100.0 * drift(one, other);
        if differences == 0 {
            said.push(format!("  no difference in {} points", lines.len()));
        } else {
            said.push(format!("  {differences} of {} points differ", lines.len()));
        }
        said.push(format!(
            "  the machine's own speed differed by up to {drift:.1} % between and within them\n"
        ));
    }
    output::print(said.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    if any { Ok(()) } else { Err(LabError::Options("the two runs share no experiment".into())) }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::experiment::{Length, catalogue};
    use crate::run::results::Visit;

    /// A run of seven points on a machine whose rounds scatter by about a percent.
    fn results(random: &mut SmallRng, slower: f64) -> Results {
        let experiment = catalogue::find("pavlik16-fig1").unwrap().at(Length::Quick, 1.0);
        let speed = 1.0 + random.random_range(-0.005..0.005);
        let noise = Noise { turn_ns: 1e4 * speed, slow_tenth: 0.01, away: 0.0 };
        let points = experiment
            .combinations()
            .unwrap()
            .into_iter()
            .map(|one| {
                let visits = (0..10).map(|_| {
                    let mut visit = Visit::default();
                    let scatter: f64 = (0..4).map(|_| random.random_range(-0.005..0.005)).sum();
                    visit.put("rate", 1e5 / speed / slower * (1.0 + scatter));
                    visit
                });
                Point { store: "x".into(), settings: one.settings, visits: visits.collect() }
            })
            .collect();
        Results { noise: vec![noise, noise], points, ..Results::bare(experiment, Length::Quick) }
    }

    #[test]
    fn two_runs_of_one_thing_differ_in_at_most_one_of_twenty() {
        let mut random = SmallRng::seed_from_u64(3);
        let told = |a: &Results, b: &Results| {
            lines(a, b)
                .iter()
                .any(|line| matches!(line.judgement.verdict, Verdict::More | Verdict::Less))
        };
        let wrong = (0..100)
            .filter(|_| {
                let (a, b) = (results(&mut random, 1.0), results(&mut random, 1.0));
                told(&a, &b)
            })
            .count();
        assert!(wrong <= 5, "{wrong} of 100");
        let found = (0..40)
            .filter(|_| {
                let (a, b) = (results(&mut random, 1.0), results(&mut random, 1.03));
                told(&a, &b)
            })
            .count();
        assert!(found >= 36, "{found} of 40");
    }
}
