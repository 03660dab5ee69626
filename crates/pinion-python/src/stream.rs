//! The tables of packet handlers' run that go to files while it goes on. In: packets that are through, runs of
//! handlers. Out: rows for files.

use std::path::Path;

use pinion_app::{Error, Result};
use pinion_spin::{HandlerRecord, PacketRecord};

use crate::gather::Flows;
use crate::table::Table;
use crate::written::{Done, Written};

/// The tables of packet handlers' run.
pub struct Stream {
    packets: Written<PacketRecord>,
    handlers: Option<Written<HandlerRecord>>,
    /// Messages, where nothing but packets that are through tells of them.
    messages: Option<Flows>,
    error: Option<Error>,
}

impl Stream {
    /// Begins the files.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn begin(folder: &Path, contexts: Vec<String>, has_handlers: bool) -> Result<Self> {
        let names = contexts.clone();
        let handlers = || {
            Written::begin(folder, "handlers", move |rows: &[HandlerRecord]| {
                Table::of_handlers(rows, &names)
            })
        };
        Ok(Self {
            handlers: has_handlers.then(handlers).transpose()?,
            packets: Written::begin(folder, "packets", move |rows: &[PacketRecord]| {
                Table::of_packets(rows, &contexts)
            })?,
            messages: None,
            error: None,
        })
    }

    /// Has it write messages, too.
    #[must_use]
    pub fn with(self, messages: Flows) -> Self {
        Self { messages: Some(messages), ..self }
    }

    /// Takes a packet that is through.
    pub fn packet(&mut self, record: &PacketRecord) {
        if self.error.is_none() {
            self.error = self.packets.add(record.clone()).err();
        }
        if let (None, Some(messages)) = (&self.error, &mut self.messages) {
            self.error = messages.packet(record).err();
        }
    }

    /// Takes a run of a handler.
    pub fn handler(&mut self, record: &HandlerRecord) {
        if let (None, Some(handlers)) = (&self.error, &mut self.handlers) {
            self.error = handlers.add(record.clone()).err();
        }
    }

    /// Tells whether something could not be written: the run need not go on.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Ends the files.
    ///
    /// # Errors
    /// When something could not be written, now or before; the files are then not left.
    pub fn finish(self) -> Result<Vec<Done>> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut files = vec![self.packets.finish()?];
        files.extend(self.handlers.map(Written::finish).transpose()?);
        files.extend(self.messages.map(Flows::finish).transpose()?);
        Ok(files)
    }
}
