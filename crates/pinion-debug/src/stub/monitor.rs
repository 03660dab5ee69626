//! `monitor`: what gdb has no commands for.

use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, outputln};
use pinion_app::error::Error;

use super::Debugged;

impl<const BYTES: usize> MonitorCmd for Debugged<BYTES> {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), Error> {
        let command = String::from_utf8_lossy(command).into_owned();
        let words: Vec<&str> = command.split_whitespace().collect();
        let said = match self.console.obey(&words) {
            Ok(said) | Err(said) => said,
        };
        outputln!(out, "{}", said.trim_end());
        Ok(())
    }
}
