//! Pinion as a library: what the command `pinion` does, for programs and tests.
//!
//! ```no_run
//! use std::path::Path;
//! use pinion::{app, report::{Outputs, Report}, run, traffic::Packets, watch};
//!
//! let app = app::App::load(Path::new("examples/icmp_echo"), &app::Options::default())?;
//! let packets = Packets::generate("icmp,count=100", None, None)?;
//! let finished = run::run(&app, packets, &Outputs::default(), &mut watch::Unobserved)?;
//! println!("{}", finished.summary.to_text());
//! # Ok::<(), pinion::Error>(())
//! ```
//!
//! An [`app::App`] is a manifest, a machine and a program that fit each other, a
//! [`service::Service`] the same for a nanoPU; [`traffic::Packets`]
//! supply frames; [`run::run`] gives a [`report::Summary`]; [`calibration`] compares with the
//! hardware; [`trace`] tells what happens within a run, [`profile`] where its cycles go; [`figure`] makes published figures again; [`live`] runs on a TAP device.

pub use pinion_app::{
    Error, Result, app, assets, build, driver_library, error, fpspin_project, machine, manifest,
    pspin_project, service, tape, traffic,
};
pub use pinion_calibration as calibration;
pub use pinion_check as check;
#[cfg(target_os = "linux")]
pub use pinion_dashboard as dashboard;
pub use pinion_debug as debug;
pub use pinion_expect as expect;
pub use pinion_figures::{area, figure, measure, sweep};
pub use pinion_hardware as hardware;
#[cfg(target_os = "linux")]
pub use pinion_nicd::{lab, nic};
pub use pinion_observe::plot::{Bar, waterfall};
pub use pinion_observe::{document, fault, gauges, load, profile, report, trace, words};
pub use pinion_page as page;
pub use pinion_record as record;
#[cfg(target_os = "linux")]
pub use pinion_run::live;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use pinion_run::native;
pub use pinion_run::{cluster, cosim, nanoservice, ranks, run, watch};
pub use pinion_why as why;
