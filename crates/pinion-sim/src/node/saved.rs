//! What a node saves, and why one cannot be saved or restored.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// The state of a node at some cycle: opaque, in memory, of one type. Copies are cheap: they share it.
#[derive(Clone)]
pub struct Saved {
    /// The name of its type, to tell.
    of: &'static str,
    state: Arc<dyn Any + Send + Sync>,
}

impl Saved {
    /// Keeps a state.
    pub fn new<T: Any + Send + Sync>(state: T) -> Self {
        Self { of: type_name::<T>(), state: Arc::new(state) }
    }

    /// Gives the state, if it is of this type.
    ///
    /// # Errors
    /// When it is of another.
    pub fn get<T: Any>(&self) -> Result<&T, RestoreError> {
        let wrong = || RestoreError::OtherKind { wanted: short::<T>(), found: shorten(self.of) };
        self.state.downcast_ref().ok_or_else(wrong)
    }
}

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Saved({})", shorten(self.of))
    }
}

fn short<T>() -> &'static str {
    shorten(type_name::<T>())
}

/// Leaves the path out in front of a type's name.
fn shorten(name: &'static str) -> &'static str {
    let path = name.split('<').next().unwrap_or(name);
    path.rfind("::").map_or(name, |end| &name[end + 2..])
}

/// Why a node cannot be saved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SaveError {
    /// A device of the host's kernel has some of it.
    #[error(
        "{what} cannot be saved: the kernel holds frames of it that cannot be taken back; run from a \
         capture instead"
    )]
    Device {
        /// The device.
        what: String,
    },
    /// Other processes map some of its memory.
    #[error(
        "{what} cannot be saved: other processes map it, and what they do next is not known here; \
         run without host programs"
    )]
    SharedMemory {
        /// The memory.
        what: String,
    },
    /// Another process, or code of the host's own, is some of it.
    #[error(
        "{what} cannot be saved: it runs outside the simulation, which cannot make it go back; run a \
         model of it instead"
    )]
    Outside {
        /// What runs there.
        what: String,
    },
    /// It reads or writes a file as it goes.
    #[error(
        "{what} cannot be saved: it goes through a file from its beginning to its end; run a load \
         generator instead"
    )]
    File {
        /// The file, or what it is for.
        what: String,
    },
    /// A part of it cannot be saved.
    #[error("{part}: {source}")]
    Part {
        /// The part: a node of a fabric.
        part: String,
        /// Why it cannot.
        source: Box<SaveError>,
    },
}

/// Why a node cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// Another kind of node was saved.
    #[error("this is the state of another kind of node: of {found}, not of {wanted}")]
    OtherKind {
        /// The type that is to be restored.
        wanted: &'static str,
        /// The type that was saved.
        found: &'static str,
    },
    /// The two were built differently.
    #[error(
        "the state was saved by a node that was built differently: {what}; restore it into one of \
         the same machine, program and network"
    )]
    BuiltDifferently {
        /// In what they differ.
        what: String,
    },
    /// A part of it cannot be restored.
    #[error("{part}: {source}")]
    Part {
        /// The part: a node of a fabric.
        part: String,
        /// Why it cannot.
        source: Box<RestoreError>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Small(u8);

    #[test]
    fn a_state_comes_back_and_only_as_what_it_was() {
        let saved = Saved::new(vec![Small(3)]);
        assert_eq!(saved.clone().get::<Vec<Small>>(), Ok(&vec![Small(3)]));
        let error = saved.get::<Small>().unwrap_err();
        assert!(error.to_string().contains("not of Small"), "{error}");
        assert!(format!("{saved:?}").starts_with("Saved(Vec<"));
    }
}
