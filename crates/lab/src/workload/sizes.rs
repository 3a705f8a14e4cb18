//! How many bytes a key or a value has.
//!
//! A size follows from the key's number alone, so that a reader knows the length of the value that
//! it will get, and can check every byte of it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::value::mix;
use crate::LabError;

/// A rule that gives the size of number `id`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sizes {
    /// All alike.
    Constant(usize),
    /// Every size from the first to the last equally often.
    Range(usize, usize),
    /// One of these, equally often.
    List(Vec<usize>),
    /// A level that goes from the first size to the second and back within so many keys, each
    /// octave in the same time; a key's size is anything from half of the level to three halves.
    Wave(usize, usize, u32),
    /// Keys of Facebook's ETC pool, by Atikoglu et al. 2012 (a generalised extreme value law).
    EtcKeys,
    /// Values of the same pool (a table below 15 bytes, a generalised Pareto law above).
    EtcValues,
}

/// Share of values of 0, 1, 2 ... 14 bytes in ETC, as published.
const ETC_SMALL: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
    0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
];
const ETC_VALUE_SCALE: f64 = 214.476;
const ETC_VALUE_SHAPE: f64 = 0.348_238;
const ETC_KEY_LOCATION: f64 = 30.7984;
const ETC_KEY_SCALE: f64 = 8.20449;
const ETC_KEY_SHAPE: f64 = 0.078_688;
/// Longest value of the pool that any cache takes without a special setting.
const ETC_VALUE_MAX: usize = 1_000_000;
/// Keys shorter than this could not be told apart.
const ETC_KEY_MIN: usize = 10;
const KEY_MAX: usize = 250;
/// The draw for keys differs from the draw for values of the same number.
const KEY_SALT: u64 = 0x006B_6579;

impl Sizes {
    /// The size of number `id`.
    pub fn of(&self, id: u32) -> usize {
        let share =
            |salt: u64| (mix(u64::from(id) ^ salt << 32) >> 11) as f64 / (1u64 << 53) as f64;
        match self {
            Self::Constant(size) => *size,
            Self::Range(least, most) => {
                least + (mix(u64::from(id)) % (most - least + 1) as u64) as usize
            }
            Self::List(sizes) => sizes[(mix(u64::from(id)) % sizes.len() as u64) as usize],
            Self::Wave(least, most, period) => {
                let phase = f64::from(id % period) / f64::from(*period);
                let height = 1.0 - (2.0 * phase - 1.0).abs();
                let level = *least as f64 * (*most as f64 / *least as f64).powf(height);
                ((level * (0.5 + share(0))) as usize).max(1)
            }
            Self::EtcKeys => {
                let share = share(KEY_SALT).clamp(1e-9, 1.0 - 1e-9);
                let law = ((-share.ln()).powf(-ETC_KEY_SHAPE) - 1.0) / ETC_KEY_SHAPE;
                let size = ETC_KEY_LOCATION + ETC_KEY_SCALE * law;
                (size as usize).clamp(ETC_KEY_MIN, KEY_MAX)
            }
            Self::EtcValues => etc_value(share(0)),
        }
    }

    /// The size if all have one.
    pub fn constant(&self) -> Option<usize> {
        match self {
            Self::Constant(size) => Some(*size),
            _ => None,
        }
    }

    /// Mean over many numbers.
    pub fn mean(&self) -> f64 {
        const SAMPLE: u32 = 20_000;
        match self {
            Self::Constant(size) => *size as f64,
            // Evenly over one wave.
            Self::Wave(.., period) => {
                let id = |step| (u64::from(step) * u64::from(*period) / u64::from(SAMPLE)) as u32;
                (0..SAMPLE).map(|step| self.of(id(step)) as f64).sum::<f64>() / f64::from(SAMPLE)
            }
            _ => (0..SAMPLE).map(|id| self.of(id) as f64).sum::<f64>() / f64::from(SAMPLE),
        }
    }

    /// Least and largest that can come.
    pub fn bounds(&self) -> (usize, usize) {
        match self {
            Self::Constant(size) => (*size, *size),
            Self::Range(least, most) => (*least, *most),
            Self::List(sizes) => {
                (sizes.iter().copied().min().unwrap_or(0), sizes.iter().copied().max().unwrap_or(0))
            }
            Self::Wave(least, most, _) => ((least / 2).max(1), most * 3 / 2),
            Self::EtcKeys => (ETC_KEY_MIN, KEY_MAX),
            Self::EtcValues => (1, ETC_VALUE_MAX),
        }
    }
}

fn etc_value(share: f64) -> usize {
    let mut below = 0.0;
    for (size, part) in ETC_SMALL.iter().enumerate() {
        below += part;
        if share < below {
            // No store keeps nothing under a key in the same way; one byte stands for none.
            return size.max(1);
        }
    }
    let rest = ((share - below) / (1.0 - below)).clamp(0.0, 1.0 - 1e-9);
    let over = ETC_VALUE_SCALE * ((1.0 - rest).powf(-ETC_VALUE_SHAPE) - 1.0) / ETC_VALUE_SHAPE;
    (ETC_SMALL.len() + over as usize).min(ETC_VALUE_MAX)
}

impl From<usize> for Sizes {
    fn from(size: usize) -> Self {
        Self::Constant(size)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(size) => write!(f, "{size}"),
            Self::Range(least, most) => write!(f, "range:{least}:{most}"),
            Self::List(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
                write!(f, "list:{}", sizes.join(":"))
            }
            Self::Wave(least, most, period) => write!(f, "wave:{least}:{most}:{period}"),
            Self::EtcKeys => f.write_str("etc-keys"),
            Self::EtcValues => f.write_str("etc"),
        }
    }
}

impl FromStr for Sizes {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let mut parts = text.split(':');
        let first = parts.next().unwrap_or_default();
        let numbers: Result<Vec<usize>, _> = parts.map(str::parse).collect();
        match (first, numbers.as_deref()) {
            ("etc", Ok([])) => Ok(Self::EtcValues),
            ("etc-keys", Ok([])) => Ok(Self::EtcKeys),
            ("range", Ok([least, most])) if least <= most => Ok(Self::Range(*least, *most)),
            ("wave", Ok([least, most, period])) if 0 < *least && least <= most && *period > 0 => {
                Ok(Self::Wave(*least, *most, u32::try_from(*period).unwrap_or(u32::MAX)))
            }
            ("list", Ok(sizes @ [_, ..])) => Ok(Self::List(sizes.to_vec())),
            (size, Ok([])) if size.parse::<usize>().is_ok() => {
                Ok(Self::Constant(size.parse().unwrap_or_default()))
            }
            _ => Err(LabError::Options(format!(
                "unknown size {text:?}: use BYTES, range:LEAST:MOST, list:BYTES:BYTES..., \
                 wave:LEAST:MOST:KEYS, etc or etc-keys"
            ))),
        }
    }
}

impl TryFrom<String> for Sizes {
    type Error = LabError;

    fn try_from(text: String) -> Result<Self, LabError> {
        text.parse()
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etc_has_the_shares_and_the_tail_that_were_published() {
        let sizes: Vec<usize> = (0..200_000).map(|id| Sizes::EtcValues.of(id)).collect();
        let share = |test: &dyn Fn(usize) -> bool| {
            sizes.iter().filter(|&&size| test(size)).count() as f64 / sizes.len() as f64
        };
        assert!((share(&|size| size == 2) - 0.178).abs() < 0.01);
        assert!((share(&|size| size == 11) - 0.0899).abs() < 0.01);
        let small: f64 = ETC_SMALL.iter().sum();
        assert!((share(&|size| size >= 15) - (1.0 - small)).abs() < 0.01);
        // Half of the Pareto part lies below scale / shape * (2^shape - 1) above 15.
        let middle = 15.0 + ETC_VALUE_SCALE / ETC_VALUE_SHAPE * (2f64.powf(ETC_VALUE_SHAPE) - 1.0);
        let above = share(&|size| size as f64 > middle);
        assert!((above - (1.0 - small) / 2.0).abs() < 0.01, "{above}");
    }

    #[test]
    fn etc_keys_are_mostly_between_20_and_70_bytes() {
        let inside = (0..50_000).filter(|&id| (20..=70).contains(&Sizes::EtcKeys.of(id))).count();
        assert!(inside > 46_000, "{inside} of 50000");
    }

    #[test]
    fn a_wave_goes_up_and_down_again() {
        let wave = Sizes::Wave(100, 1_600, 40_000);
        let mean = |from: u32| (from..from + 100).map(|id| wave.of(id)).sum::<usize>() / 100;
        for (from, level) in [(0, 100), (10_000, 400), (20_000, 1_600), (30_000, 400)] {
            let mean = mean(from);
            assert!((level * 9 / 10..level * 11 / 10).contains(&mean), "{from}: {mean}");
        }
    }

    #[test]
    fn sizes_read_back_and_stay_within_their_bounds() {
        for text in
            ["100", "range:10:1000", "list:1:20:300", "wave:60:4000:1000", "etc", "etc-keys"]
        {
            let sizes: Sizes = text.parse().unwrap();
            assert_eq!(sizes.to_string(), text);
            let (least, most) = sizes.bounds();
            assert!((0..5_000).all(|id| (least..=most).contains(&sizes.of(id))), "{text}");
        }
        for text in ["", "many", "range:9:3", "list", "wave:9:3:10", "wave:0:3:10"] {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
    }
}
