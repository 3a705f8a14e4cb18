//! What a figure is worth: medians with intervals, tests of a difference, the machine's noise.
//!
//! Rounds of several stores that took turns are pairs, and their ratios are what is judged; runs
//! of different days are not, and are judged by ranks and by the machine's speed in each.

pub mod bootstrap;
mod median;
pub mod noise;
pub mod ranks;
pub mod verdict;
pub mod warm_up;

pub use bootstrap::Estimate;
pub use median::{median, midmean, spread};
pub use noise::Noise;
pub use verdict::{Judgement, Verdict, round_ratio};
