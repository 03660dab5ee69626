//! The network of a cluster: the table `[network]` comes in; cables with names, their links and the
//! switches go out.

mod shape;

use pinion_net::link::Link;
use pinion_net::pacing::Rate;
use pinion_net::switch::{Overflow, Paths, SwitchSpec};
use pinion_net::topology::Topology;
use pinion_sim::Clock;
use pinion_sim::config::ConfigError;
use serde::Deserialize;
use shape::RawTopology;

/// The longest that a frame may be on its way through a link or a switch: minutes.
const MOST_CYCLES: u64 = 1 << 40;
/// Most priorities of a switch (IEEE 802.1Q).
const MOST_BANDS: u8 = 8;

/// Describes the network between nodes.
#[derive(Debug, Clone)]
pub struct Network {
    /// Who is joined to whom.
    pub topology: Topology,
    /// Name of the cables: by their node, or by their two switches.
    pub cables: Vec<String>,
    /// Every switch.
    pub switch: SwitchSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNetwork {
    #[serde(default)]
    topology: RawTopology,
    #[serde(default)]
    link: RawLink,
    /// Changes cables between switches; what it leaves out is as in `link`.
    uplink: Option<RawUplink>,
    switch: Option<RawSwitch>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUplink {
    latency_cycles: Option<u64>,
    rate: Option<String>,
    mac_ns: Option<f64>,
    queue_bytes: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawLink {
    latency_cycles: u64,
    rate: String,
    mac_ns: f64,
    queue_bytes: u64,
}

impl Default for RawLink {
    fn default() -> Self {
        let link = Link::published();
        let rate = "unlimited".to_owned();
        let latency_cycles = link.latency_cycles;
        Self { latency_cycles, rate, mac_ns: 0.0, queue_bytes: link.queue_bytes }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawSwitch {
    latency_cycles: u64,
    data_queue_bytes: u64,
    control_queue_bytes: u64,
    overflow: RawOverflow,
    ecn_bytes: Option<u64>,
    priority_bands: u8,
    paths: RawPaths,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawOverflow {
    Trim,
    Drop,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawPaths {
    Spray,
    Ecmp,
}

impl Default for RawSwitch {
    fn default() -> Self {
        let spec = SwitchSpec::default();
        Self {
            latency_cycles: spec.latency_cycles,
            data_queue_bytes: spec.data_queue_bytes,
            control_queue_bytes: spec.control_queue_bytes,
            overflow: RawOverflow::Trim,
            ecn_bytes: None,
            priority_bands: spec.priority_bands,
            paths: RawPaths::Spray,
        }
    }
}

impl RawNetwork {
    /// Lays the cables between nodes of these names; `wrong` makes an error of a key.
    pub(super) fn build(
        &self,
        names: &[String],
        clock: Clock,
        seed: u64,
        wrong: &dyn Fn(&str, String) -> ConfigError,
    ) -> Result<Network, ConfigError> {
        let link = self.link.build(clock, "network.link", wrong)?;
        let uplink = match &self.uplink {
            None => link,
            Some(_) if !self.topology.has_uplinks() => {
                let problem = "this topology has no cables between switches; leave uplink out";
                return Err(wrong("network.uplink", problem.to_owned()));
            }
            Some(uplink) => uplink.over(&self.link).build(clock, "network.uplink", wrong)?,
        };
        let topology = self
            .topology
            .build(names, link, uplink)
            .map_err(|(key, problem)| wrong(&format!("network.topology.{key}"), problem))?;
        let cables = topology.cable_names(|node| names[node].clone());
        if self.switch.is_some() && matches!(self.topology, RawTopology::BackToBack {}) {
            let problem = "this topology has no switch; leave switch out";
            return Err(wrong("network.switch", problem.to_owned()));
        }
        let switch = self.switch.clone().unwrap_or_default();
        if switch.latency_cycles > MOST_CYCLES {
            let problem = format!("{} cycles are more than {MOST_CYCLES}", switch.latency_cycles);
            return Err(wrong("network.switch.latency_cycles", problem));
        }
        if !(1..=MOST_BANDS).contains(&switch.priority_bands) {
            let problem = format!(
                "{} bands; a switch has 1 to {MOST_BANDS} priorities (IEEE 802.1Q)",
                switch.priority_bands
            );
            return Err(wrong("network.switch.priority_bands", problem));
        }
        Ok(Network { topology, cables, switch: switch.build(seed) })
    }
}

impl RawUplink {
    /// Fills in what is left out.
    fn over(&self, link: &RawLink) -> RawLink {
        RawLink {
            latency_cycles: self.latency_cycles.unwrap_or(link.latency_cycles),
            rate: self.rate.clone().unwrap_or_else(|| link.rate.clone()),
            mac_ns: self.mac_ns.unwrap_or(link.mac_ns),
            queue_bytes: self.queue_bytes.unwrap_or(link.queue_bytes),
        }
    }
}

impl RawLink {
    fn build(
        &self,
        clock: Clock,
        key: &str,
        wrong: &dyn Fn(&str, String) -> ConfigError,
    ) -> Result<Link, ConfigError> {
        if self.latency_cycles == 0 {
            let problem = "a link has at least a cycle of latency".to_owned();
            return Err(wrong(&format!("{key}.latency_cycles"), problem));
        }
        if self.latency_cycles > MOST_CYCLES {
            let problem = format!("{} cycles are more than {MOST_CYCLES}", self.latency_cycles);
            return Err(wrong(&format!("{key}.latency_cycles"), problem));
        }
        if !(0.0..=1e6).contains(&self.mac_ns) {
            let problem = "give 0 to 1000000 ns".to_owned();
            return Err(wrong(&format!("{key}.mac_ns"), problem));
        }
        let rate: Rate = match self.rate.as_str() {
            "unlimited" => Rate::Unlimited,
            text => text.parse().map_err(|error| {
                wrong(&format!("{key}.rate"), format!("{error}; or `unlimited`: as fast as pins"))
            })?,
        };
        // What MAC and serial transceivers of both ends add is latency, for all that matters.
        let mac_cycles = (self.mac_ns * 1e3 / clock.period_ps()).round() as u64;
        let link = Link::new(self.latency_cycles + mac_cycles);
        let link = Link { queue_bytes: self.queue_bytes, ..link };
        Ok(link.at_rate(rate, clock.hz().round() as u64))
    }
}

impl RawSwitch {
    fn build(&self, seed: u64) -> SwitchSpec {
        SwitchSpec {
            latency_cycles: self.latency_cycles,
            data_queue_bytes: self.data_queue_bytes,
            control_queue_bytes: self.control_queue_bytes,
            overflow: match self.overflow {
                RawOverflow::Trim => Overflow::Trim,
                RawOverflow::Drop => Overflow::Drop,
            },
            ecn_bytes: self.ecn_bytes,
            priority_bands: self.priority_bands,
            paths: match self.paths {
                RawPaths::Spray => Paths::Spray,
                RawPaths::Ecmp => Paths::Ecmp,
            },
            seed,
        }
    }
}
