//! What was left of the throughput while a store did its other work (`kind = "fill"`), in a sentence for
//! each store, and over how many runs that is.

use crate::output;
use crate::run::results::{Point, Results};
use crate::statistics::{Judgement, Verdict};

/// How many runs a ratio is over, as a reader is told; nothing where they tell it from chance.
fn runs(judged: &Judgement, count: usize) -> String {
    match (count, judged.verdict) {
        (1, _) => ", one run".into(),
        (_, Verdict::TooFew) => format!(", {count} runs, too few to tell it from chance"),
        (_, Verdict::More | Verdict::Less) => {
            let [low, high] =
                [judged.ratio.low, judged.ratio.high].map(|one| output::number(one, 2));
            format!(", {low} to {high} in {count} runs")
        }
        _ => format!(", no difference in {count} runs"),
    }
}

/// The throughput at a point as a multiple of that at another of the same store, run by run.
fn part(inside: &Point, outside: &Point) -> Option<(f64, String)> {
    let (inside, outside) = (inside.by_round("rate"), outside.by_round("rate"));
    let ratios: Vec<f64> = inside.iter().zip(&outside).map(|(a, b)| a / b).collect();
    let count = ratios.iter().filter(|ratio| !ratio.is_nan()).count();
    let judged = Judgement::rounds(&ratios, false, 1);
    (count > 0).then(|| (judged.ratio.value, runs(&judged, count)))
}

/// One sentence for each store.
pub fn sentences(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    for store in results.present() {
        let mut parts = Vec::new();
        let inside = |point: &&Point| {
            let when = point.setting("when").map(ToString::to_string);
            point.store == store && when.as_deref() == Some("inside")
        };
        for point in results.points.iter().filter(inside) {
            let case = point.setting("case").map(ToString::to_string).unwrap_or_default();
            let outside = results.points.iter().find(|other| {
                other.store == store
                    && other.setting("case") == point.setting("case")
                    && other.setting("when") != point.setting("when")
            });
            let Some(outside) = outside else { continue };
            let Some((ratio, runs)) = part(point, outside) else { continue };
            let mut names: Vec<&str> = outside
                .visits
                .iter()
                .flat_map(|visit| visit.events.iter().map(|event| event.name.as_str()))
                .collect();
            names.sort_unstable();
            names.dedup();
            let names = names.join(" and ");
            let ratio = output::number(ratio, 2);
            parts.push(format!("{ratio} × the throughput during {names} ({case}{runs})"));
        }
        if parts.is_empty() {
            sentences.push(format!("{store}: nothing that it did besides was seen from outside."));
        } else {
            sentences.push(format!("{store} served {}.", parts.join(", ")));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::judge::tests::points;

    /// Runs differ in speed by more than what is looked for: the ratio is taken within each.
    #[test]
    fn a_ratio_is_taken_within_each_run_and_one_run_is_said_to_be_one() {
        let said = |inside: &[Option<f64>], outside: &[Option<f64>]| {
            part(&points("dolium", &[inside])[0], &points("dolium", &[outside])[0])
        };
        assert_eq!(said(&[Some(5.0)], &[Some(10.0)]), Some((0.5, ", one run".into())));
        let (ratio, runs) =
            said(&[Some(5.0), Some(16.0), None], &[Some(10.0), Some(20.0), Some(9.0)])
                .expect("two runs have both");
        assert!((ratio - 0.65).abs() < 1e-9, "{ratio}");
        assert_eq!(runs, ", 2 runs, too few to tell it from chance");
        assert_eq!(said(&[None], &[Some(10.0)]), None);
        let (ratio, runs) = said(&[Some(5.0); 6], &[Some(10.0); 6]).unwrap();
        assert_eq!((ratio, runs.as_str()), (0.5, ", 0.50 to 0.50 in 6 runs"));
    }
}
