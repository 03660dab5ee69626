//! A recorded run of a NIC with host programs, done again without device and programs: the same frames
//! come in, the same messages are answered between the same slices, and the NIC reads of host memory
//! what it read then.

use std::path::Path;
use std::time::Instant;

use pinion_app::error::{Error, Result};
use pinion_observe::report::{Outputs, Summary};
use pinion_run::live::WireName;
use pinion_run::watch::{Observer, Progress};

use super::board::Board;
use super::deed::{self, Bytes, Deed, Image};
use super::message::{Body, Kind};
use super::notices::Limited;
use super::script::{PATIENCE, Script};
use super::serve::serve;
use super::{Options, Setting, check};

/// Repeats the run whose tape lies in a folder.
///
/// # Errors
/// When the recording is damaged, or an output fails.
pub fn replay(
    options: &Options,
    folder: &Path,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let mut options = options.clone();
    (options.live.wire, options.live.bound) = (WireName::Nowhere, PATIENCE);
    let setting = check(&options)?;
    let mut board = Board::new(&options, outputs)?;
    board.follow(Script::open(folder)?);
    let (observer, start) = (&mut Limited::new(observer), Instant::now());
    while observer.goes_on(&Progress::live(board.now(), start)) && board.slices.stuck.is_none() {
        while let Some(deed) = board.script.as_mut().and_then(Script::deed) {
            act(&mut board, &setting, deed, observer)?;
        }
        if !board.script.as_ref().is_some_and(Script::has_slice) {
            break;
        }
        board.simulate(observer)?;
    }
    board.finish(&setting.device, observer)
}

/// Does what a program did; what it was answered does not matter.
fn act(
    board: &mut Board,
    setting: &Setting,
    deed: Deed,
    observer: &mut dyn Observer,
) -> Result<()> {
    match deed {
        Deed::Message { from, pid, user, program, kind, body: Bytes(body), image } => {
            let kind = Kind::of(kind).ok_or_else(|| {
                Error::Usage(format!("the recording is damaged: a message of kind {kind}"))
            })?;
            let (asker, image) =
                (deed::asker(from, pid, user, &program), image.map(Image::brought));
            // It was refused then as well, or not.
            let _ = serve(board, setting, asker, (kind, Body(&body)), image, observer);
        }
        Deed::Gone { from } => board.let_go(from, observer),
        // Where packets were waited for, it has been taken; what is written comes with its slice.
        Deed::Stayed | Deed::Wrote { .. } => {}
    }
    Ok(())
}
