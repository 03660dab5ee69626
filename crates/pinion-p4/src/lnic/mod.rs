//! The published interface between a transport's two programs and the nanoPU's NIC (`lnic.p4`): which of
//! their fields and externs mean what. In: names of files. Out: the programs, compiled, with the
//! registers that the NIC fills and reads. The NIC itself is not known here.

pub mod alone;
mod bind;
mod bound;
pub mod event;
pub mod fields;
pub mod kept;
pub mod pending;
mod places;
pub mod table;
pub mod unit;

use std::fmt::Write as _;
use std::sync::Arc;

use crate::flat::{Flat, Interface, Register};
use crate::library::{Library, Shipped};
use crate::preprocessor::Files;
use crate::program::{Program, Slot, StepKind, TableShape, ValueKind, visit};
use crate::source::Sources;
use crate::stages::fewest_headers;
use crate::table::entries::{self, Change};

use alone::Told;
use bind::Units;
use bound::at_sites;
use event::Handler;
use fields::{EGRESS, Layout, Parameters, RECORD_BYTES, SEEN, Seen, SeenBytes, parameters, said};
use places::Head;
use unit::{Unit, normal};

/// Where an IPv4 header says its protocol.
const PROTOCOL_OFFSET: usize = 23;
/// The bit at which an IPv4 header behind Ethernet says where it comes from.
const SOURCE_BIT: u32 = 8 * 26;

/// The ingress program.
pub struct Ingress {
    /// The program.
    pub flat: Flat,
    /// By extern: the unit that it stands for.
    pub units: Vec<Unit>,
    /// By site: its unit, with registers for fields.
    pub asked: Vec<Unit>,
    /// Registers of its parameters.
    pub parameters: Parameters,
    /// `smeta.drop`.
    pub drop: Option<Register>,
    /// `smeta.reason`.
    pub reason: Option<Register>,
    /// What it says of a packet, if it asks none of the NIC's units.
    pub told: Option<Told>,
    /// `smeta.send`.
    pub send: Option<Register>,
    /// Its deparser puts headers in front of payloads.
    pub deparses: bool,
    /// Its controls of events.
    pub handlers: Vec<Handler>,
    /// Register arrays that it and they have.
    pub arrays: usize,
    /// Their tables.
    pub tables: Vec<Arc<TableShape>>,
    /// Fields that others look at, where they are the same bytes of every frame.
    pub bytes: SeenBytes,
    /// These are where one of the NIC's own transports has them, all of them.
    pub layout: Option<Layout>,
    /// Fields that others look at, of the rest.
    pub seen: Vec<(Seen, Register)>,
    /// Bytes of the shortest headers that the parser takes.
    pub shortest_bytes: usize,
    /// It asks which message a packet belongs to.
    pub has_reassembly: bool,
    /// Reads that may find nothing, in words.
    pub watched: Vec<String>,
    /// All of it as one file.
    pub text: String,
    cycles: u32,
    lookup_cycles: u32,
}

/// The egress program.
pub struct Egress {
    /// The program.
    pub flat: Flat,
    /// By extern: the unit that it stands for.
    pub units: Vec<Unit>,
    /// By site: its unit, with registers for fields.
    pub asked: Vec<Unit>,
    /// Registers of its parameters.
    pub parameters: Parameters,
    /// Bytes of all headers that it sends.
    pub header_bytes: usize,
    /// The IPv4 protocol that it writes.
    pub protocol: u8,
    /// How the record is laid out that it is given: as its frames are, if these are those of a transport of the
    /// NIC's own.
    pub layout: Layout,
    /// `meta.meta.window`, if it sets that.
    pub window: Option<Register>,
    /// Its register arrays.
    pub arrays: usize,
    /// Its tables.
    pub tables: Vec<Arc<TableShape>>,
    /// Reads that may find nothing, in words.
    pub watched: Vec<String>,
    /// All of it as one file.
    pub text: String,
    cycles: u32,
}

/// Gives the cycles of a transport's pipelines, from a header's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineCycles {
    /// Until reassembly looks its message up.
    pub lookup: u64,
    /// Until its requests to the transmit side take effect.
    pub decide: u64,
    /// Of the egress pipeline, beyond those of the machine.
    pub egress: u64,
}

/// Two programs, compiled.
pub struct Pipelines {
    /// For packets on their way in.
    pub ingress: Ingress,
    /// For packets on their way out.
    pub egress: Egress,
    /// Changes of tables, those of the ingress program first, by their cycles.
    pub changes: Vec<Change>,
    /// The file that they are written in.
    pub changes_text: Option<String>,
}

impl std::fmt::Debug for Pipelines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipelines").finish_non_exhaustive()
    }
}

/// A program that is right, and its files.
struct Read {
    program: Program,
    sources: Sources,
}

/// Reads a program.
fn read(name: &str, files: &dyn Files) -> Result<Read, String> {
    let checked = crate::load(name, files).map_err(|why| format!("cannot read {name}: {why}"))?;
    if checked.found.errors() > 0 {
        return Err(format!(
            "{name} is no program:\n\n{}",
            checked.found.to_text(&checked.sources, false).trim_end()
        ));
    }
    let none = format!("{name} has no `main`; name a file with a whole pipeline");
    Ok(Read { program: checked.program.ok_or(none)?, sources: checked.sources })
}

impl Read {
    /// Compiles it for those who have to do with it.
    fn compile(&self, interface: &Interface) -> Result<(Flat, Vec<String>), String> {
        let flat = Flat::compile(&self.program, interface)?;
        let mut watched = Vec::new();
        for read in &flat.watched {
            let mut text = String::new();
            let _ = write!(text, "{}: reads {}", self.sources.place(read.span), read.what);
            watched.push(text);
        }
        Ok((flat, watched))
    }
}

impl Pipelines {
    /// Reads, checks, compiles and binds two programs. The error names the key of the file.
    ///
    /// # Errors
    /// The key of the program that is wrong, and what is.
    pub fn load(
        ingress: &str,
        egress: &str,
        tables: Option<&str>,
    ) -> Result<Self, (&'static str, String)> {
        let mut both = Self::read([ingress, egress], &Library)?;
        if let Some(file) = tables {
            let (changes, text) = both.entries(file).map_err(|why| ("transport.tables", why))?;
            (both.changes, both.changes_text) = (changes, Some(text));
        }
        if both.egress.window.is_some() && !both.is_acknowledged() {
            let why = format!(
                "{egress} sets meta.meta.window, but {ingress} has no delivered_event: messages have \
                 one packet, and no answer comes"
            );
            return Err(("transport.egress", why));
        }
        Ok(both)
    }

    /// Reads the two programs of this name that Pinion comes with.
    ///
    /// # Errors
    /// There are none.
    pub fn shipped(name: &str) -> Result<Self, (&'static str, String)> {
        let files = ["ingress", "egress"].map(|part| format!("sdk/p4/{name}/{part}.p4"));
        Self::read(files.each_ref().map(String::as_str), &Shipped)
    }

    fn read(
        [ingress, egress]: [&str; 2],
        files: &dyn Files,
    ) -> Result<Self, (&'static str, String)> {
        let ingress = Ingress::load(ingress, files).map_err(|why| ("transport.ingress", why))?;
        let before = ingress.tables.len();
        let egress =
            Egress::load(egress, files, before).map_err(|why| ("transport.egress", why))?;
        Ok(Self { ingress, egress, changes: Vec::new(), changes_text: None })
    }

    /// Lists all tables, those of the ingress program first.
    pub fn tables(&self) -> Vec<Arc<TableShape>> {
        self.ingress.tables.iter().chain(&self.egress.tables).cloned().collect()
    }

    fn entries(&self, file: &str) -> Result<(Vec<Change>, String), String> {
        let shapes = self.tables();
        if shapes.is_empty() {
            return Err("the programs have no tables".to_owned());
        }
        let text =
            crate::library::text(file).map_err(|why| format!("cannot read {file}: {why}"))?;
        entries::read(file, &text, &shapes)
            .map(|changes| (changes, text))
            .map_err(|why| format!("{file} has no entries for these programs:\n\n{why}"))
    }

    fn asks(&self, wanted: fn(&Unit) -> bool) -> bool {
        self.ingress.units.iter().any(wanted)
    }

    /// Tells whether the ingress program tells packetization what has arrived.
    pub fn is_acknowledged(&self) -> bool {
        self.asks(|unit| matches!(unit, Unit::Delivered(_)))
    }

    /// Tells whether the packet generator makes a frame for each flag.
    pub fn is_apart(&self) -> bool {
        self.asks(|unit| matches!(unit, Unit::Control { flag: Some(_), .. }))
    }

    /// Gives the cycles that the pipelines take.
    pub fn cycles(&self) -> PipelineCycles {
        let lookup = self.ingress.lookup_cycles;
        PipelineCycles {
            lookup: lookup.into(),
            decide: self.ingress.cycles.max(lookup).into(),
            egress: self.egress.cycles.into(),
        }
    }
}

impl Ingress {
    fn load(name: &str, files: &dyn Files) -> Result<Self, String> {
        let read = read(name, files)?;
        let program = &read.program;
        let mut bound = Units::default();
        let units = bound.bind(&read, program)?;
        let handlers: Result<Vec<_>, _> =
            program.events.iter().map(|event| Handler::of(&read, event, &mut bound)).collect();
        let handlers = handlers?;
        let send = alone::written(program, "smeta.send");
        let drop = program.find("smeta.drop");
        let reason = alone::written(program, "smeta.reason");
        let told = alone::told(program, &units)?;
        let seen = seen_fields(program);
        let places = places::places(program);
        let mut bytes = SeenBytes::default();
        let mut parsed: Vec<(Seen, Slot)> = Vec::new();
        for &(field, slot) in &seen {
            let width = program.slots[slot as usize].width;
            if !bytes.note(field, places[slot as usize], width) {
                parsed.push((field, slot));
            }
        }
        // What units know of the packet themselves.
        let source = (0..places.len())
            .find(|&slot| places[slot] == Some(SOURCE_BIT) && program.slots[slot].width == 32);
        let source = source.map(|slot| slot as Slot);
        let mut known = Vec::new();
        for (external, unit) in units.iter().enumerate() {
            for (place, field) in unit.own_fields() {
                let slot = match field {
                    Some(field) => {
                        seen.iter().find(|(seen, _)| *seen == field).map(|(_, slot)| *slot)
                    }
                    None => source,
                };
                known.extend(place.zip(slot).map(|(place, slot)| (external, place, slot)));
            }
        }
        let mut unread = Vec::new();
        for (external, unit) in units.iter().enumerate() {
            let read = unit.read_fields();
            let fields = 0..program.externs[external].request.len();
            let rest = fields.filter(|field| !read.contains(&Some(*field)));
            unread.extend(rest.map(|field| (external, field)));
        }
        let mut decided: Vec<Slot> = drop.into_iter().chain(reason).collect();
        decided.extend(told.iter().flatten().flatten());
        decided.extend(send);
        let mut deparses = send.is_some();
        visit(&program.deparser, &mut |step| {
            deparses |= told.is_some() && matches!(step.kind, StepKind::Emit(..));
        });
        let head = Head::of(program, &places);
        let (flat, watched) = read.compile(&Interface {
            inputs: &parameters(program),
            fields: &head.fields,
            valid: &head.valid,
            record_bytes: RECORD_BYTES as u32,
            parsed: &parsed.iter().map(|(_, slot)| *slot).collect::<Vec<_>>(),
            decided: &decided,
            known: &known,
            unread: &unread,
            said: &[],
            deparses,
        })?;
        let asked = program.externs.iter().position(|e| normal(&e.name) == "getrxmsginfo");
        let has_reassembly = asked.is_some();
        let asked = asked.and_then(|number| program.stages.externs[number]);
        Ok(Self {
            parameters: Parameters::of(program, &flat),
            drop: drop.and_then(|slot| flat.decided(slot)),
            reason: reason.and_then(|slot| flat.decided(slot)),
            told: told.map(|slots| Told::of(slots, &flat)),
            send: send.and_then(|slot| flat.decided(slot)),
            deparses,
            handlers,
            arrays: bound.arrays.len(),
            tables: bound.tables,
            layout: bytes.layout().filter(|_| parsed.is_empty()),
            bytes,
            seen: parsed
                .into_iter()
                .filter_map(|(what, slot)| Some((what, flat.register(slot)?)))
                .collect(),
            shortest_bytes: fewest_headers(program) as usize / 8,
            has_reassembly,
            cycles: program.stages.cycles,
            // The unit looks at its table a cycle after the request; a whole message takes a buffer when its
            // first word is parsed.
            lookup_cycles: asked.map_or(1, |asked| asked.from) + 1,
            watched,
            text: read.sources.merged(),
            asked: at_sites(&units, &flat),
            units,
            flat,
        })
    }
}

impl Egress {
    fn load(name: &str, files: &dyn Files, before: usize) -> Result<Self, String> {
        let read = read(name, files)?;
        let program = &read.program;
        let mut bound = Units { before, ..Units::default() };
        let units = bound.bind(&read, program)?;
        if let Some(event) = program.events.first() {
            let place = read.sources.place(event.span);
            return Err(format!(
                "{place}: events are handled by the program for packets on their way in"
            ));
        }
        let on_both_ways = |unit: &Unit| {
            matches!(unit, Unit::Array(_) | Unit::Delay { .. } | Unit::Priority(_) | Unit::Table(_))
        };
        if let Some(unit) = units.iter().position(|unit| !on_both_ways(unit)) {
            let external = &program.externs[unit];
            let place = read.sources.place(external.span);
            return Err(format!("{place}: {} is asked on the way in alone", external.name));
        }
        if program.stages.parser > 0 {
            return Err(format!("{name}: packets on their way out have no headers to extract yet"));
        }
        let drop = program.find("smeta.drop");
        let (mut header_bytes, mut problem) = (0, None);
        visit(&program.deparser, &mut |step| {
            if let StepKind::Emit(number, certain) = step.kind {
                let header = &program.headers[number as usize];
                header_bytes += header.bits as usize / 8;
                if !certain {
                    problem = Some(format!("{} is sent with some packets only", header.name));
                }
            }
        });
        let mut protocol_fields = Vec::new();
        visit(&program.control, &mut |step| match &step.kind {
            StepKind::Set(slot, _) if Some(*slot) == drop => {
                problem = Some("packets are not dropped on their way out".to_owned());
            }
            StepKind::Set(slot, value) => {
                if let ValueKind::Constant(value) = value.kind {
                    protocol_fields.push((*slot, value as u8));
                }
            }
            _ => {}
        });
        if let Some(problem) = problem {
            return Err(format!("{name}: {problem}; the NIC needs headers of one length"));
        }
        let inputs = parameters(program);
        let layout = sent_layout(program);
        let told = EGRESS.iter().filter_map(|(name, bit)| {
            Some((program.find(&format!("meta.{name}"))?, layout.bit(*bit)))
        });
        let fields: Vec<(Slot, u32)> = told.collect();
        let window = alone::written(program, "meta.meta.window");
        let sent = places::sent(program);
        let at = sent.iter().find(|(_, bit)| *bit == 8 * PROTOCOL_OFFSET as u32).map(|it| it.0);
        let protocol = protocol_fields.iter().find(|(slot, _)| Some(*slot) == at);
        let protocol = protocol.map_or(0, |(_, value)| *value);
        let interface = Interface {
            inputs: &inputs,
            decided: window.as_slice(),
            fields: &fields,
            record_bytes: RECORD_BYTES as u32,
            said: &said(protocol, layout),
            deparses: true,
            ..Interface::default()
        };
        let (flat, watched) = read.compile(&interface)?;
        Ok(Self {
            parameters: Parameters::of(program, &flat),
            header_bytes,
            protocol,
            layout,
            window: window.and_then(|slot| flat.decided(slot)),
            watched,
            text: read.sources.merged(),
            cycles: program.stages.cycles,
            arrays: bound.arrays.len(),
            tables: bound.tables,
            asked: at_sites(&units, &flat),
            units,
            flat,
        })
    }
}

/// Makes the units of a program that has tables alone, for who has no NIC.
pub fn table_units(program: &Program) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for shape in &program.tables {
        let mut table = table::TableUnit::of(shape);
        table.store = units.len();
        units.push(Unit::Table(table));
    }
    units
}

/// Finds the fields that others look at: of each name that of the last header that has one, the
/// transport's own.
fn seen_fields(program: &Program) -> Vec<(Seen, Slot)> {
    let mut seen: Vec<(Seen, Slot)> = Vec::new();
    let (first, count) = program.regions[0];
    for slot in first..first + count {
        let info = &program.slots[slot as usize];
        let field = normal(info.name.rsplit('.').next().unwrap_or(""));
        let Some((_, what)) = SEEN.iter().find(|(known, _)| *known == field) else { continue };
        if info.header.is_some() && info.width <= 64 {
            seen.retain(|(known, _)| known != what);
            seen.push((*what, slot));
        }
    }
    seen
}

/// Finds out as which of the NIC's own transports an egress program lays out its frames; as NDP, if as none.
fn sent_layout(program: &Program) -> Layout {
    let (places, mut bytes) = (places::sent(program), SeenBytes::default());
    for (field, slot) in seen_fields(program) {
        let place = places.iter().find(|(sent, _)| *sent == slot);
        bytes.note(field, place.map(|(_, bit)| *bit), program.slots[slot as usize].width);
    }
    bytes.layout().unwrap_or_default()
}
