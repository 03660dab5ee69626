//! Register arrays as a control asks them: inside its module, or beside it if others reach them, too. In: requests.
//! Out: text.

use super::UnitPorts;
use super::design::Request;
use super::names::{literal, range};
use super::shared::{Bits, Shared};
use super::values::Writer;
use pinion_p4::lnic::unit::Array;

impl Writer<'_> {
    /// Gives the array that a unit is a port of.
    pub(super) fn shared_of(&self, unit: &UnitPorts) -> Option<&Shared> {
        Shared::find(self.shared, &self.program.externs[unit.external])
    }

    /// Writes a register array.
    pub(super) fn array(&mut self, unit: &UnitPorts, request: &Request, array: &Array) {
        let external = &self.program.externs[unit.external];
        let bits = Bits::of(array, external);
        let width = external.response.first().map_or(1, |(_, width)| *width);
        let name = &unit.name;
        self.line(format!("    wire {}{name}_new_value;", range(width)));
        self.line(format!(
            "    register_array #(\n        {}\n    ) {name} (",
            bits.parameters(width, unit.to - unit.from)
        ));
        self.line("        .clock(clock), .reset(reset), .advance(advance),");
        let (held, asked) = (self.held(unit.from), self.all(unit.from, request.asked));
        self.line(format!("        .request_valid({held} & {asked}),"));
        for (port, value) in self.asked_of(unit, request, array, bits) {
            self.line(format!("        .{port}({value}),"));
        }
        self.line(format!("        .new_value({name}_new_value)\n    );"));
    }

    /// Writes a request to a register array that stands beside.
    pub(super) fn shared_array(&mut self, unit: &UnitPorts, request: &Request, array: &Array) {
        let Some(bits) = self.shared_of(unit).map(|shared| shared.bits) else { return };
        let name = &unit.name;
        let (held, asked) = (self.held(unit.from), self.all(unit.from, request.asked));
        self.line(format!("    assign {name}_advance = advance;"));
        self.line(format!("    assign {name}_request_valid = {held} & {asked};"));
        for (port, value) in self.asked_of(unit, request, array, bits) {
            self.line(format!("    assign {name}_{port} = {value};"));
        }
    }

    /// Gives what an array is asked for, by port.
    fn asked_of(
        &mut self,
        unit: &UnitPorts,
        request: &Request,
        array: &Array,
        bits: Bits,
    ) -> Vec<(&'static str, String)> {
        let mut asked = Vec::new();
        for (port, place, width) in [
            ("index", array.index, bits.index),
            ("predicate", array.predicate, 1),
            ("data_1", array.data[1], bits.data),
            ("opcode_1", array.opcode[1], bits.opcode),
            ("data_0", array.data[0], bits.data),
            ("opcode_0", array.opcode[0], bits.opcode),
        ] {
            let node = place.map(|place| request.fields[place]);
            let own = node.map_or(width, |node| self.width(node));
            let value = node.map_or(literal(0, width), |node| self.all(unit.from, node));
            let value = match (port, own < width) {
                ("predicate", _) if own > 1 => format!("|{value}"),
                (_, true) => format!("{{{}, {value}}}", literal(0, width - own)),
                _ => value,
            };
            asked.push((port, value));
        }
        asked
    }
}
