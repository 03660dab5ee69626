//! Sizes of messages as they were measured: the workloads W1 to W5 of the Homa paper (Montazeri et al., SIGCOMM
//! 2018, figure 1). In: a name and a random number. Out: bytes.
//!
//! The points are some of those in the files of Homa's authors (PlatformLab/HomaModule, `util/dist.cc`), where a
//! message has the size of the first point whose share is not below a number between 0 and 1. Ours are fewer,
//! their sizes multiples of 8 B, and the shares between theirs interpolated; the largest are left out, since
//! a message here has 64 KiB at most.

use super::LoadError;

/// Most bytes of a message that has as many packets as one may have (38 of 1,024 B).
pub const LONGEST_BYTES: u64 = 38_912;

/// A published workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Facebook's memcached servers.
    W1,
    /// A search application at Google.
    W2,
    /// All of a Google datacenter.
    W3,
    /// A Hadoop cluster at Facebook.
    W4,
    /// The web search of the DCTCP paper.
    W5,
}

/// Sizes in bytes, and the share of all messages up to each.
type Points = &'static [(u64, f64)];

const W1: Points = &[
    (8, 0.3109),
    (16, 0.4725),
    (24, 0.4935),
    (32, 0.5105),
    (64, 0.5749),
    (128, 0.6738),
    (256, 0.7948),
    (512, 0.9032),
    (1024, 0.9673),
    (2048, 0.9920),
    (4096, 0.9984),
    (8192, 0.9997),
    (16_384, 0.999_96),
    (32_768, 0.999_99),
];

const W2: Points = &[
    (32, 0.1890),
    (64, 0.3264),
    (128, 0.3417),
    (256, 0.4638),
    (320, 0.6425),
    (512, 0.9104),
    (1024, 0.9581),
    (2048, 0.9810),
    (4096, 0.9953),
    (8192, 0.9984),
    (16_384, 0.9989),
    (32_768, 0.9991),
];

const W3: Points = &[
    (32, 0.7379),
    (64, 0.7974),
    (128, 0.8271),
    (256, 0.8569),
    (512, 0.9387),
    (1024, 0.9610),
    (2048, 0.9740),
    (4096, 0.9814),
    (8192, 0.9898),
    (16_384, 0.9956),
    (32_768, 0.9973),
];

const W4: Points = &[
    (304, 0.0520),
    (376, 0.2026),
    (480, 0.2639),
    (600, 0.4591),
    (800, 0.5762),
    (1280, 0.6282),
    (1664, 0.6673),
    (3400, 0.6840),
    (7832, 0.7082),
    (31_952, 0.7212),
];

const W5: Points = &[
    (1432, 0.025),
    (2864, 0.050),
    (4288, 0.075),
    (5720, 0.100),
    (7152, 0.125),
    (8584, 0.150),
    (13_232, 0.1714),
    (19_112, 0.200),
    (23_520, 0.250),
    (27_928, 0.300),
    (32_344, 0.3214),
    (38_224, 0.350),
];

impl Workload {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::W1, Self::W2, Self::W3, Self::W4, Self::W5];

    /// Names it as the paper does.
    pub fn name(self) -> &'static str {
        ["W1", "W2", "W3", "W4", "W5"][self as usize]
    }

    /// Finds one by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    fn points(self) -> Points {
        [W1, W2, W3, W4, W5][self as usize]
    }
}

/// Sizes of a workload up to some number of bytes; what is longer is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    workload: Workload,
    count: usize,
}

impl Sizes {
    /// Takes a workload's sizes up to so many bytes; none if it has none that short.
    pub fn up_to(workload: Workload, most_bytes: u64) -> Option<Self> {
        let count = workload.points().partition_point(|(bytes, _)| *bytes <= most_bytes);
        (count > 0).then_some(Self { workload, count })
    }

    /// Reads a workload's name, or `NAME:MOST` with the bytes of the longest message.
    ///
    /// # Errors
    /// There is no such workload, or it has no messages that short.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        let (name, most) = text.split_once(':').map_or((text, None), |(n, m)| (n, Some(m.trim())));
        let most = most.map_or(Some(LONGEST_BYTES), |most| most.parse().ok());
        let sizes = Workload::named(name.trim())
            .zip(most.filter(|most| *most <= LONGEST_BYTES))
            .and_then(|(workload, most)| Self::up_to(workload, most));
        sizes.ok_or_else(|| LoadError::BadValue {
            key: "size".to_owned(),
            value: text.to_owned(),
            expected: format!(
                "bytes from 8 to 65535, or a workload: W1, W2, W3, W4, W5, each with `:MOST` for \
                 the messages up to so many bytes, at most {LONGEST_BYTES}"
            ),
        })
    }

    /// Names the workload.
    pub fn workload(self) -> Workload {
        self.workload
    }

    /// Lists the sizes in bytes, from the shortest.
    pub fn bytes(self) -> impl Iterator<Item = u64> {
        self.workload.points()[..self.count].iter().map(|(bytes, _)| *bytes)
    }

    /// Gives the share of the workload's messages that are left out.
    pub fn left_out(self) -> f64 {
        1.0 - self.workload.points()[self.count - 1].1
    }

    /// Gives the size that belongs to a number from 0 to 1.
    pub fn at(self, share: f64) -> u64 {
        let points = &self.workload.points()[..self.count];
        let (longest, whole) = points[points.len() - 1];
        let at = share * whole;
        points.iter().find(|(_, share)| at <= *share).map_or(longest, |(bytes, _)| *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_rise_and_are_whole_words() {
        for workload in Workload::ALL {
            let points = workload.points();
            let name = workload.name();
            assert!(points.is_sorted_by(|one, other| one.0 < other.0 && one.1 < other.1), "{name}");
            assert!(points.iter().all(|(bytes, share)| bytes % 8 == 0 && *share < 1.0), "{name}");
            assert!(points.iter().all(|(bytes, _)| *bytes <= LONGEST_BYTES), "{name}");
            assert_eq!(Workload::named(name), Some(workload));
        }
    }

    #[test]
    fn medians_are_those_of_what_is_left_in() {
        let half = |text| Sizes::parse(text).unwrap().at(0.5);
        let medians = ["W1", "W2", "W3"].map(half);
        assert_eq!(medians, [32, 320, 32]);
        assert_eq!(["W4", "W5", "W4:1000"].map(half), [600, 19_112, 600]);
        let sizes = Sizes::parse("W5:2000").unwrap();
        assert_eq!((sizes.at(0.0), sizes.at(1.0), sizes.bytes().count()), (1432, 1432, 1));
        assert!((sizes.left_out() - 0.975).abs() < 1e-12);
    }

    #[test]
    fn other_names_and_sizes_are_refused() {
        for text in ["W6", "w1", "", "W1:", "W1:7", "W5:1000", "W2:x", "W2:40000", "W3:-1"] {
            let said = Sizes::parse(text).unwrap_err().to_string();
            assert!(said.contains("W1, W2, W3, W4, W5"), "{text}: {said}");
        }
    }
}
