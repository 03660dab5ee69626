//! A bench without a node: cores that serve at once and switch threads for nothing. It has no timing
//! of its own worth comparing; it shows that figures ask what they mean to ask.

use std::collections::{BTreeMap, VecDeque};

use pinion_net::frame::lnic::{Header, NDP_PROTOCOL};
use pinion_net::load::{LoadReport, LoadSource, LoadSpec, Peer, flits};
use pinion_sim::Clock;

use super::{
    Application, Bench, Chain, ChainReport, Loopback, Scheduling, Service, Stage, Store, Thread,
    Throughput,
};
use crate::figure::Setting;
use pinion_app::error::{Error, Result};

/// Messages outstanding at a core (JBSQ(2)).
const OUTSTANDING: usize = 2;
/// Cycles from a frame at the pins to the core, and back.
const WAY_CYCLES: u64 = 21;

pub struct Ideal;

impl Bench for Ideal {
    fn clock(&self, _: &Setting<'_>) -> Result<Clock> {
        Ok(Clock::from_hz(3_200_000_000))
    }

    fn loopback(&self, _: &Loopback, _: &Setting<'_>) -> Result<Vec<Stage>> {
        let names = ["pins in", "ingress", "reassembly", "queues", "program", "pins out"];
        let stages = names.into_iter().zip([9, 17, 19, 21, 37, 42]);
        Ok(stages.map(|(name, cycle)| Stage { name: name.to_owned(), cycle }).collect())
    }

    fn throughput(&self, run: &Throughput, _: &Setting<'_>) -> Result<u64> {
        let cycles = if run.fixed_length { 139 } else { 390 };
        Ok(run.messages * cycles)
    }

    fn serve(&self, run: &Service, mut load: LoadSpec, _: &Setting<'_>) -> Result<LoadReport> {
        load.startup_messages = 0;
        let source = LoadSource::new(load).map_err(|error| Error::part("load", error))?;
        Ok(Node::new(run.clone(), source).run())
    }

    fn store(&self, run: &Store, load: LoadSpec, setting: &Setting<'_>) -> Result<LoadReport> {
        let thread = |context, cores| Thread { context, priority: 0, cores };
        let threads = match run.is_shared {
            true => vec![thread(0, (0..4).collect())],
            false => (0..4).map(|core| thread(core as u16, vec![core])).collect(),
        };
        let service = Service {
            threads,
            scheduling: Scheduling::Hardware,
            bound_cycles: None,
            lowered_for_good: false,
            link_cycles: run.link_cycles,
        };
        self.serve(&service, load, setting)
    }

    fn chain(&self, run: &Chain, _: &Setting<'_>) -> Result<ChainReport> {
        let hops = 2 * (run.replicas + 1);
        let took = hops * run.link_cycles + run.replicas * 2 * WAY_CYCLES;
        let latencies_cycles = vec![took; run.writes as usize];
        Ok(ChainReport { latencies_cycles, client_cycles: 2.0 * WAY_CYCLES as f64 })
    }

    fn application(&self, run: &Application, _: &Setting<'_>) -> Result<u64> {
        let factor = match run.name.as_str() {
            "loopback" => 40,
            "nfv" => 38,
            "neural" => 100,
            "othello" => 50,
            _ => 25,
        };
        Ok(if run.dma_nic { run.size * factor } else { run.size * 10 })
    }
}

struct Job {
    frame: Vec<u8>,
    priority: u8,
    left: u64,
}

/// Serves a load: each core the highest priority first, preemptively (or only at the timer's ticks).
struct Node {
    service: Service,
    source: LoadSource,
    /// Messages that wait for a core, by context.
    waiting: BTreeMap<u16, VecDeque<Job>>,
    /// Messages at each core, with their context; the first is the one that runs.
    cores: Vec<Vec<(u16, Job)>>,
    replies: VecDeque<(u64, Vec<u8>)>,
    now: u64,
}

impl Node {
    fn new(service: Service, source: LoadSource) -> Self {
        let cores = service.threads.iter().flat_map(|thread| &thread.cores).max();
        let cores = (0..=cores.copied().unwrap_or(0)).map(|_| Vec::new()).collect();
        let (waiting, replies) = (BTreeMap::new(), VecDeque::new());
        Self { service, source, waiting, cores, replies, now: 0 }
    }

    fn run(mut self) -> LoadReport {
        loop {
            let way = self.service.link_cycles + WAY_CYCLES;
            let arrival = self.source.next_cycle().map(|cycle| cycle + way);
            let reply = self.replies.front().map(|(cycle, _)| *cycle);
            let ends = self.cores.iter().filter_map(|core| Some(self.now + core.first()?.1.left));
            let Some(next) = ends.chain(arrival).chain(reply).min() else { break };
            let next = next.max(self.now);
            self.advance(next);
            if reply.is_some_and(|cycle| cycle <= next) {
                if let Some((cycle, frame)) = self.replies.pop_front() {
                    self.source.frame_out(cycle, cycle + flits(frame.len()) - 1, &frame);
                }
            } else if arrival.is_some_and(|cycle| cycle <= next) {
                self.arrive();
            }
            self.dispatch();
            if self.source.is_done(self.now) {
                break;
            }
        }
        self.source.into_report()
    }

    /// Lets the cores work until `next`, and answers what they end.
    fn advance(&mut self, next: u64) {
        let cycles = next - self.now;
        self.now = next;
        for core in &mut self.cores {
            let Some((_, job)) = core.first_mut() else { continue };
            job.left = job.left.saturating_sub(cycles);
            if job.left > 0 {
                continue;
            }
            let (_, job) = core.remove(0);
            if let Ok((header, payload)) = Header::parse(&job.frame, NDP_PROTOCOL) {
                let back = Header {
                    src_ip: header.dst_ip,
                    dst_ip: header.src_ip,
                    src_context: header.dst_context,
                    dst_context: header.src_context,
                    ..header
                };
                let due = next + WAY_CYCLES + self.service.link_cycles;
                self.replies.push_back((due, back.frame(payload)));
            }
            if self.service.scheduling == Scheduling::Hardware {
                core.sort_by_key(|(_, job)| job.priority);
            }
        }
    }

    fn arrive(&mut self) {
        let Some((_, frame)) = self.source.next_frame() else { return };
        let Ok((header, payload)) = Header::parse(frame, NDP_PROTOCOL) else { return };
        let thread = self.service.threads.iter().find(|t| t.context == header.dst_context);
        let (Some(thread), Some(service)) = (thread, payload.first_chunk::<8>()) else { return };
        let left = u64::from_be_bytes(*service).max(1);
        let job = Job { frame: frame.to_vec(), priority: thread.priority, left };
        self.waiting.entry(header.dst_context).or_default().push_back(job);
    }

    /// Hands waiting messages to the least loaded core of their context.
    fn dispatch(&mut self) {
        for thread in &self.service.threads {
            let Some(waiting) = self.waiting.get_mut(&thread.context) else { continue };
            while !waiting.is_empty() {
                let load = |core: &u32| {
                    let here = self.cores[*core as usize].iter();
                    here.filter(|(context, _)| *context == thread.context).count()
                };
                let Some(&core) = thread.cores.iter().min_by_key(|core| load(core)) else { break };
                if load(&core) >= OUTSTANDING {
                    break;
                }
                let Some(job) = waiting.pop_front() else { break };
                let jobs = &mut self.cores[core as usize];
                jobs.push((thread.context, job));
                if self.service.scheduling == Scheduling::Hardware {
                    jobs.sort_by_key(|(_, job)| job.priority);
                }
            }
        }
    }
}
