//! An application on a machine: manifest, machine file and program come together, are checked
//! against each other, and give a NIC that is ready to run.

use std::path::PathBuf;

use pinion_isa::elf::Image;
use pinion_sim::config::Loaded;
use pinion_spin::matching::{ContextMatch, MatchingEngine, Ruleset};
use pinion_spin::{EngineCore, ExecutionContext, Handler, Machine, Units};

use crate::build::{self, Built, Layout};
use crate::error::{Error, Result};
use crate::machine;
use crate::manifest::{self, Context, Manifest, PacketStart, Watchdog};
use crate::traffic::ETHERNET_HEADER_BYTES;

/// The first address of host memory as commands name it (PsPIN's `PCIE_START_ADDR`).
pub const HOST_MEMORY_BASE: u64 = 0x1000_0000_0000_0000;
/// Separates contexts' host memory windows: a page, as an IOMMU maps it.
const HOST_ALIGN_BYTES: u64 = 4096;
/// Counts bytes at the start of L2 handler memory that every context's handlers may reach (RTL
/// `hpu_driver`: the program's constants and variables).
const L2_STATIC_BYTES: u64 = 0x10000;

/// Tells how to load an application.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Name of the machine, instead of the manifest's.
    pub machine: Option<String>,
    /// Changes numbers of the machine (`cluster.count=8`).
    pub overrides: Vec<String>,
    /// Follows the RTL where that lacks or breaks what the paper describes.
    pub faithful: bool,
    /// Name of an ELF to run instead of building.
    pub elf: Option<PathBuf>,
    /// How this computer executes what the NIC's cores do.
    pub engine_core: EngineCore,
    /// How to build; `build.native` makes an application for the native engine.
    pub build: build::Options,
}

/// Holds an application that fits its machine.
pub struct App {
    /// The application's manifest.
    pub manifest: Manifest,
    /// The machine and how its file was written.
    pub machine: Loaded<Machine>,
    /// The program.
    pub image: Image,
    /// Where the program came from.
    pub built: Built,
    /// The contexts with their places in memory.
    pub contexts: Vec<ExecutionContext>,
    /// Whether the program is for the native engine instead of the NIC's cores.
    pub is_native: bool,
    /// Whether whoever wrote it may harm this computer.
    pub is_untrusted: bool,
    /// How this computer executes what the NIC's cores do.
    pub engine_core: EngineCore,
    /// The contexts' initial host memory.
    pub host_images: Vec<Vec<u8>>,
}

impl App {
    /// Loads manifest and machine, builds the program unless it is up to date, and checks that
    /// everything fits.
    ///
    /// # Errors
    /// Everything that can be wrong before a run.
    pub fn load(path: &std::path::Path, options: &Options) -> Result<Self> {
        Self::of(manifest::load(path)?, options)
    }

    /// Does the same for a manifest that is loaded already.
    ///
    /// # Errors
    /// As [`App::load`].
    pub fn of(manifest: Manifest, options: &Options) -> Result<Self> {
        if manifest.nanoservice().is_some() {
            let problem = "this is a nanoservice: it has no packet handlers to run on a sPIN NIC";
            return Err(manifest.error_at("nanoservice", problem).into());
        }
        build::untrusted::check(&manifest, &options.build)?;
        let name = options.machine.as_deref().unwrap_or(&manifest.app.machine);
        // The command line comes last and wins.
        let mut overrides = manifest.app.set.clone();
        overrides.extend(options.overrides.iter().cloned());
        let machine: Loaded<Machine> = machine::load(name, &overrides, options.faithful)?;
        if manifest.app.elf.is_some() && options.build.chooses() {
            return Err(manifest.error_at("app.elf", build::MADE_ELSEWHERE).into());
        }
        let built = match &options.elf {
            Some(elf) => Built::elsewhere(elf.clone()),
            None => {
                let layout = slot_layout(&machine.value, options.build.slot)?;
                build::build(&manifest, &layout, &options.build)?
            }
        };
        let is_native = options.build.native;
        let image = if is_native { native_image(&built)? } else { Image::read(&built.elf)? };
        if !is_native {
            check_program(&image, &built, &machine.value)?;
        }
        let contexts = place(&manifest, &machine.value, &image)?;
        let host_images = host_images(&manifest)?;
        let is_untrusted = options.build.untrusted;
        let app = Self {
            manifest,
            machine,
            image,
            built,
            contexts,
            is_native,
            is_untrusted,
            engine_core: options.engine_core,
            host_images,
        };
        app.engine()?;
        Ok(app)
    }

    /// Builds a NIC with the program loaded and its cores booted.
    ///
    /// # Errors
    /// When program or contexts do not fit the machine.
    pub fn nic(&self) -> Result<Units> {
        if self.is_native {
            let problem = "the program was built for the native engine, not for the NIC's cores";
            return Err(Error::program(&self.built.elf, problem));
        }
        let engine = self.engine()?;
        let machine = self.machine.value.clone();
        let mut nic =
            Units::new(machine, &self.image, self.contexts.clone(), engine).map_err(|error| {
                Error::part(format!("cannot load {}", self.built.elf.display()), error)
            })?;
        nic.set_engine_core(self.engine_core);
        for (context, image) in self.contexts.iter().zip(&self.host_images) {
            let written = nic.write_host(context.host_memory_address, image);
            debug_assert!(written, "contexts' windows lie within host memory");
        }
        Ok(nic)
    }

    /// Counts the bytes of program memory that the program takes.
    pub fn program_bytes(&self) -> u64 {
        program_end(&self.image).saturating_sub(u64::from(self.machine.value.program.base))
    }

    /// Counts the bytes in front of a frame that handlers do not see.
    pub fn skipped_bytes(&self) -> u32 {
        match self.manifest.app.packet {
            PacketStart::Ethernet => 0,
            PacketStart::Ip => ETHERNET_HEADER_BYTES as u32,
        }
    }

    /// Lists the contexts' names.
    pub fn context_names(&self) -> Vec<String> {
        self.contexts.iter().map(|context| context.name.clone()).collect()
    }

    /// Finds a context by name.
    pub fn context(&self, name: &str) -> Option<&ExecutionContext> {
        self.contexts.iter().find(|context| context.name == name)
    }

    /// Makes a matching engine with the contexts' rules.
    ///
    /// # Errors
    /// When a rule does not fit the machine.
    pub fn engine(&self) -> Result<MatchingEngine> {
        let limits = self.machine.value.matching_limits();
        for (index, context) in self.manifest.contexts().iter().enumerate() {
            let rules = ruleset(context);
            for (key, checked) in [
                ("match", rules.check_rules(&limits)),
                ("end_of_message", rules.check_end_of_message(&limits)),
                ("message", context.message.check(&limits)),
            ] {
                let key = format!("context[{index}].{key}");
                checked.map_err(|error| self.manifest.error_at(&key, error.to_string()))?;
            }
        }
        let contexts = self.manifest.contexts().iter().map(context_match).collect();
        let engine = self.machine.value.matching_engine(contexts);
        Ok(engine.map_err(|error| self.manifest.error_at("context", error.to_string()))?)
    }
}

fn ruleset(context: &Context) -> Ruleset {
    Ruleset {
        mode: context.mode,
        rules: context.rules.clone(),
        end_of_message: context.end_of_message,
    }
}

/// Lists the numbers a program is compiled and linked against.
pub fn layout(machine: &Machine) -> Layout {
    layout_at(machine, &Place::whole(machine))
}

/// Counts the places that programs can be built for so that they lie on a NIC beside each other.
pub const SLOTS: u32 = 4;

/// Lists the numbers for one of [`SLOTS`] equal places; `None`: for a program that is alone.
///
/// # Errors
/// A place that there is not.
pub fn slot_layout(machine: &Machine, slot: Option<u32>) -> Result<Layout> {
    match slot {
        None => Ok(layout(machine)),
        Some(slot) if slot < SLOTS => {
            Ok(layout_at(machine, &Place::whole(machine).part(u64::from(slot))))
        }
        Some(slot) => Err(Error::Usage(format!(
            "--slot {slot}: there are slots 0 to {}, one for each context of FPsPIN",
            SLOTS - 1
        ))),
    }
}

/// Where a program lies: first address and bytes in each memory.
struct Place {
    program: (u64, u64),
    l2: (u64, u64),
    l2_static_bytes: u64,
    /// Counted from the beginning of a cluster's L1.
    l1_data: (u64, u64),
}

impl Place {
    fn whole(machine: &Machine) -> Self {
        let stacks = u64::from(machine.cluster.cores) * u64::from(machine.l1.stack_bytes);
        let l1_data = u64::from(machine.l1.reserved_bytes) + stacks;
        Self {
            program: (u64::from(machine.program.base), u64::from(machine.program.bytes)),
            l2: (u64::from(machine.l2_handler.base), static_bytes(machine)),
            l2_static_bytes: L2_STATIC_BYTES,
            l1_data: (l1_data, u64::from(machine.l1.runtime_bytes).saturating_sub(stacks)),
        }
    }

    /// Gives one of equal parts: of L2, of what handlers reach at its start.
    fn part(&self, slot: u64) -> Self {
        let part = |(start, bytes): (u64, u64)| {
            let each = bytes / u64::from(SLOTS) / 64 * 64;
            (start + slot * each, each)
        };
        let l2 = part((self.l2.0, self.l2_static_bytes));
        Self { program: part(self.program), l2, l2_static_bytes: l2.1, l1_data: part(self.l1_data) }
    }
}

fn layout_at(machine: &Machine, place: &Place) -> Layout {
    Layout::new([
        ("PROGRAM_ORIGIN", place.program.0),
        ("PROGRAM_BYTES", place.program.1),
        ("L2_ORIGIN", place.l2.0),
        ("L2_BYTES", place.l2.1),
        ("L2_STATIC_BYTES", place.l2_static_bytes),
        ("L1_BASE", u64::from(machine.l1.base)),
        ("L1_RUNTIME_OFFSET", u64::from(machine.l1.reserved_bytes)),
        ("L1_RUNTIME_BYTES", u64::from(machine.l1.runtime_bytes)),
        ("L1_DATA_OFFSET", place.l1_data.0),
        ("L1_DATA_BYTES", place.l1_data.1),
        ("STACK_BYTES", u64::from(machine.l1.stack_bytes)),
        ("CORES", u64::from(machine.cluster.cores)),
        ("NB_CLUSTERS", u64::from(machine.cluster.count)),
        ("NB_CORES", u64::from(machine.cluster.cores)),
    ])
}

/// Counts the bytes of L2 handler memory that a program may take: three quarters, as in PsPIN's map
/// (0x1c300000 of 4 MiB).
fn static_bytes(machine: &Machine) -> u64 {
    u64::from(machine.l2_handler.bytes) / 4 * 3
}

/// Counts the bytes of L2 handler memory before the contexts' own begins: what a program may take; in
/// a memory smaller than PsPIN's what it does take, as FPsPIN's host library places contexts, and at
/// least what handlers of every context may reach.
fn taken_bytes(machine: &Machine, image: &Image) -> u64 {
    const PSPIN_BYTES: u32 = 4 << 20;
    const REACHED_BYTES: u64 = 64 << 10;
    let memory = &machine.l2_handler;
    if memory.bytes >= PSPIN_BYTES {
        return static_bytes(machine);
    }
    let range = u64::from(memory.base)..u64::from(memory.base) + u64::from(memory.bytes);
    let own = image.segments.iter().filter(|segment| range.contains(&segment.load_address));
    let end = own.map(|segment| segment.load_address + segment.memory_bytes - range.start).max();
    end.unwrap_or(0).max(REACHED_BYTES)
}

/// Reads a program for the native engine.
fn native_image(built: &Built) -> Result<Image> {
    let bytes =
        pinion_input::bytes(&built.elf).map_err(|error| Error::file("read", &built.elf, error))?;
    Ok(Image::parse_x32(&bytes, &built.elf.display().to_string())?)
}

fn program_end(image: &Image) -> u64 {
    let executable = image.segments.iter().filter(|segment| segment.flags.execute);
    executable.map(|segment| segment.load_address + segment.memory_bytes).max().unwrap_or(0)
}

/// Refuses a program that does not fit into program memory.
fn check_program(image: &Image, built: &Built, machine: &Machine) -> Result<()> {
    let base = u64::from(machine.program.base);
    let limit = base + u64::from(machine.program.bytes);
    let end = program_end(image);
    if end > limit {
        return Err(Error::program(
            &built.elf,
            format!(
                "it is too large: its code reaches {end:#x}, and program memory ends at \
                 {limit:#x} ({} bytes); leave code out, compile with -Os, or use a machine with \
                 more (--set program.bytes=…)",
                machine.program.bytes
            ),
        ));
    }
    if !(base..limit).contains(&image.entry) {
        return Err(Error::program(
            &built.elf,
            format!(
                "it starts at {:#x}, outside program memory ({base:#x} to {limit:#x}): it was \
                 not linked for this machine",
                image.entry
            ),
        ));
    }
    Ok(())
}

/// Gives every context its places in NIC and host memory.
fn place(manifest: &Manifest, machine: &Machine, image: &Image) -> Result<Vec<ExecutionContext>> {
    let l2_end = u64::from(machine.l2_handler.base) + u64::from(machine.l2_handler.bytes);
    let mut l2 = Region {
        next: u64::from(machine.l2_handler.base) + taken_bytes(machine, image),
        end: l2_end,
        what: "the L2 handler memory that contexts share",
    };
    let mut scratchpad = Region {
        next: 0,
        end: u64::from(machine.scratchpad_bytes()),
        what: "the part of each cluster's L1 that contexts' scratchpads share",
    };
    let mut host = Region { next: HOST_MEMORY_BASE, end: u64::MAX, what: "host memory" };
    let mut contexts = Vec::new();
    for (index, context) in manifest.contexts().iter().enumerate() {
        let refuse = |key: &str, problem: String| {
            manifest.error_at(&format!("context[{index}].{key}"), problem)
        };
        let handler = |key: &'static str, symbol: &Option<String>| {
            let found = symbol.as_ref().map(|symbol| find_handler(image, machine, symbol));
            found.transpose().map_err(|problem| refuse(key, problem))
        };
        let handler_memory_bytes = context.handler_memory_bytes.next_multiple_of(8);
        let handler_memory = l2.take(handler_memory_bytes, natural_align(handler_memory_bytes));
        let scratchpad_bytes = context.scratchpad_bytes.next_multiple_of(8);
        let scratchpad_offset = scratchpad.take(scratchpad_bytes, natural_align(scratchpad_bytes));
        let host_memory = host.take(context.host_memory_bytes, HOST_ALIGN_BYTES);
        contexts.push(ExecutionContext {
            name: context.name.clone(),
            header_handler: handler("header", &context.header)?,
            payload_handler: handler("payload", &context.payload)?,
            completion_handler: handler("completion", &context.completion)?,
            handler_memory_address: narrow(handler_memory)
                .map_err(|problem| refuse("handler_memory", problem))?,
            handler_memory_bytes: handler_memory_bytes as u32,
            handler_memory_image: read_image(&context.handler_memory_image)?,
            host_memory_address: host_memory.map_err(|problem| refuse("host_memory", problem))?,
            host_memory_bytes: u32::try_from(context.host_memory_bytes).map_err(|_| {
                refuse("host_memory", "the largest window has 4 GiB less a byte".to_owned())
            })?,
            scratchpad_offset: narrow(scratchpad_offset)
                .map_err(|problem| refuse("scratchpad", problem))?,
            scratchpad_bytes: scratchpad_bytes as u32,
            l1_bytes: context.l1_bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
            watchdog_cycles: watchdog_cycles(context.watchdog, machine),
            message_timeout_cycles: Some(machine.protection.message_timeout_cycles)
                .filter(|cycles| *cycles > 0),
            ..ExecutionContext::default()
        });
    }
    Ok(contexts)
}

/// A part of memory that contexts get pieces of.
struct Region {
    next: u64,
    end: u64,
    what: &'static str,
}

impl Region {
    fn take(&mut self, bytes: u64, align: u64) -> std::result::Result<u64, String> {
        let start = self.next.next_multiple_of(align);
        let end = start.checked_add(bytes).filter(|end| *end <= self.end);
        self.next = end.ok_or_else(|| {
            format!(
                "{bytes} bytes do not fit: {} has {} left",
                self.what,
                self.end.saturating_sub(start)
            )
        })?;
        Ok(start)
    }
}

/// Aligns a region so that one naturally aligned PMP entry can cover it.
fn natural_align(bytes: u64) -> u64 {
    bytes.checked_next_power_of_two().unwrap_or(1 << 20).clamp(64, 1 << 20)
}

fn narrow(address: std::result::Result<u64, String>) -> std::result::Result<u32, String> {
    u32::try_from(address?).map_err(|_| "the address has more than 32 bits".to_owned())
}

fn watchdog_cycles(watchdog: Watchdog, machine: &Machine) -> Option<u64> {
    let cycles = match watchdog {
        Watchdog::Cycles(cycles) => cycles,
        Watchdog::Time(time) => {
            let cycles = u128::from(time.ps) * u128::from(machine.clock.frequency_mhz);
            u64::try_from(cycles.div_ceil(1_000_000)).unwrap_or(u64::MAX)
        }
    };
    (cycles > 0).then_some(cycles)
}

/// Finds a handler's code.
fn find_handler(
    image: &Image,
    machine: &Machine,
    symbol: &str,
) -> std::result::Result<Handler, String> {
    let found = image.require(symbol).map_err(|error| error.to_string())?;
    let base = u64::from(machine.program.base);
    let memory =
        base..base + u64::from(machine.program.bytes).max(program_end(image).saturating_sub(base));
    if !memory.contains(&found.address) {
        return Err(format!(
            "`{symbol}` lies at {:#x} in {}, outside program memory ({:#x} to {:#x}): is it a \
             function?",
            found.address, image.name, memory.start, memory.end
        ));
    }
    Ok(Handler {
        name: symbol.to_owned(),
        address: found.address as u32,
        bytes: u32::try_from(found.size).unwrap_or(u32::MAX),
    })
}

fn read_image(path: &Option<PathBuf>) -> Result<Vec<u8>> {
    match path {
        None => Ok(Vec::new()),
        Some(path) => pinion_input::bytes(path).map_err(|error| Error::file("read", path, error)),
    }
}

fn host_images(manifest: &Manifest) -> Result<Vec<Vec<u8>>> {
    manifest.contexts().iter().map(|context| read_image(&context.host_memory_image)).collect()
}

/// Tells the matching engine about a context.
fn context_match(context: &Context) -> ContextMatch {
    ContextMatch { ruleset: ruleset(context), message: context.message, enabled: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_lie_behind_each_other() {
        let machine = machine::load::<Machine>("fpspin", &[], false).unwrap().value;
        let whole = Place::whole(&machine);
        let parts: Vec<Place> = (0..u64::from(SLOTS)).map(|slot| whole.part(slot)).collect();
        for pair in parts.windows(2) {
            assert_eq!(pair[0].program.0 + pair[0].program.1, pair[1].program.0);
            assert_eq!(pair[0].l2.0 + pair[0].l2.1, pair[1].l2.0);
            assert_eq!(pair[0].l1_data.0 + pair[0].l1_data.1, pair[1].l1_data.0);
        }
        assert_eq!(parts[1].program, (0x1d00_2000, 0x2000));
        assert_eq!(parts[3].l2, (0x1c00_c000, 0x4000));
        assert_eq!(parts[0].l1_data, (0x400 + 0x2000, 0x800));
        assert!(slot_layout(&machine, Some(SLOTS)).is_err());
    }
}
