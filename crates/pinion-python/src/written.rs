//! A table that goes to a file while a run goes on. In: rows. Out: Parquet, a piece after the other, so that a
//! table of any length takes no more memory.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use pinion_app::{Error, Result};
use pinion_figures::sweep::{ParquetError, Pieces};
use pinion_output::{OutputFile, Partial};
use pyo3::PyResult;

use crate::table::Table;

/// Rows of a piece.
const PIECE_ROWS: usize = 1 << 16;

/// A file that is done: the name of its table, and where it lies.
pub type Done = (&'static str, PathBuf);

/// Makes a table of rows.
type Tabled<R> = Box<dyn Fn(&[R]) -> PyResult<Table> + Send>;

/// A table in a file.
pub struct Written<R> {
    name: &'static str,
    path: PathBuf,
    pieces: Pieces<BufWriter<OutputFile>>,
    partial: Partial,
    rows: Vec<R>,
    table: Tabled<R>,
}

impl<R> Written<R> {
    /// Begins a table's file in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(
        folder: &Path,
        name: &'static str,
        table: impl Fn(&[R]) -> PyResult<Table> + Send + 'static,
    ) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
        let path = folder.join(format!("{name}.parquet"));
        let (file, partial) = Partial::create(&path)?;
        let columns = made(table(&[]))?.to_columns();
        let pieces = Pieces::begin(BufWriter::new(file), name, &columns);
        let pieces = pieces.map_err(|error| failed(&path, error))?;
        Ok(Self { name, path, pieces, partial, rows: Vec::new(), table: Box::new(table) })
    }

    /// Takes a row.
    ///
    /// # Errors
    /// When a piece cannot be written.
    pub fn add(&mut self, row: R) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() < PIECE_ROWS { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let columns = made((self.table)(&self.rows))?.to_columns();
        self.rows.clear();
        self.pieces.write(&columns).map_err(|error| failed(&self.path, error))
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When it cannot be written; it is then not left.
    pub fn finish(mut self) -> Result<Done> {
        if !self.rows.is_empty() {
            self.flush()?;
        }
        self.pieces.finish().map_err(|error| failed(&self.path, error))?;
        self.partial.keep()?;
        Ok((self.name, self.path))
    }
}

fn failed(path: &Path, error: ParquetError) -> Error {
    Error::file("write", path, std::io::Error::other(error))
}

/// A table that lacks memory alone.
fn made(table: PyResult<Table>) -> Result<Table> {
    table.map_err(|error| Error::part("cannot make the table", error))
}
