//! The page: what was asked, what was found, the plots with the published ones beside them, the
//! machine, the versions, and what to type to do it again. One file, no script, nothing fetched.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{finding, svg, warnings};
use crate::experiment::{Kind, Length, Plot};
use crate::run::figures;
use crate::run::live::{duration, number};
use crate::run::results::{Point, Results};

const STYLE: &str = include_str!("style.css");
/// Drawings wider than this get a row of their own.
const WIDE: &str = r#"viewBox="0 0 560 "#;

/// The page of all experiments of a run.
pub fn text(all: &[Results]) -> String {
    let first = all.first();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Dolium lab: " (names(all)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "Dolium lab" }
                    @if let Some(first) = first {
                        p .tag { (first.began) " · " (first.machine.sentence()) }
                    }
                    @if all.len() > 1 {
                        nav {
                            @for results in all {
                                a href=(format!("#{}", results.experiment.name)) {
                                    (results.experiment.name)
                                }
                            }
                        }
                    }
                    @for results in all { (experiment(results)) }
                }
            }
        }
    }
    .into_string()
}

fn names(all: &[Results]) -> String {
    all.iter().map(|results| results.experiment.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn experiment(results: &Results) -> Markup {
    let asked = &results.experiment;
    html! {
        section id=(asked.name) {
            p .tag { (asked.study) " · " (asked.name) " · " (scale(results)) }
            h2 { (asked.title) }
            p .question { (asked.question) }
            div .finding { @for line in finding::sentences(results) { p { (line) } } }
            @for line in warnings::all(results) { p .warning { (line) } }
            div .published {
                p { b { "Published: " } (asked.published.found) }
                @if !asked.published.setup.is_empty() {
                    p { small { (asked.published.setup) } }
                }
            }
            (plots(results))
            (table(results))
            (stores(results))
            (differences(results))
            (again(results))
        }
    }
}

fn scale(results: &Results) -> String {
    let lacks = super::scale::lacks(results);
    let length = match results.length {
        Length::Quick => "quick run",
        Length::Usual => "usual run",
        Length::Full if lacks.is_empty() => "at published scale",
        Length::Full => "full run",
    };
    let mut text = format!("{length}, {}", duration(results.seconds));
    let keys = results.experiment.workload.keys;
    if keys > 0 {
        text.push_str(&format!(", {} keys", number(f64::from(keys))));
    }
    let load = &results.experiment.load;
    let times = if load.repetitions == 1 { "repetition" } else { "repetitions" };
    text.push_str(&format!(", {} {times}", load.repetitions));
    if matches!(results.experiment.kind, Kind::Load | Kind::Quality | Kind::Mixed | Kind::Commands)
    {
        text.push_str(&format!(" of {} s", load.seconds));
    }
    if results.length == Length::Full && !lacks.is_empty() {
        text.push_str(&format!("; less than published: {}", lacks.join(", ")));
    }
    text
}

/// Drawings flow in a grid; one that the study has too stands in a row with the study's.
fn plots(results: &Results) -> Markup {
    let study = &results.experiment.study;
    let mut rows: Vec<(Vec<svg::Drawing>, Option<&Plot>)> = vec![(Vec::new(), None)];
    let mut empty = Vec::new();
    for plot in &results.experiment.plot {
        let drawings = svg::draw(plot, results);
        if drawings.is_empty() {
            empty.push(plot.title.as_str());
        } else if plot.published.is_some() {
            rows.push((drawings, Some(plot)));
            rows.push((Vec::new(), None));
        } else if let Some((row, _)) = rows.last_mut() {
            row.extend(drawings);
        }
    }
    html! {
        @for (drawings, plot) in &rows {
            @if !drawings.is_empty() {
                div .plots {
                    @for drawing in drawings {
                        figure .wide[!drawing.svg.contains(WIDE)] aria-label=(drawing.title) {
                            (PreEscaped(&drawing.svg))
                        }
                    }
                    @if let Some(published) = plot.and_then(|plot| plot.published.as_ref()) {
                        figure .theirs aria-label="as published" {
                            (PreEscaped(svg::published::draw(study, published)))
                        }
                    }
                }
            }
        }
        @for title in empty { p .tag { (title) ": nothing was measured for this plot." } }
    }
}

/// Medians and intervals of the experiment's figure and of those that plots show.
fn table(results: &Results) -> Markup {
    let mut shown = vec![results.experiment.figure.clone()];
    for plot in &results.experiment.plot {
        if !plot.y.is_empty() && !shown.contains(&plot.y) {
            shown.push(plot.y.clone());
        }
    }
    for more in [
        "rate",
        "p50",
        "p99",
        "p99_reads",
        "p99_writes",
        "p99_others",
        "server_us",
        "server_total_us",
        "busy",
        "rss_mib",
    ] {
        if !shown.iter().any(|known| known == more) {
            shown.push(more.into());
        }
    }
    let measured =
        |figure: &String| results.points.iter().any(|point| !point.rounds(figure).is_empty());
    let absent: Vec<&str> = shown
        .iter()
        .filter(|figure| !measured(figure))
        .map(|figure| figures::label(figure))
        .collect();
    let shown: Vec<String> = shown.iter().filter(|figure| measured(figure)).cloned().collect();
    html! {
        h3 { "Medians and their 95 % intervals" }
        div .scroll {
            table {
                tr {
                    th { "settings" } th { "store" }
                    @for figure in &shown { th { (figures::label(figure)) } }
                }
                @for point in &results.points { (row(point, &shown)) }
            }
        }
        @if !absent.is_empty() {
            p .tag { "Not available here: " (absent.join("; ")) "." }
        }
    }
}

fn row(point: &Point, shown: &[String]) -> Markup {
    html! {
        tr {
            td { (point.words("")) } td { (point.store) }
            @for figure in shown {
                td {
                    @match point.estimate(figure) {
                        None => "–",
                        Some(estimate) => {
                            (number(estimate.value))
                            @if estimate.high > estimate.low {
                                " " small { (number(estimate.low)) "–" (number(estimate.high)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn stores(results: &Results) -> Markup {
    html! {
        h3 { "Stores" }
        div .scroll {
            table {
                tr { th { "store" } th .left { "version" } th .left { "started with" } }
                @for entry in &results.stores {
                    tr {
                        td { (entry.label) }
                        @match &entry.absent {
                            Some(why) => { td .left colspan="2" { "took no part: " (why) } }
                            None => {
                                td .left { (entry.version) }
                                td .left { code { (entry.command) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn differences(results: &Results) -> Markup {
    let own = &results.experiment.differs;
    html! {
        @if !own.is_empty() || !results.notes.is_empty() {
            h3 { "Differences and remarks" }
            ul {
                @for line in own.iter().chain(&results.notes) { li { (line) } }
            }
        }
    }
}

fn again(results: &Results) -> Markup {
    let machine = &results.machine;
    let load = &results.experiment.load;
    html! {
        h3 { "To repeat it" }
        pre { (results.command) }
        details {
            summary { "Machine and method" }
            p {
                (machine.sentence()) ". L2 cache " (machine.l2_bytes / 1024) " KiB; transparent huge \
                 pages " (machine.huge_pages) ", for shared memory " (machine.shared_huge_pages) "."
            }
            @for (when, noise) in ["Before", "After"].iter().zip(&results.noise) {
                p {
                    (when) ": a loop of fixed work took " (number(noise.turn_ns / 1e3))
                    " µs; one turn in ten was slower by " (number(100.0 * noise.slow_tenth))
                    " % or more; " (number(100.0 * noise.away)) " % of the time was taken away."
                }
            }
            p {
                @if load.rate.is_some() {
                    "Open loop: a request is due at its instant whatever the store does, and its \
                     latency counts from then. "
                } @else {
                    "Closed loop: a connection asks again when it has its answer. "
                }
                "Stores took turns in every repetition, another one first each time; ratios are \
                 medians of the repetitions' ratios; intervals are by the bootstrap (95 %), \
                 differences by Wilcoxon's signed ranks (5 %). The server was "
                @if load.pinned { "pinned to its own cores" } @else { "not pinned" }
                ", the generator had "  (load.threads) " thread(s) on the others"
                @if load.spin { ", which slept only where it shared them" }
                ". Dolium lab "
                (results.dolium) "."
            }
        }
    }
}
