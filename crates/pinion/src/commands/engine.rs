//! `--engine`, `--engine-core` and `--workers`: what runs the handlers.

use pinion::Error;
use pinion::app::Options;
use pinion::cluster;
use pinion::error::Result;
use pinion::hardware::choice::Choice;
use pinion::manifest::Manifest;
use pinion::nanoservice;

use super::{interrupt, look};
use crate::cli::{AppArgs, EngineArgs, EngineKind, RunArgs};

/// Chooses the engine: gives the native engine's workers, or `None` for the simulator, after checking
/// that the other options go with it.
pub fn choose(
    args: &EngineArgs,
    manifest: &Manifest,
    options: &mut Options,
) -> Result<Option<u32>> {
    if args.engine == EngineKind::Native && args.has_hardware() {
        return Err(Error::Usage(
            "--hardware, --ports: units of the simulated NIC are hardware; --engine native has none"
                .to_owned(),
        ));
    }
    if args.engine == EngineKind::Simulator {
        return match args.workers {
            None => Ok(None),
            Some(_) => Err(Error::Usage(
                "--workers goes with --engine native; the simulated machine has HPUs (--set \
                 cluster.count=…)"
                    .to_owned(),
            )),
        };
    }
    check(manifest, options)?;
    options.build.native = true;
    pinion::build::untrusted::check(manifest, &options.build)?;
    if options.build.untrusted {
        walls()?;
    }
    Ok(Some(args.workers.unwrap_or(1)))
}

/// Gives the units that are to be hardware, if some are.
pub fn hardware(args: &EngineArgs) -> Result<Option<Choice>> {
    if !args.has_hardware() {
        return Ok(None);
    }
    let folder = args.waves.clone().unwrap_or_else(|| ".".into());
    if !folder.is_dir() {
        return Err(Error::Usage(format!("--waves: {} is no folder", folder.display())));
    }
    let choice = Choice::read(&args.hardware, args.compare, folder)?.and_ports(&args.ports)?;
    interrupt::watch_blocks();
    Ok(Some(choice))
}

/// Refuses what does not go with blocks of hardware.
pub fn refuse_with_hardware(args: &RunArgs, hardware: &Choice) -> Result<()> {
    let with = "without --hardware: blocks tell nothing of themselves, and no recording has them";
    look::refuse(args, &["--check", "--html", "--record"], with)?;
    match hardware.own_file() {
        Some(file) if args.app.untrusted => Err(Error::Usage(format!(
            "--hardware {}: --untrusted runs nothing of somebody else's on this computer, and a block \
             is compiled for it",
            file.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses `--hardware` where it cannot be.
pub fn refuse_hardware(args: &EngineArgs, what: &str) -> Result<()> {
    match args.has_hardware() {
        false => Ok(()),
        true => Err(Error::Usage(format!(
            "--hardware, and --ports, go with `pinion run`, on one simulated machine; {what}"
        ))),
    }
}

/// Refuses the options where nothing else than one machine can run.
pub fn refuse(args: &EngineArgs, what: &str) -> Result<()> {
    refuse_hardware(args, what)?;
    refuse_native(args, what)
}

/// Refuses `--engine-core` where nothing depends on it.
pub fn refuse_core(args: &AppArgs, what: &str) -> Result<()> {
    args.core.engine_core.map_or(Ok(()), |_| Err(core_refused(what)))
}

/// Says why `--engine-core` is refused.
pub fn core_refused(what: &str) -> Error {
    Error::Usage(format!(
        "--engine-core says how the HPUs of a simulated sPIN NIC, and the P4 programs of a nanoPU's \
         transport, are executed in a run; {what}"
    ))
}

/// Refuses it where there is neither: for a nanoservice, and for a cluster, without such a NIC and such a transport
/// as it is, or with what is set.
pub fn refuse_needless_core(args: &AppArgs, set: &[String]) -> Result<()> {
    if args.core.engine_core.is_none() {
        return Ok(());
    }
    let options = Options { overrides: set.to_vec(), ..super::build::options(args) };
    let (is_needed, why) = match cluster::locate(&args.app) {
        Some(file) => {
            (cluster::is_translated(&file, &options)?, "no node of this cluster has either")
        }
        None => {
            let manifest = pinion::manifest::load(&args.app)?;
            let is_needed =
                manifest.nanoservice().is_none() || nanoservice::has_programs(&manifest, &options)?;
            let why = "a nanoservice's harts are executed in one way alone, and its transport is built in";
            (is_needed, why)
        }
    };
    if is_needed { Ok(()) } else { refuse_core(args, why) }
}

/// Says why what looks at every instruction refuses `--engine-core`.
pub const INTERPRETED: &str = "every instruction is looked at here, and all are interpreted";

/// Refuses the native engine where there are no packet handlers.
pub fn refuse_native(args: &EngineArgs, what: &str) -> Result<()> {
    if args.engine == EngineKind::Native || args.workers.is_some() {
        return Err(Error::Usage(format!(
            "--engine native and --workers go with packet handlers in `pinion run` and `pinion up`; \
             {what}"
        )));
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn check(manifest: &Manifest, options: &Options) -> Result<()> {
    pinion::native::check(manifest, options)
}

/// Refuses where handlers that nobody trusts cannot be kept from this computer.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn walls() -> Result<()> {
    pinion::native::walls(true).map(drop)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn walls() -> Result<()> {
    Ok(())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn check(_: &Manifest, _: &Options) -> Result<()> {
    Err(Error::Usage("--engine native needs Linux on an x86-64 computer".to_owned()))
}
