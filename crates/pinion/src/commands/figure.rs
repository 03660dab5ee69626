//! `pinion figure NAME|list|all|pspin-all`: a published figure made again: CSV, chart, and the published
//! values beside ours.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pinion::error::{Error, Result};
use pinion::figure::{self, Figure, Observer, Produced, Request, chart};
use pinion::report::write_whole;

use super::{Status, files, interrupt};
use crate::cli::FigureArgs;
use crate::output;

pub fn run(args: &FigureArgs) -> Result<Status> {
    match args.name.as_str() {
        "list" => match args.of_making() {
            None => list(),
            Some(option) => {
                Err(Error::Usage(format!("{option} goes with a figure, not with list")))
            }
        },
        name => make(args, figure::select(name)?),
    }
}

fn list() -> Result<Status> {
    let mut rows = Vec::new();
    for figure in figure::figures() {
        let definition = figure.definition(&[])?;
        rows.push(vec![figure.name().to_owned(), definition.title, definition.source]);
    }
    output::print_columns(&rows);
    Ok(Status::Success)
}

fn make(args: &FigureArgs, figures: Vec<Box<dyn Figure>>) -> Result<Status> {
    let mut request = Request {
        seed: args.seed.unwrap_or(1),
        quick: args.quick,
        set: args.set.clone(),
        machine: args.machine.clone(),
        build_dir: args.build_dir.clone(),
        ..Request::default()
    };
    if let Some(jobs) = args.jobs {
        if jobs == 0 {
            return Err(Error::Usage("--jobs 0: at least one run goes at a time".to_owned()));
        }
        request.jobs = jobs;
    }
    let json_only = args.json.as_deref().is_some_and(output::is_stdout);
    let out = args.out.as_deref().unwrap_or(Path::new("out/figures"));
    std::fs::create_dir_all(out).map_err(|error| Error::file("create", out, error))?;
    args.json.as_deref().map_or(Ok(()), files::try_to_write)?;
    let interrupted = interrupt::flag();
    let mut all = Vec::new();
    let mut unexplained = false;
    let mut watch = Watch::new(!args.quiet, interrupted);
    for figure in &figures {
        watch.total += figure::count_points(figure.as_ref(), &request)?;
    }
    watch.bar.set_length(watch.total as u64);
    for figure in figures {
        watch.begin(figure.name());
        let produced = figure::produce(figure.as_ref(), &request, &mut watch)
            .inspect_err(|_| watch.bar.finish_and_clear())?;
        let files = write(out, &produced)?;
        if !json_only {
            watch.bar.suspend(|| print(&produced, &files));
        }
        unexplained |= produced.has_unexplained();
        all.push(figure::to_json(&produced));
    }
    watch.bar.finish_and_clear();
    if let Some(path) = &args.json {
        let value = match args.name.ends_with("all") {
            false => all.remove(0),
            true => figure::together(&all),
        };
        output::write_json(path, &format!("{value:#}"))?;
    }
    Ok(if unexplained { Status::Mismatch } else { Status::Success })
}

/// Writes the table and the charts; gives the files.
fn write(out: &Path, produced: &Produced) -> Result<Vec<PathBuf>> {
    let Produced { name, definition, table, comparisons, .. } = produced;
    let svg = chart::draw(definition, table, comparisons)?;
    let mut files = vec![
        (out.join(format!("{name}.csv")), table.to_csv()?),
        (out.join(format!("{name}.svg")), svg.into_bytes()),
    ];
    for (further, svg) in chart::draw_further(definition, table, comparisons)? {
        files.push((out.join(format!("{name}-{further}.svg")), svg.into_bytes()));
    }
    for (path, contents) in &files {
        write_whole(path, contents)?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn print(produced: &Produced, files: &[PathBuf]) {
    let Produced { definition, table, comparisons, .. } = produced;
    let look = if produced.quick { " (a quick look: differences mean little)" } else { "" };
    let title = output::paint(output::HEADING, &definition.title);
    output::print(&format!("{title}{look}\n{}\n\n", definition.source));
    output::print_columns(&table.to_text());
    output::print("\n");
    let verdicts =
        [("ok ", output::GOOD), ("explained below", output::REMARK), ("DIFFERS", output::WRONG)];
    let table = output::columns(&figure::comparison_rows(comparisons));
    output::print(&output::paint_words(table, &verdicts));
    for (explained, reason) in figure::reasons(comparisons) {
        output::print(&format!("\n{}: {reason}\n", explained.join("; ")));
    }
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    output::print(&format!("\n{}\n", files.join(", ")));
}

/// Shows progress over the points of all figures, and notices interruptions.
struct Watch {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
    /// Points of all figures.
    total: usize,
    /// Points of the figures before this one.
    before: usize,
    /// Points of this one.
    own: usize,
}

impl Watch {
    fn new(may_show: bool, interrupted: Arc<AtomicBool>) -> Self {
        let shown = may_show && std::io::stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template = "{prefix} {bar:30} {pos} of {len} runs, {eta} left, {msg}";
        let style = ProgressStyle::with_template(template);
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, interrupted, total: 0, before: 0, own: 0 }
    }

    /// Goes on to the next figure.
    fn begin(&mut self, name: &str) {
        self.before += self.own;
        self.own = 0;
        self.bar.set_prefix(name.to_owned());
    }
}

impl Observer for Watch {
    fn progress(&mut self, done: usize, total: usize, label: &str) -> bool {
        self.own = total;
        self.bar.set_position((self.before + done) as u64);
        self.bar.set_message(label.to_owned());
        !self.interrupted.load(Ordering::Relaxed)
    }
}
