//! `--engine-cores`: packet handlers as they are executed by default, translated, beside the interpreter.
//!
//! In: rows of both. Out: a table that sets one beside the other.

use pinion::app::Options;
use pinion::error::{Error, Result};
use pinion::sweep::Subject;
use pinion::{cluster, nanoservice};
use pinion_translate::AVAILABLE;

use super::row::Row;
use super::tables::{aligned, below};
use crate::cli::BenchArgs;
use crate::commands::engine;

/// Refuses to compare where there is nothing but the interpreter, and either option where nothing that
/// is measured depends on it: the loops do, which go with all examples.
pub fn check(args: &BenchArgs, subjects: &[(String, Subject)]) -> Result<()> {
    if args.engine_cores && !AVAILABLE {
        let why = "--engine-cores: this pinion was built without translation (feature jit, on x86-64 and \
                   AArch64), there is nothing but the interpreter";
        return Err(Error::Usage(why.to_owned()));
    }
    if args.apps.is_empty() {
        return Ok(());
    }
    let are_handlers = subjects.iter().any(|(_, one)| matches!(one, Subject::Handlers(_)));
    if args.engine_cores && !are_handlers {
        let why =
            "--engine-cores measures packet handlers both ways: name an application that has some";
        return Err(Error::Usage(why.to_owned()));
    }
    let mut is_translated = false;
    for (_, subject) in subjects {
        is_translated |= match subject {
            Subject::Cluster(cluster) => {
                cluster::is_translated(&cluster.path, &Options::default())?
            }
            Subject::Nanoservice(manifest) => {
                nanoservice::has_programs(manifest, &Options::default())?
            }
            Subject::Handlers(_) => true,
        };
    }
    match args.core.engine_core {
        Some(_) if !is_translated => Err(engine::core_refused("no application here has either")),
        _ => Ok(()),
    }
}

/// Sets rows beside those of the interpreter; nothing if there are none.
pub fn table(rows: &[Row], interpreted: &[Row], markdown: bool) -> String {
    let pairs = interpreted.iter().filter_map(|slow| {
        let same = |row: &&Row| (&row.app, &row.machine) == (&slow.app, &slow.machine);
        Some((rows.iter().find(same)?, slow))
    });
    let cells: Vec<_> = pairs.map(|(fast, slow)| cells(fast, slow)).collect();
    if cells.is_empty() {
        return String::new();
    }
    let head = [
        "application",
        "machine",
        "MIPS, translated",
        "interpreter",
        "times",
        "host instructions per instruction, translated",
        "interpreter",
    ];
    below("Engine cores: what is executed often translated, and all of it interpreted.", markdown)
        + &aligned(&head, cells, markdown)
}

fn cells(fast: &Row, slow: &Row) -> Vec<String> {
    let host = |row: &Row| match (row.host_instructions, row.instructions) {
        (Some(host), 1..) => format!("{:.1}", host as f64 / row.instructions as f64),
        _ => String::new(),
    };
    vec![
        fast.app.clone(),
        fast.machine.clone(),
        format!("{:.1}", fast.mips),
        format!("{:.1}", slow.mips),
        format!("{:.2}", fast.mips / slow.mips.max(f64::MIN_POSITIVE)),
        host(fast),
        host(slow),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::row::Ran;
    use super::*;

    fn row(machine: &str, seconds: f64) -> Row {
        let summary =
            json!({ "cycles": 100, "instructions": 1_000_000, "packets": { "processed": 4 } });
        let ran = Ran {
            seconds,
            host_instructions: Some(5_000_000),
            summary,
            failed: false,
            rate_gbit_s: None,
        };
        Row::of("energy".to_owned(), machine.to_owned(), "packet_handlers", 1, &ran)
    }

    #[test]
    fn rows_of_the_same_machine_stand_beside_each_other() {
        let text = table(&[row("pspin", 0.01), row("fpspin", 0.02)], &[row("fpspin", 0.08)], true);
        let expected = "| energy | fpspin | 50.0 | 12.5 | 4.00 | 5.0 | 5.0 |";
        assert!(text.contains(expected) && !text.contains("pspin | 100"), "{text}");
        assert_eq!(table(&[row("pspin", 0.01)], &[], true), "");
    }
}
