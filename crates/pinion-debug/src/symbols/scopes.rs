//! Functions, what was inlined into them, blocks, and the variables of each, as compilers nest them.

use std::ops::Range;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EntriesTreeNode, Expression,
    LocationListsOffset, Unit, constants as dw,
};
use pinion_observe::fault::program::Debug;

use super::types::TypeId;
use super::{Slice, Symbols};

/// Limits how deep scopes may lie within each other, and how often one refers to another.
const DEPTH_MAX: u32 = 64;

/// Says what a scope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function's own code.
    Function,
    /// A function's that was inlined into another.
    Inlined,
    /// Of braces within one.
    Block,
}

/// A stretch of source with variables of its own.
#[derive(Debug)]
pub struct Scope<'a> {
    /// What it is.
    pub kind: Kind,
    /// Number of its unit.
    pub(super) unit: usize,
    ranges: Vec<Range<u64>>,
    /// Where its frame lies.
    pub(super) frame_base: Placed<'a>,
    /// Its variables.
    pub variables: Vec<Variable<'a>>,
    inner: Vec<Self>,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_id: Option<TypeId>,
    /// Number of its unit.
    pub(super) unit: usize,
    /// Where it is.
    pub(super) place: Placed<'a>,
}

/// Says where something is.
#[derive(Clone, Debug)]
pub enum Placed<'a> {
    /// Nowhere.
    Nowhere,
    /// The same everywhere in its scope.
    Expression(Expression<Slice<'a>>),
    /// By the instruction.
    List(LocationListsOffset<usize>),
    /// It is this number.
    Constant(u64),
    /// It has these bytes.
    Bytes(Slice<'a>),
}

impl Scope<'_> {
    fn has(&self, address: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&address))
    }
}

impl<'a> Symbols<'a> {
    /// Finds the scopes that an address lies in, the function first.
    pub fn scopes(&self, address: u64) -> Vec<&Scope<'a>> {
        let mut path: Vec<&Scope<'a>> = Vec::new();
        let mut choices = &self.functions;
        while let Some(scope) = choices.iter().find(|scope| scope.has(address)) {
            path.push(scope);
            choices = &scope.inner;
        }
        path
    }

    /// Does the same, a group for each function, the innermost inlined one first.
    pub fn levels(&self, address: u64) -> Vec<Vec<&Scope<'a>>> {
        let mut levels: Vec<Vec<&Scope<'a>>> = Vec::new();
        for scope in self.scopes(address) {
            match levels.last_mut().filter(|_| scope.kind == Kind::Block) {
                Some(level) => level.push(scope),
                None => levels.push(vec![scope]),
            }
        }
        levels.reverse();
        levels
    }

    /// Gives variables that belong to no function, of the whole program.
    pub fn globals(&self) -> &[Variable<'a>] {
        &self.globals
    }

    /// Gives those of the file that an address was compiled from.
    pub fn globals_near(&self, address: u64) -> Vec<&Variable<'a>> {
        let unit = self.scopes(address).first().map(|scope| scope.unit);
        self.globals.iter().filter(|variable| Some(variable.unit) == unit).collect()
    }
}

/// What was found in units.
#[derive(Debug, Default)]
pub struct Found<'a> {
    /// Functions that there is code of.
    pub functions: Vec<Scope<'a>>,
    /// Variables of no function.
    pub globals: Vec<Variable<'a>>,
}

/// What a unit is read with.
struct Reader<'r, 'a> {
    dwarf: &'r Dwarf<Slice<'a>>,
    number: usize,
    unit: &'r Unit<Slice<'a>>,
    debug: &'r Debug<'a>,
}

type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

impl<'a> Found<'a> {
    /// Reads a unit, as far as it can be read.
    pub fn read(
        &mut self,
        dwarf: &Dwarf<Slice<'a>>,
        (number, unit): (usize, &Unit<Slice<'a>>),
        debug: &Debug<'a>,
    ) {
        let reader = Reader { dwarf, number, unit, debug };
        let Ok(mut tree) = unit.entries_tree(None) else { return };
        if let Ok(root) = tree.root() {
            let _ = self.read_children(&reader, root, 0);
        }
    }

    fn read_children(
        &mut self,
        reader: &Reader<'_, 'a>,
        node: EntriesTreeNode<'_, '_, Slice<'a>>,
        depth: u32,
    ) -> gimli::Result<()> {
        if depth > DEPTH_MAX {
            return Ok(());
        }
        let mut children = node.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            match entry.tag() {
                dw::DW_TAG_subprogram => {
                    let ranges = reader.ranges(entry);
                    if !ranges.is_empty() {
                        self.functions.push(reader.scope(child, ranges, Kind::Function, depth)?);
                    }
                }
                dw::DW_TAG_variable if entry.attr_value(dw::DW_AT_location).is_some() => {
                    self.globals.extend(reader.variable(entry));
                }
                dw::DW_TAG_namespace | dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
                    self.read_children(reader, child, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> Reader<'_, 'a> {
    fn scope(
        &self,
        node: EntriesTreeNode<'_, '_, Slice<'a>>,
        ranges: Vec<Range<u64>>,
        kind: Kind,
        depth: u32,
    ) -> gimli::Result<Scope<'a>> {
        let entry = node.entry();
        let mut scope = Scope {
            kind,
            unit: self.number,
            ranges,
            frame_base: self.place(entry, dw::DW_AT_frame_base),
            variables: Vec::new(),
            inner: Vec::new(),
        };
        if depth > DEPTH_MAX {
            return Ok(scope);
        }
        let mut children = node.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            let kind = match entry.tag() {
                dw::DW_TAG_formal_parameter | dw::DW_TAG_variable => {
                    scope.variables.extend(self.variable(entry));
                    continue;
                }
                dw::DW_TAG_inlined_subroutine => Kind::Inlined,
                dw::DW_TAG_lexical_block => Kind::Block,
                _ => continue,
            };
            let ranges = self.ranges(entry);
            if !ranges.is_empty() {
                scope.inner.push(self.scope(child, ranges, kind, depth + 1)?);
            }
        }
        Ok(scope)
    }

    fn ranges(&self, entry: &Entry<'a>) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        let Ok(mut ranges) = self.dwarf.die_ranges(self.unit, entry) else { return found };
        while let Ok(Some(range)) = ranges.next() {
            if range.begin < range.end && self.debug.has_code(range.begin) {
                found.push(range.begin..range.end);
            }
        }
        found
    }

    fn variable(&self, entry: &Entry<'a>) -> Option<Variable<'a>> {
        // A declaration of what is elsewhere.
        if entry.attr_value(dw::DW_AT_declaration).is_some() {
            return None;
        }
        let type_id = match self.inherited(entry, dw::DW_AT_type, 0) {
            Some(AttributeValue::UnitRef(offset)) => Some(TypeId::new(self.number, offset)),
            _ => None,
        };
        Some(Variable {
            name: self.name(entry)?,
            type_id,
            unit: self.number,
            place: match self.place(entry, dw::DW_AT_location) {
                Placed::Nowhere => self.constant(entry),
                place => place,
            },
        })
    }

    fn name(&self, entry: &Entry<'a>) -> Option<String> {
        let value = self.inherited(entry, dw::DW_AT_name, 0)?;
        let name = self.dwarf.attr_string(self.unit, value).ok()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// Gives an attribute of an entry, or of the one that it is an instance of.
    fn inherited(
        &self,
        entry: &Entry<'a>,
        name: gimli::DwAt,
        depth: u32,
    ) -> Option<AttributeValue<Slice<'a>>> {
        if let Some(value) = entry.attr_value(name) {
            return Some(value);
        }
        let origins = [dw::DW_AT_abstract_origin, dw::DW_AT_specification];
        let origin = origins.into_iter().find_map(|origin| entry.attr_value(origin))?;
        let AttributeValue::UnitRef(offset) = origin else { return None };
        let origin = self.unit.entry(offset).ok().filter(|_| depth < DEPTH_MAX)?;
        self.inherited(&origin, name, depth + 1)
    }

    fn place(&self, entry: &Entry<'a>, name: gimli::DwAt) -> Placed<'a> {
        let value = entry.attr_value(name);
        match value {
            Some(AttributeValue::Exprloc(expression)) => Placed::Expression(expression),
            Some(AttributeValue::Block(bytes)) => Placed::Expression(Expression(bytes)),
            Some(value) => {
                let offset = self.dwarf.attr_locations_offset(self.unit, value);
                offset.ok().flatten().map_or(Placed::Nowhere, Placed::List)
            }
            None => Placed::Nowhere,
        }
    }

    fn constant(&self, entry: &Entry<'a>) -> Placed<'a> {
        match self.inherited(entry, dw::DW_AT_const_value, 0) {
            Some(AttributeValue::Block(bytes)) => Placed::Bytes(bytes),
            Some(AttributeValue::String(bytes)) => Placed::Bytes(bytes),
            Some(value) => {
                let signed = || value.sdata_value().map(|value| value as u64);
                signed().or_else(|| value.udata_value()).map_or(Placed::Nowhere, Placed::Constant)
            }
            None => Placed::Nowhere,
        }
    }
}
