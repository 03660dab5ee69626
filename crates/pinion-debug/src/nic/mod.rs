//! A sPIN NIC as it is debugged: its HPUs, what they work at, its memories.

mod alone;
mod ears;
#[cfg(target_os = "linux")]
pub mod live;
pub mod tape;

use std::sync::Arc;

use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_app::traffic::Packets;
use pinion_isa::Hart;
use pinion_sim::Clock;
use pinion_sim::node::Saved;
use pinion_spin::{ContextId, ExecutionContext, Machine, Units};

use crate::debuggee::Debuggee;
use crate::drive::Drive;
use crate::harts::REGISTERS;
use crate::log::Log;
use crate::terms::{Reached, Said, Task, Width};
pub use alone::Alone;
pub use ears::{Interpreter, L1, Shape};

/// CSRs that a debugger sees, by gdb's name and number.
const CSRS: [(&str, u16); 8] = [
    ("mstatus", 0x300),
    ("misa", 0x301),
    ("mtvec", 0x305),
    ("mscratch", 0x340),
    ("mepc", 0x341),
    ("mcause", 0x342),
    ("mtval", 0x343),
    ("mhartid", 0xf14),
];

/// Estimate of the bytes of a node that is saved with the NIC.
pub const OTHER_BYTES: u64 = 1 << 20;

/// Packets that wait and are listed; of more, the number.
const WAITING_SHOWN: usize = 16;

/// A sPIN NIC that is debugged.
pub struct Nic<D> {
    drive: D,
    /// Stands in front of HPUs' names.
    label: String,
    shape: Arc<Shape>,
    contexts: Vec<Context>,
}

/// What is said of an execution context.
struct Context {
    name: String,
    host_address: u64,
    host_bytes: u64,
}

impl Nic<Alone> {
    /// Debugs an application's NIC on packets.
    ///
    /// # Errors
    /// When program or contexts do not fit the machine.
    pub fn alone(app: &App, packets: Packets) -> Result<Self> {
        let nic = app.nic()?;
        let shape = Arc::new(shape(app, nic.machine()));
        let drive = Alone::new(app, nic, Arc::clone(&shape), packets);
        Ok(Self::new(app, shape, drive, String::new()))
    }
}

/// Says what of an application's machine a listener has to know.
pub fn shape(app: &App, machine: &Machine) -> Shape {
    shape_of(&app.contexts, machine)
}

/// Says what of a machine with some contexts a listener has to know.
pub fn shape_of(contexts: &[ExecutionContext], machine: &Machine) -> Shape {
    let handlers = contexts.iter().flat_map(|context| {
        let (header, payload) = (&context.header_handler, &context.payload_handler);
        [header, payload, &context.completion_handler].into_iter().flatten()
    });
    let mut entries: Vec<u32> = handlers.map(|handler| handler.address).collect();
    entries.sort_unstable();
    entries.dedup();
    Shape {
        clock: Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000),
        cores: machine.cluster.cores,
        clusters: machine.cluster.count,
        units: machine.units.count.max(1),
        entries,
        l1: L1 { base: machine.l1.base, stride: machine.l1.stride, alias: machine.l1.alias },
    }
}

impl<D: Drive<Node = Units>> Nic<D> {
    /// Debugs an application's NIC; the label stands in front of HPUs' names.
    pub fn new(app: &App, shape: Arc<Shape>, drive: D, label: String) -> Self {
        Self::with(&app.contexts, shape, drive, label)
    }

    /// Debugs a NIC with some contexts.
    pub fn with(contexts: &[ExecutionContext], shape: Arc<Shape>, drive: D, label: String) -> Self {
        let contexts = contexts.iter().map(|context| Context {
            name: context.name.clone(),
            host_address: context.host_memory_address,
            host_bytes: context.host_memory_bytes.into(),
        });
        Self { drive, label, shape, contexts: contexts.collect() }
    }

    fn units<R>(&self, look: impl FnOnce(&Units) -> R) -> R {
        self.drive.look_shown(look)
    }

    /// Looks at an HPU's unit; also given are its cluster in it, and its number in the cluster.
    fn unit<R>(&self, hart: u32, look: impl FnOnce(&pinion_spin::Nic, u32, u32) -> R) -> R {
        let (cluster, hpu) = self.shape.place(hart);
        let unit = self.shape.unit(hart) as usize;
        self.units(|units| look(&units.nics()[unit], cluster % self.shape.clusters, hpu))
    }

    fn core<R>(&self, hart: u32, look: impl FnOnce(&Hart<u32>) -> R) -> R {
        self.unit(hart, |nic, cluster, hpu| look(nic.hart(cluster, hpu)))
    }

    fn context(&self, name: &str) -> Said<(u32, &Context)> {
        let mut contexts = (0..).zip(&self.contexts);
        contexts.find(|(_, context)| context.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.contexts.iter().map(|one| one.name.as_str()).collect();
            format!("there is no context `{name}`, but {}", names.join(", "))
        })
    }
}

impl<D: Drive<Node = Units>> Debuggee for Nic<D> {
    fn harts(&self) -> u32 {
        self.shape.units * self.shape.clusters * self.shape.cores
    }

    fn width(&self) -> Width {
        Width::Rv32
    }

    fn clock(&self) -> Clock {
        self.shape.clock
    }

    fn csrs(&self) -> &'static [(&'static str, u16)] {
        &CSRS
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        self.drive.run(cycle, log)
    }

    fn save(&self) -> Result<Saved> {
        self.drive.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        self.drive.restore(saved)
    }

    fn bytes(&self) -> u64 {
        let unit = self.units(|units| {
            let machine = units.machine();
            let l1 = u64::from(machine.l1.bytes) * u64::from(machine.cluster.count);
            let l2 = u64::from(machine.l2_handler.bytes) + u64::from(machine.l2_packet.bytes);
            // A decoded instruction takes a few times the bytes of the instruction.
            l1 + l2 + 20 * u64::from(machine.program.bytes)
        });
        unit * u64::from(self.shape.units) + self.drive.others() * OTHER_BYTES
    }

    fn show(&mut self, from: &Saved, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        self.drive.show(from, cycle, log)
    }

    fn units_write_memory(&self) -> bool {
        true
    }

    fn registers(&self, hart: u32) -> [u64; REGISTERS] {
        self.core(hart, |core| core.x.map(u64::from))
    }

    fn pc(&self, hart: u32) -> u64 {
        self.core(hart, |core| core.pc.into())
    }

    fn csr(&self, hart: u32, number: u16) -> Option<u64> {
        self.core(hart, |core| core.read_csr(number).map(u64::from))
    }

    fn privilege(&self, hart: u32) -> u8 {
        self.core(hart, |core| core.privilege as u8)
    }

    fn task(&self, hart: u32) -> Option<Task> {
        let mut task = self.unit(hart, |nic, cluster, hpu| nic.task(cluster, hpu))?;
        // Behind a scheduling level packets are numbered through all units.
        let (unit, units) = (self.shape.unit(hart), self.shape.units);
        task.packet = task.packet * u64::from(units) + u64::from(unit);
        Some(ears::task(task))
    }

    fn common(&self, hart: u32, address: u64) -> u64 {
        self.unit(hart, |nic, cluster, _| {
            let l1 = &nic.machine().l1;
            let offset = address.wrapping_sub(l1.alias.into());
            match offset < l1.bytes.into() {
                true => u64::from(l1.base + cluster * l1.stride) + offset,
                false => address,
            }
        })
    }

    fn places(&self, address: u64) -> Vec<u64> {
        let clusters = (0..self.shape.clusters).map(|cluster| cluster * self.shape.cores);
        let mut places: Vec<u64> = clusters.map(|hart| self.common(hart, address)).collect();
        places.dedup();
        places
    }

    fn shares_memory(&self, one: u32, other: u32) -> bool {
        self.shape.unit(one) == self.shape.unit(other)
    }

    fn read(&self, hart: u32, address: u64, buffer: &mut [u8]) -> usize {
        let Ok(address) = u32::try_from(address) else { return 0 };
        self.unit(hart, |nic, cluster, hpu| {
            if nic.read_memory(address, buffer) {
                return buffer.len();
            }
            let mut count = 0;
            for (byte, place) in (0..).zip(buffer) {
                let address = address.wrapping_add(byte);
                if let Some(word) = nic.task_register(cluster, hpu, address) {
                    *place = word.to_le_bytes()[(address & 3) as usize];
                } else if !nic.read_memory(address, std::slice::from_mut(place)) {
                    break;
                }
                count += 1;
            }
            count
        })
    }

    fn append_bytes(&self, address: u64, bytes: u32, to: &mut Vec<u8>) {
        self.units(|units| {
            for nic in units.nics() {
                let begin = to.len();
                to.resize(begin + bytes as usize, 0);
                if let Ok(address) = u32::try_from(address) {
                    // What is no memory reads as zero, and does not change.
                    let _ = nic.read_memory(address, &mut to[begin..]);
                }
            }
        });
    }

    fn dwell(&mut self, in_every_cycle: bool) {
        self.drive.dwell(in_every_cycle);
    }

    fn host_range(&self, context: &str, offset: u64, bytes: u64) -> Said<(u64, u32)> {
        let (_, found) = self.context(context)?;
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= found.host_bytes);
        match is_inside && bytes > 0 {
            true => Ok((found.host_address + offset, bytes as u32)),
            false => {
                Err(format!("context {context} has {} bytes of host memory", found.host_bytes))
            }
        }
    }

    fn read_host(&self, address: u64, buffer: &mut [u8]) {
        self.units(|units| units.read_host(address, buffer));
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.units(|units| units.state(tell));
    }

    fn name(&self, hart: u32) -> String {
        let (cluster, hpu) = self.shape.place(hart);
        format!("{}cluster {cluster} HPU {hpu}", self.label)
    }

    fn doing(&self, hart: u32) -> String {
        self.unit(hart, |nic, cluster, hpu| nic.doing(cluster, hpu))
    }

    fn find_context(&self, name: &str) -> Said<u32> {
        self.context(name).map(|(index, _)| index)
    }

    fn context_name(&self, context: u32) -> String {
        let known = self.contexts.get(context as usize);
        known.map_or_else(|| "?".to_owned(), |context| context.name.clone())
    }

    fn packets(&self, tasks: &[(u32, Task)]) -> String {
        let mut waiting = 0;
        let mut text = String::new();
        let units = u64::from(self.shape.units);
        let records: Vec<_> = self.units(|all| {
            let each = (0..).zip(all.nics());
            let of_one = each.map(|(unit, nic): (u64, _)| {
                let packets = nic.packets().into_iter().cloned();
                packets.map(|record| (record.packet * units + unit, record)).collect::<Vec<_>>()
            });
            of_one.flatten().collect()
        });
        for (packet, record) in records {
            let at = tasks.iter().filter(|(_, task)| task.packet == Some(packet));
            let at: Vec<_> = at
                .map(|(hart, _)| self.shape.place(*hart))
                .map(|(cluster, hpu)| format!("on HPU {cluster}.{hpu}"))
                .collect();
            waiting += usize::from(at.is_empty());
            if at.is_empty() && waiting > WAITING_SHOWN {
                continue;
            }
            let place = if at.is_empty() { "waits".to_owned() } else { at.join(", ") };
            let ContextId(context) = record.context;
            text += &format!(
                "packet {packet} of context {}: message {}, {} B, arrived at {}, {place}\n",
                self.context_name(context),
                record.message,
                record.bytes,
                record.arrival
            );
        }
        if waiting > WAITING_SHOWN {
            text += &format!("and {} more wait\n", waiting - WAITING_SHOWN);
        }
        if text.is_empty() { "no packet is inside".to_owned() } else { text }
    }
}
