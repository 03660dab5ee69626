//! Tables that go to files while a run goes on. In: packets that are through, runs of handlers. Out: Parquet,
//! a piece after the other, so that a run of any length takes no more memory.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use pinion_app::{Error, Result};
use pinion_figures::sweep::{ParquetError, Pieces};
use pinion_observe::report::Partial;
use pinion_spin::{HandlerRecord, PacketRecord};

use crate::table::Table;

/// Rows of a piece.
const PIECE_ROWS: usize = 1 << 16;

/// A table in a file.
struct Written<R> {
    name: &'static str,
    path: PathBuf,
    pieces: Pieces<BufWriter<File>>,
    partial: Partial,
    rows: Vec<R>,
    table: fn(&[R], &[String]) -> pyo3::PyResult<Table>,
}

/// The tables of a run, in a folder.
pub struct Stream {
    contexts: Vec<String>,
    packets: Written<PacketRecord>,
    handlers: Option<Written<HandlerRecord>>,
    error: Option<Error>,
}

impl<R> Written<R> {
    fn begin(
        folder: &Path,
        name: &'static str,
        table: fn(&[R], &[String]) -> pyo3::PyResult<Table>,
    ) -> Result<Self> {
        let path = folder.join(format!("{name}.parquet"));
        let (file, partial) = Partial::create(&path)?;
        let columns = made(table(&[], &[]))?.to_columns();
        let pieces = Pieces::begin(BufWriter::new(file), name, &columns);
        let pieces = pieces.map_err(|error| failed(&path, error))?;
        Ok(Self { name, path, pieces, partial, rows: Vec::new(), table })
    }

    fn add(&mut self, row: R, contexts: &[String]) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() < PIECE_ROWS { Ok(()) } else { self.flush(contexts) }
    }

    fn flush(&mut self, contexts: &[String]) -> Result<()> {
        let columns = made((self.table)(&self.rows, contexts))?.to_columns();
        self.rows.clear();
        self.pieces.write(&columns).map_err(|error| failed(&self.path, error))
    }

    fn finish(mut self, contexts: &[String]) -> Result<(&'static str, PathBuf)> {
        if !self.rows.is_empty() {
            self.flush(contexts)?;
        }
        self.pieces.finish().map_err(|error| failed(&self.path, error))?;
        self.partial.keep()?;
        Ok((self.name, self.path))
    }
}

impl Stream {
    /// Begins the files in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn begin(folder: &Path, contexts: Vec<String>, has_handlers: bool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
        let handlers = || Written::begin(folder, "handlers", Table::of_handlers);
        Ok(Self {
            contexts,
            packets: Written::begin(folder, "packets", Table::of_packets)?,
            handlers: has_handlers.then(handlers).transpose()?,
            error: None,
        })
    }

    /// Takes a packet that is through.
    pub fn packet(&mut self, record: &PacketRecord) {
        if self.error.is_none() {
            self.error = self.packets.add(record.clone(), &self.contexts).err();
        }
    }

    /// Takes a run of a handler.
    pub fn handler(&mut self, record: &HandlerRecord) {
        if let (None, Some(handlers)) = (&self.error, &mut self.handlers) {
            self.error = handlers.add(record.clone(), &self.contexts).err();
        }
    }

    /// Tells whether something could not be written: the run need not go on.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Ends the files; gives the tables' names and files.
    ///
    /// # Errors
    /// When something could not be written, now or before; the files are then not left.
    pub fn finish(self) -> Result<Vec<(&'static str, PathBuf)>> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut files = vec![self.packets.finish(&self.contexts)?];
        if let Some(handlers) = self.handlers {
            files.push(handlers.finish(&self.contexts)?);
        }
        Ok(files)
    }
}

fn failed(path: &Path, error: ParquetError) -> Error {
    Error::file("write", path, std::io::Error::other(error))
}

/// A table that lacks memory alone.
fn made(table: pyo3::PyResult<Table>) -> Result<Table> {
    table.map_err(|error| Error::part("cannot make the table", error))
}
