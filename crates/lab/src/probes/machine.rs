//! The whole machine as /proc sees it.

use std::fs;

use super::process::number_after;

/// Counters since the machine began.
#[derive(Clone, Copy, Default, Debug)]
pub struct Whole {
    /// Seconds of all cores by kind.
    pub user_s: f64,
    pub system_s: f64,
    pub idle_s: f64,
    pub iowait_s: f64,
    pub irq_s: f64,
    pub softirq_s: f64,
    /// Taken by the host of a virtual machine.
    pub steal_s: f64,
    pub swapped_in_pages: f64,
    pub swapped_out_pages: f64,
    /// Sent over the loopback interface, which receives as much.
    pub loopback_bytes: f64,
}

impl Whole {
    /// Reads it; what cannot be read is zero.
    pub fn read() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = stat.lines().next().unwrap_or_default();
        let ticks: Vec<f64> =
            first.split_ascii_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        let second = rustix::param::clock_ticks_per_second() as f64;
        let kind = |number: usize| ticks.get(number).copied().unwrap_or(0.0) / second;
        let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        let net = fs::read_to_string("/proc/net/dev").unwrap_or_default();
        let loopback = net.lines().find_map(|line| line.trim_start().strip_prefix("lo:"));
        Self {
            user_s: kind(0) + kind(1),
            system_s: kind(2),
            idle_s: kind(3),
            iowait_s: kind(4),
            irq_s: kind(5),
            softirq_s: kind(6),
            steal_s: kind(7),
            swapped_in_pages: number_after(&vmstat, "pswpin"),
            swapped_out_pages: number_after(&vmstat, "pswpout"),
            loopback_bytes: loopback.map_or(0.0, |line| number_after(line, "")),
        }
    }

    /// This, grown by what the counters of `later` are beyond those of `earlier`.
    pub fn grown(&self, earlier: &Self, later: &Self) -> Self {
        Self {
            user_s: self.user_s + later.user_s - earlier.user_s,
            system_s: self.system_s + later.system_s - earlier.system_s,
            idle_s: self.idle_s + later.idle_s - earlier.idle_s,
            iowait_s: self.iowait_s + later.iowait_s - earlier.iowait_s,
            irq_s: self.irq_s + later.irq_s - earlier.irq_s,
            softirq_s: self.softirq_s + later.softirq_s - earlier.softirq_s,
            steal_s: self.steal_s + later.steal_s - earlier.steal_s,
            swapped_in_pages: self.swapped_in_pages + later.swapped_in_pages
                - earlier.swapped_in_pages,
            swapped_out_pages: self.swapped_out_pages + later.swapped_out_pages
                - earlier.swapped_out_pages,
            loopback_bytes: self.loopback_bytes + later.loopback_bytes - earlier.loopback_bytes,
        }
    }

    /// Seconds of all cores and kinds.
    pub fn total_s(&self) -> f64 {
        self.user_s
            + self.system_s
            + self.idle_s
            + self.iowait_s
            + self.irq_s
            + self.softirq_s
            + self.steal_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_on_every_machine() {
        let before = Whole::read();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let after = Whole::read();
        assert!(after.total_s() > before.total_s());
        assert!(after.user_s > 0.0 && after.idle_s > 0.0);
    }
}
