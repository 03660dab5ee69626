//! `pinion test APP`: runs an application's tests.

use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::cluster::locate;
use pinion::error::Result;
use pinion::expect::{self, Coverage, FILE_NAME, Results, Suite};
use pinion::report::write_whole;

use super::look::Quiet;
use super::run::Watch;
use super::{Status, build, engine, files};
use crate::cli::TestArgs;
use crate::output;

pub fn run(args: &TestArgs) -> Result<Status> {
    engine::refuse_needless_core(&args.app, &args.app.set)?;
    let outputs = [("--junit", &args.junit), ("--lcov", &args.lcov), ("--json", &args.json)];
    let outputs: Vec<_> =
        outputs.into_iter().filter_map(|(option, file)| Some((option, file.clone()?))).collect();
    let file = args.expect.clone().unwrap_or_else(|| beside(&args.app.app));
    let mut inputs = files::of_application(&args.app);
    inputs.push(("--expect", file.clone()));
    files::keep_apart(&inputs, &outputs)?;
    let suite = Suite::read(&file)?;
    let is_wanted = |name: &str| {
        args.only.is_empty() || args.only.iter().any(|text| name.contains(text.as_str()))
    };
    let tests: Vec<_> = suite.tests.iter().filter(|test| is_wanted(&test.name)).collect();
    if tests.is_empty() {
        let names: Vec<&str> = suite.tests.iter().map(|test| test.name.as_str()).collect();
        return Err(Error::Usage(format!(
            "--only {}: no test has that in its name; there are {}",
            args.only.join(", --only "),
            names.join(", ")
        )));
    }
    // Of one program, what is executed is counted; of a cluster's, accesses are checked at most.
    if locate(&args.app.app).is_none() || tests.iter().all(|test| test.checks()) {
        engine::refuse_core(&args.app, engine::INTERPRETED)?;
    }
    let options = build::options(&args.app);
    let mut results =
        Results { app: name(&args.app.app), outcomes: Vec::new(), coverage: Coverage::default() };
    let mut is_interrupted = false;
    let mut watch = Quiet(Watch::new(true));
    for test in tests {
        let outcome = expect::run(
            &args.app.app,
            &suite.folder,
            test,
            &options,
            &mut results.coverage,
            &mut watch,
        )?;
        watch.0.clear();
        if outcome.is_interrupted {
            is_interrupted = true;
            break;
        }
        output::print(&outcome.to_text());
        results.outcomes.push(outcome);
    }
    output::print(&results.to_text());
    if let Some(path) = &args.junit {
        write_whole(path, results.to_junit().as_bytes())?;
    }
    if let Some(path) = &args.lcov {
        write_whole(path, results.coverage.to_lcov(&results.app).as_bytes())?;
    }
    if let Some(path) = &args.json {
        output::write_json(path, &format!("{:#}", results.to_json()))?;
    }
    if is_interrupted {
        output::notice("interrupted: the tests that are left were not run");
        return Ok(Status::Interrupted);
    }
    Ok(if results.failed() == 0 { Status::Success } else { Status::Mismatch })
}

/// Names the file of tests beside an application.
fn beside(app: &Path) -> PathBuf {
    if app.is_dir() { app.join(FILE_NAME) } else { app.with_file_name(FILE_NAME) }
}

/// Names an application by its folder.
fn name(app: &Path) -> String {
    let whole = std::fs::canonicalize(app).unwrap_or_else(|_| app.to_owned());
    let folder = if whole.is_dir() { Some(whole.as_path()) } else { whole.parent() };
    let name = folder.and_then(Path::file_name);
    name.map_or_else(|| app.display().to_string(), |name| name.to_string_lossy().into_owned())
}
