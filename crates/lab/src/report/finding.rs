//! What was found, in a sentence: how the first store stands to each of the others, and how sure
//! that is.

use crate::experiment::Kind;
use crate::run::figures;
use crate::run::results::{Point, Results, judge};
use crate::statistics::{Judgement, Verdict, median};

/// Share of its cores at which the generator itself is what limits a figure.
const CLIENT_FULL: f64 = 95.0;
/// Cores of a server that still has time to spare.
const SERVER_IDLE: f64 = 0.9;
/// Share by which the machine's speed may change before a reader must know.
const DRIFT: f64 = 0.03;

/// How the first store stands to another.
pub struct Standing {
    pub other: String,
    /// Median ratio at each setting, and over all.
    pub ratios: Vec<f64>,
    pub overall: Judgement,
    pub more: usize,
    pub less: usize,
}

/// The first store against each other one, by the experiment's figure.
pub fn standings(results: &Results) -> Vec<Standing> {
    let stores = results.present();
    let Some((first, others)) = stores.split_first() else { return Vec::new() };
    let figure = &results.experiment.figure;
    let mine: Vec<&Point> = results.points.iter().filter(|point| point.store == *first).collect();
    let mut standings = Vec::new();
    for other in others {
        let (mut pairs, mut ratios) = (Vec::new(), Vec::new());
        let (mut more, mut less) = (0, 0);
        for point in &mine {
            let Some(peer) = results.peer(point, other) else { continue };
            let judged = results.judge(point, peer, figure, 1);
            if !judged.ratio.value.is_finite() || judged.ratio.value <= 0.0 {
                continue;
            }
            ratios.push(judged.ratio.value);
            more += usize::from(judged.verdict == Verdict::More);
            less += usize::from(judged.verdict == Verdict::Less);
            pairs.push((*point, peer));
        }
        if !ratios.is_empty() {
            let overall = judge(&pairs, figure, 1);
            standings.push(Standing { other: (*other).into(), ratios, overall, more, less });
        }
    }
    standings
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
        return phases(results);
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

/// What was left of the throughput while a store did its other work, one sentence for each store.
fn phases(results: &Results) -> Vec<String> {
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
            let ratio = |figure: &str| {
                let (a, b) = (median(point.rounds(figure)), median(outside.rounds(figure)));
                a / b
            };
            let mut names: Vec<&str> = outside
                .visits
                .iter()
                .flat_map(|visit| visit.events.iter().map(|event| event.name.as_str()))
                .collect();
            names.sort_unstable();
            names.dedup();
            parts.push(format!(
                "{:.2} × the throughput during {} ({case})",
                ratio("rate"),
                names.join(" and ")
            ));
        }
        if parts.is_empty() {
            sentences.push(format!("{store}: nothing that it did besides was seen from outside."));
        } else {
            sentences.push(format!("{store} served {}.", parts.join(", ")));
        }
    }
    sentences
}

fn sentence(first: &str, label: &str, better: &str, standing: &Standing) -> String {
    let Standing { other, ratios, overall, more, less } = standing;
    let settings = ratios.len();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut text = format!("Against {other}, {first} had {:.2} × the {label}", overall.ratio.value);
    if settings > 1 {
        text.push_str(&format!(" in the middle of {settings} settings ({least:.2} to {most:.2}"));
        if more + less > 0 {
            text.push_str(&format!("; higher in {more}, lower in {less}"));
        }
        text.push(')');
    } else if overall.ratio.high > overall.ratio.low {
        text.push_str(&format!(" ({:.2} to {:.2})", overall.ratio.low, overall.ratio.high));
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

/// What a reader must know before he believes a figure.
pub fn warnings(results: &Results) -> Vec<String> {
    let mut warnings = Vec::new();
    let limited: Vec<&str> = results
        .present()
        .into_iter()
        .filter(|store| {
            results.points.iter().filter(|point| point.store == *store).any(|point| {
                let typical = |figure| median(point.rounds(figure));
                typical("client_busy") > CLIENT_FULL
                    && typical("busy") < SERVER_IDLE
                    && results.experiment.load.rate.is_none()
            })
        })
        .collect();
    if !limited.is_empty() {
        warnings.push(format!(
            "At some settings the generator's core was full and the server's was not ({}): \
             throughput is a floor there; compare CPU an operation.",
            limited.join(", ")
        ));
    }
    let late = results
        .points
        .iter()
        .any(|point| median(point.rounds("lag_p99")) > 0.3 * median(point.rounds("p99")));
    if late {
        warnings.push(
            "At some settings the generator itself was late by a good part of the 99th percentile: \
             that part is not the server's."
                .into(),
        );
    }
    if let [before, after] = results.noise.as_slice() {
        let drift = after.drift(before);
        if drift > DRIFT {
            warnings.push(format!(
                "The machine's own speed changed by {:.0} % between the beginning and the end; only \
                 ratios of stores that took turns are to be trusted.",
                100.0 * drift
            ));
        }
        let away = before.away.max(after.away);
        if away > DRIFT {
            warnings.push(format!(
                "Other programs or the host took {:.0} % of the time from a core that had nothing \
                 else to do: tails of latency are theirs in part.",
                100.0 * away
            ));
        }
    }
    if results.points.iter().any(|point| median(point.rounds("cpu_steal")) > 2.0) {
        warnings
            .push("The host took processor time from this virtual machine during the run.".into());
    }
    if results.interrupted {
        warnings.push("The run was ended early; what had been measured is shown.".into());
    }
    warnings
}
