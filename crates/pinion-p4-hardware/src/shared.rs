//! Register arrays that several controls reach: their ports. In: controls. Out: bits of ports, and whose they are.
//!
//! A register array that several controls reach has a port for each, in the order in which the model lets them
//! change it in one cycle: the packets' control, then events ([`ORDER`]). Nobody waits for the others.

use super::names::plain;
use pinion_p4::lnic::unit::{Array, Place, Unit, normal};
use pinion_p4::program::{EventKind, External, Program};

/// Events in the order in which the NIC lets them happen in one cycle, behind its packet (nanoPU model,
/// `Receive::advance`).
pub(super) const ORDER: [EventKind; 5] =
    [EventKind::Drop, EventKind::Trim, EventKind::Delivery, EventKind::Timer, EventKind::Queue];

/// Bits of an array's ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    pub index: u32,
    pub data: u32,
    pub opcode: u32,
}

impl Bits {
    pub(super) fn of(array: &Array, external: &External) -> Self {
        let bits = |place: Place| place.map_or(1, |place| external.request[place].1);
        let most = |places: [Place; 2]| places.into_iter().map(bits).max().unwrap_or(1);
        Self { index: bits(array.index), data: most(array.data), opcode: most(array.opcode) }
    }

    /// Writes the parameters of an array with values of `width` bits.
    pub(super) fn parameters(self, width: u32, latency: u32) -> String {
        let Self { index, data, opcode } = self;
        format!(
            ".ENTRIES(ENTRIES), .INDEX_BITS({index}), .DATA_BITS({data}), .OPCODE_BITS({opcode}),\n        \
             .WIDTH({width}), .LATENCY({latency})"
        )
    }

    /// Holds what either wants.
    fn with(self, other: Self) -> Self {
        Self {
            index: self.index.max(other.index),
            data: self.data.max(other.data),
            opcode: self.opcode.max(other.opcode),
        }
    }
}

/// A register array that several controls reach.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// Its name.
    pub name: String,
    /// By port: the control, counted from the packets' own, and the extern there.
    pub ports: Vec<(usize, usize)>,
    /// Bits of a value.
    pub width: u32,
    latency: u32,
    /// Bits of what is asked.
    pub bits: Bits,
}

impl Shared {
    /// Finds the array that an extern is a port of.
    pub(super) fn find<'s>(shared: &'s [Self], external: &External) -> Option<&'s Self> {
        shared.iter().find(|array| normal(&array.name) == normal(&external.name))
    }

    /// Lists the arrays that several of a program's controls reach, which stand in the model's order.
    ///
    /// # Errors
    /// Ports of one array are asked in different cycles after what happens, so that changes would not come in the
    /// model's order, or take different times.
    pub(super) fn of(controls: &[&Program]) -> Result<Vec<Self>, String> {
        let mut all: Vec<Self> = Vec::new();
        for (control, program) in controls.iter().enumerate() {
            for (number, external) in program.externs.iter().enumerate() {
                let Ok(Unit::Array(array)) = Unit::bind(external) else { continue };
                let (name, bits) = (plain(&external.name), Bits::of(&array, external));
                let width = external.response.first().map_or(1, |(_, width)| *width);
                let known = all.iter_mut().find(|other| normal(&other.name) == normal(&name));
                let Some(shared) = known else {
                    let (ports, latency) = (vec![(control, number)], external.latency);
                    all.push(Self { name, ports, width, latency, bits });
                    continue;
                };
                if shared.ports.iter().any(|(other, _)| *other == control) {
                    return Err(format!(
                        "{} has {} twice, by names that mean the same; let it have one extern for it",
                        program.blocks[1], shared.name
                    ));
                }
                shared.bits = shared.bits.with(bits);
                shared.ports.push((control, number));
            }
        }
        all.retain(|array| array.ports.len() > 1);
        for array in &all {
            array.check(controls)?;
        }
        Ok(all)
    }

    /// Compares the ports with the first.
    fn check(&self, controls: &[&Program]) -> Result<(), String> {
        let name = &self.name;
        let asked = |&(control, external): &(usize, usize)| {
            let program = controls[control];
            let from = program.stages.externs[external].map_or(0, |stages| stages.from);
            let cycles = i64::from(from) - i64::from(looked_up(program));
            (&program.blocks[1], cycles, program.externs[external].latency)
        };
        let (first, cycles, latency) = asked(&self.ports[0]);
        for (other, own, own_latency) in self.ports.iter().skip(1).map(asked) {
            if own_latency != latency {
                return Err(format!(
                    "{name} takes {latency} cycles in {first} and {own_latency} in {other}; give it the same latency \
                     in both, so that changes come in the same order"
                ));
            }
            if own != cycles {
                let (early, apart) =
                    if own < cycles { (other, cycles - own) } else { (first, own - cycles) };
                return Err(format!(
                    "{first} and {other} both reach {name}, and {early} asks it {apart} cycles sooner after what \
                     happens; let its index go through a NAME_delay of {apart} there, so that changes come in the \
                     order of what happens"
                ));
            }
        }
        Ok(())
    }

    /// Lists the ports of a control that ask it, with their bits.
    pub(super) fn request(&self) -> [(&'static str, u32); 8] {
        let Bits { index, data, opcode } = self.bits;
        [
            ("advance", 1),
            ("request_valid", 1),
            ("index", index),
            ("predicate", 1),
            ("data_1", data),
            ("opcode_1", opcode),
            ("data_0", data),
            ("opcode_0", opcode),
        ]
    }

    /// Writes the parameters of its instance.
    pub(super) fn parameters(&self) -> String {
        let of_values = self.bits.parameters(self.width, self.latency);
        format!(".PORTS({}), {of_values}", self.ports.len())
    }
}

/// Gives the cycle, from a header's arrival, in which the model lets a packet's control do what it does: that in which
/// reassembly looks. An event's control does so at once.
pub(super) fn looked_up(program: &Program) -> u32 {
    if program.states.is_empty() {
        return 0;
    }
    let asked = program.externs.iter().position(|it| normal(&it.name) == "getrxmsginfo");
    let asked = asked.and_then(|number| program.stages.externs[number]);
    asked.map_or(1, |asked| asked.from) + 1
}
