//! Runs by the native engine: the same application and packets, handlers compiled for this computer.
//!
//! In: an [`App`] loaded with `build.native`. Out: the [`Summary`](pinion_observe::report::Summary) that the
//! simulator gives, with times of this computer; cycles and instructions are not known.

mod live;
mod run;

pub use live::run as run_live;
pub use run::{run, run_counted};

pub use pinion_native::Counter;
use pinion_native::{Confined, NativeError, Runner, Setup};

use pinion_app::app::{App, Options};
use pinion_app::error::{Error, Result};
use pinion_app::manifest::Manifest;

/// Lists the parts of a machine that the engine has too: memories, matching, numbers of units.
const HAS: [&str; 14] = [
    "cluster.count",
    "cluster.cores",
    "inbound.max_packet_bytes",
    "l1.base",
    "l1.bytes",
    "l1.packet_buffer_bytes",
    "l1.runtime_bytes",
    "l2_handler.bytes",
    "l2_packet.bytes",
    "matching.reach_bytes",
    "matching.rules",
    "matching.rulesets",
    "mpq.count",
    "units.count",
];

/// Checks that nothing was asked for that has no meaning here: the machine's timing, the RTL's
/// behaviour, a program for the NIC's cores.
///
/// # Errors
/// Names the option.
pub fn check(manifest: &Manifest, options: &Options) -> Result<()> {
    let refuse = |what: String| Err(Error::Usage(what));
    if options.faithful {
        return refuse("--faithful is about the hardware; the native engine has none".to_owned());
    }
    if options.elf.is_some() {
        return refuse(
            "--elf names a program for the NIC's cores; the native engine builds the sources for \
             this computer"
                .to_owned(),
        );
    }
    if manifest.app.elf.is_some() {
        let problem = "the native engine needs the sources: this program is for the NIC's cores";
        return Err(manifest.error_at("app.elf", problem).into());
    }
    for text in &options.overrides {
        let key = text.split('=').next().unwrap_or_default().trim();
        if !HAS.contains(&key) {
            return refuse(format!(
                "--set {text}: the native engine has no timing; of a machine it takes {}",
                HAS.join(", ")
            ));
        }
    }
    Ok(())
}

/// Says what is wanted beside packets and faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tell {
    /// Wants each handler.
    pub handlers: bool,
    /// Wants handlers' instructions, which makes them slower.
    pub instructions: bool,
}

/// Says why handlers run without walls, if they do. With `untrusted` they must have them.
///
/// # Errors
/// When they must, and this computer has none.
pub fn walls(untrusted: bool) -> Result<Option<String>> {
    Confined::missing(untrusted).map_err(|error| Error::Usage(error.to_string()))
}

/// Says that handlers run with all rights.
fn remark(why: &str) -> String {
    format!("handlers ran with all of your rights: {why}")
}

/// Says that the engine has ended.
fn ended(error: NativeError) -> Error {
    Error::part("the native engine has ended", error)
}

/// Starts the engine with an application's program, contexts and host memory, behind walls where this
/// computer has any; gives why not, where not.
///
/// # Errors
/// When they do not fit, or another native engine runs in this process.
pub fn engine(app: &App, workers: u32, tell: Tell) -> Result<(Runner, Option<String>)> {
    let machine = &app.machine.value;
    if machine.units.count > 1 {
        return Err(Error::Usage(format!(
            "{} has {} PsPIN units; the native engine stands for one (--set units.count=1)",
            machine.name, machine.units.count
        )));
    }
    let setup = Setup {
        machine,
        image: &app.image,
        contexts: &app.contexts,
        matching: app.engine()?,
        workers,
        observed: true,
        handlers: tell.handlers,
        counted: tell.instructions,
    };
    // Instructions are counted by a file of the kernel's, and by our own figures alone.
    let unconfined = match tell.instructions {
        true => Some("their instructions were counted".to_owned()),
        false => walls(app.is_untrusted)?,
    };
    let mut engine = Runner::new(setup, unconfined.is_none())
        .map_err(|error| Error::part("cannot start the native engine", error))?;
    for (context, image) in app.contexts.iter().zip(&app.host_images) {
        let written = engine.write_host(context.host_memory_address, image);
        debug_assert!(written, "contexts' windows lie within host memory");
    }
    Ok((engine, unconfined))
}
