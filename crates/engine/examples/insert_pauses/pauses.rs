//! Percentiles of many short times.

/// Times of single steps, or the machine's stops in stretches of time as long.
pub struct Pauses {
    /// At p50, p99, p99.9, p99.99, p99.999 and the longest, in microseconds.
    at: [f64; 6],
    /// How many took more than 50 us, 200 us and 1 ms.
    over: [usize; 3],
}

impl Pauses {
    pub fn of(mut ns: Vec<u32>) -> Pauses {
        ns.sort_unstable();
        let at = |p: f64| ns[((ns.len() - 1) as f64 * p) as usize] as f64 / 1000.0;
        let over = |limit: u32| ns.len() - ns.partition_point(|&ns| ns <= limit);
        Pauses {
            at: [0.5, 0.99, 0.999, 0.9999, 0.99999, 1.0].map(at),
            over: [50_000, 200_000, 1_000_000].map(over),
        }
    }

    pub fn medians(of: &[Pauses]) -> Pauses {
        Pauses {
            at: std::array::from_fn(|n| median(of.iter().map(|pauses| pauses.at[n]))),
            over: std::array::from_fn(|n| {
                median(of.iter().map(|pauses| pauses.over[n] as f64)) as usize
            }),
        }
    }

    pub fn print(&self, name: &str) {
        let [p50, p99, p999, p9999, p99999, max] = self.at;
        let [over_50, over_200, over_1000] = self.over;
        println!(
            "  {name:<17} us: p50 {p50:.2} p99 {p99:.2} p99.9 {p999:.1} p99.99 {p9999:.1} p99.999 {p99999:.1} \
             max {max:.1}; over 50 us {over_50}, over 200 us {over_200}, over 1 ms {over_1000}"
        );
    }
}

pub fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let half = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[half] } else { (figures[half - 1] + figures[half]) / 2.0 }
}

/// Room for as many latencies, every page of which has been written to: no first touch is timed.
pub fn room(items: usize) -> Vec<u32> {
    vec![u32::MAX; items]
}
