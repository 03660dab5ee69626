//! What is seen at a position: registers, memory, and what each HPU works at. What cores have done
//! beyond the position is taken back.

use pinion_isa::Hart;
use pinion_spin::{Nic, RunningTask};

use crate::harts::Touch;
use crate::{Position, Timeline};

/// CSRs that a debugger sees, by gdb's name and number.
pub const CSRS: [(&str, u16); 8] = [
    ("mstatus", 0x300),
    ("misa", 0x301),
    ("mtvec", 0x305),
    ("mscratch", 0x340),
    ("mepc", 0x341),
    ("mcause", 0x342),
    ("mtval", 0x343),
    ("mhartid", 0xf14),
];

impl Timeline {
    /// Gives an HPU's unit, cluster in it, and number in the cluster.
    fn place(&self, hart: u32) -> (&Nic, u32, u32) {
        let (cluster, hpu) = self.shape().place(hart);
        let clusters = self.shape().clusters;
        let nic = &self.state().nic.nics()[(cluster / clusters) as usize];
        (nic, cluster % clusters, hpu)
    }

    fn core(&self, hart: u32) -> &Hart<u32> {
        let (nic, cluster, hpu) = self.place(hart);
        nic.hart(cluster, hpu)
    }

    /// Gives an HPU's registers.
    pub fn registers(&self, hart: u32) -> [u32; 32] {
        self.state().harts.registers(hart, self.position())
    }

    /// Gives the address of the instruction that an HPU executes next, or is executing.
    pub fn pc(&self, hart: u32) -> u32 {
        let next = self.state().harts.next(hart, self.position());
        next.map_or_else(|| self.core(hart).pc, |step| step.pc)
    }

    /// Gives a CSR; `None` if there is none, or it cannot be told here: the core has changed CSRs
    /// since.
    pub fn csr(&self, hart: u32, number: u16) -> Option<u32> {
        let is_known = !self.state().harts.may_change_csr(hart, self.position());
        is_known.then(|| self.core(hart).read_csr(number)).flatten()
    }

    /// Gives the privilege an HPU runs at, if that can be told here.
    pub fn privilege(&self, hart: u32) -> Option<u8> {
        let is_known = !self.state().harts.may_change_csr(hart, self.position());
        is_known.then(|| self.core(hart).privilege as u8)
    }

    /// Says what an HPU works at.
    pub fn task(&self, hart: u32) -> Option<RunningTask> {
        match self.state().harts.next(hart, self.position()) {
            Some(step) => step.task,
            None => {
                let (nic, cluster, hpu) = self.place(hart);
                let task = nic.task(cluster, hpu)?;
                let units = self.state().nic.nics().len() as u64;
                let unit = u64::from(self.shape().place(hart).0 / self.shape().clusters);
                Some(RunningTask { packet: task.packet * units + unit, ..task })
            }
        }
    }

    /// Says what an HPU waits for.
    pub fn doing(&self, hart: u32) -> String {
        let (nic, cluster, hpu) = self.place(hart);
        nic.doing(cluster, hpu)
    }

    /// Gives the address that all HPUs have in common for one that an HPU uses.
    pub fn common(&self, hart: u32, address: u32) -> u32 {
        let (nic, cluster, _) = self.place(hart);
        let l1 = &nic.machine().l1;
        let offset = address.wrapping_sub(l1.alias);
        if offset < l1.bytes { l1.base + cluster * l1.stride + offset } else { address }
    }

    /// Gives every place that an address means: each cluster's, if it means a cluster's own.
    pub fn places(&self, address: u32) -> Vec<u32> {
        let clusters = (0..self.shape().clusters).map(|cluster| cluster * self.shape().cores);
        let mut places: Vec<u32> = clusters.map(|hart| self.common(hart, address)).collect();
        places.dedup();
        places
    }

    /// Reads memory as an HPU sees it; gives how many bytes there are.
    pub fn read(&self, hart: u32, address: u32, buffer: &mut [u8]) -> usize {
        let address = self.common(hart, address);
        let (nic, cluster, hpu) = self.place(hart);
        let mut count = buffer.len();
        if !nic.read_memory(address, buffer) {
            count = 0;
            for (byte, place) in (0..).zip(&mut *buffer) {
                let address = address.wrapping_add(byte);
                if let Some(word) = nic.task_register(cluster, hpu, address) {
                    *place = word.to_le_bytes()[(address & 3) as usize];
                } else if !nic.read_memory(address, std::slice::from_mut(place)) {
                    break;
                }
                count += 1;
            }
        }
        for touch in self.yet_to_come(hart) {
            touch.undo(address, &mut buffer[..count]);
        }
        count
    }

    /// Gives the writes to an HPU's memories that lie behind the position and were performed, the last
    /// first.
    fn yet_to_come(&self, hart: u32) -> Vec<Touch> {
        let unit = |hart: u32| self.shape().place(hart).0 / self.shape().clusters;
        let at: Position = self.position();
        let heard = self.state().harts.heard();
        let mut steps: Vec<_> = heard
            .filter(|(other, step)| {
                !at.has_passed(step.cycle, *other) && unit(*other) == unit(hart)
            })
            .filter_map(|(_, step)| Some((step.order, step.touch.filter(|touch| touch.writes)?)))
            .collect();
        steps.sort_unstable_by_key(|(order, _)| std::cmp::Reverse(*order));
        steps.into_iter().map(|(_, touch)| touch).collect()
    }

    /// Reads host memory.
    pub fn read_host(&self, address: u64, buffer: &mut [u8]) {
        self.state().nic.read_host(address, buffer);
    }
}
