//! A small network around one NIC, as FPsPIN's experiments have it: two network namespaces of this
//! computer that reach each other only through the NIC.
//!
//! ```text
//!   namespace pinion-client              the NIC's process                namespace pinion-host
//!   pin0 10.11.0.1 ── TAP ── the wire ── (pinion nic, ── host side ── TAP ── pinh0 10.11.0.2
//!                                         pinion up)
//! ```
//!
//! [`up`] makes namespaces, TAP devices, addresses and permanent neighbour entries, [`down`]
//! removes them, [`status`] tells what there is, [`enter`] brings a program inside. All that is
//! made has a name with the prefix `pinion-` or lies inside a namespace that has, and is noted in a
//! file (`state.rs`) *before* it is made: whatever `up` could not finish, `down` finds. Nothing
//! outside is touched, and a name that somebody else has taken is refused.

mod error;
pub mod hold;
mod network;
mod space;
mod state;
mod status;

pub use error::LabError;
pub use network::{CLIENT_ADDRESS, CLIENT_TAP, HOST_ADDRESS, HOST_TAP};
pub use status::{Report, SpaceReport};

use space::Space;
use state::{Record, Store};

/// Which of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Where the NIC is plugged in: its host side.
    Host,
    /// Who talks to the NIC: the other end of its wire.
    Client,
}

impl End {
    /// Both ends, in the order in which they are made.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Host];

    fn suffix(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Client => "client",
        }
    }
}

/// The name of a lab; its namespaces are NAME-host and NAME-client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabName(String);

impl LabName {
    /// Takes `pinion`, or what further labs are called: `pinion-` and letters, digits, `-`, 24
    /// characters at most.
    ///
    /// # Errors
    /// [`LabError::BadName`].
    pub fn new(name: &str) -> Result<Self, LabError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_ours =
            name == "pinion" || name.strip_prefix("pinion-").is_some_and(|r| !r.is_empty());
        if !is_ours || name.len() > 24 || !name.chars().all(is_plain) {
            return Err(LabError::BadName { name: name.to_owned() });
        }
        Ok(Self(name.to_owned()))
    }

    /// Gives the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn space(&self, end: End) -> String {
        format!("{}-{}", self.0, end.suffix())
    }
}

/// Makes the lab, unless it is there already; returns whether it was made. What an earlier run left
/// half done is removed first, and what this one cannot finish, too.
///
/// # Errors
/// When a name is taken, a right or a tool is missing.
pub fn up(name: &LabName) -> Result<bool, LabError> {
    let store = Store::open(name)?;
    let record = store.load()?;
    if status::of(name, &record).is_complete() {
        return Ok(false);
    }
    take_down(&store, record)?;
    let mut record = Record::default();
    match make(name, &store, &mut record) {
        Ok(()) => Ok(true),
        Err(problem) => {
            take_down(&store, record)?;
            Err(problem)
        }
    }
}

/// Makes everything, noting each part first.
fn make(name: &LabName, store: &Store, record: &mut Record) -> Result<(), LabError> {
    for end in End::BOTH {
        let space = name.space(end);
        space::refuse_taken(&space)?;
        record.spaces.push(Space::intended(&space));
        store.save(record)?;
        let (made, starting) = space::make(&space, store)?;
        *record.spaces.last_mut().expect("just pushed") = made;
        store.save(record)?;
        if let Some(starting) = starting {
            starting.release();
        }
    }
    for (end, space) in End::BOTH.into_iter().zip(&record.spaces) {
        network::set_up(end, space)?;
    }
    Ok(())
}

/// Removes what [`up`] made and nothing else; returns what was done, nothing when there was no lab.
///
/// # Errors
/// When something of the lab cannot be removed.
pub fn down(name: &LabName) -> Result<Vec<String>, LabError> {
    let store = Store::open(name)?;
    let record = store.load()?;
    take_down(&store, record)
}

fn take_down(store: &Store, mut record: Record) -> Result<Vec<String>, LabError> {
    let mut done = Vec::new();
    while let Some(space) = record.spaces.last() {
        done.extend(space.remove()?);
        record.spaces.pop();
        store.save(&record)?;
    }
    store.forget()?;
    Ok(done)
}

/// Tells what there is.
///
/// # Errors
/// When the record cannot be read.
pub fn status(name: &LabName) -> Result<Report, LabError> {
    let store = Store::open(name)?;
    Ok(status::of(name, &store.load()?))
}

/// Brings this thread into one end's namespace, for a program that it is about to become.
///
/// # Errors
/// [`LabError::NotUp`] without a lab, or when the namespace cannot be entered.
pub fn enter(name: &LabName, end: End) -> Result<(), LabError> {
    let record = Store::open(name)?.load()?;
    let wanted = name.space(end);
    let space = record.spaces.iter().find(|space| space.name == wanted && space.is_there());
    let space = space.ok_or_else(|| LabError::NotUp { lab: name.0.clone() })?;
    let path = space.path();
    pinion_net::namespace::enter(&path).map_err(|source| LabError::Enter { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_prefix() {
        assert_eq!(LabName::new("pinion").unwrap().space(End::Host), "pinion-host");
        assert_eq!(LabName::new("pinion-two").unwrap().space(End::Client), "pinion-two-client");
        for bad in ["", "lab", "pinion-", "pinion/x", "pinion-../x", "pinionx", "pinion a"] {
            assert!(LabName::new(bad).is_err(), "{bad}");
        }
        assert!(LabName::new(&format!("pinion-{}", "x".repeat(30))).is_err());
    }
}
