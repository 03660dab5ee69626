//! `pinion replay FILE`: a recorded run again, and whether the same came of it.

use pinion::error::Result;
use pinion::record::{Kind, Recording, outcome};
use serde_json::Value;

use super::recorded::Keep;
use super::{Status, look, nic, run};
use crate::cli::{REPLAY_REFUSES, ReplayArgs};
use crate::output;

/// Differences that are shown at most.
const MOST_SHOWN: usize = 8;

pub fn run(args: &ReplayArgs, recording: &Recording) -> Result<Status> {
    let mut keep = Keep::to_compare();
    let status = match recording.head().kind {
        Kind::Nic => nic::replay(&args.run, recording, &mut keep)?,
        _ => run::keeping(&args.run, &mut keep)?,
    };
    let Some(now) = &keep.outcome else { return Ok(status) };
    if let Some(slices) = recording.slices_before_cut() {
        output::print(&format!(
            "  the recorded run was cut off: this is what it was until then, {slices} slices, and is \
             not compared\n"
        ));
        return Ok(status);
    }
    let is_live = recording.head().live.is_some();
    let recorded = recording.outcome()?;
    if !is_live && recorded.get("ending") == Some(&Value::from("interrupted")) {
        output::print(
            "  the recorded run was interrupted: this one goes on, and is not compared\n",
        );
        return Ok(status);
    }
    let (recorded, now) = match is_live {
        false => (recorded, outcome::of_the_run(now)),
        true => (outcome::of_a_live_run(&recorded), outcome::of_a_live_run(now)),
    };
    let found = outcome::differences(&recorded, &now);
    if found.is_empty() {
        output::print("  replay                   the same as recorded\n");
        return Ok(status);
    }
    let head = recording.head();
    let mut text = format!(
        "  replay        {:>12}  {} recorded otherwise, by pinion {}\n",
        found.len(),
        if found.len() == 1 { "number was" } else { "numbers were" },
        head.pinion
    );
    let value =
        |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    for one in found.iter().take(MOST_SHOWN) {
        text += &format!(
            "    {}: recorded {}, now {}\n",
            one.key,
            value(&one.first),
            value(&one.second)
        );
    }
    if found.len() > MOST_SHOWN {
        text += &format!("    and {} more\n", found.len() - MOST_SHOWN);
    }
    output::print(&text);
    Ok(if status == Status::Success { Status::Mismatch } else { status })
}

/// Refuses what would make it another run.
pub fn refuse(args: &ReplayArgs) -> Result<()> {
    let with = "with `pinion run`, which takes a recording for APP; a replay repeats it as it was";
    REPLAY_REFUSES.iter().try_for_each(|list| look::refuse(&args.run, list, with))
}
