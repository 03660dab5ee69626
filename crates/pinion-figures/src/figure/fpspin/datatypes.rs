//! Messages of MPI datatypes that handlers unpack: alone, beside a matrix multiplication on the host
//! that takes about as long, and by the host itself. A figure's file asks for it with `run.kind =
//! "datatypes"`.

use std::sync::Arc;

use pinion_sim::Time;

use super::bench::Bench;
use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::pspin::programs::Programs;
use pinion_app::app::App;
use pinion_app::assets;
use pinion_app::error::{Error, Result};
use pinion_run::cosim::{
    self, Actor, Compute, ComputePlan, Cosim, End, Flow, Idle, Senders, SendersPlan,
};

/// Bytes of an element of either type.
const ELEMENT_BYTES: u64 = 110_592;
/// Bytes of a block of the complex type.
const COMPLEX_BLOCK_BYTES: u64 = 72;
/// Longer than any run.
const LIMIT: Time = Time::from_ns(600_000_000_000);
/// Places of words in the layout program's header (`layout.h`).
const PROGRAM_BYTES_WORD: usize = 2;
const RESULTS_WORD: usize = 17;

/// Runs them.
pub(in crate::figure) struct Datatypes {
    pub programs: Arc<Programs>,
}

/// What one point measures.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Experiment {
    is_complex: bool,
    messages: u64,
    elements: u64,
    payload_bytes: usize,
    /// How long the host computes over the time of the transfer beside it.
    compute_longer: f64,
}

impl Experiment {
    fn of(asked: &Asked<'_>) -> Result<Self> {
        let is_complex = match asked.text("type")? {
            "complex" => true,
            "simple" => false,
            _ => return Err(asked.wrong("type", "`complex` or `simple`")),
        };
        Ok(Self {
            is_complex,
            messages: asked.whole("messages")?,
            elements: asked.whole("elements")?,
            payload_bytes: asked.whole("payload_bytes")? as usize,
            compute_longer: asked.number("compute_longer")?,
        })
    }

    fn message_bytes(&self) -> u64 {
        self.elements * ELEMENT_BYTES
    }

    fn bytes(&self) -> u64 {
        self.messages * self.message_bytes()
    }
}

impl Kind for Datatypes {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("machine", true),
            ("on", false),
            ("host", true),
            ("type", true),
            ("elements", true),
            ("messages", true),
            ("payload_bytes", true),
            ("compute_longer", true),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &[
            "message_bytes",
            "alone_mbit_s",
            "overlapped_mbit_s",
            "overlap",
            "host_mbit_s",
            "handler_us",
        ]
    }

    fn takes_machine(&self) -> bool {
        true
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let bench = Bench::new(&self.programs, asked, setting)?;
        let experiment = Experiment::of(asked)?;
        let done = measure(&bench, experiment)?;
        Ok(vec![Record::from([
            ("message_bytes", experiment.message_bytes().into()),
            ("alone_mbit_s", done.alone_mbit_s.into()),
            ("overlapped_mbit_s", done.overlapped_mbit_s.into()),
            ("overlap", done.overlap.into()),
            ("host_mbit_s", done.host_mbit_s.into()),
            ("handler_us", done.handler_us.into()),
        ])])
    }
}

/// What an experiment gave.
struct Done {
    alone_mbit_s: f64,
    overlapped_mbit_s: f64,
    overlap: f64,
    host_mbit_s: f64,
    handler_us: Option<f64>,
}

/// An experiment with everything that its runs take.
struct Setup<'a> {
    bench: &'a Bench<'a>,
    experiment: Experiment,
    app: Arc<App>,
    layout: Vec<u8>,
    message: Arc<[u8]>,
    payload_bytes: usize,
}

fn measure(bench: &Bench<'_>, experiment: Experiment) -> Result<Done> {
    let layout = assets::example_dir("datatypes")?.join(match experiment.is_complex {
        true => "complex.bin",
        false => "simple.bin",
    });
    let setup = Setup {
        bench,
        experiment,
        app: bench.app("datatypes")?,
        layout: pinion_input::bytes(&layout)
            .map_err(|error| Error::file("read", &layout, error))?,
        message: (0..experiment.message_bytes()).map(|at| (at * 31 + at / 251) as u8).collect(),
        payload_bytes: experiment.payload_bytes,
    };
    let (alone_ps, handler_us) = setup.transfer(false)?;
    let (beside_ps, _) = setup.transfer(true)?;
    let host = &bench.host;
    let mbit_s = |ps: u64| experiment.bytes() as f64 * 8e6 / ps as f64;
    // As published: sized so that it lasts slightly longer than the transfer beside it.
    let wanted_ps = (beside_ps as f64 * experiment.compute_longer).round() as u64;
    let order = host.memory.gemm_order(&host.cpu, wanted_ps, mbit_s(beside_ps));
    let compute_ps = host.memory.gemm_ps(&host.cpu, order, mbit_s(beside_ps));
    let (overlap, overlapped_ps) = setup.overlap(compute_ps)?;
    let blocks = match experiment.is_complex {
        true => experiment.bytes() / COMPLEX_BLOCK_BYTES,
        false => experiment.messages * experiment.elements,
    };
    Ok(Done {
        alone_mbit_s: mbit_s(alone_ps),
        overlapped_mbit_s: mbit_s(overlapped_ps),
        overlap,
        host_mbit_s: mbit_s(host.memory.unpack_ps(experiment.bytes(), blocks)),
        handler_us,
    })
}

impl Setup<'_> {
    fn word(&self, index: usize) -> Result<u64> {
        let bytes = self.layout.get(4 * index..4 * index + 4);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        let wrong = || Error::Usage("the layout program is too short".to_owned());
        Ok(u64::from(u32::from_le_bytes(bytes.ok_or_else(wrong)?)))
    }

    /// Gives the host addresses of all messages' results.
    fn results(&self) -> Result<Vec<u64>> {
        let base = self.app.contexts[0].host_memory_address + self.word(RESULTS_WORD)?;
        Ok((0..self.experiment.messages).map(|slot| base + 8 * slot).collect())
    }

    fn senders(&self, begin_ps: u64, all_compute: bool) -> Senders {
        let flow = |message| Flow {
            // A message id of 0 with its bytes is no empty result either; ids choose the slots.
            message_id: message as u32,
            message: self.message.clone(),
            threads: 1,
        };
        let plan = SendersPlan {
            flows: (0..self.experiment.messages).map(flow).collect(),
            begin_ps,
            window: 1,
            payload_bytes: self.payload_bytes,
            all_compute,
        };
        Senders::new(&self.bench.host, plan)
    }

    fn cosim<H: Actor>(&self, host: H, senders: Senders) -> Result<Cosim<H, Senders>> {
        let mut contexts = self.app.contexts.clone();
        contexts[0].handler_memory_image = self.layout.clone();
        let nic = cosim::nic_with(&self.app, contexts)?;
        let skipped = self.app.skipped_bytes();
        Ok(Cosim::new(nic, &self.bench.host, host, senders).skip(skipped))
    }

    /// Sends all messages; gives the time it takes and the mean time of a handler.
    fn transfer(&self, all_compute: bool) -> Result<(u64, Option<f64>)> {
        let mut cosim = self.cosim(Idle, self.senders(0, all_compute))?;
        cosim.run(LIMIT)?;
        let handler_us = cosim.heard().handler_ns().map(|ns| ns / 1000.0);
        Ok((self.finished(&cosim)?, handler_us))
    }

    /// Computes while the messages come; gives the overlap ratio and the transfer's time.
    fn overlap(&self, compute_ps: u64) -> Result<(f64, u64)> {
        let setup_words = self.word(PROGRAM_BYTES_WORD)?.div_ceil(8) + self.experiment.messages;
        let plan = ComputePlan { setup_words, compute_ps, results: self.results()? };
        let program = Compute::new(&self.bench.host, plan);
        let begin_ps = program.setup_ps();
        let mut cosim = self.cosim(program, self.senders(begin_ps, true))?;
        let end = cosim.run(LIMIT)?;
        let finished_ps = self.finished(&cosim)?;
        let overlap = cosim.host.overlap().filter(|_| end == End::Stopped);
        let missing = || Error::Usage("the host never found all messages".to_owned());
        Ok((overlap.ok_or_else(missing)?, finished_ps.saturating_sub(begin_ps)))
    }

    /// Gives when all messages had been sent and acknowledged, and checks that they are there.
    fn finished<H: Actor>(&self, cosim: &Cosim<H, Senders>) -> Result<u64> {
        let missing = || {
            let dropped = cosim.heard().dropped;
            Error::Usage(format!("messages did not come through; {dropped} packets were dropped"))
        };
        let finished_ps = cosim.peer.finished_ps().ok_or_else(missing)?;
        for (slot, address) in self.results()?.into_iter().enumerate() {
            let mut result = [0; 8];
            cosim.nic().read_host(address, &mut result);
            let expected = self.experiment.message_bytes() << 32 | slot as u64;
            if u64::from_le_bytes(result) != expected {
                let problem = format!("message {slot} is not complete in host memory");
                return Err(Error::Usage(problem));
            }
        }
        Ok(finished_ps)
    }
}
