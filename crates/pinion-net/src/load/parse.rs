//! Reads a load. In: text such as `gap=exp:900,service=bimodal:1600/100/16000/100/0.005`. Out: a
//! [`LoadSpec`], or an error that names what is wrong and the nearest right word.
//!
//! | key | default | meaning |
//! |---|---|---|
//! | `requests` | 1000 | how many |
//! | `gap` | | open loop: cycles between requests, a distribution |
//! | `window` | 0 | open loop: at most one request in so many cycles; 0: exact times |
//! | `outstanding` | 1 | closed loop (no `gap`): requests without an answer |
//! | `think` | 0 | closed loop: cycles from an answer to the next request, a distribution |
//! | `service` | 0 | cycles the program is to work on each, a distribution |
//! | `contexts` | 0 | one, `uniform:4`, `turn:4`, or `mode`: by the service time's mode |
//! | `overrun` | | `1:100:10`: of context 1 every 100th request takes 10 times as long |
//! | `size` | 16 | bytes of a request: 8 (time of sending), 16 (and service time) or more; or a workload, `W1` to `W5` |
//! | `store` | | `10000:512`: GETs and SETs of so many keys a context, values of so many bytes |
//! | `transport` | `ndp` | or `homa`, or `udp` (one datagram, one message) |
//! | `port` | 9000 | `udp`: the port of context 0 |
//! | `window_packets` | 2 | `ndp`, `homa`: packets that an acknowledgement grants |
//! | `ack_delay` | 0 | `ndp`, `homa`: cycles to an acknowledgement, or `never` |
//! | `src`, `dst` | 10.0.0.1, 10.0.0.2 | IPv4 addresses of the source and of the node |
//! | `startup` | 1 | messages that the node sends when it is ready |
//! | `start_delay` | 3000 | cycles from the last of them to the start |
//! | `closing` | 0 | messages of service time 0 at the end |
//! | `match` | `sent` | answers carry the time of sending, or belong to the `oldest` request |
//! | `until` | `first` | `first` or `last` flit of the answer |
//! | `timeout` | `never` | `ndp`: cycles after which an unacknowledged packet is sent again |
//! | `spread` | `turn` | several nodes: requests go to them in turn, or `uniform`: to any |
//! | `patience` | 10000000 | cycles after which a request is given up |
//! | `seed` | 1 | chooses all random numbers |
//!
//! A distribution is a number of cycles, `exp:MEAN`, or
//! `bimodal:MEAN/DEVIATION/MEAN/DEVIATION/PROBABILITY[/MIN/MAX]` with the probability of the second.

use super::distribution::MOST_CYCLES;
use super::{
    Arrivals, Contexts, Distribution, Flavour, LoadError, LoadSpec, Matching, Nodes, Normal,
    Overrun, ResponseAt, Sizes, StoreRequests, Timing,
};
use crate::frame::lnic::{HOMA_PROTOCOL, NDP_PROTOCOL};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::str::FromStr;

const KEYS: [&str; 24] = [
    "requests",
    "gap",
    "window",
    "outstanding",
    "think",
    "service",
    "contexts",
    "overrun",
    "size",
    "store",
    "transport",
    "port",
    "window_packets",
    "ack_delay",
    "src",
    "dst",
    "startup",
    "start_delay",
    "closing",
    "match",
    "until",
    "timeout",
    "spread",
    "patience",
];
const SEED: &str = "seed";

type Pairs = BTreeMap<&'static str, String>;

impl LoadSpec {
    /// Reads a load.
    ///
    /// # Errors
    /// Names the wrong part and what would be right.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        Self::default().with(text, &[], "")
    }

    /// Changes a load as text says; how requests come and how frames look is the text's alone. Keys
    /// in `refused` do not apply to `context`.
    ///
    /// # Errors
    /// Names the wrong part and what would be right.
    pub fn with(
        self,
        text: &str,
        refused: &[&str],
        context: &'static str,
    ) -> Result<Self, LoadError> {
        let pairs = read_pairs(text)?;
        refuse(&pairs, refused, context)?;
        let mut spec = Self { arrivals: read_arrivals(&pairs)?, ..self };
        spec.flavour = read_flavour(&pairs)?;
        spec.read_resending(&pairs)?;
        spec.nodes = read_nodes(&pairs, spec.nodes)?;
        spec.read_rest(&pairs)?;
        spec.check()?;
        Ok(spec)
    }

    fn read_resending(&mut self, pairs: &Pairs) -> Result<(), LoadError> {
        let is_ndp = matches!(self.flavour, Flavour::Lnic { protocol: NDP_PROTOCOL, .. });
        if !is_ndp {
            refuse(pairs, &["timeout"], "`transport=homa` and `udp`")?;
            self.timeout_cycles = None;
        }
        match pairs.get("timeout").map(String::as_str) {
            None => {}
            Some("never") => self.timeout_cycles = None,
            Some(text) => {
                let cycles = text.parse().map_err(|_| bad("timeout", text, "cycles, or `never`"));
                self.timeout_cycles = Some(cycles?);
            }
        }
        Ok(())
    }

    fn read_rest(&mut self, pairs: &Pairs) -> Result<(), LoadError> {
        let spec = self;
        let count = "a whole number";
        read(&mut spec.requests, pairs, "requests", count)?;
        if let Some(text) = pairs.get("size") {
            match text.parse() {
                Ok(bytes) => (spec.message_bytes, spec.sizes) = (bytes, None),
                Err(_) => spec.sizes = Some(Sizes::parse(text)?),
            }
        }
        read(&mut spec.startup_messages, pairs, "startup", count)?;
        read(&mut spec.start_delay_cycles, pairs, "start_delay", count)?;
        read(&mut spec.closing_messages, pairs, "closing", count)?;
        read(&mut spec.patience_cycles, pairs, "patience", count)?;
        read(&mut spec.seed, pairs, SEED, count)?;
        if let Some(distribution) = read_distribution(pairs, "service")? {
            spec.service = distribution;
        }
        if let Some(text) = pairs.get("contexts") {
            let expected = "a context as `0`, or `uniform:4`, `turn:4` or `mode`";
            spec.contexts = contexts(text).ok_or_else(|| bad("contexts", text, expected))?;
        }
        if let Some(text) = pairs.get("overrun") {
            let expected = "context:every:factor as `1:100:10`";
            spec.overrun = Some(overrun(text).ok_or_else(|| bad("overrun", text, expected))?);
        }
        if let Some(text) = pairs.get("store") {
            refuse(pairs, &["size"], "`store`")?;
            let expected = "keys:bytes of a value as `10000:512`";
            spec.store = Some(store(text).ok_or_else(|| bad("store", text, expected))?);
        }
        let matchings = [("sent", Matching::SentTime), ("oldest", Matching::Oldest)];
        choose(&mut spec.matching, pairs, "match", &matchings)?;
        let ends = [("first", ResponseAt::FirstFlit), ("last", ResponseAt::LastFlit)];
        choose(&mut spec.response_at, pairs, "until", &ends)?;
        let address = "an IPv4 address as `10.0.0.1`";
        read::<Ipv4Addr>(&mut spec.ends.addresses.src, pairs, "src", address)?;
        read::<Ipv4Addr>(&mut spec.ends.addresses.dst, pairs, "dst", address)
    }
}

impl FromStr for LoadSpec {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        Self::parse(text)
    }
}

fn read_nodes(pairs: &Pairs, nodes: Nodes) -> Result<Nodes, LoadError> {
    let count = nodes.count();
    if count == 1 {
        refuse(pairs, &["spread"], "a load for one node")?;
        return Ok(Nodes::One);
    }
    let mut chosen = nodes;
    let choices = [("turn", Nodes::InTurn(count)), ("uniform", Nodes::Uniform(count))];
    choose(&mut chosen, pairs, "spread", &choices)?;
    Ok(chosen)
}

fn read_pairs(text: &str) -> Result<Pairs, LoadError> {
    let keys = || KEYS.into_iter().chain([SEED]);
    let mut pairs = Pairs::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((key, value)) = part.split_once('=') else {
            return Err(LoadError::NotAPair { part: part.to_owned() });
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(name) = keys().find(|name| *name == key) else {
            let distance = |name: &&str| strsim::damerau_levenshtein(key, name);
            return Err(LoadError::UnknownKey {
                key: key.to_owned(),
                nearest: keys().min_by_key(distance).unwrap_or_default(),
                all: keys().collect::<Vec<_>>().join(", "),
            });
        };
        if pairs.insert(name, value.to_owned()).is_some() {
            return Err(LoadError::Repeated { key: key.to_owned() });
        }
    }
    Ok(pairs)
}

fn read_arrivals(pairs: &Pairs) -> Result<Arrivals, LoadError> {
    let Some(gap) = read_distribution(pairs, "gap")? else {
        refuse(pairs, &["window"], "a closed loop (no `gap`)")?;
        let mut outstanding = 1;
        read(&mut outstanding, pairs, "outstanding", "a whole number from 1")?;
        let think = read_distribution(pairs, "think")?;
        let think = think.unwrap_or(Distribution::Fixed { cycles: 0.0 });
        return Ok(Arrivals::Closed { outstanding, think });
    };
    refuse(pairs, &["outstanding", "think"], "an open loop (`gap`)")?;
    let mut window_cycles = 0;
    read(&mut window_cycles, pairs, "window", "cycles, or 0 for exact times")?;
    let timing = match window_cycles {
        0 => Timing::Exact,
        _ => Timing::Windowed { window_cycles },
    };
    Ok(Arrivals::Open { gap, timing })
}

fn read_flavour(pairs: &Pairs) -> Result<Flavour, LoadError> {
    let mut protocol = Some(NDP_PROTOCOL);
    let choices = [("ndp", Some(NDP_PROTOCOL)), ("homa", Some(HOMA_PROTOCOL)), ("udp", None)];
    choose(&mut protocol, pairs, "transport", &choices)?;
    let Some(protocol) = protocol else {
        refuse(pairs, &["window_packets", "ack_delay"], "`transport=udp`")?;
        let mut base_port = 9000;
        read(&mut base_port, pairs, "port", "a port from 0 to 65535")?;
        return Ok(Flavour::Udp { base_port });
    };
    refuse(pairs, &["port"], "`transport=ndp` and `homa`")?;
    let mut rtt_packets = 2;
    read(&mut rtt_packets, pairs, "window_packets", "a number of packets")?;
    let ack_delay_cycles = match pairs.get("ack_delay").map(String::as_str) {
        Some("never") => None,
        Some(text) => Some(text.parse().map_err(|_| bad("ack_delay", text, "cycles, or `never`"))?),
        None => Some(0),
    };
    Ok(Flavour::Lnic { protocol, rtt_packets, ack_delay_cycles })
}

fn read_distribution(pairs: &Pairs, key: &str) -> Result<Option<Distribution>, LoadError> {
    let Some(text) = pairs.get(key) else { return Ok(None) };
    let expected = "cycles as `1600`, `exp:900`, or \
                    `bimodal:MEAN/DEVIATION/MEAN/DEVIATION/PROBABILITY[/MIN/MAX]`";
    distribution(text).ok_or_else(|| bad(key, text, expected)).map(Some)
}

fn distribution(text: &str) -> Option<Distribution> {
    let (name, numbers) = text.split_once(':').unwrap_or(("fixed", text));
    let numbers: Vec<f64> =
        numbers.split('/').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    match (name, &numbers[..]) {
        ("fixed", &[cycles]) => Some(Distribution::Fixed { cycles }),
        ("exp", &[mean_cycles]) => Some(Distribution::Exponential { mean_cycles }),
        (
            "bimodal",
            &[low, low_deviation, high, high_deviation, high_probability, ref clamp @ ..],
        ) => {
            let (min_cycles, max_cycles) = match clamp {
                [] => (0.0, MOST_CYCLES),
                &[min, max] => (min, max),
                _ => return None,
            };
            Some(Distribution::Bimodal {
                low: Normal { mean_cycles: low, deviation_cycles: low_deviation },
                high: Normal { mean_cycles: high, deviation_cycles: high_deviation },
                high_probability,
                min_cycles,
                max_cycles,
            })
        }
        _ => None,
    }
}

fn contexts(text: &str) -> Option<Contexts> {
    match text.split_once(':') {
        None if text == "mode" => Some(Contexts::ByMode),
        None => text.parse().ok().map(Contexts::Fixed),
        Some(("uniform", count)) => count.parse().ok().map(Contexts::Uniform),
        Some(("turn", count)) => count.parse().ok().map(Contexts::InTurn),
        Some(_) => None,
    }
}

fn overrun(text: &str) -> Option<Overrun> {
    let mut numbers = text.split(':').map(|number| number.trim().parse::<u64>().ok());
    let mut number = || numbers.next().flatten();
    let overrun = Overrun {
        context: u16::try_from(number()?).ok()?,
        every: number()?,
        factor: number().filter(|&factor| factor < 1 << 32)?,
    };
    numbers.next().is_none().then_some(overrun)
}

fn store(text: &str) -> Option<StoreRequests> {
    let (keys, value_bytes) = text.split_once(':')?;
    Some(StoreRequests {
        keys: keys.trim().parse().ok()?,
        value_bytes: value_bytes.trim().parse().ok()?,
    })
}

fn refuse(pairs: &Pairs, keys: &[&str], context: &'static str) -> Result<(), LoadError> {
    match keys.iter().find(|key| pairs.contains_key(*key)) {
        Some(key) => Err(LoadError::NotApplicable { key: (*key).to_owned(), context }),
        None => Ok(()),
    }
}

fn choose<T: Copy>(
    field: &mut T,
    pairs: &Pairs,
    key: &str,
    choices: &[(&str, T)],
) -> Result<(), LoadError> {
    let Some(text) = pairs.get(key) else { return Ok(()) };
    let Some(&(_, choice)) = choices.iter().find(|(name, _)| name == text) else {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        return Err(bad(key, text, &names.join(" or ")));
    };
    *field = choice;
    Ok(())
}

fn read<T: FromStr>(
    field: &mut T,
    pairs: &Pairs,
    key: &str,
    expected: &str,
) -> Result<(), LoadError> {
    if let Some(text) = pairs.get(key) {
        *field = text.parse().map_err(|_| bad(key, text, expected))?;
    }
    Ok(())
}

fn bad(key: &str, value: &str, expected: &str) -> LoadError {
    let (key, value, expected) = (key.to_owned(), value.to_owned(), expected.to_owned());
    LoadError::BadValue { key, value, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, seed};

    fn error(text: &str) -> String {
        LoadSpec::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn the_published_load_is_read() {
        let text = "gap=exp:900,window=140,service=bimodal:1600/100/16000/100/0.005,\
                    contexts=mode,requests=20000,closing=4,seed=7";
        let spec = LoadSpec::parse(text).unwrap();
        let service = Distribution::Bimodal {
            low: Normal { mean_cycles: 1600.0, deviation_cycles: 100.0 },
            high: Normal { mean_cycles: 16_000.0, deviation_cycles: 100.0 },
            high_probability: 0.005,
            min_cycles: 0.0,
            max_cycles: MOST_CYCLES,
        };
        let published = LoadSpec::published(900.0, service, LoadSpec::published_timing());
        let expected =
            LoadSpec { contexts: Contexts::ByMode, closing_messages: 4, seed: 7, ..published };
        assert_eq!(spec, expected);
        assert_eq!(LoadSpec::parse("").unwrap(), LoadSpec::default());
        let udp = LoadSpec::parse("transport=udp,port=7,outstanding=4,think=exp:10").unwrap();
        assert_eq!(udp.flavour, Flavour::Udp { base_port: 7 });
    }

    #[test]
    fn errors_name_the_nearest_right_word() {
        assert!(error("gab=exp:900").contains("did you mean `gap`?"));
        assert!(error("gap=exp").contains("exp:900"));
        assert!(error("gap=bimodal:1/2/3/4/0.5/6").contains("[/MIN/MAX]"));
        assert!(error("gap=100,think=5").contains("`think` does not apply to an open loop"));
        assert!(error("window=140").contains("does not apply to a closed loop"));
        assert!(error("transport=udp,ack_delay=4").contains("does not apply to `transport=udp`"));
        assert!(error("transport=tcp").contains("`ndp` or `homa` or `udp`"));
        assert!(error("size=12").contains("8 bytes"));
        assert!(error("size=W9").contains("W1, W2, W3, W4, W5"));
        assert_eq!(LoadSpec::parse("size=W3:2048").unwrap().sizes, Sizes::parse("W3:2048").ok());
        assert!(error("size=8,size=8").contains("twice"));
        assert!(error("requests").contains("not of the form key=value"));
        assert!(error("contexts=uniform:0").contains("at least one context"));
        assert!(error("overrun=1:0:10").contains("count from 1"));
        assert!(error("store=100,size=8").contains("does not apply to `store`"));
        assert!(error("store=100").contains("`10000:512`"));
        assert!(error("store=100:12").contains("a multiple of 8"));
        assert!(error("store=100:16,closing=1").contains("give `service`"));
        assert!(LoadSpec::parse("store=100:16,service=90,closing=1").is_ok());
        assert!(error("service=-1").contains("0 to 1e15"));
        assert!(error("transport=udp,timeout=5").contains("does not apply to `transport=homa`"));
        assert!(error("timeout=0").contains("0 cycles"));
        assert!(error("spread=turn").contains("a load for one node"));
    }

    #[test]
    fn text_changes_a_load_but_not_what_does_not_apply() {
        let base = LoadSpec {
            nodes: Nodes::InTurn(4),
            timeout_cycles: Some(30_000),
            startup_messages: 0,
            ..LoadSpec::default()
        };
        let spec = base.clone().with("gap=100,spread=uniform,seed=4", &["src"], "here").unwrap();
        assert_eq!((spec.nodes, spec.seed), (Nodes::Uniform(4), 4));
        assert_eq!((spec.timeout_cycles, spec.startup_messages), (Some(30_000), 0));
        let spec = base.clone().with("timeout=never", &[], "").unwrap();
        assert_eq!((spec.timeout_cycles, spec.nodes), (None, Nodes::InTurn(4)));
        assert_eq!(base.clone().with("transport=udp", &[], "").unwrap().timeout_cycles, None);
        let error = base.with("src=10.0.0.9", &["src"], "a node of a cluster").unwrap_err();
        assert!(error.to_string().contains("`src` does not apply to a node of a cluster"));
    }

    #[test]
    fn random_texts_never_panic() {
        let mut random = Random::new(seed("load::parse"));
        let words = [
            "gap",
            "=",
            ",",
            "exp:",
            "bimodal:",
            "/",
            "1600",
            "0.005",
            "nan",
            "-1",
            "1e400",
            "window",
            "contexts",
            "uniform:",
            "mode",
            "overrun",
            ":",
            "size",
            "8",
            "é",
            "udp",
            "transport",
            "outstanding",
            "99999999999999999999",
        ];
        for _ in 0..20_000 {
            let text: String = (0..random.below(14))
                .map(|_| words[random.below(words.len() as u64) as usize])
                .collect();
            let _ = LoadSpec::parse(&text);
        }
    }
}
