//! One scenario compared: what was seen of ours and of the hardware comes in, [`Comparison`]s go
//! out: frames, their cycles, the summary's metrics, and the tables of switches, requests, stages
//! and instruction classes.

use pinion_nanopu::event::Event;

use super::frames::{self, Matched, POLLING_CYCLES, Pair};
use super::metrics::{self, View};
use super::observation::{Observation, kind};
use super::set::{CoreTiming, Metric, Scenario, ScriptFrame, Service, Set, Switch};
use super::{has_threads, services, stages, switches};
use crate::{Comparison, TOLERANCE, Tolerance};
use pinion_app::error::{Error, Result};

/// Holds what the set tells about a scenario.
#[derive(Debug)]
pub struct Truth {
    /// What was run.
    pub scenario: Scenario,
    /// The frames to inject.
    pub script: Vec<ScriptFrame>,
    /// What was seen.
    pub rtl: Observation,
    summary: Vec<Metric>,
    switches: Vec<Switch>,
    services: Vec<Service>,
    stages: Vec<(usize, i64, Event)>,
    tests: Vec<CoreTiming>,
}

impl Truth {
    /// Reads all of a scenario.
    ///
    /// # Errors
    /// When a file of the set is missing or malformed.
    pub fn read(set: &Set, scenario: &Scenario) -> Result<Self> {
        let program = scenario.elf.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let rtl = set.observed(scenario)?;
        Ok(Self {
            script: set.script(scenario)?,
            stages: stages_of(set, &rtl)?,
            rtl,
            summary: set.summary(&scenario.name)?,
            switches: set.switches(&scenario.name)?,
            services: set.services(&scenario.name)?,
            tests: set.core_timing(program)?,
            scenario: scenario.clone(),
        })
    }
}

/// Compares what was seen of ours with what was seen of the hardware. `mrets` are the addresses of
/// the program's `mret` instructions.
pub fn compare(truth: &Truth, ours: &Observation, mrets: &[u64]) -> Vec<Comparison> {
    let matched = frames::matched(&truth.scenario, &truth.rtl, ours);
    let ours = &until_the_end(truth, &matched, ours);
    let mut comparisons = frame_comparisons(truth, &matched, ours);
    let switches = switches::switches(ours, mrets);
    let view = View {
        scenario: &truth.scenario,
        script: &truth.script,
        seen: ours,
        switches: &switches,
        tests: &truth.tests,
    };
    comparisons.extend(
        truth.summary.iter().map(|metric| metric_comparison(truth, &matched, &view, metric)),
    );
    comparisons.extend(class_comparisons(truth, &view));
    comparisons.extend(switch_comparison(truth, &switches));
    comparisons.extend(service_comparison(truth, ours));
    comparisons.extend(stage_comparison(truth, ours));
    comparisons
}

/// Cuts off what came after the hardware was stopped. What the hardware did before its end may come
/// somewhat later on ours.
fn until_the_end(truth: &Truth, matched: &Matched<'_>, ours: &Observation) -> Observation {
    let paired = matched.pairs.iter().filter_map(|pair| pair.ours);
    let end = truth.scenario.last_cycle.max(paired.map(|frame| frame.last).max().unwrap_or(0));
    let mut ours = ours.clone();
    ours.frames.retain(|frame| frame.last <= end);
    ours.events.retain(|&(at, _)| at <= end);
    ours
}

fn frame_comparisons(truth: &Truth, matched: &Matched<'_>, ours: &Observation) -> Vec<Comparison> {
    let row = &truth.scenario.name;
    let pairs = &matched.pairs;
    let total = pairs.len() as f64;
    let exactly = |count: usize, metric: &str, note: String| {
        Comparison::new(row, metric, count as f64, total, Tolerance::Absolute(0.0)).with_note(note)
    };
    let mut out = exactly(matched.right, "frames_out", wrong_frames(truth, matched, ours));
    out.pass &= matched.surplus.is_empty();
    let in_time = pairs.iter().filter(|pair| pair.in_time()).count();
    let in_time = exactly(in_time, "frames_in_time", late_frames(pairs));
    let exact = pairs.iter().filter(|pair| pair.late() == Some(0)).count() as f64;
    let exact = Comparison::new(row, "frames_to_the_cycle", exact, total, Tolerance::Informative);
    let last = pairs.iter().rev().find_map(|pair| Some((pair.ours?.last, pair)));
    let last = last.map(|(ours, pair)| {
        let tolerance = Tolerance::Absolute(pair.allowed as f64);
        let rtl = pair.rtl.last as f64;
        Comparison::new(row, "last_frame_last_flit_cycle", ours as f64, rtl, tolerance)
    });
    [out, in_time, exact].into_iter().chain(last).collect()
}

fn wrong_frames(truth: &Truth, matched: &Matched<'_>, ours: &Observation) -> String {
    let mut notes = Vec::new();
    let missing = matched.pairs.iter().position(|pair| pair.ours.is_none());
    if let Some(index) = missing {
        let theirs = matched.pairs[index].rtl;
        let (what, at) = (kind(theirs.fields.flags), theirs.first);
        notes.push(match ours.out().nth(index) {
            Some(ours) => {
                let difference = frames::difference(&truth.scenario, ours, theirs, &truth.rtl);
                let difference = difference.unwrap_or_else(|| "right, but out of order".to_owned());
                format!("frame {index} ({what} at {at}) is: {difference}, at {}", ours.first)
            }
            None => format!("frame {index} ({what} at {at}) never came"),
        });
    }
    if let (None, Some(frame)) = (missing, matched.overtaken) {
        let what = kind(frame.fields.flags);
        notes.push(format!("{what} at {} came behind frames that should follow it", frame.first));
    }
    if let Some(surplus) = matched.surplus.first() {
        let (count, what) = (matched.surplus.len(), kind(surplus.fields.flags));
        notes.push(format!("{count} too many, the first a {what} at {}", surplus.first));
    }
    if let (false, Some(why)) = (notes.is_empty(), &ours.stopped) {
        notes.push(format!("the node stopped: {why}"));
    }
    notes.join("; ")
}

fn late_frames(pairs: &[Pair<'_>]) -> String {
    let worst = |pair: &&Pair<'_>| pair.late().map_or(0, |late| late.abs() - pair.allowed);
    let late = pairs.iter().filter(|pair| pair.ours.is_some() && !pair.in_time());
    late.max_by_key(worst).map_or_else(String::new, |pair| {
        let what = kind(pair.rtl.fields.flags);
        let late = pair.late().unwrap_or(0);
        format!("{what} at {}: {late:+} cycles, {} allowed", pair.rtl.first, pair.allowed)
    })
}

fn metric_comparison(
    truth: &Truth,
    matched: &Matched<'_>,
    view: &View<'_>,
    metric: &Metric,
) -> Comparison {
    let row = &truth.scenario.name;
    if let Some(order) = metrics::order(view, &metric.metric) {
        return order_comparison(row, metric, &order);
    }
    let Ok(rtl) = metric.value.parse::<f64>() else {
        let note = format!("`{}` is no number, and nothing else that is known", metric.value);
        return unknown(row, metric, f64::NAN).with_note(note);
    };
    match metrics::number(view, &metric.metric) {
        Some(Some(ours)) => {
            let tolerance = tolerance(truth, matched, metric, rtl);
            Comparison::new(row, &metric.metric, ours, rtl, tolerance)
        }
        Some(None) => {
            let note = "nothing was seen to compute it from".to_owned();
            let tolerance = Tolerance::Absolute(0.0);
            Comparison::new(row, &metric.metric, f64::NAN, rtl, tolerance).with_note(note)
        }
        None => unknown(row, metric, rtl).with_note("how it is computed is not known".to_owned()),
    }
}

fn unknown(row: &str, metric: &Metric, rtl: f64) -> Comparison {
    Comparison::new(row, &metric.metric, f64::NAN, rtl, Tolerance::Informative)
}

fn order_comparison(row: &str, metric: &Metric, ours: &[u64]) -> Comparison {
    let ours: Vec<String> = ours.iter().map(u64::to_string).collect();
    let rtl: Vec<&str> = metric.value.split_whitespace().collect();
    let same = ours.iter().zip(&rtl).filter(|(ours, rtl)| ours == rtl).count();
    let (same, total) = (same as f64, rtl.len() as f64);
    let comparison = Comparison::new(row, &metric.metric, same, total, Tolerance::Absolute(0.0));
    let note = match comparison.pass {
        true => String::new(),
        false => format!("{}, not {}", ours.join(" "), metric.value),
    };
    comparison.with_note(note)
}

/// Gives what a metric may differ by: counts not at all, medians and means 5 %, what a single
/// message took also the phase of the polling loop; what is cold does not count.
fn tolerance(truth: &Truth, matched: &Matched<'_>, metric: &Metric, rtl: f64) -> Tolerance {
    let name = metric.metric.as_str();
    let is_single = ["_min", "_max"].iter().any(|end| name.ends_with(end))
        || ["response_time_", "max_response", "first_in_to_last_", "total_", "m"]
            .iter()
            .any(|start| name.starts_with(start));
    match metric.unit.as_str() {
        "cycle" => {
            let mut pairs = matched.pairs.iter();
            let pair = pairs.find(|pair| pair.rtl.first as f64 == rtl);
            Tolerance::Absolute(pair.map_or(rtl * TOLERANCE, |pair| pair.allowed as f64))
        }
        _ if is_cold(name) || name.starts_with("m0_") => Tolerance::Informative,
        "pulses" => Tolerance::RelativeOr(1.0),
        "cycles" if is_single && !is_median(name) => {
            let cold = frames::warm_from(&truth.rtl) == i64::MAX;
            Tolerance::RelativeOr(if cold { frames::COLD_CYCLES } else { POLLING_CYCLES } as f64)
        }
        "bool" | "messages" | "packets" | "traps" | "code" | "index" => Tolerance::Absolute(0.0),
        _ => Tolerance::RelativeOr(0.0),
    }
}

fn is_median(name: &str) -> bool {
    name.ends_with("_median") || name.starts_with("mean_") || name.starts_with("msg_done")
}

/// Tells whether a number is about what was never touched before: the cold pass of a test, or all
/// passes of one that misses the L2.
fn is_cold(name: &str) -> bool {
    name.ends_with("_pass0") || name.contains("first_touch")
}

/// Compares the passes of instruction classes that the summary leaves out.
fn class_comparisons(truth: &Truth, view: &View<'_>) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for test in &truth.tests {
        let passes = [test.cycles_pass0, test.cycles_pass1, test.cycles_pass2];
        for (pass, rtl) in passes.into_iter().enumerate() {
            let name = format!("{}_pass{pass}", test.name);
            let ours = metrics::number(view, &name).flatten().unwrap_or(f64::NAN);
            let tolerance = match is_cold(&name) {
                true => Tolerance::Informative,
                false => Tolerance::RelativeOr(0.0),
            };
            comparisons.push(Comparison::new(&truth.scenario.name, &name, ours, rtl, tolerance));
        }
    }
    comparisons
}

/// Tells whether a cycle is within 5 % of what it took since `since`, or the polling loop.
fn close(ours: i64, rtl: i64, since: i64) -> bool {
    let share = ((rtl - since).abs() as f64 * TOLERANCE) as i64;
    (ours - rtl).abs() <= share.max(POLLING_CYCLES)
}

/// Counts the warm switches that ours made alike: between the same contexts, to the same place,
/// each stage within 5 % and the interrupt when it should be.
fn switch_comparison(truth: &Truth, ours: &[Switch]) -> Option<Comparison> {
    let from = truth.rtl.warm_from();
    let warm = |switches: &[Switch]| {
        let warm = switches.iter().filter(|switch| switch.interrupt_pulse_cycle >= from);
        let mut warm: Vec<Switch> = warm.cloned().collect();
        warm.sort_by_key(|switch| (switch.hart, switch.interrupt_pulse_cycle));
        warm
    };
    let (theirs, ours) = (warm(&truth.switches), warm(ours));
    if theirs.is_empty() {
        return None;
    }
    let alike = |ours: &Switch, theirs: &Switch| {
        let stages = |switch: &Switch| {
            let stages = [
                switch.trap_cycle,
                switch.first_handler_commit,
                switch.mret_commit,
                switch.first_target_commit,
            ];
            stages.map(|cycle| (cycle - switch.interrupt_pulse_cycle) as f64)
        };
        let stages = stages(ours).into_iter().zip(stages(theirs));
        let pulse = theirs.interrupt_pulse_cycle;
        (ours.hart, ours.from_context, ours.to_context)
            == (theirs.hart, theirs.from_context, theirs.to_context)
            && close(ours.interrupt_pulse_cycle, pulse, from)
            && stages.into_iter().all(|(a, b)| (a - b).abs() <= (b * TOLERANCE).max(2.0))
    };
    let nearest = |theirs: &Switch| {
        let here = ours.iter().filter(|ours| ours.hart == theirs.hart);
        here.min_by_key(|ours| (ours.trap_cycle - theirs.trap_cycle).abs())
    };
    let is_met = |theirs: &Switch| nearest(theirs).is_some_and(|ours| alike(ours, theirs));
    let same = theirs.iter().filter(|theirs| is_met(theirs)).count();
    let note = match theirs.iter().find(|theirs| !is_met(theirs)) {
        Some(theirs) => {
            let ours = nearest(theirs).map_or("nothing".to_owned(), tell);
            format!("{ours}, not {}", tell(theirs))
        }
        None if ours.len() != theirs.len() => format!("{} switches", ours.len()),
        None => String::new(),
    };
    let (row, total) = (&truth.scenario.name, theirs.len() as f64);
    let metric = "thread_switches_alike";
    let mut comparison = Comparison::new(row, metric, same as f64, total, Tolerance::Absolute(0.0));
    comparison.pass &= ours.len() == theirs.len();
    Some(comparison.with_note(note))
}

fn tell(switch: &Switch) -> String {
    format!(
        "hart {}: {:#x} to {:#x} at {}, trap {}, handler {}, mret {}, target {}",
        switch.hart,
        switch.from_context,
        switch.to_context,
        switch.interrupt_pulse_cycle,
        switch.trap_cycle,
        switch.first_handler_commit,
        switch.mret_commit,
        switch.first_target_commit
    )
}

/// Counts the requests behind the warm-up that went the same way: same hart and server, every
/// cycle within 5 % of what it took since the request came, or the polling loop.
fn service_comparison(truth: &Truth, ours: &Observation) -> Option<Comparison> {
    let warm = truth.services.iter().filter(|service| !super::set::warms(&service.label));
    let theirs: Vec<&Service> = warm.collect();
    if theirs.is_empty() {
        return None;
    }
    let ours = services::services(ours, has_threads(&truth.scenario));
    let alike = |theirs: &Service| {
        let Some(ours) = ours.iter().find(|ours| ours.tag == theirs.tag) else { return false };
        let cycles = [
            (ours.delivery_first_word, theirs.delivery_first_word),
            (ours.delivery_last_word, theirs.delivery_last_word),
            (ours.begin_cycle, theirs.begin_cycle),
            (ours.end_cycle, theirs.end_cycle),
            (ours.reply_first_flit_out, theirs.reply_first_flit_out),
            (ours.reply_last_flit_out, theirs.reply_last_flit_out),
        ];
        (ours.hart, ours.server) == (theirs.hart, theirs.server)
            && cycles.into_iter().all(|(a, b)| close(a, b, theirs.first_flit_in))
    };
    let same = theirs.iter().filter(|service| alike(service)).count();
    let note =
        theirs.iter().find(|service| !alike(service)).map_or_else(String::new, |theirs| match ours
            .iter()
            .find(|ours| ours.tag == theirs.tag)
        {
            Some(ours) => format!("request {}: {}, not {}", theirs.tag, way(ours), way(theirs)),
            None => format!("request {} was not served", theirs.tag),
        });
    let (row, total) = (&truth.scenario.name, theirs.len() as f64);
    let metric = "requests_alike";
    let comparison = Comparison::new(row, metric, same as f64, total, Tolerance::Absolute(0.0));
    Some(comparison.with_note(note))
}

fn way(service: &Service) -> String {
    format!(
        "delivered to hart {} in {}..{}, work {}..{}, reply {}",
        service.hart,
        service.delivery_first_word,
        service.delivery_last_word,
        service.begin_cycle,
        service.end_cycle,
        service.reply_first_flit_out
    )
}

/// Counts the events of warm messages that happened within the polling loop of when they should.
fn stage_comparison(truth: &Truth, ours: &Observation) -> Option<Comparison> {
    let first = truth.stages.first()?;
    let (mut same, mut message, mut late) = (0, first.0, String::new());
    let mut seen = stages::seen(ours, message);
    for &(number, cycle, event) in &truth.stages {
        if number != message {
            message = number;
            seen = stages::seen(ours, message);
        }
        let alike = seen.iter().enumerate().filter(|(_, (_, other))| *other == event);
        let nearest = alike.min_by_key(|(_, (at, _))| (at - cycle).abs());
        match nearest.map(|(index, &(at, _))| (index, at)) {
            Some((index, at)) if (at - cycle).abs() <= POLLING_CYCLES => {
                seen.remove(index);
                same += 1;
            }
            at if late.is_empty() => {
                let at = at.map_or("never".to_owned(), |(_, at)| format!("at {at}"));
                late = format!("message {message}: {event:?} {at}, not at {cycle}");
            }
            _ => {}
        }
    }
    let (row, metric) = (&truth.scenario.name, "stages_alike");
    let (same, total) = (f64::from(same), truth.stages.len() as f64);
    let comparison = Comparison::new(row, metric, same, total, Tolerance::Absolute(0.0));
    Some(comparison.with_note(late))
}

/// Gives the table of stages if it is of this scenario: the table does not name its own, but the
/// scenario's trace begins with what it lists.
fn stages_of(set: &Set, rtl: &Observation) -> Result<Vec<(usize, i64, Event)>> {
    let table = stages::table(&set.stages()?).map_err(|problem| {
        let path = set.dir().join("results/stage_latency.csv");
        Error::Usage(format!("{}: {problem}", path.display()))
    })?;
    let message = table.first().map_or(0, |first| first.0);
    let seen = stages::seen(rtl, message);
    let listed = table.iter().filter(|row| row.0 == message);
    let is_here = listed.map(|&(_, at, event)| (at, event)).eq(seen.iter().copied());
    Ok(if is_here { table } else { Vec::new() })
}
