//! Commands: words that a handler wrote come in, a packet leaves or host memory changes. A command is
//! checked as the NIC checks it, and done when it was issued.

use std::ptr;

use pinion_spin::{Fault, Refused};

use crate::entry::Entry;
use crate::layout::ContextLayout;
use crate::outbox::{Ports, Sent};
use crate::scene::Stop;

/// Largest HostDirect in bytes.
const HOST_DIRECT_BYTES: u32 = 8;

/// Performs the command in a worker's registers; what is wrong with it is noted, and the handler
/// goes on.
///
/// # Safety
/// The worker's handler must be running: its context's memory is mapped.
pub unsafe fn perform(ports: &mut Ports, info: u32, words: &[u32; 7], from: Stop) {
    let wide = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let host = wide(words[1], words[0]);
    let done = match info >> 1 & 3 {
        0 => host_dma(ports, host, words[2], words[3], words[4] & 1 == 1),
        1 => send(ports, words[2], words[4]),
        2 => host_direct(ports, host, words[2] >> 1, wide(words[4], words[3])),
        _ => Err("no such command type"),
    };
    if let Err(what) = done {
        let (nic_address, other_address, bytes) = match info >> 1 & 3 {
            0 => (words[2], Some(host), words[3]),
            1 => (words[2], None, words[4]),
            _ => (0, Some(host), words[2] >> 1),
        };
        let refused = Some(Refused { nic_address, other_address, bytes });
        let stop = Stop { refused, ..from };
        // SAFETY: the caller's promise is passed on.
        unsafe { ports.fail(Fault::BadCommand { what }, nic_address, stop) };
    }
}

fn send(ports: &mut Ports, address: u32, bytes: u32) -> Result<(), &'static str> {
    check_nic(ports, address, bytes)?;
    if bytes == 0 || bytes > ports.max_packet_bytes {
        return Err("the packet to send is empty or larger than the machine takes");
    }
    let time_ns = ports.now_ns();
    let outbox = &mut ports.outbox;
    let start = outbox.bytes.len();
    // SAFETY: the range was checked to be the NIC's; other handlers may write it, as on the NIC.
    let frame = unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) };
    outbox.bytes.extend_from_slice(frame);
    let packet = ports.entry.packet;
    outbox.sent.push(Sent { start, bytes: bytes as usize, packet, time_ns });
    ports.first_sent_ns.get_or_insert(time_ns);
    Ok(())
}

fn host_dma(
    ports: &mut Ports,
    host: u64,
    address: u32,
    bytes: u32,
    to_host: bool,
) -> Result<(), &'static str> {
    check_nic(ports, address, bytes)?;
    let place = check_host(ports, host, bytes)?;
    let nic = address as *mut u8;
    // SAFETY: both ranges were checked, and one is host memory, the other the NIC's.
    unsafe {
        match to_host {
            true => ptr::copy_nonoverlapping(nic.cast_const(), place, bytes as usize),
            false => ptr::copy_nonoverlapping(place.cast_const(), nic, bytes as usize),
        }
    }
    count_write(ports, to_host, bytes);
    Ok(())
}

fn host_direct(ports: &mut Ports, host: u64, bytes: u32, data: u64) -> Result<(), &'static str> {
    if bytes > HOST_DIRECT_BYTES {
        return Err("a HostDirect of more than 8 bytes");
    }
    let place = check_host(ports, host, bytes)?;
    let data = data.to_le_bytes();
    // SAFETY: the range was checked to be the context's host memory.
    unsafe {
        match bytes {
            // A flag that another thread may wait for.
            8 if place.addr() % 8 == 0 => place.cast::<[u8; 8]>().write_volatile(data),
            _ => ptr::copy_nonoverlapping(data.as_ptr(), place, bytes as usize),
        }
    }
    count_write(ports, true, bytes);
    Ok(())
}

fn count_write(ports: &mut Ports, to_host: bool, bytes: u32) {
    if to_host {
        ports.outbox.host_writes += 1;
        ports.outbox.host_bytes += u64::from(bytes);
    }
}

fn within((start, length): (u32, u32), address: u32, bytes: u32) -> bool {
    let offset = address.wrapping_sub(start);
    address >= start && offset <= length && bytes <= length - offset
}

/// Checks that a handler may name a part of the NIC's memory: its packet, its context's handler
/// memory and scratchpads, static data, its stack.
fn check_nic(ports: &Ports, address: u32, bytes: u32) -> Result<(), &'static str> {
    // SAFETY: the worker points at its context before a handler runs.
    let context: &ContextLayout = unsafe { &*ports.entry.context };
    let (stride, clusters) = ports.clusters;
    let scratchpad = |cluster: u32| {
        let (start, length) = context.scratchpad;
        within((start + cluster * stride, length), address, bytes)
    };
    let Entry { l1_packet, l2_packet: [packet, _], bytes: packet_bytes, .. } = ports.entry;
    let own = [(packet, packet_bytes), l1_packet.into(), context.handler_memory];
    let is_own = own.into_iter().chain(ports.common).any(|range| within(range, address, bytes));
    if is_own || (0..clusters).any(scratchpad) {
        return Ok(());
    }
    Err("its NIC address is not within what the handler may touch")
}

/// Checks that a command stays within its context's host memory, and finds the place.
fn check_host(ports: &Ports, address: u64, bytes: u32) -> Result<*mut u8, &'static str> {
    // SAFETY: the worker points at its context before a handler runs.
    let (start, length) = unsafe { (*ports.entry.context).host };
    let offset = address.checked_sub(start);
    let fits = |offset: u64| offset + u64::from(bytes) <= u64::from(length);
    match offset {
        Some(offset) if offset <= u64::from(length) && fits(offset) => {
            Ok(address.wrapping_add(ports.host_offset) as *mut u8)
        }
        _ => Err("its host address is not within the context's host memory (IOMMU)"),
    }
}

/// Miri gives memory at addresses of 32 bits, as handlers have them, and sees each byte too many.
#[cfg(all(test, miri))]
mod tests {
    use super::*;
    use crate::outbox::Outbox;

    /// A stretch of memory that is just so long, at an address that handlers can name. It is never a reference:
    /// handlers have its address alone.
    struct Memory(*mut [u8]);

    impl Memory {
        fn new(bytes: usize) -> Self {
            let memory = Box::into_raw(vec![0x5a; bytes].into_boxed_slice());
            memory.cast::<u8>().expose_provenance();
            Self(memory)
        }

        fn address(&self) -> u32 {
            self.0.cast::<u8>().addr().try_into().expect("miri's addresses are small")
        }

        fn bytes(&self) -> Vec<u8> {
            // SAFETY: it is there, and nobody writes it meanwhile.
            unsafe { (*self.0).to_vec() }
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: it was a box, and nobody uses it any more.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }

    /// Where the host's memory begins for commands.
    const HOST: u64 = 0x1000_0000_0000_0000;

    #[test]
    fn commands_touch_what_is_the_handlers_and_no_byte_more() {
        let all = [100, 64, 256, 32, 48].map(Memory::new);
        let [packet, handler, stack, code, host] = all.each_ref().map(Memory::address);
        let context = ContextLayout {
            context: 0,
            task: [0; crate::layout::TASK_WORDS],
            handlers: [0, code, 0],
            only_handler: None,
            handler_memory: (handler, 64),
            scratchpad: (0, 0),
            host: (HOST, 48),
            limit_ns: u64::MAX,
            limit_cycles: 0,
            l1_bytes: u32::MAX,
        };
        let mut ports = Ports {
            outbox: Outbox::default(),
            entry: Entry {
                context: &raw const context,
                handler: code,
                l2_packet: [packet, 0],
                bytes: 100,
                ..Entry::NONE
            },
            common: [(0, 0), (stack, 256)],
            clusters: (0, 1),
            code: (code, 32),
            max_packet_bytes: 90,
            host_offset: u64::from(host).wrapping_sub(HOST),
            frequency_mhz: 1000,
            start: std::time::Instant::now(),
            timed: false,
            first_sent_ns: None,
            trail: Vec::new(),
        };
        let mut registers = [0; 17];
        registers[crate::scene::STACK_POINTER] = u64::from(stack) + 128;
        let stop = Stop { pc: code + 30, registers, refused: None };
        let (mut tried, ends) = (0, [-9, -8, -1, 0, 1, 7, 8, 9]);
        for (start, length) in [(packet, 100), (handler, 64), (stack, 256), (host, 48)] {
            for (first, bytes) in ends.iter().flat_map(|&at| ends.map(|more| (at, more))) {
                for edge in [0, length] {
                    let address = start.wrapping_add_signed(edge + first);
                    let bytes = bytes as u32;
                    let place = HOST.wrapping_add_signed(i64::from(edge + first));
                    let (high, low) = ((place >> 32) as u32, place as u32);
                    for (info, words) in [
                        (2, [0, 0, address, 0, bytes, 0, 0]),
                        (0, [low, high, address, bytes, 1, 0, 0]),
                        (0, [low, high, address, bytes, 0, 0, 0]),
                        (4, [low, high, bytes << 1, !0, !0, 0, 0]),
                        (6, [low, high, address, bytes, 0, 0, 0]),
                    ] {
                        // SAFETY: the context, its packet and its stack are there.
                        unsafe { perform(&mut ports, info, &words, stop) };
                        tried += 1;
                    }
                }
            }
        }
        let Outbox { sent, failures, host_writes, .. } = &ports.outbox;
        assert!(!sent.is_empty() && !failures.is_empty() && *host_writes > 0);
        assert!(failures.len() < tried, "some are allowed");
    }

    #[test]
    fn a_packet_is_placed_whole_and_nothing_behind_it() {
        for bytes in (0..200).chain([1500]) {
            let slot = Memory::new(bytes);
            let packet: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            // SAFETY: the slot has as many bytes.
            unsafe { crate::row::place(&packet, [slot.address()]) };
            assert_eq!(slot.bytes(), packet);
        }
    }
}
