//! How likely a link's faults are. In: text such as `loss=1%,dup=0.5%,reorder=5%,seed=7`. Out: numbers.

use std::str::FromStr;

use pinion_sim::config::Duration;

use super::FaultError;

/// Says which way a link is faulty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Frames to the NIC.
    In,
    /// Frames from the NIC.
    Out,
    /// Both.
    Both,
}

/// Describes the faults of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultSpec {
    /// The probability that a frame is lost.
    pub loss: f64,
    /// The probability that a frame comes twice.
    pub duplicate: f64,
    /// The probability that others overtake a frame.
    pub reorder: f64,
    /// The probability that a bit of a frame flips without the link noticing.
    pub corrupt: f64,
    /// The number of frames that overtake one at most; at least 1.
    pub distance: u32,
    /// The time after which a frame goes on although nothing overtook it.
    pub hold_ps: u64,
    /// Chooses the faults among equally likely ones.
    pub seed: u64,
    /// Which way the link is faulty; `None`: every way there is.
    pub way: Option<Way>,
}

/// Lists the keys.
const KEYS: [&str; 8] = ["loss", "dup", "reorder", "corrupt", "distance", "hold", "seed", "way"];

impl Default for FaultSpec {
    fn default() -> Self {
        Self {
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            corrupt: 0.0,
            distance: 4,
            hold_ps: 1_000_000_000,
            seed: 1,
            way: None,
        }
    }
}

impl FaultSpec {
    /// Says whether frames to the NIC suffer.
    pub fn is_inward(&self) -> bool {
        self.way != Some(Way::Out)
    }

    /// Says whether frames from the NIC suffer.
    pub fn is_outward(&self) -> bool {
        self.way != Some(Way::In)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), FaultError> {
        let wrong = |expected| FaultError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            expected,
        };
        match key {
            "loss" => self.loss = probability(value).ok_or_else(|| wrong(PROBABILITY))?,
            "dup" => self.duplicate = probability(value).ok_or_else(|| wrong(PROBABILITY))?,
            "reorder" => self.reorder = probability(value).ok_or_else(|| wrong(PROBABILITY))?,
            "corrupt" => self.corrupt = probability(value).ok_or_else(|| wrong(PROBABILITY))?,
            "distance" => {
                let frames = value.parse().ok().filter(|&frames| frames > 0);
                self.distance = frames.ok_or_else(|| wrong("a number of frames, at least 1"))?;
            }
            "hold" => {
                let time = value.parse::<Duration>();
                let time = time.map_err(|error| FaultError::BadTime { why: error.to_string() })?;
                self.hold_ps = time.ps;
            }
            "seed" => self.seed = value.parse().map_err(|_| wrong("a whole number"))?,
            "way" => {
                self.way = Some(match value {
                    "in" => Way::In,
                    "out" => Way::Out,
                    "both" => Way::Both,
                    _ => return Err(wrong("in (to the NIC), out or both")),
                });
            }
            _ => {
                let nearest =
                    KEYS.iter().min_by_key(|known| strsim::damerau_levenshtein(key, known));
                return Err(FaultError::UnknownKey {
                    key: key.to_owned(),
                    nearest: nearest.unwrap_or(&KEYS[0]),
                    all: KEYS.join(", "),
                });
            }
        }
        Ok(())
    }
}

const PROBABILITY: &str = "a probability, such as 0.01 or 1%";

fn probability(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&value).then_some(value)
}

impl FromStr for FaultSpec {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let mut spec = Self::default();
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| FaultError::NotAPair { part: part.to_owned() })?;
            let (key, value) = (key.trim(), value.trim());
            if seen.contains(&key) {
                return Err(FaultError::Repeated { key: key.to_owned() });
            }
            spec.set(key, value)?;
            seen.push(key);
        }
        Ok(spec)
    }
}
