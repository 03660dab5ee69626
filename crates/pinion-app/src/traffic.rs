//! Where a run's packets come from: a capture or a generator and a pace come in, frames with
//! arrival times go out, one at a time, as the NIC asks for them. A faulty link may lie between.
//!
//! Frames always reach the NIC with an Ethernet header, because matching rules count from there:
//! raw IP packets get one made up (zero addresses, type IPv4 or IPv6).

use std::path::Path;

use pinion_net::capture::{CaptureReader, LinkType, TimedFrame};
use pinion_net::fault::{FaultLane, FaultSpec, Way};
use pinion_net::generator::{Generator, GeneratorSpec};
use pinion_net::pacing::{Pacer, Pacing, Rate, RateError, WireBits};
use pinion_sim::Time;
use pinion_spin::{Frame, Offer, Traffic};

use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::tape::Played;

/// Counts the bytes of an Ethernet header.
pub const ETHERNET_HEADER_BYTES: usize = 14;

/// The last time at which a packet may arrive: as much is left for what comes of it.
const LAST_ARRIVAL_PS: u64 = 1 << 63;
const PS_PER_DAY: u64 = 86_400_000_000_000_000;

/// Supplies a run's packets.
pub struct Packets {
    origin: Origin,
    pacer: Pacer,
    link: LinkType,
    skip: u32,
    given: u64,
    faults: Option<FaultLane>,
    error: Option<Error>,
    stopped: bool,
}

enum Origin {
    Capture(Box<CaptureReader>),
    Generator(Box<Generator>),
    List(std::vec::IntoIter<TimedFrame>),
    Live(Box<Played>),
}

/// Tells when packets arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace(Pacing);

impl std::str::FromStr for Pace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "recorded" {
            return Ok(Self(Pacing::AsRecorded));
        }
        let rate: Rate = text.parse().map_err(|error| {
            Error::Usage(match error {
                RateError::NoUnit { .. } => format!("--pace: {error}"),
                RateError::Form { .. } => format!(
                    "--pace {text}: write recorded, max or a rate such as 100g, 2.5g or 500m"
                ),
            })
        })?;
        Ok(Self(Pacing::at(rate, WireBits::Frame)))
    }
}

/// Lists the keys that change an application's standard traffic.
pub const KEYS: [&str; 3] = ["packet.bytes", "packet.count", "packet.rate"];

/// Gives an application's standard traffic, changed by keys: `packet.bytes` (a frame's size),
/// `packet.count` (frames in all; see [`GeneratorSpec::set_count`]) and `packet.rate` (`400g`,
/// `max`). The order of the keys does not matter.
///
/// # Errors
/// When the manifest has no `[traffic]`, a key is unknown, or a value does not fit.
pub fn standard(manifest: &Manifest, overrides: &[(&str, &str)]) -> Result<GeneratorSpec> {
    let mut spec = match &manifest.traffic {
        Some(traffic) => traffic.generate.clone(),
        None => return Err(no_traffic(manifest)),
    };
    if let Some((key, _)) = overrides.iter().find(|(key, _)| !KEYS.contains(key)) {
        let nearest = KEYS.iter().min_by_key(|known| strsim::damerau_levenshtein(key, known));
        return Err(Error::Usage(format!(
            "the traffic has no `{key}`; did you mean `{}`? keys: {}",
            nearest.unwrap_or(&KEYS[0]),
            KEYS.join(", ")
        )));
    }
    let wrong = |key: &str, value: &str, problem: &dyn std::fmt::Display| {
        Error::Usage(format!("{key}={value}: {problem}"))
    };
    let whole = |key: &str, value: &str| {
        value.trim().parse::<u64>().map_err(|_| wrong(key, value, &"write a whole number"))
    };
    // In this order: the size decides how many frames a message has.
    for wanted in KEYS {
        let values = overrides.iter().filter(|(key, _)| *key == wanted);
        for (key, value) in values {
            let changed = match *key {
                "packet.bytes" => spec.set_frame_bytes(whole(key, value)? as usize),
                "packet.count" => spec.set_count(whole(key, value)?),
                _ => value.parse().map(|rate| spec.rate = rate).map_err(Into::into),
            };
            changed.map_err(|error| wrong(key, value, &error))?;
        }
    }
    Ok(spec)
}

/// Reads the faults of the link to a NIC with packet handlers, if there are any.
///
/// # Errors
/// When the text is no fault, or a latency, which goes with nanoservices.
pub fn link_faults(text: Option<&str>) -> Result<Option<FaultSpec>> {
    let Some(text) = text else { return Ok(None) };
    if text.parse::<u64>().is_ok() {
        return Err(Error::Usage(format!(
            "--link {text}: a latency in cycles goes with nanoservices; packet handlers have a link \
             with faults, such as loss=1%,reorder=5%"
        )));
    }
    Ok(Some(text.parse::<FaultSpec>()?))
}

fn no_traffic(manifest: &Manifest) -> Error {
    Error::Usage(format!(
        "there are no packets: {} has no [traffic] in its app.toml; give --pcap-in FILE or \
         --generate SPEC, for example --generate 'udp,size=512,count=10000,rate=400g'",
        manifest.app.name
    ))
}

impl Packets {
    /// Reads packets from a capture, as recorded unless a pace is given.
    ///
    /// # Errors
    /// When the file is missing or no capture.
    pub fn from_capture(path: &Path, pace: Option<Pace>) -> Result<Self> {
        let reader = CaptureReader::open(path)?;
        let link = reader.link_type();
        let pacing = pace.map_or(Pacing::AsRecorded, |pace| pace.0);
        Ok(Self::new(Origin::Capture(Box::new(reader)), link, pacing))
    }

    /// Takes packets as they are, in the order of their times.
    pub fn list(frames: Vec<TimedFrame>, link: LinkType) -> Self {
        Self::new(Origin::List(frames.into_iter()), link, Pacing::AsRecorded)
    }

    /// Has packets of a list arrive at a pace instead of at their times.
    #[must_use]
    pub fn at(self, pace: Pace) -> Self {
        Self { pacer: Pacer::new(pace.0), ..self }
    }

    /// Takes the packets of a live run again, slice by slice.
    pub fn live(played: Played) -> Self {
        Self::new(Origin::Live(Box::new(played)), LinkType::Ethernet, Pacing::AsRecorded)
    }

    /// Gives the end of the present slice, of a live run's packets that has not ended.
    pub fn until(&self) -> Option<Time> {
        let Origin::Live(played) = &self.origin else { return None };
        played.until().map(Time::from_ps)
    }

    /// Goes on to the next slice of a live run; `false`: there is none.
    pub fn turn(&mut self) -> bool {
        match &mut self.origin {
            Origin::Live(played) => played.turn(),
            _ => false,
        }
    }

    /// Makes packets by a specification; a pace replaces the specification's rate.
    ///
    /// # Errors
    /// When the specification is wrong.
    pub fn generate(spec: &str, seed: Option<u64>, pace: Option<Pace>) -> Result<Self> {
        Self::of(spec.parse()?, seed, pace)
    }

    /// Makes packets by a specification that is read already; a seed and a pace replace its own.
    ///
    /// # Errors
    /// When the pace is none for generated packets.
    pub fn of(mut spec: GeneratorSpec, seed: Option<u64>, pace: Option<Pace>) -> Result<Self> {
        if let Some(seed) = seed {
            spec.seed = seed;
        }
        let pacing = match pace {
            None => Pacing::AsRecorded,
            Some(Pace(Pacing::AsRecorded)) => {
                return Err(Error::Usage(
                    "--pace recorded goes with --pcap-in; generated packets take a rate or max"
                        .to_owned(),
                ));
            }
            Some(Pace(pacing)) => pacing,
        };
        let link = spec.link;
        Ok(Self::new(Origin::Generator(Box::new(Generator::new(spec))), link, pacing))
    }

    fn new(origin: Origin, link: LinkType, pacing: Pacing) -> Self {
        let pacer = Pacer::new(pacing);
        Self { origin, pacer, link, skip: 0, given: 0, faults: None, error: None, stopped: false }
    }

    /// Sends the packets over a faulty link.
    ///
    /// # Errors
    /// When the faults are those of what leaves the NIC.
    pub fn over(mut self, faults: &FaultSpec) -> Result<Self> {
        if faults.way.is_some_and(|way| way != Way::In) {
            return Err(Error::Usage(
                "--link way=…: `pinion run` has packets on their way to the NIC only; leave it \
                 out, or write way=in"
                    .to_owned(),
            ));
        }
        self.faults = Some(FaultLane::new(faults, 0));
        Ok(self)
    }

    /// Says what the link did to the packets, if it is a faulty one.
    pub fn remark(&self) -> Option<String> {
        self.faults.as_ref().map(|faults| format!("link to the NIC: {}", faults.counts()))
    }

    /// Makes handlers see packets without this many bytes in front.
    pub fn skip(mut self, bytes: u32) -> Self {
        self.skip = bytes;
        self
    }

    /// Gives what the packets begin with where they come from.
    pub fn link(&self) -> LinkType {
        self.link
    }

    /// Gives how many packets were taken so far.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// Gives how many packets there are, where that is known.
    pub fn total(&self) -> Option<u64> {
        match &self.origin {
            Origin::Capture(_) => None,
            Origin::Generator(generator) => Some(generator.total_frames()),
            Origin::List(frames) => Some(self.given + frames.len() as u64),
            Origin::Live(played) => Some(played.count),
        }
    }

    /// Ends the traffic early: what is inside the NIC still gets through.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Takes the error that ended the traffic, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Gives the next frame that arrives, with the picosecond of its arrival.
    fn next_arrival(&mut self) -> Result<Option<(u64, Vec<u8>)>> {
        if let Origin::Live(played) = &mut self.origin {
            let frame = played.frame()?;
            return Ok(frame.map(|(arrival, bytes)| (arrival.ps(), bytes)));
        }
        loop {
            if let Some(arrived) = self.faults.as_mut().and_then(FaultLane::take) {
                return Ok(Some(arrived));
            }
            let next = self.next_frame()?;
            let next = next.map(|frame| {
                (self.pacer.arrival_ps(frame.time_ps, frame.bytes.len()), frame.bytes)
            });
            if next.as_ref().is_some_and(|&(arrival, _)| arrival > LAST_ARRIVAL_PS) {
                let (number, days) = (self.given + 1, LAST_ARRIVAL_PS / PS_PER_DAY);
                return Err(Error::Usage(format!(
                    "packet {number} arrives more than {days} days behind the first, which is more than can \
                     be simulated: a clock that was set while it recorded? Give packets other times with \
                     --pace, or a higher rate"
                )));
            }
            let Some(faults) = &mut self.faults else { return Ok(next) };
            match next {
                Some((arrival, bytes)) => faults.push(arrival, &bytes),
                None if faults.next_deadline_ps().is_some() => faults.finish(),
                None => return Ok(None),
            }
        }
    }

    fn next_frame(&mut self) -> Result<Option<TimedFrame>> {
        match &mut self.origin {
            Origin::Capture(reader) => Ok(reader.next_frame()?),
            Origin::Generator(generator) => Ok(generator.next()),
            Origin::List(frames) => Ok(frames.next()),
            Origin::Live(_) => Ok(None),
        }
    }
}

impl Traffic for Packets {
    fn next(&mut self) -> Offer {
        if self.stopped {
            return Offer::End;
        }
        match self.next_arrival() {
            Ok(Some((arrival, bytes))) => {
                let tag = self.given;
                self.given += 1;
                Offer::Frame(Frame {
                    arrival: Time::from_ps(arrival),
                    bytes: with_ethernet(bytes, self.link),
                    skip: self.skip,
                    classification: None,
                    tag,
                })
            }
            // What comes in the next slice was not there yet.
            Ok(None) if self.until().is_some() => Offer::Nothing,
            Ok(None) => Offer::End,
            Err(error) => {
                self.error = Some(error);
                self.stopped = true;
                Offer::End
            }
        }
    }

    fn reuse(&mut self, bytes: Vec<u8>) {
        if let Origin::Generator(generator) = &mut self.origin {
            generator.reuse(bytes);
        }
    }
}

/// Puts an Ethernet header before a raw IP packet.
fn with_ethernet(bytes: Vec<u8>, link: LinkType) -> Vec<u8> {
    if link == LinkType::Ethernet {
        return bytes;
    }
    let kind: [u8; 2] = match bytes.first().map(|byte| byte >> 4) {
        Some(6) => [0x86, 0xdd],
        _ => [0x08, 0x00],
    };
    let mut frame = vec![0; ETHERNET_HEADER_BYTES];
    frame[12..].copy_from_slice(&kind);
    frame.extend(bytes);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_ip_gets_a_header() {
        let frame = with_ethernet(vec![0x45, 0, 0, 20], LinkType::RawIp);
        assert_eq!(frame[12..16], [0x08, 0x00, 0x45, 0]);
        assert_eq!(with_ethernet(vec![1, 2], LinkType::Ethernet), [1, 2]);
    }

    fn manifest(name: &str, traffic: &str) -> Manifest {
        let name = format!("pinion-traffic-{}-{name}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("app.c"), "").unwrap();
        let text = format!(
            "[app]\nname = \"app\"\nsources = [\"app.c\"]\n[[context]]\nname = \"c\"\n\
             payload = \"ph\"\n{traffic}"
        );
        std::fs::write(dir.join("app.toml"), text).unwrap();
        crate::manifest::load(&dir).unwrap()
    }

    #[test]
    fn standard_traffic_is_changed_by_keys() {
        let manifest = manifest("keys", "[traffic]\ngenerate = \"slmp,size=500,bytes=4480\"\n");
        let spec = standard(&manifest, &[]).unwrap();
        assert_eq!((spec.total_frames(), spec.rate), (10, Rate::Unlimited));
        let spec = standard(&manifest, &[("packet.rate", "200g"), ("packet.bytes", "276")]);
        let spec = spec.unwrap();
        assert_eq!((spec.total_frames(), spec.rate), (20, Rate::gbit_s(200)));
        let both = [("packet.count", "3"), ("packet.bytes", "276")];
        assert_eq!(standard(&manifest, &both).unwrap().total_frames(), 3);
        let error = |key, value| standard(&manifest, &[(key, value)]).unwrap_err().to_string();
        assert!(error("packet.byte", "1").contains("did you mean `packet.bytes`"));
        assert!(error("packet.bytes", "many").contains("a whole number"));
        assert!(error("packet.bytes", "20").contains("packet.bytes=20: `size`"));
        assert!(error("packet.count", "0").contains("packet.count=0"));
        assert!(error("packet.rate", "fast").contains("400g"));
    }

    #[test]
    fn an_application_without_traffic_says_so() {
        let error = standard(&manifest("none", ""), &[]).unwrap_err().to_string();
        assert!(error.contains("[traffic]") && error.contains("--pcap-in"), "{error}");
    }

    #[test]
    fn a_pace_is_recorded_max_or_a_rate() {
        for good in ["recorded", "max", "100g"] {
            assert!(good.parse::<Pace>().is_ok(), "{good}");
        }
        assert!("fast".parse::<Pace>().is_err());
    }
}
