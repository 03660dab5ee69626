//! Traces of whole runs.

mod cluster;
mod nanoservice;
mod perfetto;
mod reading;
mod testing;
mod text;
