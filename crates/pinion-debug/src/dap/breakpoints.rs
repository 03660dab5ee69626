//! Breakpoints: at lines, functions and instructions, where handlers go wrong, where memory changes.
//! Each request gives all of its kind anew.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::clauses::{Clauses, Hit};
use super::requests::{Answer, Session, read};
use super::variables::reference;
use crate::conditions::{Access, Event, Watchpoint};

/// Watchpoints there may be.
const WATCHPOINTS_MAX: usize = 64;

/// A breakpoint of an editor.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    id: u64,
    /// Where it stops: instructions, or the first byte of memory that is watched.
    addresses: Vec<u64>,
    clauses: Clauses,
    /// Where it was hit, in the order of the run.
    hits: Vec<Hit>,
}

/// All of an editor's.
#[derive(Debug, Default)]
pub struct Breakpoints {
    by_source: BTreeMap<String, Vec<Breakpoint>>,
    of_functions: Vec<Breakpoint>,
    of_instructions: Vec<Breakpoint>,
    of_data: Vec<Breakpoint>,
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
    #[serde(flatten)]
    clauses: Clauses,
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
    #[serde(flatten)]
    clauses: Clauses,
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
    #[serde(flatten)]
    clauses: Clauses,
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
    #[serde(flatten)]
    clauses: Clauses,
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

    /// Makes a breakpoint anew; one that was there already, among `before`, keeps its hits.
    fn renew(
        &self,
        id: u64,
        addresses: Vec<u64>,
        clauses: Clauses,
        before: &[Breakpoint],
    ) -> Breakpoint {
        let is_it = |known: &&Breakpoint| known.addresses == addresses && known.clauses == clauses;
        let hits = before.iter().find(is_it).map(|known| known.hits.clone()).unwrap_or_default();
        Breakpoint { id, addresses, clauses, hits }
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

    /// Lists those on memory that begins at an address.
    pub fn on(&self, address: u64) -> Vec<u64> {
        let meant = self.of_data.iter().filter(|one| one.addresses.contains(&address));
        meant.map(|one| one.id).collect()
    }

    /// Gives what one says beside its place.
    pub fn clauses(&self, id: u64) -> Option<&Clauses> {
        self.all().chain(&self.of_data).find(|one| one.id == id).map(|one| &one.clauses)
    }

    /// Notes that one was hit; gives the hit's number, counted from 1.
    pub fn count(&mut self, id: u64, hit: Hit) -> u64 {
        let by_source = self.by_source.values_mut().flatten();
        let others = [&mut self.of_functions, &mut self.of_instructions, &mut self.of_data];
        let mut all = by_source.chain(others.into_iter().flatten());
        let Some(one) = all.find(|one| one.id == id) else { return 0 };
        let index = one.hits.partition_point(|known| *known < hit);
        if one.hits.get(index) != Some(&hit) {
            one.hits.insert(index, hit);
        }
        index as u64 + 1
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
        let before = self.breakpoints.by_source.remove(&path).unwrap_or_default();
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for AtLine { line, clauses } in breakpoints {
            let id = self.breakpoints.number();
            if let Err(why) = clauses.check() {
                told.push(unverified(id, why));
                continue;
            }
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
            kept.push(self.breakpoints.renew(id, addresses, clauses, &before));
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
        let before = std::mem::take(&mut self.breakpoints.of_functions);
        for Named { name, clauses } in breakpoints {
            let id = self.breakpoints.number();
            if let Err(why) = clauses.check() {
                told.push(unverified(id, why));
                continue;
            }
            match self.symbols.body_of(&name) {
                Some(address) => {
                    kept.push(self.breakpoints.renew(id, vec![address], clauses, &before));
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
        let before = std::mem::take(&mut self.breakpoints.of_instructions);
        for At { instruction_reference, offset, clauses } in breakpoints {
            let id = self.breakpoints.number();
            if let Err(why) = clauses.check() {
                told.push(unverified(id, why));
                continue;
            }
            let address = self.address(&instruction_reference)?.wrapping_add_signed(offset);
            match self.symbols.has_code(address) {
                true => {
                    kept.push(self.breakpoints.renew(id, vec![address], clauses, &before));
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
        let before = std::mem::take(&mut self.breakpoints.of_data);
        let (mut kept, mut told) = (Vec::new(), Vec::new());
        for Data { data_id, access_type, clauses } in breakpoints {
            let id = self.breakpoints.number();
            if let Err(why) = clauses.check() {
                told.push(unverified(id, why));
                continue;
            }
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
            let renewed = self.breakpoints.renew(id, vec![given], clauses, &before);
            self.breakpoints.of_data.push(renewed);
            kept.push(Watchpoint { given, bytes, access, places: vec![given] });
            told.push(json!({ "id": id, "verified": true }));
        }
        self.console.timeline.conditions.watchpoints = kept;
        self.conditions_changed();
        Ok(json!({ "breakpoints": told }))
    }
}
