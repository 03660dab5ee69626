//! Which of several shortest ways a frame takes. In: a frame, when and where it came in. Out: one of
//! the ways. Holds nothing: the choice is a function of what it is given, so it cannot depend on the
//! order in which frames are looked at.

use pinion_sim::random::finalize;

use super::frames;

/// Says which of several shortest ways a frame takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// Each frame any, by chance (NDP).
    Spray,
    /// All frames of a flow the same (equal-cost multi-path): those with the same addresses,
    /// protocol and ports or contexts.
    Ecmp,
}

impl Paths {
    /// Chooses one of `count` ways for a frame that is in since `cycle`, from port `from`.
    ///
    /// ECMP: FNV-1a (64 bits) over addresses, protocol and ports as they stand in the frame, mixed
    /// with the seed; spraying: the cycle and the port, mixed with the seed. The upper half of the
    /// product of the mixed number and `count` is the way.
    pub(super) fn choose(
        self,
        seed: u64,
        cycle: u64,
        from: usize,
        frame: &[u8],
        count: usize,
    ) -> usize {
        let number = match self {
            Self::Spray => mix(mix(seed ^ mix(cycle)).wrapping_add(from as u64)),
            Self::Ecmp => mix(fnv(&frames::flow(frame)) ^ mix(seed)),
        };
        ((u128::from(number) * count as u128) >> 64) as usize
    }
}

/// Hashes bytes (FNV-1a).
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Mixes a number so that every bit of it changes half of the result's.
fn mix(number: u64) -> u64 {
    finalize(number.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::lnic::{Header, NDP_PROTOCOL};

    fn frame(flow: u32) -> Vec<u8> {
        Header { protocol: NDP_PROTOCOL, src_ip: flow, ..Header::default() }.frame(&[0])
    }

    #[test]
    fn spraying_is_even_over_cycles_and_ports() {
        let frame = frame(1);
        for (seed, step) in [(1, 1), (1, 136), (7, 140), (8, 1 << 20)] {
            let mut taken = [0; 4];
            for index in 0..4096 {
                taken[Paths::Spray.choose(seed, index * step, (index % 3) as usize, &frame, 4)] +=
                    1;
            }
            assert!(taken.iter().all(|count| (900..1150).contains(count)), "{taken:?}");
        }
    }

    #[test]
    fn a_flow_keeps_its_way_and_flows_are_spread() {
        let mut taken = [0; 8];
        for flow in 0..4096 {
            let frame = frame(0x0a00_0000 + flow);
            let way = Paths::Ecmp.choose(3, 5, 1, &frame, 8);
            assert_eq!(way, Paths::Ecmp.choose(3, 999, 2, &frame, 8));
            taken[way] += 1;
        }
        assert!(taken.iter().all(|count| (430..600).contains(count)), "{taken:?}");
        let other = (0..64).filter(|&flow| {
            let frame = frame(flow);
            Paths::Ecmp.choose(1, 0, 0, &frame, 8) != Paths::Ecmp.choose(2, 0, 0, &frame, 8)
        });
        assert!(other.count() > 40, "switches with other seeds choose otherwise");
    }
}
