//! What the splits of segments cost the inserts around them.

use crate::WINDOW;
use crate::pauses::median;

/// A stretch of the load.
#[derive(Clone, Copy)]
pub struct Window {
    pub ns: f64,
    pub splits: u64,
}

/// What the splits of segments cost the inserts around them.
pub struct Growth {
    /// Splits in a window, and ns an insert: where it grows least, and where it grows most.
    least: (f64, f64),
    most: (f64, f64),
}

impl Growth {
    /// With so many windows taken together.
    pub fn of(windows: &[Window], together: usize) -> Growth {
        let sum = |windows: &[Window]| Window {
            ns: windows.iter().map(|w| w.ns).sum(),
            splits: windows.iter().map(|w| w.splits).sum(),
        };
        let half = &windows[windows.len() / 2..];
        let mut windows: Vec<Window> = half.chunks_exact(together).map(sum).collect();
        windows.sort_by_key(|window| window.splits);
        let mean = |windows: &[Window]| {
            let inserts = (windows.len() * together * WINDOW) as f64;
            let splits = windows.iter().map(|w| w.splits).sum::<u64>() as f64;
            let ns = windows.iter().map(|w| w.ns).sum::<f64>();
            (splits / windows.len() as f64, ns / inserts)
        };
        let tenth = windows.len() / 10;
        Growth { least: mean(&windows[..tenth]), most: mean(&windows[windows.len() - tenth..]) }
    }

    pub fn medians(of: &[Growth]) -> Growth {
        let pick = |part: fn(&Growth) -> f64| median(of.iter().map(part));
        Growth {
            least: (pick(|g| g.least.0), pick(|g| g.least.1)),
            most: (pick(|g| g.most.0), pick(|g| g.most.1)),
        }
    }

    pub fn print(&self, together: usize) {
        let (few, without) = self.least;
        let (many, with) = self.most;
        println!(
            "  growth: {without:.0} ns an insert where {few:.1} segments are split in {} inserts, {with:.0} \
             where {many:.1} are: {:.3} of the throughput",
            together * WINDOW,
            without / with
        );
    }
}
