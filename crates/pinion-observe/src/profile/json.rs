//! The profile for programs.

use serde_json::{Map, Value, json};

use super::rows::Rows;
use super::{Cause, Count, Profile};
use crate::document::Document;

impl Profile<'_> {
    /// Writes it for programs: everything that the text has, whole.
    pub fn to_json(&self, rows: &Rows) -> Value {
        let class = |(index, class): (usize, &super::Class)| {
            let of_class = self.of_class(index);
            json!({
                "name": class.name,
                "context": class.context,
                "kind": class.kind,
                "runs": class.runs,
                "instructions": of_class.instructions,
                "cycles": cycles(&of_class),
            })
        };
        let function = |row: &super::rows::FunctionRow| {
            json!({
                "name": row.name,
                "instructions": row.count.instructions,
                "cycles": cycles(&row.count),
            })
        };
        let line = |row: &super::rows::LineRow| {
            json!({
                "file": (row.line > 0).then_some(&row.file),
                "line": (row.line > 0).then_some(row.line),
                "function": row.function,
                "instructions": row.count.instructions,
                "cycles": cycles(&row.count),
            })
        };
        let packets = |row: &super::PacketRow| {
            json!({
                "context": row.context,
                "to_bytes": row.to_bytes,
                "packets": row.packets,
                "instructions": row.count.instructions,
                "cycles": cycles(&row.count),
            })
        };
        let hart = |(index, hart): (usize, &super::Hart)| {
            let of_hart = self.of_hart(index);
            json!({
                "name": hart.name,
                "instructions": of_hart.instructions,
                "cycles": cycles(&of_hart),
            })
        };
        let came = |index: &usize| self.of_class(*index).total() > 0;
        let classes =
            (0..self.classes.len()).filter(came).map(|index| class((index, &self.classes[index])));
        json!({
            "document": Document::Profile.head(),
            "app": self.app,
            "machine": self.machine,
            "cycles": self.cycles,
            "total_cycles": self.total(),
            "sum": cycles(&self.sum()),
            "classes": classes.collect::<Vec<_>>(),
            "functions": rows.functions.iter().map(function).collect::<Vec<_>>(),
            "lines": rows.lines.iter().map(line).collect::<Vec<_>>(),
            "packets": self.packets.iter().map(packets).collect::<Vec<_>>(),
            "harts": self.harts.iter().enumerate().map(hart).collect::<Vec<_>>(),
        })
    }
}

/// Writes cycles by cause; those that did not come are left out.
fn cycles(of: &Count) -> Map<String, Value> {
    let mut all = Map::new();
    for cause in Cause::ALL {
        let cycles = of.cycles[cause as usize];
        if cycles > 0 {
            all.insert(cause.name().to_owned(), cycles.into());
        }
    }
    all
}
