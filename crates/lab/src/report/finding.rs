//! What was found, in a sentence: how the first store stands to each of the others, and how sure
//! that is.

use super::{phases, warnings};
use crate::experiment::Kind;
use crate::output;
use crate::run::figures;
use crate::run::results::{Point, Results};
use crate::statistics::{Judgement, Verdict, median};

/// How the first store stands to another.
pub struct Standing {
    pub other: String,
    /// Median ratio at each setting at which both have the figure.
    pub ratios: Vec<f64>,
    pub overall: Judgement,
    pub more: usize,
    pub less: usize,
    /// Settings at which the first had nothing of the figure, at which the other had, and at which there
    /// is no ratio since one of them was not measured, or neither had any.
    pub without: [usize; 3],
    /// What limits what can be concluded, in a few words each.
    pub marks: Vec<String>,
}

/// The first store against each other one, by the experiment's figure.
pub fn standings(results: &Results) -> Vec<Standing> {
    let stores = results.present();
    let Some((first, others)) = stores.split_first() else { return Vec::new() };
    let mine: Vec<&Point> = results.points.iter().filter(|point| point.store == *first).collect();
    others.iter().filter_map(|other| standing(results, &mine, other)).collect()
}

fn standing(results: &Results, mine: &[&Point], other: &str) -> Option<Standing> {
    let figure = &results.experiment.figure;
    let all: Vec<(&Point, &Point)> =
        mine.iter().filter_map(|&point| Some((point, results.peer(point, other)?))).collect();
    let theirs = results.points.iter().filter(|point| point.store == other).count();
    let (mut pairs, mut ratios) = (Vec::new(), Vec::new());
    // Settings at which only one of them was measured have no pair.
    let (mut more, mut less, mut without) = (0, 0, [0, 0, mine.len() + theirs - 2 * all.len()]);
    for &(point, peer) in &all {
        // Whether they differ at a setting is asked as often as there are settings.
        let judged = results.judge(point, peer, figure, all.len());
        let ratio = judged.ratio.value;
        if ratio.is_nan() {
            without[2] += 1;
            continue;
        }
        match (ratio == 0.0, ratio.is_infinite()) {
            (true, _) => without[0] += 1,
            (_, true) => without[1] += 1,
            _ => ratios.push(ratio),
        }
        more += usize::from(judged.verdict == Verdict::More);
        less += usize::from(judged.verdict == Verdict::Less);
        pairs.push((point, peer));
    }
    if pairs.is_empty() {
        return None;
    }
    let overall = results.judge_all(&pairs, figure, 1);
    let marks = warnings::marks(results, &pairs);
    Some(Standing { other: other.into(), ratios, overall, more, less, without, marks })
}

/// One sentence for each other store.
pub fn sentences(results: &Results) -> Vec<String> {
    let stores = results.present();
    let Some(first) = stores.first() else {
        return vec!["Nothing was measured.".into()];
    };
    let figure = &results.experiment.figure;
    let label = figures::label(figure).split(',').next().unwrap_or_default().to_string();
    if results.experiment.kind == Kind::Fill {
        return phases::sentences(results);
    }
    let standings = standings(results);
    if standings.is_empty() {
        let rounds = results.points.iter().flat_map(|point| point.rounds(figure));
        let typical = median(rounds);
        if !typical.is_finite() {
            return vec![format!("{label} was not measured.")];
        }
        let value = crate::run::live::number(typical);
        return vec![format!(
            "{first}: {} {value} in the middle of all settings.",
            figures::label(figure)
        )];
    }
    let better = if figures::figure(figure).less { "less" } else { "more" };
    standings.iter().map(|standing| sentence(first, &label, better, standing)).collect()
}

fn sentence(first: &str, label: &str, better: &str, standing: &Standing) -> String {
    let Standing { other, ratios, overall, more, less, without, marks } = standing;
    let settings = ratios.len() + without[0] + without[1];
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [overall_ratio, low, high] = [overall.ratio.value, overall.ratio.low, overall.ratio.high]
        .map(|one| output::number(one, 2));
    let mut text = format!("Against {other}, {first} had {overall_ratio} × the {label}");
    if settings > 1 {
        text.push_str(&format!(" in the middle of {settings} settings"));
        let mut said = Vec::new();
        if !ratios.is_empty() {
            said.push(format!("{least:.2} to {most:.2}"));
        }
        if more + less > 0 {
            said.push(format!("higher in {more}, lower in {less}"));
        } else if matches!(overall.verdict, Verdict::More | Verdict::Less) {
            said.push("told of all together, of none alone".into());
        }
        if !said.is_empty() {
            text.push_str(&format!(" ({})", said.join("; ")));
        }
    } else if overall.ratio.high > overall.ratio.low {
        text.push_str(&format!(" ({low} to {high})"));
    }
    let [mine, theirs, lacking] = *without;
    for (count, what) in [
        (mine, format!("{first} had none")),
        (theirs, format!("{other} had none")),
        (lacking, "there is no ratio".into()),
    ] {
        if count > 0 {
            text.push_str(&format!(", in {count} of the settings {what}"));
        }
    }
    for mark in marks {
        text.push_str(&format!(" ({mark})"));
    }
    let end = match overall.verdict {
        Verdict::More | Verdict::Less => {
            text.push_str(&format!("; {better} is better."));
            ""
        }
        Verdict::NoDifference => ": chance alone explains that, no difference was found.",
        Verdict::Swallowed => ": the machine's own noise swallows that.",
        Verdict::TooFew => ": too few rounds to tell it from chance.",
    };
    text.push_str(end);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Length, catalogue};
    use crate::run::judge::tests::points;

    fn said(ones: &[&[Option<f64>]], others: &[&[Option<f64>]]) -> (Results, String) {
        let experiment = catalogue::find("pavlik16-fig1").unwrap().at(Length::Quick, 1.0);
        let entry = |label: &str| crate::run::results::StoreEntry {
            label: label.into(),
            ..Default::default()
        };
        let results = Results {
            stores: vec![entry("dolium"), entry("redis")],
            points: [points("dolium", ones), points("redis", others)].concat(),
            ..Results::bare(experiment, Length::Quick)
        };
        let sentence = sentences(&results).join(" ");
        (results, sentence)
    }

    #[test]
    fn settings_of_one_repetition_tell_no_difference() {
        let (fast, slow): (&[_], &[_]) = (&[Some(1.2)], &[Some(1.0)]);
        let (_, text) = said(&[fast; 7], &[slow; 7]);
        assert_eq!(
            text,
            "Against redis, dolium had 1.20 × the operations a second in the middle of 7 settings \
             (1.20 to 1.20): too few rounds to tell it from chance."
        );
        let (fast, slow): (&[_], &[_]) = (&[Some(1.2); 12], &[Some(1.0); 12]);
        let (_, text) = said(&[fast; 7], &[slow; 7]);
        assert!(
            text.contains("(1.20 to 1.20; higher in 7, lower in 0); more is better."),
            "{text}"
        );
        // Six rounds are clear for one question and not for seven.
        let (_, text) = said(&[&fast[..6]; 7], &[&slow[..6]; 7]);
        assert!(
            text.contains("(1.20 to 1.20; told of all together, of none alone); more is"),
            "{text}"
        );
    }

    /// A rate of zero, or a figure that one of them lacks, was left out without a word.
    #[test]
    fn settings_without_a_ratio_are_counted_and_said() {
        let (one, none, lacks): (&[_], &[_], &[_]) = (&[Some(1.0); 6], &[Some(0.0); 6], &[None; 6]);
        let (_, text) = said(&[one, none, none, one, lacks], &[one, one, one, none, one]);
        assert_eq!(
            text,
            "Against redis, dolium had 0.50 × the operations a second in the middle of 4 settings \
             (1.00 to 1.00; told of all together, of none alone), in 2 of the settings dolium had none, in 1 of the settings redis had \
             none, in 1 of the settings there is no ratio; more is better."
        );
    }

    /// A setting at which one of them was not measured was left out without a word.
    #[test]
    fn settings_of_one_store_alone_are_counted_too() {
        let one: &[_] = &[Some(1.0); 6];
        let (mut results, _) = said(&[one; 4], &[one; 4]);
        // Its first setting dolium lacks, its last two redis does.
        let last = results.points.len() - 1;
        results.points.drain(last - 1..);
        results.points.remove(0);
        let text = sentences(&results).join(" ");
        assert!(text.contains(", in 3 of the settings there is no ratio:"), "{text}");
    }

    #[test]
    fn against_a_store_that_had_nothing_no_multiple_is_printed() {
        let (one, none): (&[_], &[_]) = (&[Some(1.0); 6], &[Some(0.0); 6]);
        let (_, text) = said(&[one], &[none]);
        assert_eq!(
            text,
            "Against redis, dolium had - × the operations a second, in 1 of the settings redis had none; \
             more is better."
        );
    }
}
