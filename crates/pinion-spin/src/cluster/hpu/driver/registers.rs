//! The driver's registers as its core reads and writes them.

use pinion_isa::Access;

use super::register;
use crate::cluster::Clusters;
use crate::cluster::hpu::Waiting;
use crate::cluster::pe_interconnect::{Performed, fault};
use crate::cluster::peripherals::done;
use crate::listener::Listener;
use crate::shared::Shared;

impl Clusters {
    /// Performs a core's access of a word to its own driver: what [`Clusters::perform`] comes to in the end,
    /// for everybody may.
    #[inline]
    pub fn access_own_driver(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let performed = self.access_driver(shared, id, access, offset, now, listener);
        if let Performed::Done { .. } = performed {
            self.cores[id].model.loads(access);
        }
        performed
    }

    /// Accesses a register of a core's driver, whose answer lies in the lowest byte of its word.
    #[inline]
    pub fn access_driver(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        if offset >= register::PAGE {
            return done(0, now);
        }
        if shared.hardware.has_drivers() {
            return self.access_beside(shared, id, access, offset, now, listener);
        }
        self.access_register(shared, id, access, offset, now, listener)
    }

    /// Accesses it within the driver's page.
    #[inline]
    pub fn access_register(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        match offset % register::SPAN {
            offset @ ..register::ISSUE => {
                self.access_task(shared, id, access, offset, now, listener)
            }
            offset @ ..register::WIDE_TASK => {
                self.access_commands(shared, id, access, offset & !3, now, listener)
            }
            _ if access.kind.writes() => done(0, now),
            offset => done(self.drivers[id].task_register(offset), now),
        }
    }

    /// Accesses the half of the registers that holds the task. It looks at whole addresses, and for
    /// the doorbell not at whether it is read or written.
    #[inline]
    fn access_task(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let driver = &self.drivers[id];
        let writes = access.kind.writes();
        let waits_for_task = driver.running.is_none_or(|running| running.started.is_none());
        match offset {
            register::HANDLER if !writes && waits_for_task => {
                if !self.is_at_door(shared, id) {
                    return fault(access);
                }
                self.take_task(shared, id, now, listener)
            }
            register::DOORBELL if driver.completion.is_some() => {
                Performed::Wait(Waiting::Completion)
            }
            register::DOORBELL if self.had_completion(shared, id) => {
                self.resume(shared, id, now + 1);
                Performed::Wait(Waiting::Nothing)
            }
            register::DOORBELL if self.has_no_task(shared, id) => {
                done(self.drivers[id].answer(offset, Some(0)), now)
            }
            register::DOORBELL => {
                self.count_wait(id, now);
                self.end_task(shared, now, id, listener);
                if shared.machine.protection.check_commands {
                    self.cores[id].permissions.forget_packet();
                }
                done(self.drivers[id].answer(offset, Some(0)), now)
            }
            _ => {
                if offset == register::ERROR && writes {
                    self.report_error(shared, id, access.data, now, listener);
                }
                done(self.drivers[id].task_register(offset), now)
            }
        }
    }

    /// Counts what a core has waited for its driver, whose answer it gets at cycle `now`.
    pub fn count_wait(&mut self, id: usize, now: u64) {
        let core = &mut self.cores[id];
        core.model.stalls.command += now - core.since;
    }

    /// Reports what the runtime's trap handler writes.
    fn report_error(
        &mut self,
        shared: &mut Shared,
        id: usize,
        cause: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        let interrupted = cause >> 31 == 1; // the watchdog has reported this one
        if !interrupted {
            self.report_exception(shared, now, id, cause, listener);
        }
    }

    /// Accesses the half of the registers that issues commands.
    fn access_commands(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        word: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let (writes, data) = (access.kind.writes(), access.data);
        let driver = &mut self.drivers[id];
        let value = match word {
            register::ISSUE if !writes => match self.issue_command(shared, now, id, listener) {
                Some(command) => {
                    self.count_wait(id, now);
                    Some(command)
                }
                None if self.drivers[id].running.is_none() => return fault(access),
                None if self.goes_on(id) => {
                    // The block sees the place, or the completion's, free from the next cycle on.
                    self.resume(shared, id, now + 1);
                    return Performed::Wait(Waiting::Nothing);
                }
                None => return Performed::Wait(Waiting::Issue),
            },
            register::WAIT if writes => {
                if let Some(slot) = driver.busy_slot(data) {
                    return Performed::Wait(Waiting::Command(slot));
                }
                self.count_wait(id, now);
                None
            }
            register::TEST if writes => {
                let is_busy = driver.busy_slot(data).is_some() || self.was_busy(shared, id, data);
                self.drivers[id].tested = u32::from(!is_busy);
                None
            }
            register::TEST => Some(driver.tested),
            _ => {
                if writes {
                    driver.write_draft(word, data);
                }
                None
            }
        };
        done(self.drivers[id].answer(word, value), now)
    }
}
