//! Logs: structured, quiet by default, under Redis' four levels.

use crate::config::{Config, ConfigFailure};
use std::fs::OpenOptions;
use std::sync::{Mutex, OnceLock};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

static LEVEL: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Redis' `notice` is what an operator wants to see, which here is a warning or worse plus what
/// the server itself prints at its start.
fn filter(level: &str) -> LevelFilter {
    match level {
        "debug" => LevelFilter::TRACE,
        "verbose" => LevelFilter::DEBUG,
        "notice" => LevelFilter::INFO,
        "warning" => LevelFilter::WARN,
        _ => LevelFilter::OFF,
    }
}

/// Begins to log as the configuration says. Does nothing when somebody else logs already.
pub fn start(config: &Config) -> Result<(), ConfigFailure> {
    let (level, handle) = reload::Layer::new(filter(&config.get("loglevel")));
    let path = config.get("logfile");
    let writer: Box<dyn std::io::Write + Send> = if path.is_empty() {
        Box::new(std::io::stderr())
    } else {
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        Box::new(opened.map_err(|e| ConfigFailure::new("logfile", format!("{path}: {e}")))?)
    };
    let lines = fmt::layer().with_target(false).with_ansi(false).with_writer(Mutex::new(writer));
    let started = if config.get("log-format") == "json" {
        tracing_subscriber::registry().with(level).with(lines.json()).try_init()
    } else {
        tracing_subscriber::registry().with(level).with(lines).try_init()
    };
    if started.is_ok() {
        // Only the first start of a process gets here.
        let _ = LEVEL.set(handle);
    }
    Ok(())
}

pub fn set_level(level: &str) {
    if let Some(Err(error)) = LEVEL.get().map(|handle| handle.reload(filter(level))) {
        tracing::warn!(%error, "the log level could not be changed");
    }
}
