//! The PCIe link between NIC and host. In: transfers, each with the time it is handed over. Out:
//! the time it is done. Holds for each direction when its wires are free; a transfer waits for
//! those before it in the same direction, never for the other direction.
//!
//! The model is LogGP's: a latency L for each crossing and a gap G for each byte. A write crosses
//! once with its data; a read crosses with a request, which takes no room on the wires, and its
//! data cross back. All arithmetic is exact, so a gap of a fraction of a picosecond adds up right.

/// Says how fast a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcieConfig {
    /// Picoseconds for one crossing, besides the data's own time.
    pub latency_ps: u64,
    /// Picoseconds for a byte: numerator. 0: data take no time.
    pub gap_ps_numerator: u64,
    /// Picoseconds for a byte: denominator, not 0.
    pub gap_ps_denominator: u64,
    /// Whether a read's request crosses as well, with a latency of its own; otherwise the latency
    /// is that of a whole access.
    pub request_crosses: bool,
}

impl PcieConfig {
    /// Takes no time at all. This is what the published PsPIN host model amounts to (its latency,
    /// 2, is compared with picoseconds, and its gap truncates to 0), and what its measurements
    /// were made with.
    pub const INSTANT: Self =
        Self { latency_ps: 0, gap_ps_numerator: 0, gap_ps_denominator: 1, request_crosses: true };

    /// PCIe 5.0 x16 with the numbers in PsPIN's published driver: `pcie_L` = 2 ns and `pcie_G` =
    /// 0.014782 ns a byte. That gap is 1 s / 63 Gi, the link's 63 GB/s taken as 63 · 2³⁰ bytes.
    pub const GEN5_X16_PUBLISHED: Self = Self {
        latency_ps: 2_000,
        gap_ps_numerator: 14_782,
        gap_ps_denominator: 1_000,
        request_crosses: true,
    };

    /// PCIe 5.0 x16 from its line rate, with the same latency: 16 lanes of 32 GT/s, of whose bits
    /// 128 in 130 are data (PCI Express Base Specification 5.0, §4.2.2). A byte takes
    /// 8 · 130 / (16 · 128) / 32 GT/s = 8125 / 512 ps, about 15.87; 63.0 GB/s. Packet headers
    /// are not counted.
    pub const GEN5_X16: Self = Self {
        latency_ps: 2_000,
        gap_ps_numerator: 8_125,
        gap_ps_denominator: 512,
        request_crosses: true,
    };

    /// Makes a link of a latency and a rate in Mbit/s; rate 0: data take no time.
    pub fn from_rate(latency_ps: u64, rate_mbit_s: u64) -> Self {
        match rate_mbit_s {
            0 => Self { latency_ps, ..Self::INSTANT },
            // 8 bits take 8 · 10⁶ / rate picoseconds.
            rate => Self {
                latency_ps,
                gap_ps_numerator: 8_000_000,
                gap_ps_denominator: rate,
                ..Self::INSTANT
            },
        }
    }
}

impl Default for PcieConfig {
    fn default() -> Self {
        Self::GEN5_X16_PUBLISHED
    }
}

/// One direction's wires, which serve one transfer after the other.
#[derive(Debug, Clone, Default)]
struct Wires {
    /// When they are free, in picoseconds times the gap's denominator.
    free: u128,
}

/// A link with one NIC's traffic on it.
#[derive(Debug, Clone)]
pub struct PcieLink {
    config: PcieConfig,
    to_host: Wires,
    from_host: Wires,
    written_bytes: u64,
    read_bytes: u64,
}

impl PcieLink {
    /// Makes an idle link.
    pub fn new(config: PcieConfig) -> Self {
        let (to_host, from_host) = (Wires::default(), Wires::default());
        Self { config, to_host, from_host, written_bytes: 0, read_bytes: 0 }
    }

    /// Returns how fast it is.
    pub fn config(&self) -> &PcieConfig {
        &self.config
    }

    /// Hands over data for the host and returns when the last byte is in host memory.
    pub fn write(&mut self, now_ps: u64, bytes: u64) -> u64 {
        self.written_bytes += bytes;
        let sent_ps = self.to_host.carry(&self.config, now_ps, bytes);
        sent_ps.saturating_add(self.config.latency_ps)
    }

    /// Asks for data of the host and returns when the last byte is in the NIC.
    pub fn read(&mut self, now_ps: u64, bytes: u64) -> u64 {
        self.read_bytes += bytes;
        let request_ps = if self.config.request_crosses { self.config.latency_ps } else { 0 };
        let asked_ps = now_ps.saturating_add(request_ps);
        let sent_ps = self.from_host.carry(&self.config, asked_ps, bytes);
        sent_ps.saturating_add(self.config.latency_ps)
    }

    /// Returns when a write handed over now would begin to cross.
    pub fn write_starts_ps(&self, now_ps: u64) -> u64 {
        self.to_host.starts_ps(&self.config, now_ps)
    }

    /// Returns the bytes written to the host so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Returns the bytes read from the host so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }
}

impl Wires {
    /// Sends bytes when the wires are free; returns when the last one has been sent, rounded up.
    /// What takes no time holds nobody up, who may come behind it and be there before.
    fn carry(&mut self, config: &PcieConfig, now_ps: u64, bytes: u64) -> u64 {
        if config.gap_ps_numerator == 0 {
            return now_ps;
        }
        let scale = u128::from(config.gap_ps_denominator.max(1));
        let start = self.free.max(u128::from(now_ps) * scale);
        let busy = u128::from(bytes) * u128::from(config.gap_ps_numerator);
        self.free = start.saturating_add(busy);
        u64::try_from(self.free.div_ceil(scale)).unwrap_or(u64::MAX)
    }

    fn starts_ps(&self, config: &PcieConfig, now_ps: u64) -> u64 {
        let free = self.free.div_ceil(u128::from(config.gap_ps_denominator.max(1)));
        now_ps.max(u64::try_from(free).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_link_takes_no_time() {
        let mut link = PcieLink::new(PcieConfig::INSTANT);
        assert_eq!((link.write(5, 4096), link.read(5, 1 << 40)), (5, 5));
        assert_eq!((link.written_bytes(), link.read_bytes()), (4096, 1 << 40));
        assert_eq!(link.write(3, 64), 3, "one that is there before");
    }

    #[test]
    fn a_write_crosses_once_and_a_read_twice() {
        let mut link = PcieLink::new(PcieConfig::default());
        assert_eq!(link.write(0, 1000), 2_000 + 14_782);
        assert_eq!(link.read(0, 1000), 4_000 + 14_782);
    }

    #[test]
    fn a_whole_access_may_have_one_latency() {
        let config = PcieConfig { request_crosses: false, ..PcieConfig::default() };
        assert_eq!(PcieLink::new(config).read(0, 1000), 2_000 + 14_782);
    }

    #[test]
    fn directions_serialise_apart() {
        let mut link = PcieLink::new(PcieConfig::from_rate(100, 8_000)); // 1 ns a byte
        assert_eq!(link.write(0, 10), 10_100);
        assert_eq!(link.write_starts_ps(3), 10_000);
        assert_eq!(link.write(0, 10), 20_100, "waits for the first");
        assert_eq!(link.read(0, 10), 10_200, "does not wait for writes");
        assert_eq!(link.write(50_000, 10), 60_100, "an idle link starts at once");
    }

    #[test]
    fn small_gaps_add_up_exactly() {
        let mut link = PcieLink::new(PcieConfig::GEN5_X16);
        let last = (0..512).map(|_| link.write(0, 1)).last().unwrap();
        assert_eq!(last, 8_125 + 2_000);
    }

    #[test]
    fn the_published_gap_is_63_gi_bytes_a_second() {
        let PcieConfig { gap_ps_numerator, gap_ps_denominator, .. } =
            PcieConfig::GEN5_X16_PUBLISHED;
        let gap = gap_ps_numerator as f64 / gap_ps_denominator as f64;
        let gibi = 1e12 / (63.0 * f64::from(1 << 30));
        assert!((gap - gibi).abs() < 0.002, "{gap} {gibi}");
    }

    #[test]
    fn extreme_numbers_saturate() {
        let config = PcieConfig {
            latency_ps: u64::MAX,
            gap_ps_numerator: u64::MAX,
            gap_ps_denominator: 0,
            request_crosses: true,
        };
        let mut link = PcieLink::new(config);
        assert_eq!(link.write(u64::MAX, 1 << 40), u64::MAX);
        assert_eq!(link.read(u64::MAX, 1 << 40), u64::MAX);
        assert_eq!(link.write_starts_ps(0), u64::MAX);
    }
}
