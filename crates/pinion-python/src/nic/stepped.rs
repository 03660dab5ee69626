//! What can be run step by step. In: frames with their times, and how far to run. Out: what happened, to who
//! hears it; what units and memories hold; the state, to come back to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinion_app::Result;
use pinion_app::app::App as Handlers;
use pinion_app::service::Service;
use pinion_isa::elf::Image;
use pinion_observe::fault::program::Code;
use pinion_sim::Time;
use pinion_sim::node::Saved;

use super::ears::Hearing;

/// Where a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Nothing is left to do.
    Idle,
    /// The time is there.
    Reached,
    /// The programs have ended that it runs for, or one has failed.
    Ended,
}

/// Whose memory is meant.
#[derive(Clone, Copy, Debug, Default)]
pub struct At {
    /// Number of the node; 0 where there is one alone.
    pub node: usize,
    /// Number of the cluster of HPUs, whose L1 is its own.
    pub cluster: u32,
}

/// A program that a node runs.
#[derive(Clone)]
pub enum Program {
    /// Packet handlers.
    Handlers(Arc<Handlers>),
    /// A nanoservice.
    Service(Arc<Service>),
}

impl Program {
    /// Gives its file.
    pub fn elf(&self) -> &Path {
        match self {
            Self::Handlers(app) => &app.built.elf,
            Self::Service(service) => &service.built.elf,
        }
    }

    /// Gives what is loaded of it.
    pub fn image(&self) -> &Image {
        match self {
            Self::Handlers(app) => &app.image,
            Self::Service(service) => &service.image,
        }
    }

    /// Says what its instructions are.
    pub fn code(&self) -> Code {
        match self {
            Self::Handlers(_) => Code::HPU,
            Self::Service(_) => Code::NANOPU,
        }
    }

    /// Reads its file.
    pub fn file(&self) -> Result<Vec<u8>> {
        let elf: PathBuf = self.elf().to_owned();
        pinion_input::bytes(&elf).map_err(|error| pinion_app::Error::file("read", &elf, error))
    }
}

/// A NIC, a node or a cluster that runs step by step.
pub trait Stepped: Send {
    /// Refuses frames that cannot come.
    fn check(&self, bytes: usize) -> Result<()>;

    /// Lets a frame come, behind those before.
    fn put(&mut self, at: Time, frame: Vec<u8>);

    /// Runs until a time, or as far as there is something to do; who hears it is told what happened.
    fn run(&mut self, until: Time, hearing: &mut Hearing<'_>) -> Result<Stopped>;

    /// Gives the time before which everything has happened.
    fn now(&self) -> Time;

    /// Tells names and numbers of what units hold.
    fn state(&self, tell: &mut dyn FnMut(&str, u64));

    /// Reads memory; tells whether there is some.
    fn read(&self, at: At, address: u64, buffer: &mut [u8]) -> bool;

    /// Saves its state.
    fn save(&self) -> Result<Saved>;

    /// Goes to where it was saved.
    fn restore(&mut self, saved: &Saved) -> Result<()>;

    /// Gives the NIC, where it is one with a host.
    fn units(&mut self) -> Option<&mut pinion_spin::Units> {
        None
    }
}
