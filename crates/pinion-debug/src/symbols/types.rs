//! Types: what a value of one is made of, and what it is called.

use gimli::{AttributeValue, DebuggingInformationEntry, UnitOffset, constants as dw};

use super::{Slice, Symbols};

/// Limits how often a type may refer to another.
const DEPTH_MAX: u32 = 64;

/// Names a type of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeId {
    unit: usize,
    offset: UnitOffset<usize>,
    /// Dimensions of an array that were chosen already.
    chosen: usize,
}

impl TypeId {
    /// Names the type at an offset in a unit.
    pub(super) fn new(unit: usize, offset: UnitOffset<usize>) -> Self {
        Self { unit, offset, chosen: 0 }
    }
}

/// Says what a value is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A signed number.
    Signed,
    /// An unsigned number.
    Unsigned,
    /// A letter.
    Letter {
        /// Whether it has a sign.
        is_signed: bool,
    },
    /// True or false.
    Truth,
    /// A floating-point number.
    Float,
    /// An address of something.
    Pointer {
        /// What is there; `None`: anything.
        to: Option<TypeId>,
    },
    /// A structure, class or union.
    Structure {
        /// What it has.
        members: Vec<Member>,
    },
    /// An array.
    Array {
        /// What each element is.
        of: Option<TypeId>,
        /// Elements; 0 where it is not known.
        count: u64,
    },
    /// A number with names.
    Enumeration {
        /// The names.
        names: Vec<(i64, String)>,
    },
    /// Code.
    Function,
    /// Nothing that can be shown.
    Nothing,
}

/// Something that a structure has.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its type.
    pub type_id: Option<TypeId>,
    /// Where it begins.
    pub offset: u64,
    /// Of a bit field: its first bit from there on, and how many it has.
    pub bits: Option<(u64, u64)>,
}

/// A type, and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its name as C writes it.
    pub name: String,
    /// What it is made of.
    pub kind: Kind,
    /// Its bytes.
    pub bytes: u64,
}

type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

impl<'a> Symbols<'a> {
    /// Tells about a type.
    pub fn type_of(&self, id: Option<TypeId>) -> Shown {
        self.look_at(id, 0)
    }

    fn look_at(&self, id: Option<TypeId>, depth: u32) -> Shown {
        let nothing = || Shown { name: "void".to_owned(), kind: Kind::Nothing, bytes: 0 };
        let Some(id) = id.filter(|_| depth < DEPTH_MAX) else { return nothing() };
        let Ok(entry) = self.units[id.unit].entry(id.offset) else { return nothing() };
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let to = self.reference(id.unit, &entry, dw::DW_AT_type);
        let own_name = self.name_of(id.unit, &entry);
        let bytes = number(dw::DW_AT_byte_size);
        match entry.tag() {
            dw::DW_TAG_typedef => {
                let shown = self.look_at(to, depth + 1);
                Shown { name: own_name.unwrap_or(shown.name), ..shown }
            }
            dw::DW_TAG_const_type => self.qualified("const", to, depth),
            dw::DW_TAG_volatile_type => self.qualified("volatile", to, depth),
            dw::DW_TAG_restrict_type | dw::DW_TAG_atomic_type => self.look_at(to, depth + 1),
            dw::DW_TAG_pointer_type => self.pointer(to, '*', depth),
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                self.pointer(to, '&', depth)
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                let word = match entry.tag() {
                    dw::DW_TAG_union_type => "union",
                    dw::DW_TAG_class_type => "class",
                    _ => "struct",
                };
                let name =
                    own_name.map_or(format!("{word} {{…}}"), |name| format!("{word} {name}"));
                let kind = Kind::Structure { members: self.members(id, depth) };
                Shown { name, kind, bytes: bytes.unwrap_or(0) }
            }
            dw::DW_TAG_array_type => self.array(id, to, depth),
            dw::DW_TAG_enumeration_type => {
                let name = own_name.map_or("enum {…}".to_owned(), |name| format!("enum {name}"));
                Shown { name, kind: self.enumeration(id), bytes: bytes.unwrap_or(4) }
            }
            dw::DW_TAG_subroutine_type => {
                let kind = Kind::Function;
                Shown { name: format!("{} ()", self.look_at(to, depth + 1).name), kind, bytes: 0 }
            }
            dw::DW_TAG_base_type => {
                let kind = base_kind(&entry);
                Shown { name: own_name.unwrap_or_default(), kind, bytes: bytes.unwrap_or(0) }
            }
            _ => nothing(),
        }
    }

    fn qualified(&self, word: &str, to: Option<TypeId>, depth: u32) -> Shown {
        let shown = self.look_at(to, depth + 1);
        let name = match shown.kind {
            Kind::Pointer { .. } => format!("{} {word}", shown.name),
            _ => format!("{word} {}", shown.name),
        };
        Shown { name, ..shown }
    }

    fn pointer(&self, to: Option<TypeId>, mark: char, depth: u32) -> Shown {
        let name = self.look_at(to, depth + 1).name;
        let space = if name.ends_with(['*', '&']) { "" } else { " " };
        let bytes = u64::from(self.address_bytes);
        Shown { name: format!("{name}{space}{mark}"), kind: Kind::Pointer { to }, bytes }
    }

    fn array(&self, id: TypeId, of: Option<TypeId>, depth: u32) -> Shown {
        let mut counts = Vec::new();
        self.each_child(id, |entry| {
            if entry.tag() == dw::DW_TAG_subrange_type {
                let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
                let bound = number(dw::DW_AT_upper_bound).map(|last| last.wrapping_add(1));
                counts.push(number(dw::DW_AT_count).or(bound).unwrap_or(0));
            }
        });
        let rest = counts.get(id.chosen..).unwrap_or(&[]);
        let element = self.look_at(of, depth + 1);
        let dimensions: String = rest.iter().map(|count| format!("[{count}]")).collect();
        let all = rest.iter().fold(element.bytes, |bytes, count| bytes.saturating_mul(*count));
        let of = if rest.len() > 1 { Some(TypeId { chosen: id.chosen + 1, ..id }) } else { of };
        let kind = match rest.first() {
            Some(count) => Kind::Array { of, count: *count },
            None => element.kind,
        };
        Shown { name: format!("{} {dimensions}", element.name), kind, bytes: all }
    }

    fn members(&self, id: TypeId, depth: u32) -> Vec<Member> {
        let mut members = Vec::new();
        self.each_child(id, |entry| {
            let is_base = entry.tag() == dw::DW_TAG_inheritance;
            if entry.tag() != dw::DW_TAG_member && !is_base {
                return;
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            if entry.attr_value(dw::DW_AT_external).is_some() {
                return; // a static one: a variable of no function
            }
            let type_id = self.reference(id.unit, entry, dw::DW_AT_type);
            let name = match is_base {
                true => format!("<{}>", self.look_at(type_id, depth + 1).name),
                false => self.name_of(id.unit, entry).unwrap_or_default(),
            };
            let first = number(dw::DW_AT_data_bit_offset);
            let offset = number(dw::DW_AT_data_member_location).or(first.map(|bit| bit / 8));
            let bits = number(dw::DW_AT_bit_size).map(|count| (first.unwrap_or(0) % 8, count));
            members.push(Member { name, type_id, offset: offset.unwrap_or(0), bits });
        });
        members
    }

    fn enumeration(&self, id: TypeId) -> Kind {
        let mut names = Vec::new();
        self.each_child(id, |entry| {
            let value = entry.attr_value(dw::DW_AT_const_value);
            let number = value.and_then(|value| {
                value.sdata_value().or_else(|| value.udata_value().map(|value| value as i64))
            });
            if let Some((number, name)) = number.zip(self.name_of(id.unit, entry)) {
                names.push((number, name));
            }
        });
        Kind::Enumeration { names }
    }

    fn each_child(&self, id: TypeId, mut look: impl FnMut(&Entry<'a>)) {
        let Ok(mut tree) = self.units[id.unit].entries_tree(Some(id.offset)) else { return };
        let Ok(root) = tree.root() else { return };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            look(child.entry());
        }
    }

    fn name_of(&self, unit: usize, entry: &Entry<'a>) -> Option<String> {
        let value = entry.attr_value(dw::DW_AT_name)?;
        let name = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        Some(name.to_string_lossy().into_owned())
    }

    fn reference(&self, unit: usize, entry: &Entry<'a>, name: gimli::DwAt) -> Option<TypeId> {
        match entry.attr_value(name)? {
            AttributeValue::UnitRef(offset) => Some(TypeId::new(unit, offset)),
            _ => None,
        }
    }
}

fn base_kind(entry: &Entry<'_>) -> Kind {
    match entry.attr_value(dw::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => match encoding {
            dw::DW_ATE_signed => Kind::Signed,
            dw::DW_ATE_signed_char => Kind::Letter { is_signed: true },
            dw::DW_ATE_unsigned_char => Kind::Letter { is_signed: false },
            dw::DW_ATE_boolean => Kind::Truth,
            dw::DW_ATE_float => Kind::Float,
            _ => Kind::Unsigned,
        },
        _ => Kind::Unsigned,
    }
}
