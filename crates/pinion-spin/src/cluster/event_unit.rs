//! The event unit, as far as booting needs it: cores sleep until another wakes them.
//!
//! In: writes to each core's private registers. Out: which cores wake. Holds each core's event mask
//! and buffer. (RTL event_unit_flex: mask at 0x00, buffer at 0x1c, dispatch at 0x80, team at 0x84.)

/// Bit of the dispatch event.
pub const DISPATCH: u32 = 1 << 18;

/// Holds the events of a cluster's cores.
#[derive(Clone, Debug)]
pub struct EventUnit {
    cores: Vec<CoreEvents>,
    team: u32,
    value: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct CoreEvents {
    mask: u32,
    buffer: u32,
}

/// Names the registers by their offset in a core's private part.
mod register {
    pub const MASK: u32 = 0x00;
    pub const MASK_AND: u32 = 0x04;
    pub const MASK_OR: u32 = 0x08;
    pub const BUFFER: u32 = 0x1c;
    pub const BUFFER_MASKED: u32 = 0x20;
    pub const BUFFER_CLEAR: u32 = 0x28;
    pub const DISPATCH: u32 = 0x80;
    pub const TEAM: u32 = 0x84;
}

impl EventUnit {
    /// Makes a unit without events.
    pub fn new(cores: u32) -> Self {
        Self { cores: vec![CoreEvents::default(); cores as usize], team: 0, value: 0 }
    }

    /// Writes a register of a core; gives the cores (as bits) that have an event now.
    pub fn write(&mut self, core: u32, offset: u32, value: u32) -> u32 {
        let events = &mut self.cores[core as usize];
        match offset {
            register::MASK => events.mask = value,
            register::MASK_AND => events.mask &= !value,
            register::MASK_OR => events.mask |= value,
            register::BUFFER_CLEAR => events.buffer &= !value,
            register::TEAM => self.team = value,
            register::DISPATCH => {
                self.value = value;
                for (index, events) in self.cores.iter_mut().enumerate() {
                    if self.team >> index & 1 == 1 {
                        events.buffer |= DISPATCH;
                    }
                }
            }
            _ => {}
        }
        let pending = |events: &CoreEvents| events.mask & events.buffer != 0;
        (0..self.cores.len()).filter(|&i| pending(&self.cores[i])).fold(0, |set, i| set | 1 << i)
    }

    /// Reads a register of a core.
    pub fn read(&self, core: u32, offset: u32) -> u32 {
        let events = &self.cores[core as usize];
        match offset {
            register::MASK => events.mask,
            register::BUFFER => events.buffer,
            register::BUFFER_MASKED => events.buffer & events.mask,
            register::DISPATCH => self.value,
            register::TEAM => self.team,
            _ => 0,
        }
    }

    /// Takes the event that an event load waits for: its value, or `None`: the core sleeps.
    pub fn take(&mut self, core: u32, offset: u32) -> Option<u32> {
        let value = self.value;
        let events = &mut self.cores[core as usize];
        let pending = events.buffer & events.mask;
        if pending == 0 {
            return None;
        }
        if offset == register::DISPATCH {
            events.buffer &= !DISPATCH;
            return Some(value);
        }
        events.buffer &= !pending;
        Some(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_the_cores_of_the_team() {
        let mut unit = EventUnit::new(4);
        for core in 0..4 {
            assert_eq!(unit.write(core, register::MASK, DISPATCH), 0);
        }
        assert_eq!(unit.take(1, register::DISPATCH), None);
        unit.write(0, register::TEAM, 0b1110);
        assert_eq!(unit.write(0, register::DISPATCH, 7), 0b1110);
        assert_eq!(unit.take(1, register::DISPATCH), Some(7));
        assert_eq!(unit.take(1, register::DISPATCH), None, "an event is taken once");
        assert_eq!(unit.take(0, register::DISPATCH), None);
    }
}
