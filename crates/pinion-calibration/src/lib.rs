//! Our cycles against the hardware's: a set of ground truth comes in, one comparison per row and
//! metric goes out.

pub mod nanopu;
pub mod pspin;
pub mod sets;
mod table;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use pinion_app::error::{Error, Result};
use table::median;
pub use table::median_error;

/// The relative error a number may have.
pub const TOLERANCE: f64 = 0.05;
/// Absorbs the rounding of decimal numbers.
const ROUNDING: f64 = 1e-9;

/// Tells what passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// Within [`TOLERANCE`], or no further away than this many units.
    RelativeOr(f64),
    /// No further away than this many units.
    Absolute(f64),
    /// Nothing: what is compared should not differ at all, and does.
    Never,
    /// Everything: the number is for information and does not count for the median.
    Informative,
}

/// Compares one metric of one row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the row.
    pub row: String,
    /// Name of the metric.
    pub metric: String,
    /// Our number.
    pub ours: f64,
    /// The hardware's.
    pub rtl: f64,
    /// Ours / RTL − 1; of `packet_latency_ns`, the median over packets without its sign.
    pub error: f64,
    /// Whether the error is tolerated; always, where the metric is only informative.
    pub pass: bool,
    /// Whether the metric counts for passing and for the median.
    #[serde(skip)]
    pub counts: bool,
    /// Tells more about a difference, if there is more to tell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Of the row's packets, all of which are counted in one of its comparisons: how many have their HER and their
    /// completion in the hardware's very cycles, and how many there are.
    #[serde(skip)]
    pub packets: [usize; 2],
}

impl Comparison {
    /// Compares two numbers.
    pub fn new(row: &str, metric: &str, ours: f64, rtl: f64, tolerance: Tolerance) -> Self {
        let difference = (ours - rtl).abs();
        let error = if rtl == 0.0 { ours - rtl } else { ours / rtl - 1.0 };
        let within = |units: f64| difference <= units + ROUNDING;
        let pass = match tolerance {
            Tolerance::RelativeOr(units) => error.abs() <= TOLERANCE + ROUNDING || within(units),
            Tolerance::Absolute(units) => within(units),
            Tolerance::Never => false,
            Tolerance::Informative => true,
        };
        Self {
            row: row.to_owned(),
            metric: metric.to_owned(),
            ours,
            rtl,
            error,
            pass,
            counts: tolerance != Tolerance::Informative,
            note: String::new(),
            packets: [0; 2],
        }
    }

    /// Judges by another error than that of the two numbers.
    #[must_use]
    fn with_error(mut self, error: f64, limit: f64) -> Self {
        self.error = error;
        self.pass = error.abs() <= limit + ROUNDING;
        self
    }

    /// Counts the row's packets here.
    #[must_use]
    fn with_packets(self, packets: [usize; 2]) -> Self {
        Self { packets, ..self }
    }

    /// Adds what there is to tell about the difference.
    #[must_use]
    pub fn with_note(mut self, note: String) -> Self {
        self.note = note;
        self
    }
}

/// Says how many rows run at a time, and whether to go on with the next.
#[derive(Clone, Copy)]
pub struct Jobs<'a> {
    /// Rows at a time.
    pub count: usize,
    /// Is asked before each row; those that are left are not compared.
    pub goes_on: &'a (dyn Fn() -> bool + Sync),
}

impl From<usize> for Jobs<'_> {
    fn from(count: usize) -> Self {
        Self { count, goes_on: &|| true }
    }
}

/// Compares rows, some at a time; the result is in the rows' order whatever `jobs` is.
fn side_by_side<T: Sync>(
    rows: &[T],
    jobs: Jobs<'_>,
    compare: impl Fn(&T) -> Result<Vec<Comparison>> + Sync,
) -> Result<Vec<Comparison>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<Vec<Comparison>>>>> =
        Mutex::new(rows.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        let work = || {
            while (jobs.goes_on)() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(row) = rows.get(index) else { break };
                let result = compare(row);
                if let Ok(mut done) = done.lock() {
                    done[index] = Some(result);
                }
            }
        };
        // This thread works, too, alone where the computer gives no more.
        for _ in 1..jobs.count.clamp(1, rows.len().max(1)) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut comparisons = Vec::new();
    for result in done.into_iter().flatten() {
        comparisons.extend(result?);
    }
    Ok(comparisons)
}

/// Reads a table with a header line.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let what = || format!("cannot read {}", path.display());
    let mut reader = csv::Reader::from_path(path).map_err(|error| Error::part(what(), error))?;
    let records: std::result::Result<Vec<T>, csv::Error> = reader.deserialize().collect();
    records.map_err(|error| Error::part(what(), error))
}
