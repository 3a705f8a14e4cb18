//! How a distribution of keys is called: `zipf:0.99` on the command line and in results, where it
//! reads back as the same, and words for a reader of a report.

use std::fmt;
use std::str::FromStr;

use super::Distribution;
use crate::LabError;

impl Distribution {
    /// As a reader of a report is told.
    pub fn words(&self) -> String {
        match self {
            Self::Uniform | Self::Sequential => self.to_string(),
            Self::Zipf { exponent, scrambled: true } => format!("Zipf {exponent} scrambled"),
            Self::Zipf { exponent, scrambled: false } => format!("Zipf {exponent} contiguous"),
            Self::HotSet { keys_share, requests_share } => {
                let (keys, requests) = (100.0 * keys_share, 100.0 * requests_share);
                format!("{requests:.0} % to {keys:.0} %")
            }
            Self::Gaussian { deviations } => format!("Gaussian, {deviations} deviations"),
            Self::Latest { exponent } => format!("latest {exponent}"),
            Self::Scans { exponent, every, length } => {
                format!("Zipf {exponent}, {length} in a row after every {every}")
            }
            Self::Moving { exponent, window } => {
                format!("Zipf {exponent} over {:.0} % of the keys, moving", 100.0 * window)
            }
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Sequential => f.write_str("sequential"),
            Self::Zipf { exponent, scrambled: true } => write!(f, "zipf:{exponent}"),
            Self::Zipf { exponent, scrambled: false } => write!(f, "zipf-contiguous:{exponent}"),
            Self::HotSet { keys_share, requests_share } => {
                write!(f, "hot:{keys_share}:{requests_share}")
            }
            Self::Gaussian { deviations } => write!(f, "gaussian:{deviations}"),
            Self::Latest { exponent } => write!(f, "latest:{exponent}"),
            Self::Scans { exponent, every, length } => {
                write!(f, "scans:{exponent}:{every}:{length}")
            }
            Self::Moving { exponent, window } => write!(f, "moving:{exponent}:{window}"),
        }
    }
}

impl FromStr for Distribution {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Result<Vec<f64>, _> = parts.map(str::parse).collect();
        match (name, numbers.as_deref()) {
            ("uniform", Ok([])) => Ok(Self::Uniform),
            ("sequential", Ok([])) => Ok(Self::Sequential),
            ("zipf", Ok([exponent])) => Ok(Self::Zipf { exponent: *exponent, scrambled: true }),
            ("zipf-contiguous", Ok([exponent])) => {
                Ok(Self::Zipf { exponent: *exponent, scrambled: false })
            }
            ("gaussian", Ok([deviations])) => Ok(Self::Gaussian { deviations: *deviations }),
            ("latest", Ok([exponent])) => Ok(Self::Latest { exponent: *exponent }),
            ("scans", Ok([exponent, every, length])) => Ok(Self::Scans {
                exponent: *exponent,
                every: *every as u32,
                length: *length as u32,
            }),
            ("moving", Ok([exponent, window])) => {
                Ok(Self::Moving { exponent: *exponent, window: *window })
            }
            ("hot", Ok([keys_share, requests_share])) => {
                Ok(Self::HotSet { keys_share: *keys_share, requests_share: *requests_share })
            }
            _ => Err(LabError::Options(format!(
                "unknown key order {text:?}: use uniform, sequential, zipf:EXPONENT, \
                 zipf-contiguous:EXPONENT, latest:EXPONENT, gaussian:DEVIATIONS, \
                 scans:EXPONENT:EVERY:LENGTH, moving:EXPONENT:SHARE-OF-KEYS or \
                 hot:SHARE-OF-KEYS:SHARE-OF-REQUESTS"
            ))),
        }
    }
}

impl TryFrom<String> for Distribution {
    type Error = LabError;

    fn try_from(text: String) -> Result<Self, LabError> {
        text.parse()
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> Self {
        distribution.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for text in [
            "uniform",
            "sequential",
            "zipf:0.99",
            "zipf-contiguous:1.2",
            "latest:0.99",
            "gaussian:3",
            "hot:0.1:0.9",
            "scans:0.99:5000:1000",
            "moving:0.99:0.25",
        ] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        assert!("zipf".parse::<Distribution>().is_err());
    }
}
