//! What was seen of a load: looks at the server, the windows between them, and pairs of these.

use serde::Serialize;

use crate::statistics::Estimate;

/// What the store says of itself at an instant.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Look {
    pub seconds: f64,
    pub commands: f64,
    pub index_bytes: f64,
    /// CPU time of the server's process.
    pub cpu_ns: f64,
    /// Looks before this one. Each is a command, and no key.
    pub looks: f64,
}

/// Between two looks.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub keys: f64,
    pub index_bytes: f64,
    pub seconds: f64,
    pub cpu_ns: f64,
}

/// A figure of a window that may depend on how much the index grew in it.
pub type Figure = fn(&Window) -> f64;

impl Window {
    pub fn between(before: Look, after: Look) -> Self {
        Self {
            keys: (after.commands - after.looks) - (before.commands - before.looks),
            index_bytes: after.index_bytes - before.index_bytes,
            seconds: after.seconds - before.seconds,
            cpu_ns: after.cpu_ns - before.cpu_ns,
        }
    }

    /// Bytes by which the index grew for each key.
    pub fn growth(&self) -> f64 {
        self.index_bytes / self.keys
    }

    /// Nanoseconds in which a key was stored, by the clock on the wall.
    pub fn time(&self) -> f64 {
        self.seconds * 1e9 / self.keys
    }

    /// Nanoseconds of the server's CPU for a key.
    pub fn server(&self) -> f64 {
        self.cpu_ns / self.keys
    }

    /// Keys a second.
    pub fn rate(&self) -> f64 {
        self.keys / self.seconds
    }
}

/// Where a window ends: at the first look after so much.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    Seconds(f64),
    Keys(f64),
}

impl Length {
    fn is_reached(self, window: &Window) -> bool {
        match self {
            Length::Seconds(seconds) => window.seconds >= seconds,
            Length::Keys(keys) => window.keys >= keys,
        }
    }
}

/// All loads at one depth of pipeline.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub pipeline: usize,
    /// Of each load, its looks in their order.
    pub loads: Vec<Vec<Look>>,
}

impl Cell {
    /// Of each load the windows of a length. Of one in which nothing was stored there is nothing to be said.
    pub fn windows(&self, length: Length) -> Vec<Vec<Window>> {
        let of_load = |looks: &Vec<Look>| {
            let mut ends: Vec<Look> = Vec::new();
            for look in looks {
                if ends.last().is_none_or(|last| length.is_reached(&Window::between(*last, *look)))
                {
                    ends.push(*look);
                }
            }
            let windows = ends.windows(2).map(|two| Window::between(two[0], two[1]));
            windows.filter(|window| window.keys > 0.0).collect()
        };
        self.loads.iter().map(of_load).collect()
    }

    /// Neighbours among windows of such a length, of each load apart.
    pub fn pairs(&self, length: Length) -> Vec<Vec<Pair>> {
        let of_load = |windows: Vec<Window>| {
            windows.as_chunks::<2>().0.iter().filter_map(|&[a, b]| Pair::of(a, b)).collect()
        };
        self.windows(length).into_iter().map(of_load).collect()
    }

    /// A figure where the index grew more as a multiple of where it grew less.
    pub fn ratio(&self, length: Length, figure: Figure) -> Estimate {
        let pairs = self.pairs(length).concat();
        Estimate::of(
            &pairs.iter().map(|pair| figure(&pair.more) / figure(&pair.less)).collect::<Vec<_>>(),
        )
    }
}

/// Neighbours: the one in which the index grew less, and the one in which it grew more.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub less: Window,
    pub more: Window,
}

impl Pair {
    /// None of two in which it grew alike.
    fn of(a: Window, b: Window) -> Option<Pair> {
        match a.growth() - b.growth() {
            0.0 => None,
            less if less < 0.0 => Some(Pair { less: a, more: b }),
            _ => Some(Pair { less: b, more: a }),
        }
    }

    /// By how many bytes a key the index grew more in the one than in the other.
    pub fn step(&self) -> f64 {
        self.more.growth() - self.less.growth()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every look ends a window.
    const EACH: Length = Length::Seconds(0.0);

    fn look(seconds: f64, commands: f64, index_bytes: f64, looks: f64) -> Look {
        Look { seconds, commands, index_bytes, cpu_ns: seconds * 1e9, looks }
    }

    #[test]
    fn windows_are_as_long_as_they_are_asked_for_and_looks_are_no_keys() {
        let looks = (0..9).map(|n| look(f64::from(n), 11.0 * f64::from(n), 40.0, f64::from(n)));
        let cell = Cell { pipeline: 1, loads: vec![looks.collect()] };
        let windows = cell.windows(Length::Seconds(2.5));
        assert_eq!(windows[0].len(), 2);
        assert!(windows[0].iter().all(|window| window.keys == 30.0 && window.seconds == 3.0));
        assert_eq!(cell.windows(Length::Keys(15.0))[0].len(), 4);
    }

    #[test]
    fn of_neighbours_the_one_that_grew_more_is_beside_the_other() {
        // Twice as slow as the machine drifts, and each time a tenth slower where it grows more.
        let load = |windows: &[(f64, f64)]| {
            let mut looks = vec![look(0.0, 0.0, 0.0, 0.0)];
            for (bytes, rate) in windows {
                let last = *looks.last().unwrap();
                looks.push(look(
                    last.seconds + 10.0 / rate,
                    last.commands + 10.0,
                    last.index_bytes + bytes,
                    0.0,
                ));
            }
            looks
        };
        let drifts = load(&[(10.0, 100.0), (20.0, 90.0), (20.0, 45.0), (10.0, 50.0), (5.0, 7.0)]);
        let alike = load(&[(8.0, 1.0), (8.0, 2.0)]);
        let cell = Cell { pipeline: 1, loads: vec![drifts, alike] };
        assert_eq!(cell.pairs(EACH).iter().map(Vec::len).collect::<Vec<_>>(), [2, 0]);
        assert!(cell.pairs(EACH).concat().iter().all(|pair| pair.step() == 1.0));
        assert!((cell.ratio(EACH, Window::rate).value - 0.9).abs() < 1e-9);
    }
}
