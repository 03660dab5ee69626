//! What a switch counts. Every frame that came in left, was dropped for a reason, or is still there.

use std::ops::Add;

use super::Unroutable;

/// Counts what happened at a port of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Frames that came in here.
    pub frames_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Frames that came in here and were dropped because they are not IPv4.
    pub dropped_not_ipv4: u64,
    /// Frames that came in here and were dropped because no node has their destination's address.
    pub dropped_unknown: u64,
    /// Frames that came in here and were dropped because no way leads to their destination.
    pub dropped_no_way: u64,
    /// Frames that left here.
    pub frames_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Data frames whose payload was cut off here and whose header waits or went on.
    pub trimmed: u64,
    /// Data frames that were dropped here because the data queue was full.
    pub dropped_data: u64,
    /// Data frames that were dropped here because the data queue was full, and the control queue had
    /// no room for their header.
    pub dropped_trimmed: u64,
    /// Control frames that were dropped here because the control queue was full.
    pub dropped_control: u64,
    /// Frames that were marked here (ECN).
    pub marked: u64,
    /// Most bytes of data that waited here.
    pub largest_data_bytes: u64,
    /// Most bytes of control frames that waited here.
    pub largest_control_bytes: u64,
}

impl PortCounts {
    /// Counts the frames that were dropped, whatever the reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_unroutable() + self.dropped_data + self.dropped_trimmed + self.dropped_control
    }

    /// Counts the frames that were dropped because they lead nowhere.
    pub fn dropped_unroutable(&self) -> u64 {
        self.dropped_not_ipv4 + self.dropped_unknown + self.dropped_no_way
    }

    pub(super) fn drop_unroutable(&mut self, reason: Unroutable) {
        match reason {
            Unroutable::NotIpv4 => self.dropped_not_ipv4 += 1,
            Unroutable::Unknown => self.dropped_unknown += 1,
            Unroutable::NoWay => self.dropped_no_way += 1,
        }
    }
}

impl Add for PortCounts {
    type Output = Self;

    /// Adds counts; of two largest queues the larger counts.
    fn add(self, other: Self) -> Self {
        Self {
            frames_in: self.frames_in + other.frames_in,
            bytes_in: self.bytes_in + other.bytes_in,
            dropped_not_ipv4: self.dropped_not_ipv4 + other.dropped_not_ipv4,
            dropped_unknown: self.dropped_unknown + other.dropped_unknown,
            dropped_no_way: self.dropped_no_way + other.dropped_no_way,
            frames_out: self.frames_out + other.frames_out,
            bytes_out: self.bytes_out + other.bytes_out,
            trimmed: self.trimmed + other.trimmed,
            dropped_data: self.dropped_data + other.dropped_data,
            dropped_trimmed: self.dropped_trimmed + other.dropped_trimmed,
            dropped_control: self.dropped_control + other.dropped_control,
            marked: self.marked + other.marked,
            largest_data_bytes: self.largest_data_bytes.max(other.largest_data_bytes),
            largest_control_bytes: self.largest_control_bytes.max(other.largest_control_bytes),
        }
    }
}

/// Counts what happened in a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    /// All ports together.
    pub ports: PortCounts,
    /// Frames that are still coming in or wait at a port.
    pub resident: u64,
}

impl SwitchCounts {
    /// Tells whether every frame that came in left, was dropped or is still there.
    pub fn is_balanced(&self) -> bool {
        self.ports.frames_in == self.ports.frames_out + self.ports.dropped() + self.resident
    }
}
