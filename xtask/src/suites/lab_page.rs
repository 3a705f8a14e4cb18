//! The page that the lab writes, in a browser: three experiments are run for moments, and every plot
//! must have a place on the page that headless Chromium lays out.
//!
//! The page has no script. A copy of it gets one, which writes down what each drawing measures.

use super::Against;
use crate::tally::Tally;
use crate::{Result, commands, install, paths, servers};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(400);
/// The three that a new machine is shown first.
const SHOWN: [&str; 3] = ["epfl19-latency", "pavlik16-fig1", "zhang14-fig5"];
const WIDTH: u32 = 1280;
/// What the script leaves in the page for each drawing.
const MARK: &str = "<p>drawing:";
const SCRIPT: &str = "<script>addEventListener('load', () => {
  for (const svg of document.querySelectorAll('svg')) {
    const box = svg.getBoundingClientRect();
    const right = Math.round(box.right + scrollX);
    const shapes = svg.querySelectorAll('path, polyline, rect, circle, line').length;
    const line = document.createElement('p');
    line.textContent = ['drawing:', Math.round(box.width), Math.round(box.height), right, shapes].join(' ');
    document.body.append(line);
  }
})</script>";

pub fn run(_: Against) -> Result<Tally> {
    install::packages(install::BROWSER)?;
    install::packages(install::REDIS)?;
    install::packages(install::MEMCACHED)?;
    let out = paths::target().join("lab-page");
    let _ = fs::remove_dir_all(&out);
    let mut lab = Command::new(servers::dolium()?);
    lab.args(["lab", "run"]).args(SHOWN).args(["--quick", "--minutes", "1", "--out"]).arg(&out);
    commands::run("lab-page-run", &mut lab, LIMIT)?.require("the three experiments")?;

    let page = fs::read_to_string(out.join("index.html"))
        .map_err(|error| format!("the lab wrote no page: {error}"))?;
    let probe = out.join("probe.html");
    fs::write(&probe, format!("{page}{SCRIPT}")).map_err(|error| error.to_string())?;
    let seen = browse(&probe, &["--dump-dom"])?;
    browse(&out.join("index.html"), &[&picture(&out)])?;

    let mut tally = Tally::default();
    let plots = fs::read_dir(&out).map_err(|error| error.to_string())?.flatten();
    let plots = plots.filter(|file| file.path().extension().is_some_and(|end| end == "svg"));
    let (plots, drawn) = (plots.count(), page.matches("<svg").count());
    tally.check("a page with plots", if plots > 5 { Ok(()) } else { Err(format!("{plots}")) });
    tally.check(
        "all plots are in the page",
        if drawn >= plots { Ok(()) } else { Err(format!("{drawn} of {plots}")) },
    );
    let mut laid_out = 0;
    for measures in seen.split(MARK).skip(1) {
        laid_out += 1;
        let measures = measures.split('<').next().unwrap_or_default();
        tally.check(format!("drawing {laid_out}"), visible(measures));
    }
    tally.check(
        "the browser saw all of them",
        if laid_out == drawn { Ok(()) } else { Err(format!("{laid_out} of {drawn}")) },
    );
    let picture = fs::metadata(out.join("page.png")).map_or(0, |file| file.len());
    tally.check(
        "a picture of the page",
        if picture > 20_000 { Ok(()) } else { Err(format!("{picture} bytes")) },
    );
    Ok(tally)
}

/// Width, height, right edge and number of shapes of a drawing that can be seen.
fn visible(line: &str) -> Result<()> {
    let numbers: Vec<u32> =
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [width, height, right, shapes, ..]
            if width > 100 && height > 60 && right <= WIDTH && shapes > 2 =>
        {
            Ok(())
        }
        _ => Err(format!("width, height, right edge, shapes: {line}")),
    }
}

fn picture(out: &Path) -> String {
    format!("--screenshot={}", out.join("page.png").display())
}

fn browse(page: &Path, words: &[&str]) -> Result<String> {
    let mut browser = Command::new("chromium");
    // Root has no sandbox, and a container's shared memory is small.
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    browser.arg(format!("--window-size={WIDTH},4000")).args(words);
    browser.arg(format!("file://{}", page.display()));
    let finished = commands::run("lab-page-browser", &mut browser, Duration::from_secs(120))?;
    finished.require("headless Chromium").map(|finished| finished.output)
}
