//! Where handlers' memories lie: an address comes in, its byte in the flat shadow of all of them, and
//! whose it is, goes out.

use pinion_app::app::App;
use pinion_spin::{ContextId, ExecutionContext, Machine, PacketPlace};

/// Bytes at the start of L2 handler memory that all handlers may reach: the program's own data.
const STATIC_BYTES: u32 = 64 << 10;

/// Holds the places of all memories.
pub struct Map {
    machine: Machine,
    contexts: Vec<ExecutionContext>,
    /// First address, bytes and first flat byte of the memories in L2.
    l2: [(u32, u32, u32); 2],
    total: u32,
    l1_shift: u32,
    /// The number of the unit's first cluster in the NIC.
    first_cluster: u32,
}

/// A range of addresses that a handler may touch, and what turns them into flat bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    first: u32,
    bytes: u32,
    flat: u32,
    /// What it is.
    pub kind: Area,
}

impl Range {
    /// Gives the flat byte of an access that lies within.
    #[inline]
    pub fn flat(&self, address: u32, bytes: u32) -> Option<u32> {
        let offset = address.wrapping_sub(self.first);
        (offset < self.bytes && bytes <= self.bytes - offset).then(|| self.flat + offset)
    }
}

impl Range {
    /// Gives the first address behind it.
    pub const fn end(&self) -> u32 {
        self.first.wrapping_add(self.bytes)
    }
}

/// Names what a handler's range is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Area {
    /// Its stack.
    #[default]
    Stack,
    /// Its packet.
    Packet,
    /// What handlers share.
    Shared,
}

/// Says whose memory an address is that a handler has no business with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// A stack, its own HPU's not being hit: the cluster and HPU it belongs to.
    Stack(u32, u32),
    /// A packet buffer, outside its own packet.
    Packets,
    /// Another context's memory.
    Context(ContextId),
    /// Nobody's.
    Nobody,
}

/// Describes who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// Cluster.
    pub cluster: u32,
    /// HPU within the cluster.
    pub hpu: u32,
    /// Its context.
    pub context: ContextId,
    /// Its packet.
    pub place: PacketPlace,
}

impl Map {
    /// Maps the unit of an application's machine that has this first cluster.
    pub fn new(app: &App, first_cluster: u32) -> Self {
        let machine = app.machine.value.clone();
        let l1 = machine.cluster.count * machine.l1.bytes;
        let handler = (machine.l2_handler.base, machine.l2_handler.bytes, l1);
        let packets = (machine.l2_packet.base, machine.l2_packet.bytes, l1 + handler.1);
        let total = packets.2 + packets.1;
        let l1_shift = machine.l1.stride.trailing_zeros();
        let contexts = app.contexts.clone();
        Self { machine, contexts, l2: [handler, packets], total, l1_shift, first_cluster }
    }

    /// Counts the bytes of all memories.
    pub fn total(&self) -> usize {
        self.total as usize
    }

    /// Gives an address as all see it: a cluster's own L1 lies behind an alias too.
    pub fn physical(&self, cluster: u32, address: u32) -> u32 {
        let l1 = &self.machine.l1;
        let offset = address.wrapping_sub(l1.alias);
        if offset < l1.bytes { l1.base + cluster * l1.stride + offset } else { address }
    }

    /// Finds an address's byte in the flat shadow.
    pub fn flat(&self, address: u32) -> Option<u32> {
        if let Some((cluster, offset)) = self.l1(address) {
            return Some(cluster * self.machine.l1.bytes + offset);
        }
        let memory = self.l2.iter().find(|(first, bytes, _)| address.wrapping_sub(*first) < *bytes);
        memory.map(|(first, _, flat)| flat + (address - first))
    }

    /// Finds the address of a flat byte.
    pub fn address(&self, flat: u32) -> Option<u32> {
        let l1 = &self.machine.l1;
        let cluster = flat / l1.bytes;
        if cluster < self.machine.cluster.count {
            return Some(l1.base + cluster * l1.stride + flat % l1.bytes);
        }
        let holds = |(_, bytes, first): &&(u32, u32, u32)| flat.wrapping_sub(*first) < *bytes;
        self.l2.iter().find(holds).map(|(base, _, first)| base + (flat - first))
    }

    /// Names a context.
    pub fn context(&self, context: ContextId) -> &str {
        self.contexts.get(context.0 as usize).map_or("?", |context| &context.name)
    }

    /// Finds the cluster and offset of an address in L1.
    fn l1(&self, address: u32) -> Option<(u32, u32)> {
        let l1 = &self.machine.l1;
        let offset = address.wrapping_sub(l1.base);
        let (cluster, offset) = (offset >> self.l1_shift, offset & (l1.stride - 1));
        (cluster < self.machine.cluster.count && offset < l1.bytes).then_some((cluster, offset))
    }

    /// Finds the offset of an address in a cluster's peripherals; of the asking core's where it has
    /// them by themselves.
    pub fn peripheral(&self, address: u32) -> Option<u32> {
        const PERIPHERALS: u32 = 0x1b20_0000;
        const BYTES: u32 = 0x1_0000;
        let own = address.wrapping_sub(PERIPHERALS);
        if own < BYTES {
            return Some(own);
        }
        let l1 = &self.machine.l1;
        let offset = address.wrapping_sub(l1.base);
        let (cluster, offset) = (offset >> self.l1_shift, offset & (l1.stride - 1));
        let offset = offset.wrapping_sub(PERIPHERALS - l1.alias);
        (cluster < self.machine.cluster.count && offset < BYTES).then_some(offset)
    }

    /// Tells whether handlers' output goes to an address.
    pub fn is_output(&self, address: u32) -> bool {
        const OUTPUT: u32 = 0x1a10_4000;
        address.wrapping_sub(OUTPUT) < 0x1000
    }

    /// Tells whether program memory has an address.
    pub fn is_program(&self, address: u32) -> bool {
        let program = &self.machine.program;
        address.wrapping_sub(program.base) < program.bytes
    }

    /// Tells whether a packet buffer has an address.
    pub fn is_packet(&self, address: u32) -> bool {
        let (first, bytes, _) = self.l2[1];
        if address.wrapping_sub(first) < bytes {
            return true;
        }
        let from = self.machine.packet_buffer_offset();
        let buffer = from..self.machine.scratchpad_offset();
        self.l1(address).is_some_and(|(_, offset)| buffer.contains(&offset))
    }

    /// Tells whether L2 has an address.
    pub fn is_in_l2(&self, address: u32) -> bool {
        self.l1(address).is_none()
    }

    /// Gives first address and end of an HPU's stack.
    pub fn stack(&self, cluster: u32, hpu: u32) -> (u32, u32) {
        let l1 = &self.machine.l1;
        let first = l1.base + cluster * l1.stride + l1.reserved_bytes + hpu * l1.stack_bytes;
        (first, first + l1.stack_bytes)
    }

    /// Finds the range around an address that a handler may touch.
    ///
    /// # Errors
    /// Whose it is, where the handler may not.
    pub fn range(&self, address: u32, asker: &Asker) -> Result<Range, Foreign> {
        let found = match self.l1(address) {
            Some((cluster, offset)) => self.in_l1(cluster, offset, asker),
            None => self.in_l2(address, asker),
        }?;
        let ((first, bytes), kind) = found;
        let flat = self.flat(first).ok_or(Foreign::Nobody)?;
        let range = Range { first, bytes, flat, kind };
        range.flat(address, 1).map(|_| range).ok_or(Foreign::Nobody)
    }

    fn in_l1(
        &self,
        cluster: u32,
        offset: u32,
        asker: &Asker,
    ) -> Result<((u32, u32), Area), Foreign> {
        let machine = &self.machine;
        let l1 = &machine.l1;
        let base = l1.base + cluster * l1.stride;
        let stacks_end = l1.reserved_bytes + machine.cluster.cores * l1.stack_bytes;
        let (packets, scratchpads) = (machine.packet_buffer_offset(), machine.scratchpad_offset());
        if offset < l1.reserved_bytes {
            return Err(Foreign::Nobody);
        }
        if offset < stacks_end {
            let hpu = (offset - l1.reserved_bytes) / l1.stack_bytes;
            let (first, end) = self.stack(cluster, hpu);
            let own = (cluster, hpu) == (asker.cluster, asker.hpu);
            return match own {
                true => Ok(((first, end - first), Area::Stack)),
                false => Err(Foreign::Stack(cluster, hpu)),
            };
        }
        if offset < packets {
            return Ok(((base + stacks_end, packets - stacks_end), Area::Shared));
        }
        if offset < scratchpads {
            let (first, bytes) = asker.place.l1;
            let own = (base + offset).wrapping_sub(first) < bytes;
            return if own { Ok(((first, bytes), Area::Packet)) } else { Err(Foreign::Packets) };
        }
        let within = |context: &ExecutionContext| {
            let (at, bytes) = context.scratchpad(cluster);
            let first = scratchpads + at;
            (offset.wrapping_sub(first) < bytes).then_some((base + first, bytes))
        };
        self.owned(asker, within).map(|range| (range, Area::Shared))
    }

    fn in_l2(&self, address: u32, asker: &Asker) -> Result<((u32, u32), Area), Foreign> {
        let [(handler, handler_bytes, _), (packets, packet_bytes, _)] = self.l2;
        let holds = |(first, bytes): (u32, u32)| address.wrapping_sub(first) < bytes;
        if holds((packets, packet_bytes)) {
            let own = asker.place.l2;
            return if holds(own) { Ok((own, Area::Packet)) } else { Err(Foreign::Packets) };
        }
        if !holds((handler, handler_bytes)) {
            return Err(Foreign::Nobody);
        }
        let within = |context: &ExecutionContext| {
            let own = (context.handler_memory_address, context.handler_memory_bytes);
            let data = context.static_data.unwrap_or((0, 0));
            [own, data].into_iter().find(|range| holds(*range))
        };
        let found = self.owned(asker, within);
        match found {
            Err(Foreign::Nobody) if holds((handler, STATIC_BYTES)) => {
                Ok(((handler, STATIC_BYTES), Area::Shared))
            }
            found => found.map(|range| (range, Area::Shared)),
        }
    }

    /// Finds a range among the asker's own, else whose it is.
    fn owned(
        &self,
        asker: &Asker,
        within: impl Fn(&ExecutionContext) -> Option<(u32, u32)>,
    ) -> Result<(u32, u32), Foreign> {
        let own = self.contexts.get(asker.context.0 as usize).and_then(&within);
        let other = || self.contexts.iter().position(|context| within(context).is_some());
        own.ok_or_else(|| match other() {
            Some(index) => Foreign::Context(ContextId(index as u32)),
            None => Foreign::Nobody,
        })
    }

    /// Says in words what lies at an address.
    pub fn describe(&self, address: u32) -> String {
        let machine = &self.machine;
        let Some((cluster, offset)) = self.l1(address) else {
            return self.describe_l2(address).unwrap_or_else(|| format!("{address:#010x}"));
        };
        let stacks_end = machine.l1.reserved_bytes + machine.cluster.cores * machine.l1.stack_bytes;
        let what = if offset < machine.l1.reserved_bytes {
            "L1 below the stacks".to_owned()
        } else if offset < stacks_end {
            let hpu = (offset - machine.l1.reserved_bytes) / machine.l1.stack_bytes;
            format!("stack of HPU {hpu}")
        } else if offset < machine.packet_buffer_offset() {
            "L1 data of the program".to_owned()
        } else if offset < machine.scratchpad_offset() {
            "L1 packet buffer".to_owned()
        } else {
            let at = offset - machine.scratchpad_offset();
            let owner = self.contexts.iter().find_map(|context| {
                let (first, bytes) = context.scratchpad(cluster);
                let at = at.wrapping_sub(first);
                (at < bytes).then(|| format!("scratchpad of {}+{at:#x}", context.name))
            });
            owner.unwrap_or_else(|| "L1".to_owned())
        };
        format!("{what}, cluster {}", self.first_cluster + cluster)
    }

    fn describe_l2(&self, address: u32) -> Option<String> {
        if self.is_packet(address) {
            return Some("L2 packet buffer".to_owned());
        }
        let owner = self.contexts.iter().find_map(|context| {
            let at = address.wrapping_sub(context.handler_memory_address);
            (at < context.handler_memory_bytes)
                .then(|| format!("handler memory of {}+{at:#x}", context.name))
        });
        let at = address.wrapping_sub(self.l2[0].0);
        let what = if at < STATIC_BYTES { "the program's data" } else { "L2 handler memory" };
        owner.or_else(|| (at < self.l2[0].1).then(|| what.to_owned()))
    }
}
