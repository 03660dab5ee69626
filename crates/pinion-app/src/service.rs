//! A nanoservice: a manifest comes in, its program is built and read; how many harts run it, with
//! which arguments and on which machine goes out, for a node to be made of.

use std::path::Path;

use pinion_isa::elf::Image;

use crate::app::{App, Options};
use crate::build::{self, Built, Layout};
use crate::error::{Error, Result};
use crate::manifest::{self, Manifest, Nanoservice};

/// Where every hart starts (memory map of the nanoPU's cores).
pub const MEMORY_BASE: u64 = 0x8000_0000;
/// Counts the bytes of memory a program is linked for: code, stacks, heap.
pub const MEMORY_BYTES: u64 = 256 << 20;
/// Counts the harts a program is linked for when neither manifest nor command line say (the
/// published artifact's).
pub const DEFAULT_HARTS: u32 = 4;
/// Names the symbol that tells how many harts a program is linked for.
const HARTS_SYMBOL: &str = "__harts";

/// Holds a nanoservice whose program is there.
#[derive(Debug)]
pub struct Service {
    /// The application's manifest.
    pub manifest: Manifest,
    /// The program.
    pub image: Image,
    /// Where the program came from.
    pub built: Built,
    /// Name of the machine to run it on.
    pub machine: String,
    /// Number of the harts it was linked for; `None` in a program made elsewhere that does not say.
    pub harts: Option<u32>,
}

impl Service {
    /// Loads the manifest and builds the program unless it is up to date.
    ///
    /// # Errors
    /// Everything that can be wrong before there is a machine.
    pub fn load(path: &Path, options: &Options) -> Result<Self> {
        Self::of(manifest::load(path)?, options)
    }

    /// Does the same for a manifest that is loaded already.
    ///
    /// # Errors
    /// As [`Service::load`].
    pub fn of(manifest: Manifest, options: &Options) -> Result<Self> {
        let Some(described) = manifest.nanoservice() else {
            let problem = "this is no nanoservice but packet handlers: it has no [nanoservice]";
            return Err(manifest.error_at("app", problem).into());
        };
        build::untrusted::check(&manifest, &options.build)?;
        if options.build.slot.is_some() {
            let problem = "--slot goes with packet handlers; a nanoservice has its node alone";
            return Err(manifest.error_at("nanoservice", problem).into());
        }
        if manifest.app.elf.is_some() && options.build.chooses() {
            return Err(manifest.error_at("app.elf", build::MADE_ELSEWHERE).into());
        }
        let harts = described.harts.unwrap_or(DEFAULT_HARTS);
        let built = match &options.elf {
            Some(elf) => Built::elsewhere(elf.clone()),
            None => build::build(&manifest, &layout(harts), &options.build)?,
        };
        let image = read(&built.elf)?;
        let harts = image.symbol(HARTS_SYMBOL).and_then(|symbol| symbol.address.try_into().ok());
        let machine = options.machine.clone().unwrap_or_else(|| manifest.app.machine.clone());
        Ok(Self { manifest, image, built, machine, harts })
    }

    /// Gives what the manifest says about the service.
    pub fn described(&self) -> &Nanoservice {
        self.manifest.nanoservice().expect("checked when it was loaded")
    }

    /// Lists the program's command line: its name, then the manifest's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let name = std::iter::once(self.manifest.app.name.clone());
        name.chain(self.described().args.iter().cloned()).collect()
    }

    /// Counts the bytes of memory that code, constants and variables take.
    pub fn program_bytes(&self) -> u64 {
        let ends = self.image.segments.iter();
        let ends = ends.map(|s| s.load_address.saturating_add(s.memory_bytes));
        ends.max().unwrap_or(0).saturating_sub(MEMORY_BASE)
    }
}

fn read(elf: &Path) -> Result<Image> {
    let bytes = pinion_input::bytes(elf).map_err(|error| Error::file("read", elf, error))?;
    let image = Image::parse_for::<u64>(&bytes, &elf.display().to_string())?;
    if image.entry != MEMORY_BASE {
        let problem = format!(
            "it starts at {:#x}; every hart of a nanoPU starts at {MEMORY_BASE:#x}",
            image.entry
        );
        return Err(Error::program(elf, problem));
    }
    Ok(image)
}

/// Lists the numbers a nanoservice is compiled and linked against.
pub fn layout(harts: u32) -> Layout {
    Layout::new([
        ("MEMORY_ORIGIN", MEMORY_BASE),
        ("MEMORY_BYTES", MEMORY_BYTES),
        ("HARTS", u64::from(harts)),
        ("PINION_HARTS", u64::from(harts)),
    ])
}

/// Holds an application of either kind: which machine it is for decides what can be done with it.
pub enum AnyApp {
    /// Packet handlers, on a sPIN NIC.
    Handlers(Box<App>),
    /// A nanoservice, for a nanoPU.
    Nanoservice(Box<Service>),
}

impl AnyApp {
    /// Loads an application of the kind that its manifest says, built and checked.
    ///
    /// # Errors
    /// As [`App::load`] and [`Service::load`].
    pub fn load(path: &Path, options: &Options) -> Result<Self> {
        let manifest = manifest::load(path)?;
        match manifest.nanoservice() {
            None => Ok(Self::Handlers(Box::new(App::of(manifest, options)?))),
            Some(_) => Ok(Self::Nanoservice(Box::new(Service::of(manifest, options)?))),
        }
    }

    /// Tells where the program came from.
    pub fn built(&self) -> &Built {
        match self {
            Self::Handlers(app) => &app.built,
            Self::Nanoservice(service) => &service.built,
        }
    }
}
