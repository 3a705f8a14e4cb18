//! `/metrics`: the server's numbers in Prometheus' text format.
//!
//! ```text
//!   # HELP dolium_keys Keys in a database.
//!   # TYPE dolium_keys gauge
//!   dolium_keys{db="0"} 42
//! ```

use std::fmt::Write;

pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    Gauge,
}

/// One sample. Name and label names must be Prometheus' (`[a-z_][a-z0-9_]*`).
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: MetricKind,
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

pub(super) fn text(metrics: &[Metric]) -> String {
    let mut text = String::new();
    let mut last = "";
    for metric in metrics {
        // A String takes whatever is written to it.
        if metric.name != last {
            last = metric.name;
            let kind = match metric.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
            };
            let _ = writeln!(text, "# HELP {} {}", metric.name, metric.help);
            let _ = writeln!(text, "# TYPE {} {kind}", metric.name);
        }
        text.push_str(metric.name);
        for (index, (name, value)) in metric.labels.iter().enumerate() {
            text.push(if index == 0 { '{' } else { ',' });
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "{name}=\"{value}\"");
        }
        if !metric.labels.is_empty() {
            text.push('}');
        }
        let _ = writeln!(text, " {}", metric.value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_name_share_their_head() {
        let keys = |db: &str, value| Metric {
            name: "dolium_keys",
            help: "Keys in a database.",
            kind: MetricKind::Gauge,
            labels: vec![("db", db.to_owned())],
            value,
        };
        assert_eq!(
            text(&[keys("0", 42.0), keys("a\"b", 0.5)]),
            "# HELP dolium_keys Keys in a database.\n# TYPE dolium_keys gauge\n\
             dolium_keys{db=\"0\"} 42\ndolium_keys{db=\"a\\\"b\"} 0.5\n"
        );
    }
}
