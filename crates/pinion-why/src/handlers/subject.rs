//! What is asked about: a NIC, its contexts, and the program on it, of an application or of a NIC that host
//! programs share.

use pinion_app::app::App;
use pinion_isa::elf::Image;
use pinion_observe::trace::SourceLines;
use pinion_sim::Clock;
use pinion_spin::{ContextId, ExecutionContext, HandlerKind, Machine};

/// A NIC with a program.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// What it is called: an application, or a NIC.
    pub name: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// Its execution contexts.
    pub contexts: &'a [ExecutionContext],
    /// The program.
    pub image: &'a Image,
    /// Its file.
    pub elf: Elf<'a>,
}

/// An ELF file.
#[derive(Clone, Copy)]
pub enum Elf<'a> {
    /// That lies there.
    At(&'a std::path::Path),
    /// Whose bytes these are.
    Of(&'a [u8]),
}

impl<'a> From<&'a App> for Subject<'a> {
    fn from(app: &'a App) -> Self {
        Self {
            name: &app.manifest.app.name,
            machine: &app.machine.value,
            contexts: &app.contexts,
            image: &app.image,
            elf: Elf::At(&app.built.elf),
        }
    }
}

impl<'a> Subject<'a> {
    /// Gives the NIC's clock.
    pub fn clock(&self) -> Clock {
        Clock::from_hz(self.machine.clock.frequency_mhz * 1_000_000)
    }

    /// Reads which lines the program was compiled from.
    pub fn lines(&self) -> SourceLines {
        match self.elf {
            Elf::At(path) => SourceLines::read(path),
            Elf::Of(bytes) => SourceLines::of(bytes),
        }
    }

    /// Names a context.
    pub fn context_name(&self, context: ContextId) -> &'a str {
        self.contexts.get(context.0 as usize).map_or("", |context| &context.name)
    }

    /// Names a handler.
    pub fn handler_name(&self, context: ContextId, kind: HandlerKind) -> &'a str {
        let found = self.contexts.get(context.0 as usize);
        let found = found.and_then(|context| context.handler(kind));
        found.map_or("handler", |handler| &handler.name)
    }
}
