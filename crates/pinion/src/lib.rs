//! Pinion as a library: what the command `pinion` does, for programs and tests.
//!
//! ```no_run
//! use std::path::Path;
//! use pinion::{app, report::Outputs, run, traffic::Packets};
//!
//! let app = app::App::load(Path::new("examples/icmp_echo"), &app::Options::default())?;
//! let packets = Packets::generate("icmp,count=100", None, None)?;
//! let finished = run::run(&app, packets, &Outputs::default(), &mut run::Unobserved)?;
//! println!("{}", finished.summary.to_text());
//! # Ok::<(), pinion::Error>(())
//! ```
//!
//! An [`app::App`] is a manifest, a machine and a program that fit each other, a
//! [`service::Service`] the same for a nanoPU; [`traffic::Packets`]
//! supply frames; [`run::run`] gives a [`report::Summary`]; [`calibration`] compares with the
//! hardware; [`trace`] tells what happens within a run; [`figure`] makes published figures again; [`live`] runs on a TAP device.

pub mod app;
pub mod area;
pub mod assets;
pub mod build;
pub mod calibration;
pub mod cluster;
pub mod cosim;
pub mod document;
pub mod driver_library;
pub mod error;
pub mod fault;
pub mod figure;
pub mod fpspin_project;
#[cfg(target_os = "linux")]
pub mod lab;
#[cfg(target_os = "linux")]
pub mod live;
pub mod load;
pub mod machine;
pub mod manifest;
pub mod nanoservice;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod native;
#[cfg(target_os = "linux")]
pub mod nic;
pub mod pspin_project;
pub mod ranks;
pub mod report;
pub mod run;
pub mod service;
pub mod sweep;
pub mod trace;
pub mod traffic;

pub use error::{Error, Result};
