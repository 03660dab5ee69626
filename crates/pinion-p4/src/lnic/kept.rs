//! What lasts from packet to packet beside a program's registers: register arrays, tables with their entries,
//! timers, and what was counted. In: requests of a program's externs. Out: answers. Controls of one
//! program share it.

use std::collections::BTreeMap;

use super::Pipelines;
use super::pending::Messages;
use super::unit::{Array, Place, Start, Unit};
use crate::flat::{REGISTERS, Words};
use crate::program::{EventKind, KeyKind};
use crate::table::entries::Change;
use crate::table::{Entry, Table};

/// Entries of a register array at least.
const LEAST_ENTRIES: usize = 64;
/// Timers that may run at a time.
const MOST_TIMERS: usize = 4096;

/// The fields of a request, of which there are registers.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a Words);

impl Fields<'_> {
    /// Gives a field. One that the program's type lacks is 0.
    #[inline]
    pub fn get(self, place: Place) -> u64 {
        self.or(place, 0)
    }

    /// Gives a field, or what the unit knows itself.
    #[inline]
    pub fn or(self, place: Place, own: u64) -> u64 {
        place.map_or(own, |register| self.0[register % REGISTERS])
    }
}

/// Holds what lasts of a program.
#[derive(Clone, Debug)]
pub struct Kept {
    arrays: Vec<Vec<u64>>,
    /// Homa's table of incoming messages.
    pub messages: Messages,
    /// Homa: priorities of messages of ours.
    pub priorities: Vec<u64>,
    /// Tables of both programs, of which each looks into its own.
    tables: Vec<Table>,
    /// It is the ingress program's.
    is_ingress: bool,
    /// The first and last of these that are its own.
    own: std::ops::Range<usize>,
    /// Number of the next change that was written for a cycle.
    next_change: usize,
    /// By number: when a timer fires.
    timers: BTreeMap<u16, u64>,
    /// Timers that found no room.
    lost_timers: u64,
    /// By kind: events that were handled.
    events: [u64; EventKind::ALL.len()],
    /// Frames that left by the way they came.
    pub returned: u64,
    /// The cycle of the packet or event at hand.
    pub now: u64,
    /// That in which its requests take effect.
    pub decided: u64,
}

/// What tables and events have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The program's tables.
    pub tables: Vec<TableCounts>,
    /// Events that its controls have handled.
    pub events: Vec<(EventKind, u64)>,
    /// Packets that went back to the network, and headers made into packets.
    pub returned: Option<u64>,
    /// Timers that could not be started.
    pub lost_timers: u64,
}

/// What a table has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCounts {
    /// Its name.
    pub name: String,
    /// Entries that it has room for.
    pub size: u32,
    /// Packets that no entry fitted.
    pub misses: u64,
    /// Entries, as a file would have them, with the packets that each fitted.
    pub entries: Vec<(String, u64)>,
}

impl Kept {
    /// Makes it for the ingress program, or for the egress program.
    pub fn new(pipelines: &Pipelines, is_ingress: bool, messages: usize) -> Self {
        let shapes = pipelines.tables();
        let first = pipelines.ingress.tables.len();
        let (own, arrays) = match is_ingress {
            true => (0..first, pipelines.ingress.arrays),
            false => (first..shapes.len(), pipelines.egress.arrays),
        };
        let units = &pipelines.ingress.units;
        let has_messages = units.iter().any(|unit| matches!(unit, Unit::Current(_)));
        Self {
            messages: Messages::new(if has_messages && is_ingress { messages } else { 0 }),
            priorities: Vec::new(),
            arrays: vec![vec![0; messages.max(LEAST_ENTRIES)]; arrays],
            tables: shapes.iter().map(Table::new).collect(),
            is_ingress,
            own,
            next_change: 0,
            timers: BTreeMap::new(),
            lost_timers: 0,
            events: [0; EventKind::ALL.len()],
            returned: 0,
            now: 0,
            decided: 0,
        }
    }

    /// Hears the time; changes of tables that were written for a cycle until then are made.
    pub fn tell_time(&mut self, at: u64, decided: u64, changes: &[Change]) {
        (self.now, self.decided) = (at, decided);
        while let Some(change) = changes.get(self.next_change).filter(|change| change.at <= at) {
            self.next_change += 1;
            self.change(std::slice::from_ref(change));
        }
    }

    /// Changes tables. What cannot be changed so, since others have changed it before, is left as it is.
    pub fn change(&mut self, changes: &[Change]) {
        for change in changes {
            let _ = self.tables[change.table].change(&change.what);
        }
    }

    /// Gives the tables.
    pub fn tables(&mut self) -> &mut [Table] {
        &mut self.tables
    }

    /// Does what a request to an array says, and gives the entry's new value.
    #[inline]
    pub fn array(&mut self, array: &Array, ask: Fields) -> u64 {
        array.change(&mut self.arrays[array.store], &|place| ask.get(place))
    }

    /// Starts or stops a timer.
    pub fn start(&mut self, start: &Start, ask: Fields) {
        let timer = ask.get(start.timer) as u16;
        if ask.get(start.cancel) != 0 {
            self.timers.remove(&timer);
        } else if self.timers.len() < MOST_TIMERS || self.timers.contains_key(&timer) {
            self.timers.insert(timer, self.decided + ask.get(start.cycles).max(1));
        } else {
            self.lost_timers += 1;
        }
    }

    /// Gives the cycle in which the next timer fires, and the timer.
    pub fn next_timer(&self) -> Option<(u64, u16)> {
        self.timers.iter().map(|(timer, at)| (*at, *timer)).min()
    }

    /// Counts an event; a timer has fired by it.
    pub fn handle(&mut self, event: EventKind, timer: u16) {
        self.events[event as usize] += 1;
        if event == EventKind::Timer {
            self.timers.remove(&timer);
        }
    }

    /// Tells what was counted, if there is anything to count.
    pub fn counts(&self, pipelines: &Pipelines) -> Option<Counts> {
        let is_ingress = self.is_ingress;
        let handlers = if is_ingress { &pipelines.ingress.handlers[..] } else { &[] };
        let sends = is_ingress && pipelines.ingress.send.is_some();
        let sends = sends || handlers.iter().any(|handler| handler.send.is_some());
        if self.own.is_empty() && handlers.is_empty() && !sends {
            return None;
        }
        let events = handlers.iter().map(|it| (it.kind, self.events[it.kind as usize])).collect();
        Some(Counts {
            tables: self.tables[self.own.clone()].iter().map(table_counts).collect(),
            events,
            returned: sends.then_some(self.returned),
            lost_timers: self.lost_timers,
        })
    }
}

fn table_counts(table: &Table) -> TableCounts {
    let shape = table.shape();
    let entries = table.entries().iter().map(|entry| (entry_text(table, entry), entry.hits));
    TableCounts {
        name: shape.name.clone(),
        size: shape.size,
        misses: table.misses(),
        entries: entries.collect(),
    }
}

/// Writes an entry as a file would have it.
fn entry_text(table: &Table, entry: &Entry) -> String {
    let shape = table.shape();
    let number = |value: u128, width: u32| match width {
        32 => std::net::Ipv4Addr::from_bits(value as u32).to_string(),
        48 => {
            let bytes = (value as u64).to_be_bytes();
            let bytes: Vec<_> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
            bytes.join(":")
        }
        _ => value.to_string(),
    };
    let keys = shape.keys.iter().zip(&entry.keys).map(|(key, own)| match key.kind {
        KeyKind::Exact => number(own.value, key.width),
        KeyKind::Prefix => format!("{}/{}", number(own.value, key.width), own.mask.count_ones()),
        KeyKind::Ternary if own.mask == 0 => "_".to_owned(),
        KeyKind::Ternary => {
            format!("{} &&& {}", number(own.value, key.width), number(own.mask, key.width))
        }
    });
    let keys: Vec<_> = keys.collect();
    let (name, arguments) = match shape.actions.get(entry.row.action as usize) {
        Some(action) => {
            let values = action.parameters.iter().zip(&entry.row.arguments);
            let values: Vec<_> = values.map(|((_, width), value)| number(*value, *width)).collect();
            (action.name.as_str(), values.join(", "))
        }
        None => ("NoAction", String::new()),
    };
    let priority = match shape.keys.iter().any(|key| key.kind == KeyKind::Ternary) {
        true => format!(" priority {}", entry.priority),
        false => String::new(),
    };
    format!("{} -> {name}({arguments}){priority}", keys.join(", "))
}
