//! Breakpoints: at lines, functions and instructions, where handlers go wrong, where memory changes.
//! Each request gives all of its kind anew.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::requests::{Answer, Session, read};
use super::variables::reference;
use crate::conditions::{Access, Event, Watchpoint};

/// Watchpoints there may be.
const WATCHPOINTS_MAX: usize = 64;

/// A breakpoint of an editor.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    id: u64,
    addresses: Vec<u64>,
}

/// All of an editor's.
#[derive(Debug, Default)]
pub struct Breakpoints {
    by_source: BTreeMap<String, Vec<Breakpoint>>,
    of_functions: Vec<Breakpoint>,
    of_instructions: Vec<Breakpoint>,
    last_id: u64,
}

#[derive(Deserialize)]
struct Source {
    path: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct AtLine {
    line: u32,
}

#[derive(Deserialize)]
struct Lines {
    source: Source,
    #[serde(default)]
    breakpoints: Vec<AtLine>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Functions {
    breakpoints: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct At {
    instruction_reference: String,
    #[serde(default)]
    offset: i64,
}

#[derive(Deserialize)]
struct Instructions {
    breakpoints: Vec<At>,
}

#[derive(Deserialize)]
struct Filters {
    filters: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataInfo {
    name: String,
    variables_reference: Option<u64>,
    frame_id: Option<u64>,
    bytes: Option<u64>,
    #[serde(default)]
    as_address: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    data_id: String,
    access_type: Option<String>,
}

#[derive(Deserialize)]
struct DataBreakpoints {
    breakpoints: Vec<Data>,
}

impl Breakpoints {
    fn number(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn all(&self) -> impl Iterator<Item = &Breakpoint> {
        let by_source = self.by_source.values().flatten();
        by_source.chain(&self.of_functions).chain(&self.of_instructions)
    }

    /// Lists the addresses of all.
    pub fn addresses(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.all().flat_map(|one| one.addresses.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Lists those that an address is one of.
    pub fn at(&self, address: u64) -> Vec<u64> {
        let meant = self.all().filter(|one| one.addresses.contains(&address));
        meant.map(|one| one.id).collect()
    }
}

/// Says that there is no code to stop at.
fn unverified(id: u64, why: String) -> Value {
    json!({ "id": id, "verified": false, "message": why })
}

impl Session<'_, '_> {
    pub fn set_breakpoints(&mut self, arguments: Value) -> Answer {
        let Lines { source, breakpoints } = read(arguments)?;
        let path = source.path.or(source.name).unwrap_or_default();
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for AtLine { line } in breakpoints {
            let id = self.breakpoints.number();
            let Some((found, addresses)) = self.symbols.lines().statements(&path, line) else {
                let why = format!("the program has no code of line {line} or behind it");
                told.push(unverified(id, why));
                continue;
            };
            let addresses = self.firsts(&addresses);
            told.push(json!({
                "id": id,
                "verified": true,
                "line": found,
                "source": { "path": path },
                "instructionReference": addresses.first().map(|at| reference(*at)),
            }));
            kept.push(Breakpoint { id, addresses });
        }
        self.breakpoints.by_source.insert(path, kept);
        self.conditions_changed();
        Ok(json!({ "breakpoints": told }))
    }

    /// Leaves of a line's statements the first one of each function, and of each that was inlined: a
    /// line that was compiled to several stretches is one line.
    fn firsts(&self, addresses: &[u64]) -> Vec<u64> {
        let mut seen: Vec<Vec<*const ()>> = Vec::new();
        let mut firsts = Vec::new();
        for address in addresses {
            let levels = self.symbols.levels(*address);
            let heads = levels.iter().filter_map(|level| level.first());
            let place: Vec<*const ()> =
                heads.map(|scope| std::ptr::from_ref(*scope).cast()).collect();
            if place.is_empty() || !seen.contains(&place) {
                seen.push(place);
                firsts.push(*address);
            }
        }
        firsts
    }

    pub fn set_function_breakpoints(&mut self, arguments: Value) -> Answer {
        let Functions { breakpoints } = read(arguments)?;
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for Named { name } in breakpoints {
            let id = self.breakpoints.number();
            match self.symbols.body_of(&name) {
                Some(address) => {
                    kept.push(Breakpoint { id, addresses: vec![address] });
                    let row = self.symbols.lines().row(address);
                    told.push(json!({
                        "id": id,
                        "verified": true,
                        "line": row.map(|row| row.line),
                        "source": row.map(|row| {
                            json!({ "path": self.symbols.lines().file(row.file) })
                        }),
                        "instructionReference": reference(address),
                    }));
                }
                None => told.push(unverified(id, format!("the program has no function `{name}`"))),
            }
        }
        self.breakpoints.of_functions = kept;
        self.conditions_changed();
        Ok(json!({ "breakpoints": told }))
    }

    pub fn set_instruction_breakpoints(&mut self, arguments: Value) -> Answer {
        let Instructions { breakpoints } = read(arguments)?;
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for At { instruction_reference, offset } in breakpoints {
            let id = self.breakpoints.number();
            let address = self.address(&instruction_reference)?.wrapping_add_signed(offset);
            match self.symbols.has_code(address) {
                true => {
                    kept.push(Breakpoint { id, addresses: vec![address] });
                    let at = reference(address);
                    told.push(json!({ "id": id, "verified": true, "instructionReference": at }));
                }
                false => told.push(unverified(id, format!("there is no code at {address:#x}"))),
            }
        }
        self.breakpoints.of_instructions = kept;
        self.conditions_changed();
        Ok(json!({ "breakpoints": told }))
    }

    pub fn set_exception_breakpoints(&mut self, arguments: Value) -> Answer {
        let Filters { filters } = read(arguments)?;
        let events = &mut self.console.timeline.conditions.events;
        for (name, event) in [("fault", Event::Fault), ("drop", Event::Drop)] {
            events.retain(|known| *known != event);
            if filters.iter().any(|filter| filter == name) {
                events.push(event);
            }
        }
        self.conditions_changed();
        Ok(Value::Null)
    }

    pub fn data_breakpoint_info(&mut self, arguments: Value) -> Answer {
        let info: DataInfo = read(arguments)?;
        let found = match info.as_address {
            true => Ok((self.address(&info.name)?, info.bytes.unwrap_or(4))),
            false => self.place_of(info.variables_reference, info.frame_id, &info.name),
        };
        let (address, bytes) = match found {
            Ok((address, bytes)) => (address, info.bytes.unwrap_or(bytes)),
            Err(why) => return Ok(json!({ "dataId": null, "description": why })),
        };
        let hart = self.console.focus;
        // An address that means each cluster's own memory is this cluster's.
        let common = self.console.timeline.machine().common(hart, address);
        Ok(json!({
            "dataId": format!("{common:#x}/{bytes}"),
            "description": format!("{} ({bytes} B at {common:#x})", info.name),
            "accessTypes": ["read", "write", "readWrite"],
            "canPersist": false,
        }))
    }

    pub fn set_data_breakpoints(&mut self, arguments: Value) -> Answer {
        let DataBreakpoints { breakpoints } = read(arguments)?;
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for Data { data_id, access_type } in breakpoints {
            let id = self.breakpoints.number();
            let place = data_id.split_once('/').and_then(|(address, bytes)| {
                let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
                Some((address, bytes.parse().ok().filter(|bytes| *bytes > 0)?))
            });
            let Some((given, bytes)) = place.filter(|_| kept.len() < WATCHPOINTS_MAX) else {
                let why = match place {
                    Some(_) => format!("there are {WATCHPOINTS_MAX} already"),
                    None => format!("`{data_id}` is none of pinion's"),
                };
                told.push(unverified(id, why));
                continue;
            };
            let access = match access_type.as_deref() {
                Some("read") => Access::Read,
                Some("readWrite") => Access::Any,
                _ => Access::Write,
            };
            kept.push(Watchpoint { given, bytes, access, places: vec![given] });
            told.push(json!({ "id": id, "verified": true }));
        }
        self.console.timeline.conditions.watchpoints = kept;
        self.conditions_changed();
        Ok(json!({ "breakpoints": told }))
    }
}
