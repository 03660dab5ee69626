//! Small applications on the register interface and on the baseline's DMA NIC: the same source,
//! compiled for either. Out: the cycles of the fastest of some rounds, caches warm.

use pinion_nanopu::Cycle;
use pinion_nanopu::baseline::Baseline;
use pinion_nanopu::event::{Deaf, Listener};
use pinion_nanopu::machine::transport::TransportKind;
use pinion_nanopu::node::{Progress, Sink};

use super::super::Application;
use super::exchange::{Exchange, FrameOut};
use super::loopback::{PROGRAM as ECHO, START_CYCLE, words};
use super::{Nodes, Runs, failed, node};
use crate::figure::Setting;
use pinion_app::error::{Error, Result};

/// The program; its source says what the arguments mean.
const PROGRAM: &str = "nanopu_applications";
/// Increments words.
const STREAM: &str = "nanopu_stream";
/// Makes it a program of the baseline.
const DMA_NIC: &str = "DMA_NIC=1";
/// Rounds, and how many of them warm caches and predictors.
const ROUNDS: usize = 16;
const WARM_UP: usize = 4;
/// Cycles between two rounds.
const GAP_CYCLES: Cycle = 5_001;
/// Cycles that a round takes at most.
const ROUND_CYCLES: Cycle = 400_000;
/// Words of payload of the packets of 64 B that the draft's table 1 is about: with our headers, which
/// are as long as that, there is none that is shorter.
const TABLE_1_WORDS: usize = 1;

/// What goes in and out in a round.
struct Round {
    messages: Vec<Vec<u64>>,
    answers: usize,
}

/// Runs an application and gives its cycles.
pub(super) fn application(nodes: &Nodes, run: &Application, setting: &Setting<'_>) -> Result<u64> {
    Ok(measure_on(nodes, run, setting)?.0)
}

/// Runs an application and gives its cycles and all answers.
fn measure_on(
    nodes: &Nodes,
    run: &Application,
    setting: &Setting<'_>,
) -> Result<(Cycle, Vec<Vec<u64>>)> {
    let round = round(run)?;
    let size = run.size.to_string();
    let arguments = [PROGRAM, run.name.as_str(), size.as_str()];
    let machine = nodes.machine(&["transport.kind=\"raw\"".to_owned()], setting)?;
    let exchange = Exchange::new(TransportKind::Raw, u32::from(machine.address.ip));
    if run.dma_nic {
        let image = nodes.programs.get(PROGRAM, Some(DMA_NIC), setting)?;
        let mut node = Baseline::new(&machine, &image).map_err(failed(&image))?;
        node.memory_mut().host.arguments = arguments.iter().map(|&text| text.into()).collect();
        measure(&mut node, exchange, &round)
    } else {
        // These two are examples of their own.
        let program = match run.name.as_str() {
            "loopback" => ECHO,
            "nfv" => STREAM,
            _ => PROGRAM,
        };
        let image = nodes.programs.get(program, None, setting)?;
        measure(&mut node(&machine, &image, &arguments)?, exchange, &round)
    }
}

/// Runs the rounds and measures the fastest, from the first flit in to the last flit out.
fn measure<N: Runs>(
    node: &mut N,
    mut exchange: Exchange,
    round: &Round,
) -> Result<(Cycle, Vec<Vec<u64>>)> {
    let mut start = START_CYCLE;
    let mut fastest = Cycle::MAX;
    for number in 1..=ROUNDS {
        for message in &round.messages {
            exchange.words(start, message);
        }
        let answers = number * round.answers;
        let mut first = None;
        let note = |at, _| {
            first.get_or_insert(at);
        };
        let limit = start + ROUND_CYCLES;
        exchange.run(node, &mut Deaf, limit, note, |out| out.len() >= answers)?;
        let last = exchange.out.iter().map(|frame| frame.last).max().unwrap_or(0);
        if number > WARM_UP {
            fastest = fastest.min(last + 1 - first.unwrap_or(0));
        }
        start = last + GAP_CYCLES;
    }
    Ok((fastest, exchange.out.iter().map(FrameOut::words).collect()))
}

/// Makes the messages of an application of a size.
fn round(run: &Application) -> Result<Round> {
    let name = run.name.as_str();
    let one = |messages: Vec<Vec<u64>>| Round { messages, answers: 1 };
    let real = |number: f64| number.to_bits();
    Ok(match name {
        "loopback" | "nfv" => one(vec![(0..words(run.size)?).collect()]),
        "neural" => one((0..2 * run.size).map(|number| vec![number]).collect()),
        "nbody" => {
            let body = |n: u64| vec![real(n as f64 + 1.0), real(-(n as f64)), real(100.0)];
            one((0..run.size).map(body).collect())
        }
        "othello" => Round { messages: vec![position(run.size)?], answers: run.size as usize + 1 },
        "receive" => one((0..run.size).map(|n| vec![n; TABLE_1_WORDS]).collect()),
        "send" => Round { messages: vec![vec![7; TABLE_1_WORDS]], answers: run.size as usize },
        _ => {
            return Err(Error::Usage(format!(
                "there is no application `{name}`: loopback, nfv, neural, othello, nbody, receive, \
                 send"
            )));
        }
    })
}

/// Gives a position with so many legal moves: columns of the mover's disc and the other's above it.
fn position(moves: u64) -> Result<Vec<u64>> {
    let columns: u64 = match moves {
        // Columns apart, so that no diagonal makes a move of its own.
        1..=4 => (0..moves).map(|column| 1 << (2 * column)).sum(),
        8 => 0xff,
        _ => {
            return Err(Error::Usage(format!("{moves} moves: give 1 to 4, or 8")));
        }
    };
    Ok(vec![columns, columns << 8, 42])
}

impl Runs for Baseline {
    fn inject(&mut self, first_flit: Cycle, frame: &[u8]) {
        Baseline::inject(self, first_flit, frame);
    }
    fn run_until(&mut self, end: Cycle, sink: &mut impl Sink, _: &mut impl Listener) -> Progress {
        Baseline::run_until(self, end, sink)
    }
    fn console(&self) -> Vec<u8> {
        self.memory().devices.console.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Definition, Parameters};

    #[test]
    fn both_nodes_give_the_same_answers() {
        if std::process::Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_err()
        {
            eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
            return;
        }
        let nodes = Nodes::default();
        let parameters = Parameters::new("test", std::collections::BTreeMap::new());
        let text = "title = ''\nsource = ''\nmethod = ''\nchart.kind = 'lines'\nchart.series = 'a'\n\
                    chart.x = { column = 'a', label = '' }\nchart.y = { column = 'a', label = '' }";
        let definition = Definition::read("test", text, &[]).unwrap();
        let setting = Setting {
            definition: &definition,
            parameters: &parameters,
            machine: &[],
            machine_name: None,
            build_dir: None,
            seed: 1,
        };
        let answers = |name: &str, size, dma_nic| {
            let run = Application { name: name.to_owned(), size, dma_nic };
            measure_on(&nodes, &run, &setting).unwrap().1
        };
        let products = (0..4u64).map(|i| i * (4 + i)).sum::<u64>();
        assert_eq!(answers("neural", 4, false)[0], [products]);
        assert_eq!(answers("nfv", 24, false)[0], [1, 2, 3]);
        assert_eq!(answers("othello", 3, true).len(), ROUNDS * 4);
        for (name, size) in [("loopback", 40), ("nfv", 24), ("neural", 4), ("othello", 3)]
            .into_iter()
            .chain([("nbody", 5), ("receive", 9), ("send", 9)])
        {
            let (plain, dma) = (answers(name, size, false), answers(name, size, true));
            assert_eq!(plain, dma, "{name} {size}");
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for (name, size) in [("loopback", 12), ("nfv", 2048), ("othello", 5), ("chess", 1)] {
            let run = Application { name: name.to_owned(), size, dma_nic: false };
            assert!(round(&run).is_err(), "{name} {size}");
        }
    }
}
