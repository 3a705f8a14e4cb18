//! Calls that a crate must not make. The lower crates get time, threads and sockets as parameters,
//! so that a test can be the clock and a model checker can be the scheduler.
//!
//! The search is by text in lines that are no comments, outside test modules and `tests/` folders:
//! simple enough to trust, and an exception has to be written down here.

use super::Source;

struct Ban {
    folders: &'static [&'static str],
    except: &'static [&'static str],
    calls: &'static [&'static str],
    why: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        folders: &["crates/engine/src/", "crates/protocol/src/", "crates/commands/src/"],
        // Sleeps in the checker's time, under a model only.
        except: &["crates/engine/src/sync/modelled.rs"],
        calls: &["Instant::now", "SystemTime::now", "thread::spawn", "thread::sleep", "std::net"],
        why: "time, threads and sockets live in the server",
    },
    Ban {
        folders: &["crates/engine/src/"],
        // The second is what a model checker replaces the first with.
        except: &["crates/engine/src/sync/atomics.rs", "crates/engine/src/sync/modelled.rs"],
        calls: &["std::sync::atomic", "core::sync::atomic"],
        why: "atomics come from sync/atomics.rs, which a model checker can replace",
    },
    Ban {
        folders: &["crates/", "xtask/"],
        // The lab's: docs/decisions/0017-what-is-unsafe-in-the-lab.md.
        except: &[
            "crates/engine/",
            // The edge of the bindings: it measures the C library.
            "crates/attach/examples/attach_speed.rs",
            "crates/lab/src/misses/memory.rs",
            "crates/lab/src/generator/ring/mod.rs",
            "crates/lab/src/null/uring.rs",
            "crates/lab/src/stores/process.rs",
        ],
        calls: &["unsafe {", "unsafe fn", "unsafe impl"],
        why: "unsafe code lives in the engine, at the edge of the bindings and in four files of the lab",
    },
];

pub fn check(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.path.ends_with(".rs")) {
        let applies = |ban: &&Ban| {
            let inside = |folders: &[&str]| folders.iter().any(|f| source.path.starts_with(f));
            inside(ban.folders) && !inside(ban.except) && !source.path.contains("/tests/")
        };
        let bans: Vec<&Ban> = BANS.iter().filter(applies).collect();
        for (number, line) in code(&source.text) {
            for ban in &bans {
                if let Some(call) = ban.calls.iter().find(|call| line.contains(**call)) {
                    findings.push(format!("{}:{number}: {call}: {}", source.path, ban.why));
                }
            }
        }
    }
    findings
}

/// The numbered lines that are code: no comments, no string-only lines of this list, and nothing
/// from a file's test module on (by custom the last thing in a file).
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let lines = lines.take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]"));
    lines.filter(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("calls: ")
    })
}

#[cfg(test)]
mod tests {
    use super::super::Source;

    fn findings(path: &str, text: &str) -> usize {
        super::check(&[Source { path: path.into(), text: text.into() }]).len()
    }

    #[test]
    fn a_ban_holds_in_its_folder_only() {
        let call = "//! x\nlet t = Instant::now();\n";
        assert_eq!(findings("crates/engine/src/a.rs", call), 1);
        assert_eq!(findings("crates/server/src/a.rs", call), 0);
        assert_eq!(findings("crates/engine/src/a.rs", "// Instant::now\n"), 0);
        assert_eq!(findings("crates/engine/src/a.rs", "#[cfg(test)]\nmod t { Instant::now }"), 0);
    }
}
