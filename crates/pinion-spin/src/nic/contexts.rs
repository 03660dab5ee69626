//! Execution contexts of a NIC: checked against the machine, known from the start or added later.

use pinion_host::Window;

use super::{Nic, SetupError};
use crate::context::Handlers;
use crate::{ContextId, ExecutionContext, Handler, Machine};

impl Nic {
    /// Adds a context, for packets whose source classifies them; the matching engine does not know
    /// it.
    ///
    /// # Errors
    /// When it does not fit the machine.
    pub fn add_context(&mut self, context: ExecutionContext) -> Result<ContextId, SetupError> {
        context.check(&self.shared.machine)?;
        let id = self.shared.contexts.list.len() as u32;
        let bytes = u64::from(context.host_memory_bytes);
        self.shared
            .contexts
            .iommu
            .add_window(id, Window::read_write(context.host_memory_address, bytes));
        if !context.handler_memory_image.is_empty() {
            let image = &context.handler_memory_image;
            self.shared.memories.write(context.handler_memory_address, image);
        }
        self.shared.contexts.handlers.push(handlers(&context));
        self.shared.contexts.released.push(false);
        self.shared.contexts.list.push(context);
        Ok(ContextId(id))
    }
}

/// Gives the handlers' addresses, as the MPQ engine keeps them.
pub(super) fn handlers(context: &ExecutionContext) -> Handlers {
    let address = |handler: &Option<Handler>| handler.as_ref().map_or(0, |h| h.address);
    Handlers {
        header: address(&context.header_handler),
        payload: address(&context.payload_handler),
        completion: address(&context.completion_handler),
    }
}

impl ExecutionContext {
    /// Checks that handlers and memory lie where the machine has them.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, machine: &Machine) -> Result<(), SetupError> {
        self.check_handlers(machine)?;
        self.check_handler_memory(machine)?;
        self.check_scratchpads(machine)
    }

    fn not(&self, what: &'static str, problem: String) -> Result<(), SetupError> {
        Err(SetupError::DoesNotFit { context: self.name.clone(), what, problem })
    }

    fn check_handlers(&self, machine: &Machine) -> Result<(), SetupError> {
        let (base, bytes) = (machine.program.base, machine.program.bytes);
        let handlers = [&self.header_handler, &self.payload_handler, &self.completion_handler];
        for handler in handlers.into_iter().flatten() {
            let end = handler.address.checked_add(handler.bytes);
            if handler.address < base || end.is_none_or(|end| end > base + bytes) {
                return Err(SetupError::HandlerOutside {
                    context: self.name.clone(),
                    handler: handler.name.clone(),
                    address: handler.address,
                    base,
                    bytes,
                });
            }
        }
        Ok(())
    }

    fn check_handler_memory(&self, machine: &Machine) -> Result<(), SetupError> {
        let memory = &machine.l2_handler;
        let (at, size) = (self.handler_memory_address, self.handler_memory_bytes);
        let outside = at < memory.base
            || at.checked_add(size).is_none_or(|end| end > memory.base + memory.bytes);
        if size > 0 && outside {
            let problem = format!("{size} bytes at {at:#010x} are not within L2 handler memory");
            return self.not("handler memory", problem);
        }
        let image = self.handler_memory_image.len();
        if image > size as usize {
            let problem = format!("it has {image} bytes, the handler memory {size}");
            return self.not("the handler memory's image", problem);
        }
        Ok(())
    }

    fn check_scratchpads(&self, machine: &Machine) -> Result<(), SetupError> {
        for cluster in 0..machine.cluster.count {
            let (offset, size) = self.scratchpad(cluster);
            let end = offset.checked_add(size);
            if end.is_none_or(|end| end > machine.scratchpad_bytes()) {
                let has = machine.scratchpad_bytes();
                let problem = format!(
                    "{size} bytes at offset {offset} exceed the {has} bytes that each L1 has"
                );
                return self.not("scratchpad", problem);
            }
        }
        Ok(())
    }
}
