//! A set of ground truth of a nanoPU node on disk: `scenarios/`, `results/`, `traces/` and `elf/`
//! come in, typed scenarios, frames and tables go out.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::observation::Observation;
use super::result_row::ResultRow;
use super::trace;
use crate::read;
use pinion_app::error::{Error, Result};

/// Describes a scenario: a program, the node it runs on, the peer it talks with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// What it is about.
    #[serde(default)]
    pub description: String,
    /// Name of the program, from the set's folder.
    pub elf: PathBuf,
    /// Number of the harts.
    pub harts: u32,
    /// The window a message starts with, in packets.
    pub rtt_pkts: u16,
    /// The time after which an unacknowledged message is sent again.
    pub timeout_cycles: u64,
    /// Number of the announcements after which cycle 0 is counted.
    pub ready_messages: u32,
    /// How the peer acknowledges.
    pub acknowledge: Acknowledge,
    /// The replies that replace automatic ones.
    #[serde(default)]
    pub replies: Vec<Reply>,
    /// When cycle 0 was on the hardware, counted from reset.
    #[serde(default)]
    pub cycles_from_reset_to_cycle_0: u64,
    /// When the observation ended.
    pub last_cycle: i64,
    /// Number of the frames of the script that were injected before the end.
    #[serde(default)]
    pub injected_frames: usize,
    /// Why the run ended.
    pub ended: Ended,
}

/// Tells how the peer acknowledges packets of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Acknowledge {
    /// It does so on its own.
    pub enabled: bool,
    /// How long it takes to, on top of the bench's own 3 cycles.
    pub delay_cycles: u64,
}

/// Describes what the peer says to one packet of data, instead of acknowledging it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Reply {
    /// Number of the packets of data that left after cycle 0, from 0.
    pub data_packet_out: u32,
    /// How long the peer waits, on top of the bench's own 3 cycles.
    pub delay_cycles: u64,
    /// The flags of the reply; 0 for none at all.
    pub flags: u8,
    /// The pull offset of the reply.
    pub pull_offset: u16,
}

/// Tells why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The bench stopped it.
    Stopped,
    /// The program exited.
    Exit,
    /// The RTL found itself in a state it should not be in.
    Assertion,
}

/// Holds a frame that the script injects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFrame {
    /// The earliest cycle of its first flit.
    pub cycle: i64,
    /// Names it.
    pub label: String,
    /// The whole frame.
    pub frame: Vec<u8>,
}

impl ScriptFrame {
    /// Tells whether the frame is there to warm up caches and predictors.
    pub fn warms(&self) -> bool {
        warms(&self.label)
    }
}

/// Tells whether a label is one of frames that warm up caches and predictors.
pub fn warms(label: &str) -> bool {
    label.starts_with("warm") || label == "command_warm"
}

/// Holds a metric of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Metric {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the metric.
    pub metric: String,
    /// Its value: a number or, for orders, several.
    pub value: String,
    /// Its unit.
    pub unit: String,
}

/// Holds a thread switch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Switch {
    /// Name of the scenario.
    #[serde(default)]
    pub scenario: String,
    /// Where it happened.
    pub hart: u8,
    /// The context that ran.
    pub from_context: u16,
    /// The context that ran next.
    pub to_context: u16,
    /// The first cycle of the interrupt.
    pub interrupt_pulse_cycle: i64,
    /// When the hart trapped.
    pub trap_cycle: i64,
    /// When the handler's first instruction retired.
    pub first_handler_commit: i64,
    /// When its `mret` retired.
    pub mret_commit: i64,
    /// When the other thread's first instruction retired.
    pub first_target_commit: i64,
    /// That instruction's address, in hex.
    pub target_pc: String,
}

/// Holds a request's way through the node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Service {
    /// Name of the scenario.
    #[serde(default)]
    pub scenario: String,
    /// Identifies the request.
    pub tag: u64,
    /// Name of the request's frame.
    pub label: String,
    /// The context it goes to.
    pub context: u16,
    /// The work asked for.
    pub n: u64,
    /// When the request's first flit came.
    pub first_flit_in: i64,
    /// When its last flit came.
    pub last_flit_in: i64,
    /// Who served it, as the reply says.
    pub server: u64,
    /// When its header was read.
    pub begin_cycle: i64,
    /// When the work was done.
    pub end_cycle: i64,
    /// When the reply's first flit left.
    pub reply_first_flit_out: i64,
    /// When the reply's last flit left.
    pub reply_last_flit_out: i64,
    /// The hart it was delivered to.
    pub hart: u8,
    /// When its header entered the hart's queue.
    pub delivery_first_word: i64,
    /// When its last word entered the hart's queue.
    pub delivery_last_word: i64,
}

/// Holds the cycles of one instruction class.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CoreTiming {
    /// Name of the program.
    pub program: String,
    /// The test's number in the program.
    pub test: u64,
    /// Name of the test.
    pub name: String,
    /// Number of what is timed.
    pub count: u64,
    /// The cycles of the first, cold pass.
    pub cycles_pass0: f64,
    /// The cycles of the second pass.
    pub cycles_pass1: f64,
    /// The cycles of the third pass.
    pub cycles_pass2: f64,
    /// The cycles of the fourth pass.
    pub cycles_pass3: f64,
}

/// Holds one event of a warm message's way through the node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Stage {
    /// Number of the scenario's messages from 0.
    pub message: usize,
    /// When it happened, from the message's first flit in.
    pub cycles_after_first_flit_in: i64,
    /// Name of the event.
    pub event: String,
    /// The hart, where there is one.
    pub core: Option<u8>,
    /// Tells more.
    pub detail: String,
}

/// Names a folder of ground truth.
#[derive(Debug, Clone)]
pub struct Set {
    dir: PathBuf,
}

impl Set {
    /// Tells whether a folder looks like a set of this kind.
    pub fn recognises(dir: &Path) -> bool {
        dir.join("scenarios/index.json").is_file()
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// When it holds no `scenarios/index.json`.
    pub fn open(dir: &Path) -> Result<Self> {
        if !Self::recognises(dir) {
            return Err(Error::Usage(format!(
                "{} holds no scenarios/index.json: give a folder of a nanoPU's ground truth \
                 (scenarios/, results/, elf/)",
                dir.display()
            )));
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Gives the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the scenarios whose name contains `filter`.
    ///
    /// # Errors
    /// When the index is unreadable or no scenario fits.
    pub fn scenarios(&self, filter: Option<&str>) -> Result<Vec<Scenario>> {
        let path = self.dir.join("scenarios/index.json");
        let text = pinion_input::text(&path).map_err(|e| Error::file("read", &path, e))?;
        let mut scenarios: Vec<Scenario> = serde_json::from_str(&text)
            .map_err(|error| Error::part(format!("cannot read {}", path.display()), error))?;
        if let Some(filter) = filter {
            scenarios.retain(|scenario| scenario.name.contains(filter));
        }
        for scenario in &scenarios {
            self.check(scenario, &path)?;
        }
        if scenarios.is_empty() {
            let filter = filter.map_or(String::new(), |text| format!(" with `{text}` in its name"));
            return Err(Error::Usage(format!("{} has no scenario{filter}", path.display())));
        }
        Ok(scenarios)
    }

    fn check(&self, scenario: &Scenario, index: &Path) -> Result<()> {
        let name = &scenario.name;
        let complain = |problem: String| {
            Err(Error::Usage(format!("{}: scenario {name}: {problem}", index.display())))
        };
        if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
            return complain("a name must be fit for a file name".to_owned());
        }
        if scenario.harts == 0 || scenario.ready_messages == 0 {
            return complain("`harts` and `ready_messages` must be at least 1".to_owned());
        }
        if !self.dir.join(&scenario.elf).is_file() {
            return complain(format!(
                "there is no {}: its `elf` must name a program in the set",
                self.dir.join(&scenario.elf).display()
            ));
        }
        Ok(())
    }

    /// Names the program of a scenario.
    pub fn program(&self, scenario: &Scenario) -> PathBuf {
        self.dir.join(&scenario.elf)
    }

    /// Reads the frames to inject.
    ///
    /// # Errors
    /// When the file is missing or malformed.
    pub fn script(&self, scenario: &Scenario) -> Result<Vec<ScriptFrame>> {
        #[derive(Deserialize)]
        struct Row {
            cycle: i64,
            label: String,
            frame_hex: String,
        }
        let path = self.dir.join("scenarios").join(format!("{}.csv", scenario.name));
        let rows: Vec<Row> = read(&path)?;
        let frames = rows.into_iter().enumerate().map(|(index, row)| {
            let frame = bytes(&row.frame_hex).ok_or_else(|| {
                let problem = "frame_hex must be pairs of hex digits, at least one";
                Error::Usage(format!("{}, line {}: {problem}", path.display(), index + 2))
            })?;
            Ok(ScriptFrame { cycle: row.cycle, label: row.label, frame })
        });
        frames.collect()
    }

    /// Reads what was observed on the hardware: every frame and, where there is a trace, what
    /// happened inside.
    ///
    /// # Errors
    /// When the results are missing or malformed.
    pub fn observed(&self, scenario: &Scenario) -> Result<Observation> {
        let path = self.dir.join("results").join(format!("{}.csv", scenario.name));
        let rows: Vec<ResultRow> = read(&path)?;
        let mut records = Vec::with_capacity(rows.len());
        for (index, row) in rows.into_iter().enumerate() {
            let record = row.record().map_err(|problem| {
                Error::Usage(format!("{}, line {}: {problem}", path.display(), index + 2))
            })?;
            records.push(record);
        }
        let path = self.dir.join("traces").join(format!("{}_events.csv", scenario.name));
        let events = if path.is_file() { trace::events(&path)? } else { Vec::new() };
        let exit = self.summary(&scenario.name)?;
        let exit = exit.iter().find(|metric| metric.metric == "exit_code");
        Ok(Observation {
            frames: records,
            events,
            commits: Vec::new(),
            exit_code: exit.and_then(|metric| metric.value.parse().ok()),
            stopped: None,
        })
    }

    /// Reads the metrics of a scenario; none where the summary is missing.
    ///
    /// # Errors
    /// When the summary is malformed.
    pub fn summary(&self, scenario: &str) -> Result<Vec<Metric>> {
        let mut metrics: Vec<Metric> = self.table("summary")?;
        metrics.retain(|metric| metric.scenario == scenario);
        Ok(metrics)
    }

    /// Reads the thread switches of a scenario; none where the table is missing.
    ///
    /// # Errors
    /// When the table is malformed.
    pub fn switches(&self, scenario: &str) -> Result<Vec<Switch>> {
        let mut rows: Vec<Switch> = self.table("thread_switch")?;
        rows.retain(|row| row.scenario == scenario);
        Ok(rows)
    }

    /// Reads the requests of a scenario; none where the table is missing.
    ///
    /// # Errors
    /// When the table is malformed.
    pub fn services(&self, scenario: &str) -> Result<Vec<Service>> {
        let mut rows: Vec<Service> = self.table("service_timeline")?;
        rows.retain(|row| row.scenario == scenario);
        Ok(rows)
    }

    /// Reads the instruction classes of a program; none where the table is missing.
    ///
    /// # Errors
    /// When the table is malformed.
    pub fn core_timing(&self, program: &str) -> Result<Vec<CoreTiming>> {
        let mut rows: Vec<CoreTiming> = self.table("core_timing")?;
        rows.retain(|row| row.program == program);
        Ok(rows)
    }

    /// Reads the ways of warm messages through the node; none where the table is missing.
    ///
    /// # Errors
    /// When the table is malformed.
    pub fn stages(&self) -> Result<Vec<Stage>> {
        self.table("stage_latency")
    }

    fn table<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>> {
        let path = self.dir.join("results").join(format!("{name}.csv"));
        if path.is_file() { read(&path) } else { Ok(Vec::new()) }
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if hex.is_empty() || !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"[{"name": "one", "elf": "elf/one.elf", "harts": 1, "rtt_pkts": 2,
        "timeout_cycles": 100, "ready_messages": 1, "acknowledge": {"enabled": true,
        "delay_cycles": 100}, "last_cycle": 10, "ended": "stopped"}]"#;

    /// Writes a set with this index and these frames.
    fn set(name: &str, index: &str, frames: &str) -> Set {
        let dir = std::env::temp_dir().join(format!("pinion-set-{name}-{}", std::process::id()));
        for folder in ["scenarios", "results", "elf"] {
            std::fs::create_dir_all(dir.join(folder)).unwrap();
        }
        std::fs::write(dir.join("elf/one.elf"), "").unwrap();
        std::fs::write(dir.join("scenarios/index.json"), index).unwrap();
        std::fs::write(dir.join("scenarios/one.csv"), frames).unwrap();
        Set::open(&dir).unwrap()
    }

    fn problem<T>(result: Result<T>) -> String {
        pinion_app::error::paragraph(&result.err().unwrap())
    }

    #[test]
    fn what_is_wrong_with_a_set_is_told() {
        let frames = "index,cycle,origin,label,frame_hex\n0,5,script,m0,08zz\n";
        let good = set("good", SCENARIO, frames);
        let scenario = good.scenarios(None).unwrap().remove(0);
        assert_eq!((scenario.ended, scenario.replies.len()), (Ended::Stopped, 0));
        let told = problem(good.script(&scenario));
        assert!(told.contains("one.csv, line 2: frame_hex must be pairs of hex digits"), "{told}");
        let told = problem(good.observed(&scenario));
        assert!(told.contains("cannot read") && told.contains("results/one.csv"), "{told}");
        let told = problem(good.scenarios(Some("two")));
        assert!(told.contains("no scenario with `two` in its name"), "{told}");
        std::fs::remove_dir_all(good.dir()).unwrap();

        for (name, from, to, expected) in [
            ("elf", "elf/one.elf", "elf/two.elf", "there is no"),
            ("harts", "\"harts\": 1", "\"harts\": 0", "must be at least 1"),
            ("name", "\"one\"", "\"../one\"", "fit for a file name"),
            ("ended", "stopped", "tired", "unknown variant `tired`"),
        ] {
            let bad = set(name, &SCENARIO.replacen(from, to, 1), "");
            let told = problem(bad.scenarios(None));
            assert!(told.contains(expected) && told.contains("index.json"), "{told}");
            std::fs::remove_dir_all(bad.dir()).unwrap();
        }
        assert!(problem(Set::open(Path::new("/nowhere"))).contains("scenarios/index.json"));
    }
}
