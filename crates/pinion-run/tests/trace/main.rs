//! Traces of whole runs.

mod nanoservice;
mod perfetto;
mod reading;
mod testing;
mod text;
