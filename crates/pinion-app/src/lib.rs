//! An application before it runs: its manifest, the machine it is for, its program, its packets.
//!
//! | module | in | out |
//! |---|---|---|
//! | [`manifest`] | `app.toml` | what the application is, checked |
//! | [`machine`] | a name, overrides | a machine of the wanted kind |
//! | [`build`] | sources, numbers of the machine | an ELF |
//! | [`app`], [`service`] | all of them | handlers, or a nanoservice, that fit their machine |
//! | [`traffic`] | a capture, a specification | frames with times of arrival |
//! | [`tape`] | frames of a live run, and when | the same slices again |
//! | [`assets`] | a name | SDK, machines, examples, figures that Pinion comes with |
//! | [`pspin_project`], [`fpspin_project`], [`driver_library`] | a folder | projects of the published SDKs |

pub mod app;
pub mod assets;
pub mod build;
pub mod driver_library;
pub mod error;
pub mod fpspin_project;
pub mod machine;
pub mod manifest;
pub mod pspin_project;
pub mod service;
pub mod tape;
pub mod traffic;

pub use error::{Error, Result};
