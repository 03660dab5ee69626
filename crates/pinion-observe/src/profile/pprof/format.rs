//! The messages of pprof's format that are written here, with their published field numbers (google/pprof,
//! `proto/profile.proto`). Texts and functions stand in tables, and others refer to them by number.

use prost::Message;

/// A whole profile: a file.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    /// What each value of a sample counts.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// What was counted.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Programs.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Places in programs.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Functions.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// Texts, by their numbers; the first is empty.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// Numbers of texts to be read by people.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// Number of the name of the value that is shown first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// What a value counts.
#[derive(Clone, PartialEq, Message)]
pub struct ValueType {
    /// Its name.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// Its unit.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// What was counted of a chain of calls.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// The chain's places, the innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// A value for each of the profile's types.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What else tells it from others.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// Tells a sample from others.
#[derive(Clone, PartialEq, Message)]
pub struct Label {
    /// By what.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Which.
    #[prost(int64, tag = "2")]
    pub str: i64,
}

/// A program.
#[derive(Clone, PartialEq, Message)]
pub struct Mapping {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its first address.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// The address behind it.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Its file.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Places tell functions.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// Functions tell files.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// Places tell lines.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Places tell the functions that are inlined there.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// A place in a program.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its program.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Its address.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Its lines, the innermost inlined function first.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// A line of source.
#[derive(Clone, PartialEq, Message)]
pub struct Line {
    /// The function that it is part of.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// Its number; 0: not known.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function.
#[derive(Clone, PartialEq, Message)]
pub struct Function {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Its name for the linker.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Its file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// Its first line; 0: not known.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
