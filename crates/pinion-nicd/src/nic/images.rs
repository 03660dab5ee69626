//! The images on a NIC: an ELF comes in, is checked against the machine and against what is there
//! already, and says where its handlers and data lie.
//!
//! Contexts of the same image share it. A further one is loaded beside if they have nothing in
//! common; the cores run the runtime of the one they were booted with, which stays as long as
//! anybody uses the NIC.

use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use pinion_isa::elf::{Image, Segment, SegmentFlags, SymbolKind};
use pinion_spin::{Handler, Machine};

use super::holder::PAGE_BYTES;
use super::windows::covers;

/// Bytes of `__host_data` besides a flag for each HPU: 16 counters of 8 bytes.
const COUNTER_BYTES: u64 = 128;
/// Name what memory is used for.
const CODE: &str = "code";
const DATA: &str = "data";
const DATA_IN_L1: &str = "data in L1";
/// The size of the largest file.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// An image and what is known about it.
#[derive(Debug)]
pub struct Loaded {
    /// The file's content.
    pub bytes: Arc<[u8]>,
    /// What it says.
    pub image: Image,
    /// Holds header, payload and completion handler.
    pub handlers: [Option<Handler>; 3],
    /// Where lies what handlers and host program share, if there is such a thing.
    pub host_data: Option<Range<u32>>,
    /// The memory it occupies, with what for.
    pub ranges: Vec<(Range<u32>, &'static str)>,
    /// Number of the host programs that use it.
    pub users: u32,
    /// Whether the cores run its runtime.
    pub is_booted: bool,
}

impl Loaded {
    /// Checks an image against a machine.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(bytes: Vec<u8>, name: &str, machine: &Machine) -> Result<Self, String> {
        let image = Image::parse(&bytes, name).map_err(|error| error.to_string())?;
        check_place(&image, machine)?;
        let handlers = handlers(&image, machine)?;
        let ranges = ranges(&image, machine)?;
        let host_data = host_data(&image, machine, &ranges)?;
        Ok(Self {
            bytes: bytes.into(),
            image,
            handlers,
            host_data,
            ranges,
            users: 0,
            is_booted: false,
        })
    }

    /// Gives the first address in a memory behind everything the image has there.
    pub fn end_in(&self, memory: &Range<u32>) -> u32 {
        let within = self.ranges.iter().filter(|(range, _)| memory.contains(&range.start));
        let end = within.map(|(range, _)| range.end).max().unwrap_or(memory.start);
        end.checked_next_multiple_of(PAGE_BYTES).unwrap_or(end)
    }

    /// Gives the image as the cores can be booted with it: where it does not begin at the reset
    /// address, a jump stands there.
    pub fn bootable(&self, machine: &Machine) -> Image {
        let mut image = self.image.clone();
        let reset = machine.reset_address();
        let is_code = self.ranges.iter().any(|(range, _)| range.contains(&reset));
        if !is_code {
            let entry = image.entry as u32;
            // lui t0, high part; jalr x0, low part(t0): the low part is signed.
            let high = entry.wrapping_add(0x800) & 0xffff_f000;
            let low = entry.wrapping_sub(high) & 0xfff;
            let words = [high | 0x2b7, low << 20 | 0x28067];
            let data: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            image.segments.push(Segment {
                address: u64::from(reset),
                load_address: u64::from(reset),
                memory_bytes: data.len() as u64,
                data,
                flags: SegmentFlags { read: true, write: false, execute: true },
            });
        }
        image
    }

    /// Tells whether it wants to initialise itself when the cores boot.
    pub fn initialises(&self) -> bool {
        let runs = |name| self.image.symbol(name).is_some_and(|symbol| symbol.address != 0);
        runs("pinion_initialise") || runs("init_handlers")
    }

    /// Finds what it and a list of ranges both want.
    pub fn overlap(&self, others: &[(Range<u32>, &'static str)]) -> Option<(Range<u32>, &str)> {
        self.ranges.iter().find_map(|(own, what)| {
            let meets =
                |(other, _): &&(Range<u32>, &str)| own.start < other.end && other.start < own.end;
            others.iter().find(meets).map(|_| (own.clone(), *what))
        })
    }
}

/// Reads an image that a host program gave, from memory that cannot change any more.
pub fn read_image(file: OwnedFd) -> Result<Vec<u8>, String> {
    let unsealed = || "it is not in sealed memory (memfd); use the library".to_owned();
    let seals = fcntl(&file, FcntlArg::F_GET_SEALS).map_err(|_| unsealed())?;
    let wanted = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK;
    if !SealFlag::from_bits_truncate(seals).contains(wanted) {
        return Err(unsealed());
    }
    let file = File::from(file);
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length > FILE_BYTES_MAX {
        return Err(format!("it has {length} bytes; an image has at most {FILE_BYTES_MAX}"));
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Refuses an image that was linked for something else.
fn check_place(image: &Image, machine: &Machine) -> Result<(), String> {
    let program = u64::from(machine.program.base)
        ..u64::from(machine.program.base) + u64::from(machine.program.bytes);
    if !program.contains(&image.entry) {
        return Err(format!(
            "it starts at {:#x}, outside the program memory of {} ({:#x} to {:#x}): it was not \
             linked for this machine; pinion build APP --machine {}",
            image.entry, machine.name, program.start, program.end, machine.name
        ));
    }
    for segment in image.segments.iter().filter(|segment| segment.memory_bytes > 0) {
        let end = segment.load_address.checked_add(segment.memory_bytes);
        let fits = |base: u32, bytes: u32| {
            let (base, bytes) = (u64::from(base), u64::from(bytes));
            segment.load_address >= base && end.is_some_and(|end| end <= base + bytes)
        };
        let is_inside = fits(machine.program.base, machine.program.bytes)
            || fits(machine.l2_handler.base, machine.l2_handler.bytes);
        if !is_inside {
            return Err(format!(
                "its segment at {:#x} ({} bytes) lies outside the program and handler memory of \
                 {}: it was not linked for this machine; pinion build APP --machine {}",
                segment.load_address, segment.memory_bytes, machine.name, machine.name
            ));
        }
    }
    Ok(())
}

/// Finds what handlers and host program share; refuses that of a machine with other HPUs, and what
/// does not lie in the image's own data: the NIC writes there for its host program.
fn host_data(
    image: &Image,
    machine: &Machine,
    ranges: &[(Range<u32>, &'static str)],
) -> Result<Option<Range<u32>>, String> {
    let Some(symbol) = image.symbol("__host_data") else { return Ok(None) };
    let hpus = u64::from(machine.hpus());
    let bytes = hpus * 8 + COUNTER_BYTES;
    if symbol.size != 0 && symbol.size != bytes {
        return Err(format!(
            "it was built for a machine with {} HPUs, and {} has {hpus}; pinion build APP \
             --machine {}",
            symbol.size.saturating_sub(COUNTER_BYTES) / 8,
            machine.name,
            machine.name
        ));
    }
    let end = symbol.address.checked_add(bytes).and_then(|end| u32::try_from(end).ok());
    let shared = end.map(|end| symbol.address as u32..end);
    let data: Vec<_> = ranges.iter().filter(|(_, what)| *what == DATA).collect();
    let data: Vec<_> = data.into_iter().map(|(range, _)| range.clone()).collect();
    match shared.filter(|shared| covers(&data, shared)) {
        Some(shared) => Ok(Some(shared)),
        None => Err(format!(
            "its __host_data, {bytes} bytes at {:#x}, does not lie in the image's own data: build it \
             with the SDK, which places it (pinion build APP --machine {})",
            symbol.address, machine.name
        )),
    }
}

/// Finds the handlers by what their names end in.
fn handlers(image: &Image, machine: &Machine) -> Result<[Option<Handler>; 3], String> {
    let mut found = [None, None, None];
    let program = u64::from(machine.program.base)
        ..u64::from(machine.program.base) + u64::from(machine.program.bytes);
    for (handler, suffix) in found.iter_mut().zip(["_hh", "_ph", "_th"]) {
        let mut named = image.symbols.iter().filter(|symbol| {
            symbol.kind == SymbolKind::Function
                && symbol.name.ends_with(suffix)
                && program.contains(&symbol.address)
        });
        let Some(first) = named.next() else { continue };
        if let Some(second) = named.find(|symbol| symbol.address != first.address) {
            return Err(format!(
                "it has two handlers whose names end in {suffix}, {} and {}: an image for host \
                 programs has one; rename or leave out the other",
                first.name, second.name
            ));
        }
        *handler = Some(Handler {
            name: first.name.clone(),
            address: first.address as u32,
            bytes: u32::try_from(first.size).unwrap_or(u32::MAX),
        });
    }
    if found.iter().all(Option::is_none) {
        return Err("it has no handlers: no function's name ends in _hh, _ph or _th".to_owned());
    }
    Ok(found)
}

/// Lists the memory that an image occupies: where its segments are loaded, and in each cluster where
/// those end up that go to its L1.
fn ranges(image: &Image, machine: &Machine) -> Result<Vec<(Range<u32>, &'static str)>, String> {
    let l1 = &machine.l1;
    let runtime = l1.reserved_bytes..l1.reserved_bytes + l1.runtime_bytes;
    let mut ranges = Vec::new();
    for segment in image.segments.iter().filter(|segment| segment.memory_bytes > 0) {
        let bytes = segment.memory_bytes as u32;
        let start = segment.load_address as u32;
        let is_code = segment.flags.execute && !segment.flags.write;
        let what = if is_code { CODE } else { DATA };
        ranges.push((start..start.saturating_add(bytes), what));
        let offset = (segment.address as u32).wrapping_sub(l1.alias);
        if offset >= l1.bytes {
            continue;
        }
        let end = offset.saturating_add(bytes);
        if offset < runtime.start || end > runtime.end {
            return Err(format!(
                "its data in L1, {bytes} bytes at {:#x}, lie outside of what programs have there, \
                 {:#x} to {:#x}: it was not linked for this machine; pinion build APP --machine {}",
                segment.address,
                l1.alias + runtime.start,
                l1.alias + runtime.end,
                machine.name
            ));
        }
        for cluster in 0..machine.cluster.count {
            let l1 = l1.base + cluster * l1.stride;
            ranges.push((l1 + offset..l1 + end, DATA_IN_L1));
        }
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinion_isa::elf::Symbol;

    fn machine() -> Machine {
        pinion_app::machine::load::<pinion_spin::Machine>("fpspin", &[], false).unwrap().value
    }

    fn image(machine: &Machine, symbols: &[&str]) -> Image {
        let base = u64::from(machine.program.base) + 0x2000;
        let symbol = |(index, name): (usize, &&str)| Symbol {
            name: (*name).to_owned(),
            address: base + 4 * index as u64,
            size: 4,
            kind: SymbolKind::Function,
            global: true,
        };
        Image {
            name: "a.elf".to_owned(),
            entry: base + 0x80,
            flags: 0,
            segments: vec![Segment {
                address: base,
                load_address: base,
                memory_bytes: 0x100,
                data: vec![0; 0x100],
                flags: SegmentFlags { read: true, write: false, execute: true },
            }],
            symbols: symbols.iter().enumerate().map(symbol).collect(),
            sections: Vec::new(),
        }
    }

    #[test]
    fn handlers_are_found_by_their_ends() {
        let machine = machine();
        let found = handlers(&image(&machine, &["a_ph", "a_th", "helper"]), &machine).unwrap();
        assert!(found[0].is_none());
        assert_eq!(found[1].as_ref().unwrap().name, "a_ph");
        assert_eq!(found[2].as_ref().unwrap().name, "a_th");
        let error = handlers(&image(&machine, &["a_ph", "b_ph"]), &machine).unwrap_err();
        assert!(error.contains("a_ph and b_ph"), "{error}");
        let error = handlers(&image(&machine, &["main"]), &machine).unwrap_err();
        assert!(error.contains("no handlers"), "{error}");
    }

    #[test]
    fn an_image_elsewhere_is_reached_by_a_jump() {
        let machine = machine();
        let image = image(&machine, &["a_ph"]);
        let entry = image.entry as u32;
        let loaded = Loaded {
            bytes: Arc::default(),
            handlers: [None, None, None],
            host_data: None,
            ranges: ranges(&image, &machine).unwrap(),
            users: 0,
            is_booted: false,
            image,
        };
        let stub = loaded.bootable(&machine).segments.pop().unwrap();
        assert_eq!(stub.address, u64::from(machine.reset_address()));
        let word = |at: usize| u32::from_le_bytes(stub.data[at..at + 4].try_into().unwrap());
        assert_eq!(word(0) & 0xfff, 0x2b7);
        let low = (word(4) as i32) >> 20;
        assert_eq!((word(0) & 0xffff_f000).wrapping_add_signed(low), entry);
        assert!(loaded.overlap(&[(entry..entry + 1, "code")]).is_some());
        assert!(loaded.overlap(&[(0..entry - 0x80, "code")]).is_none());
    }

    #[test]
    fn images_of_other_machines_are_refused() {
        let machine = machine();
        let mut elsewhere = image(&machine, &["a_ph"]);
        elsewhere.entry = 0x8000_0000;
        assert!(check_place(&elsewhere, &machine).unwrap_err().contains("not linked"));
        let mut outside = image(&machine, &["a_ph"]);
        outside.segments[0].load_address = 0x2000_0000;
        assert!(check_place(&outside, &machine).unwrap_err().contains("segment at 0x20000000"));
        let mut other = image(&machine, &["__host_data"]);
        other.symbols[0].size = 32 * 8 + COUNTER_BYTES;
        let error = host_data(&other, &machine, &[]).unwrap_err();
        assert!(error.contains("32 HPUs") && error.contains("has 16"), "{error}");
    }

    #[test]
    fn what_is_shared_lies_in_the_images_own_data() {
        let machine = machine();
        let bytes = u64::from(machine.hpus()) * 8 + COUNTER_BYTES;
        let mut made = image(&machine, &["__host_data"]);
        made.segments.push(Segment {
            address: 0x1c00_0000,
            load_address: 0x1c00_0000,
            memory_bytes: 0x1000,
            data: vec![0; 0x1000],
            flags: SegmentFlags { read: true, write: true, execute: false },
        });
        let shared_at = |address: u64, size: u64| {
            let mut image = made.clone();
            (image.symbols[0].address, image.symbols[0].size) = (address, size);
            host_data(&image, &machine, &ranges(&image, &machine).unwrap())
        };
        let last = 0x1c00_1000 - bytes;
        assert_eq!(shared_at(last, bytes).unwrap(), Some(last as u32..0x1c00_1000));
        let code = u64::from(machine.program.base) + 0x2000;
        for elsewhere in [code, last + 1, 0x1bff_ffff, 0x1c04_0000, 0x1001_0000, 0, u64::MAX - 8] {
            for size in [0, bytes] {
                let error = shared_at(elsewhere, size).unwrap_err();
                assert!(error.contains("own data"), "{elsewhere:#x}: {error}");
            }
        }
    }

    #[test]
    fn data_in_l1_stay_where_programs_have_theirs() {
        let machine = machine();
        let l1 = &machine.l1;
        let with = |offset: u32| {
            let mut made = image(&machine, &["a_ph"]);
            made.segments.push(Segment {
                address: u64::from(l1.alias + offset),
                load_address: 0x1c00_0000,
                memory_bytes: 64,
                data: vec![0; 64],
                flags: SegmentFlags { read: true, write: true, execute: false },
            });
            ranges(&made, &machine)
        };
        let inside = with(l1.reserved_bytes + 8).unwrap();
        let start = l1.base + l1.stride + l1.reserved_bytes + 8;
        assert!(inside.contains(&(start..start + 64, DATA_IN_L1)), "{inside:x?}");
        for outside in [0, l1.reserved_bytes + l1.runtime_bytes - 63, machine.scratchpad_offset()] {
            assert!(with(outside).unwrap_err().contains("data in L1"), "{outside:#x}");
        }
    }
}
