//! What the tests of figures share: making them, and what holds for each.

use std::path::{Path, PathBuf};
use std::process::Command;

use pinion::figure::{self, Produced, Request, Unobserved, Verdict, chart};

/// Says whether handlers can be compiled.
pub fn has_gcc() -> bool {
    let found = Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok();
    if !found {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
    }
    found
}

/// Makes a figure.
pub fn make(name: &str, request: &Request) -> Produced {
    let figure = figure::find(name).unwrap();
    figure::produce(figure.as_ref(), request, &mut Unobserved)
        .unwrap_or_else(|error| panic!("{name}: {}", pinion::error::paragraph(&error)))
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Compares a file of the documentation with what it should be, or writes it.
fn is_current(file: &str, contents: &[u8]) -> bool {
    let path = docs().join(file);
    if std::env::var_os("PINION_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
    }
    std::fs::read(&path).unwrap_or_default() == contents
}

/// Checks that the book shows what comes out: charts, rows, and the table of comparisons.
pub fn check_book(figures: &[Produced], page: &str, test: &str) {
    let mut stale = Vec::new();
    let mut comparisons = Vec::new();
    for produced in figures {
        let Produced { name, definition, table, .. } = produced;
        let svg = chart::draw(definition, table, &produced.comparisons).unwrap();
        let mut files = vec![
            (format!("src/figures/{name}.csv"), table.to_csv().unwrap()),
            (format!("src/figures/{name}.svg"), svg.into_bytes()),
        ];
        for (further, svg) in chart::draw_further(definition, table, &produced.comparisons).unwrap()
        {
            files.push((format!("src/figures/{name}-{further}.svg"), svg.into_bytes()));
        }
        stale.extend(files.into_iter().filter(|(f, text)| !is_current(f, text)).map(|(f, _)| f));
        comparisons.push(figure::to_markdown(produced));
    }
    let page = format!("tables/{page}");
    if !is_current(&page, comparisons.join("\n").as_bytes()) {
        stale.push(page);
    }
    let command = format!("PINION_BLESS=1 cargo test -p pinion --test {test}");
    assert!(stale.is_empty(), "{stale:?} in docs are out of date; run {command}");
}

/// Checks that every published value is measured and every difference has its reason.
pub fn check_published(figures: &[Produced]) {
    for produced in figures {
        for comparison in &produced.comparisons {
            let name = &produced.name;
            assert_ne!(comparison.verdict, Verdict::NotMeasured, "{name}: {}", comparison.name);
            assert_ne!(comparison.verdict, Verdict::Differs, "{name}: {comparison:?}");
        }
    }
}
