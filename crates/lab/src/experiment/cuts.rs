//! What a run left out of the published scale, in words.
//!
//! A run keeps its experiment as it was run, shortened by its length or to fit into its time. It is
//! compared with the built-in file of that name at full length, parameter by parameter: the run's own
//! copy does not know what it was before, unless `[full]` says so. An experiment of the user's own is
//! compared with its `[full]`, which is completed when the file is read.

use super::{Axis, Bytes, Experiment, Kind, Length, Record, Setting, Sweep, catalogue};

/// Records that differ by less than this are the same: numbers of them are rounded when scaled.
const ALIKE: f64 = 0.001;
/// A graph that is read has not exactly the published edges for each node.
const EDGES_ALIKE: f64 = 0.01;

/// Everything in which `run` is less than, or other than, what was published; empty if nothing.
pub fn cuts(run: &Experiment) -> Vec<String> {
    let whole = published(run);
    let mut cuts = Vec::new();
    let is_swept = |axis: Axis| whole.sweep.iter().any(|sweep| sweep.axis == axis);
    let has_keys = !matches!(run.kind, Kind::Commands | Kind::Memory | Kind::Misses);
    let (mine, theirs) = (run.workload.keys, whole.workload.keys);
    if has_keys && !is_swept(Axis::Keys) && mine < theirs {
        cuts.push(format!("{mine} of {theirs} keys"));
    }
    let records = |one: &Experiment| one.record.iter().map(Record::bytes).sum::<f64>();
    let (mine, theirs) = (records(run), records(&whole));
    if mine < (1.0 - ALIKE) * theirs {
        cuts.push(format!("{:.0} of {:.0} MB of records", mine / 1e6, theirs / 1e6));
    }
    let is_timed = matches!(
        run.kind,
        Kind::Load | Kind::Quality | Kind::Program | Kind::Commands | Kind::Mixed
    );
    if is_timed && run.load.seconds < whole.load.seconds {
        cuts.push(format!("{} s of {} s", run.load.seconds, whole.load.seconds));
    }
    let (mine, theirs) = (run.load.repetitions, whole.load.repetitions);
    if mine < theirs {
        cuts.push(format!("{mine} of {theirs} repetitions"));
    }
    cuts.extend(whole.sweep.iter().filter_map(|theirs| axis(run, theirs)));
    let cases = |one: &Experiment| -> Vec<String> {
        one.fill.iter().map(|case| case.name.clone()).collect()
    };
    let mine = cases(run);
    let missing = cases(&whole).into_iter().filter(|case| !mine.contains(case));
    cuts.extend(missing.map(|case| format!("without {case}")));
    cuts.extend(others(run, &whole, is_swept));
    cuts
}

/// The experiment as it was published.
fn published(run: &Experiment) -> Experiment {
    let built_in = catalogue::text(&run.name).map(|text| Experiment::read(text, &run.name));
    match built_in {
        Some(Ok(whole)) if whole.kind == run.kind => whole.at(Length::Full, 1.0),
        _ => run.clone().changed(&run.full),
    }
}

/// What an axis lacks of its published values.
fn axis(run: &Experiment, theirs: &Sweep) -> Option<String> {
    let name = theirs.axis.name();
    let Some(mine) = run.sweep.iter().find(|sweep| sweep.axis == theirs.axis) else {
        return Some(format!("one value of {name}"));
    };
    let missing = theirs.values.iter().filter(|value| !mine.values.contains(value)).count();
    if missing == 0 {
        return None;
    }
    let span = |values: &[Setting]| {
        let numbers: Option<Vec<f64>> = values.iter().map(Setting::number).collect();
        let numbers = numbers.unwrap_or_default();
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (least, most)
    };
    let (from, to) = (span(&mine.values), span(&theirs.values));
    if from != to && from.0.is_finite() {
        let ((a, b), (c, d)) = (from, to);
        return Some(format!("{name} {a} to {b} in place of {c} to {d}"));
    }
    let all = theirs.values.len();
    Some(format!("{} of {all} values of {name}", all - missing))
}

/// What is neither less nor more, but other.
fn others(run: &Experiment, whole: &Experiment, is_swept: impl Fn(Axis) -> bool) -> Vec<String> {
    let mut others = Vec::new();
    let mut compare = |is_there: bool, what: &str, mine: String, theirs: String| {
        if is_there && mine != theirs {
            others.push(format!("{what} {mine} in place of {theirs}"));
        }
    };
    let size = |bytes: &Bytes| match bytes {
        Bytes::Number(number) => format!("{number} B"),
        Bytes::Rule(sizes) => format!("{sizes:?}"),
    };
    let has_values =
        !matches!(run.kind, Kind::Commands | Kind::Memory | Kind::Misses | Kind::Pagerank);
    let (work, theirs) = (&run.workload, &whole.workload);
    let has = |axis| has_values && !is_swept(axis);
    compare(has(Axis::Key), "keys of", size(&work.key), size(&theirs.key));
    compare(has(Axis::Value), "values of", size(&work.value), size(&theirs.value));
    let operations = |one: &Experiment| format!("{:?}", one.workload.operations);
    let is_other = has(Axis::Operation) && operations(run) != operations(whole);
    compare(is_other, "operations", operations(run), operations(whole));
    let (load, theirs) = (&run.load, &whole.load);
    let connections = |count: usize| count.to_string();
    compare(
        has(Axis::Connections),
        "connections",
        connections(load.connections),
        connections(theirs.connections),
    );
    let rate = |rate: Option<f64>| rate.map_or_else(|| "unbounded".into(), |rate| rate.to_string());
    compare(has(Axis::Rate), "rate", rate(load.rate), rate(theirs.rate));
    let (mine, theirs) = (run.graph.edges_per_node, whole.graph.edges_per_node);
    let is_other = run.kind == Kind::Pagerank && (mine / theirs - 1.0).abs() > EDGES_ALIKE;
    compare(is_other, "edges a node", format!("{mine:.2}"), format!("{theirs:.2}"));
    if whole.load.namespaces && !run.load.namespaces {
        others.push("on the loopback interface in place of namespaces".into());
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::budget;

    fn full(name: &str) -> Experiment {
        catalogue::find(name).unwrap().at(Length::Full, 1.0)
    }

    #[test]
    fn every_experiment_at_full_length_leaves_out_nothing() {
        for experiment in catalogue::all().unwrap() {
            let name = &experiment.name;
            assert_eq!(cuts(&full(name)), Vec::<String>::new(), "{name}");
        }
    }

    /// What `[full]` does not name is cut like everything else.
    #[test]
    fn what_only_the_usual_length_names_is_said_when_it_is_cut() {
        for (name, said) in [
            ("cao16-fig10", "of 3000 MB of records"),
            ("cao16-table4", "of 1000 MB of records"),
            ("zhang14-fig4", "s of 2 s"),
            ("zhang14-fig4", "of 10 repetitions"),
            ("zhang14-fig6", "s of 1 s"),
            ("zhang14-fig6", "of 3 repetitions"),
            ("zhang14-fig3", "of 3 repetitions"),
            ("ycsb-a", "of 10 repetitions"),
        ] {
            let mut run = full(name);
            budget::fit(&mut run, 3, 20.0, 20e9).unwrap();
            let told = cuts(&run).join(", ");
            assert!(told.contains(said), "{name} says {told:?} and not {said}");
        }
    }

    #[test]
    fn axes_and_sizes_that_are_not_the_published_ones_are_said() {
        let mut run = full("zhang14-fig6");
        run.sweep[0].values = vec![Setting::Whole(139), Setting::Whole(1_394_973)];
        let told = cuts(&run).join(", ");
        assert_eq!(told, "keys 139 to 1394973 in place of 1000 to 10000000");
        let mut run = full("pavlik16-fig1");
        run.sweep[0].values.remove(1);
        assert!(cuts(&run).join("").contains("values of connections"), "{:?}", cuts(&run));
        let mut run = full("mixed");
        run.workload.value = Bytes::Number(100);
        run.fill.pop();
        assert_eq!(cuts(&run), ["without a script", "values of 100 B in place of 1000 B"]);
    }

    /// A user's own file is compared with itself, also in what its `[full]` passes over.
    #[test]
    fn a_file_of_the_users_own_tells_what_was_cut_of_it() {
        let text = catalogue::text("zhang14-fig4").unwrap().replace("zhang14-fig4", "mine");
        let mut mine = Experiment::read(&text, "mine.toml").unwrap().at(Length::Full, 1.0);
        assert!(cuts(&mine).is_empty(), "{:?}", cuts(&mine));
        mine.load.seconds = 0.35;
        assert_eq!(cuts(&mine), ["0.35 s of 2 s"]);
    }
}
