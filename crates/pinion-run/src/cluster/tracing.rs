//! A trace of nodes of a cluster, and of the network between them: who hears what.

use pinion_net::fabric::Journal;
use pinion_net::load::Sample;
use pinion_net::topology::Place;

use crate::nanoservice::run::Settling;
use pinion_app::error::Result;
use pinion_observe::trace::Tracer;

/// Says what is traced, and by whom.
#[derive(Default)]
pub struct Tracing<'a> {
    /// Who hears nodes, by their numbers.
    pub nodes: Vec<(usize, NodeTracer<'a>)>,
    /// Who hears what happens to frames between nodes.
    pub network: Option<Box<dyn NetworkTracer + Send + 'a>>,
}

/// Hears everything that happens in a node.
pub enum NodeTracer<'a> {
    /// In a nanoPU.
    Nano(Box<dyn Settling + Send + 'a>),
    /// In a sPIN NIC.
    Spin(Box<dyn Tracer + Send + 'a>),
    /// In a load generator.
    Load(Box<dyn LoadTracer + Send + 'a>),
}

/// Hears what a load generator sends, and what it is answered.
pub trait LoadTracer {
    /// Hears the next frame that it sends.
    fn sends(&mut self, frame: &[u8]);

    /// Hears which request the next frame that it gets has answered, if it has.
    fn gets(&mut self, answered: Option<&Sample>);
}

impl<T: LoadTracer + ?Sized> LoadTracer for &mut T {
    fn sends(&mut self, frame: &[u8]) {
        (**self).sends(frame);
    }

    fn gets(&mut self, answered: Option<&Sample>) {
        (**self).gets(answered);
    }
}

/// Hears what happens to frames between nodes.
pub trait NetworkTracer {
    /// Hears what happened at a place in a window; places come in order.
    fn passed(&mut self, place: Place, journal: &Journal);

    /// Hears that everything before a cycle has happened.
    ///
    /// # Errors
    /// When what it writes cannot be written.
    fn settle(&mut self, _now: u64) -> Result<()> {
        Ok(())
    }

    /// Hears that the run is over, and all who hear nodes have written what they had.
    ///
    /// # Errors
    /// When what it writes cannot be written.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<T: NetworkTracer + ?Sized> NetworkTracer for &mut T {
    fn passed(&mut self, place: Place, journal: &Journal) {
        (**self).passed(place, journal);
    }

    fn settle(&mut self, now: u64) -> Result<()> {
        (**self).settle(now)
    }

    fn finish(&mut self) -> Result<()> {
        (**self).finish()
    }
}
