//! What a nanoservice's run amounts to: a node as it was left comes in, the numbers people compare
//! go out, and what the program did wrong.

use pinion_nanopu::Cycle;
use pinion_nanopu::nic::receive::Accounting;
use pinion_nanopu::nic::transmit::counters::Counters;
use pinion_nanopu::node::{Node, NodeEnd};
use pinion_net::load::LoadReport;
use pinion_sim::Clock;

use super::ears::{Ears, HartCounts};
use super::frames::Counts;
use super::run::empty_read;
use super::setup::Setup;
use pinion_app::service::Service;
use pinion_observe::report::{Ending, Histogram, ratio};
use pinion_observe::words::count;

/// Holds what a hart did.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct HartRow {
    /// Its number.
    pub hart: u32,
    /// Number of messages that it was given.
    pub messages: u64,
    /// Number of messages that it said it was done with.
    pub done: u64,
    /// Number of cycles in which it did more than wait for messages.
    pub busy_cycles: u64,
    /// Number of cycles in which it polled or slept.
    pub idle_cycles: u64,
    /// Number of instructions in busy cycles.
    pub instructions: u64,
    /// Number of traps that it took, interrupts among them.
    pub traps: u64,
    /// Number of words that it sent.
    pub words_out: u64,
    /// Number of reads of x30 that found nothing.
    pub empty_reads: u64,
}

impl HartRow {
    /// Gives instructions per busy cycle.
    pub fn ipc(&self) -> f64 {
        ratio(self.instructions as f64, self.busy_cycles as f64)
    }

    fn new(node: &Node, hart: usize, counts: HartCounts, now: Cycle) -> Self {
        let core = node.core(hart);
        let (idle_cycles, idle_instructions) = core.idle(now);
        let idle_cycles = idle_cycles.min(now);
        Self {
            hart: hart as u32,
            messages: counts.messages,
            done: counts.done,
            busy_cycles: now - idle_cycles,
            idle_cycles,
            instructions: core.instructions(now).saturating_sub(idle_instructions),
            traps: counts.traps,
            words_out: counts.words_out,
            empty_reads: core.empty_reads,
        }
    }
}

/// Holds what only a nanoservice's run tells.
#[derive(Debug, Clone)]
pub struct Nanoservice {
    /// Name of the transport.
    pub transport: String,
    /// Number of frames at the node's pins.
    pub frames: Counts,
    /// What became of the frames that arrived.
    pub receive: Accounting,
    /// Number of what the transmit side did.
    pub transmit: Counters,
    /// Number of messages that are still in the transmit side.
    pub undelivered: u64,
    /// A row per hart.
    pub harts: Vec<HartRow>,
    /// The node's clock.
    pub clock: Clock,
    /// When the program was ready for requests.
    pub ready: Option<Cycle>,
    /// What the transport's programs have counted, on the way in and on the way out.
    pub pipelines: Vec<pinion_nanopu::transport::Counts>,
    /// What became of a load.
    pub load: Option<LoadReport>,
}

/// What a nanoservice's run amounts to.
pub type Summary = pinion_observe::report::Summary<Nanoservice>;

/// Sums a node up that ran until cycle `now` and was ready in cycle `ready`, at whose pins this passed in
/// these times.
pub fn sum_up<L: pinion_nanopu::event::Listener>(
    service: &Service,
    setup: &Setup,
    end: &NodeEnd<Ears<L>>,
    ending: Ending,
    (now, ready): (Cycle, Option<Cycle>),
    (frames, latency): (Counts, &Histogram),
) -> Summary {
    let (node, machine) = (&end.node, &setup.machine.value);
    let cycles = match ending {
        Ending::Exited { at, .. } | Ending::Stopped { at, .. } => at,
        _ => now,
    };
    let harts = end.ears.harts.iter().enumerate();
    let harts = harts.map(|(hart, counts)| HartRow::new(node, hart, *counts, cycles));
    let section = Nanoservice {
        transport: node.receive().transport().name().to_owned(),
        frames,
        receive: node.receive().accounting(),
        transmit: *node.transmit().counters(),
        undelivered: node.transmit().resident().count() as u64,
        harts: harts.collect(),
        clock: setup.clock,
        ready,
        pipelines: [
            node.receive().transport().counts(true),
            node.transmit().transport().counts(false),
        ]
        .into_iter()
        .flatten()
        .collect(),
        load: None,
    };
    let problem = section.imbalance(node, end.is_quiet());
    let mut warnings = warnings(node, service, machine.hart_interface.contexts);
    warnings.extend(section.strays());
    let faults = super::fault::faults(node, service, &machine.memory, setup.clock, &ending);
    let ran = (setup.clock.time(cycles), cycles);
    let mut summary = Summary {
        machine: Some(machine.name.clone()),
        instructions: (0..node.harts()).map(|h| node.core(h).instructions(cycles)).sum(),
        latency: latency.quantiles(),
        faults,
        warnings,
        ..Summary::begin(&service.manifest.app.name, ending, ran, section)
    };
    if let Some(problem) = problem {
        summary.unbalanced(&problem);
    }
    summary
}

impl Nanoservice {
    /// Says that messages went to addresses from which nothing came, if they did.
    fn strays(&self) -> Option<String> {
        (self.frames.strays > 0).then(|| {
            format!(
                "{} messages went to addresses from which nothing came, the last to {}; a word \
                 written beyond a message's length is taken for the header of the next",
                count(self.frames.strays),
                std::net::Ipv4Addr::from(self.frames.stray_ip)
            )
        })
    }

    /// Checks the books of a node that rests, or does not.
    fn imbalance(&self, node: &Node, rests: bool) -> Option<String> {
        let (arrived, decided) = (self.frames.frames_in, self.receive.frames);
        if !self.receive.balances() {
            Some("the receive side has lost count of a packet".to_owned())
        } else if decided > arrived || rests && decided < arrived {
            Some(format!("{arrived} frames arrived, {decided} were decided about"))
        } else if !node.transmit().conserves() {
            Some("the transmit side has lost a message, an id or a buffer".to_owned())
        } else {
            None
        }
    }

    /// Counts frames that arrived and have not been decided about.
    pub fn undecided(&self) -> u64 {
        self.frames.frames_in.saturating_sub(self.receive.frames)
    }
}

/// Lists what a program did wrong.
fn warnings(node: &Node, service: &Service, contexts: u16) -> Vec<String> {
    let mut warnings = node.receive().transport().remarks();
    warnings.extend(node.transmit().transport().remarks());
    for hart in 0..node.harts() {
        let misuse = node.interface(hart).misuse();
        if let Some(text) = empty_read(node, service, hart) {
            let times = node.core(hart).empty_reads;
            warnings.push(format!("{text} ({} in all)", count(times)));
        }
        if misuse.unmatched_done > 0 {
            warnings.push(format!(
                "hart {hart} said {} times that it was done with a message and had none",
                count(misuse.unmatched_done)
            ));
        }
        if misuse.unread_words > 0 {
            warnings.push(format!(
                "hart {hart} was done with messages before it had read them: {} words thrown away",
                count(misuse.unread_words)
            ));
        }
        if misuse.bad_binds > 0 {
            warnings.push(format!(
                "hart {hart} bound {} contexts that it cannot run; contexts are 0 to {}",
                count(misuse.bad_binds),
                contexts.saturating_sub(1)
            ));
        }
        for context in 0..contexts {
            let begun = node.receive().outstanding(hart as u8, context);
            if begun > 0 {
                warnings.push(format!(
                    "hart {hart} did not finish {begun} messages of context {context} (no \
                     message-done)"
                ));
            }
        }
    }
    warnings.extend(transmit_warnings(node));
    warnings
}

fn transmit_warnings(node: &Node) -> Vec<String> {
    let counters = node.transmit().counters();
    let mut warnings = Vec::new();
    let mut warn = |number: u64, text: &str| {
        if number > 0 {
            warnings.push(format!("{} {text}", count(number)));
        }
    };
    warn(
        counters.refused_empty,
        "messages announced no bytes and were refused; a word written beyond a message's length is \
         taken for the header of the next",
    );
    warn(
        counters.refused_oversize,
        "messages announced more bytes than the largest buffer has and were refused with their \
         words; a word written beyond a message's length is taken for the header of the next",
    );
    warn(counters.words_lost, "words were written to a full transmit queue and lost");
    warn(counters.words_unknown_context, "words were written in contexts the NIC does not know");
    let unfinished = node.transmit().resident().filter(|message| message.words_missing > 0);
    for message in unfinished {
        warnings.push(format!(
            "hart {}, context {}: a message of {} B to {} was never finished: its last {} words \
             are missing",
            message.hart,
            message.context,
            message.msg_len,
            std::net::Ipv4Addr::from(message.dst_ip),
            message.words_missing
        ));
    }
    warnings
}
