//! `pspinsim.h`: configuration, running, packets, callbacks.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

use super::{call, is_null, path};
use crate::engine;
use crate::error::{Error, Result};
use crate::inbox::Packet;
use crate::settings::{Environment, Settings};
use crate::standard_output::print;
use crate::statistics::Statistics;
use crate::types::{
    PcieMstCallback, PcieSlvCallback, PktFeedbackCallback, PktOutCallback, PspinConf, SpinEc,
};
use crate::{simulation, state, trace};

/// Fills in the published defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_default_conf(conf: Option<&mut MaybeUninit<PspinConf>>) -> c_int {
    call("pspinsim_default_conf", || {
        conf.ok_or_else(|| is_null("conf"))?.write(PspinConf::DEFAULT);
        Ok(())
    })
}

/// Begins a simulation. `argc` and `argv` are the driver's own and not looked at.
///
/// # Safety
/// The path of `conf` is null or a string. Without `conf` it is the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_init(
    _argc: c_int,
    _argv: *mut *mut c_char,
    conf: Option<&PspinConf>,
) -> c_int {
    call("pspinsim_init", || {
        let conf = conf.copied().unwrap_or(PspinConf::DEFAULT);
        let images = match conf.slm_files_path.is_null() {
            true => None,
            // SAFETY: as the caller promises.
            false => Some(unsafe { path(conf.slm_files_path, "slm_files_path") }?),
        };
        state::begin(Settings::new(&conf, images, &Environment::read())?)
    })
}

/// Runs until the stream has ended and everything is done.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_run() -> c_int {
    call("pspinsim_run", || simulation::run(engine::Engine::run))
}

/// Runs one cycle. `done_flag` becomes 1 when the stream has ended and everything is done, and also
/// when this fails: a driver's loop ends either way.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_run_tick(done_flag: Option<&mut MaybeUninit<u8>>) -> c_int {
    call("pspinsim_run_tick", || {
        let done_flag = done_flag.ok_or_else(|| is_null("done_flag"))?;
        done_flag.write(1);
        done_flag.write(u8::from(simulation::run(engine::Engine::run_cycle)?));
        Ok(())
    })
}

/// Ends the simulation and prints its statistics.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_fini() -> c_int {
    call("pspinsim_fini", || {
        let (settings, engine) = simulation::end()?;
        match engine {
            Some(mut engine) => print(&engine.statistics().to_string()),
            None => print(&Statistics::new(&settings).to_string()),
        }
        Ok(())
    })
}

/// Adds the packets of a trace.
///
/// # Safety
/// Both are null or strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_packet_trace_read(
    pkt_file_path: *const c_char,
    data_file_path: *const c_char,
) -> c_int {
    call("pspinsim_packet_trace_read", || {
        // SAFETY: as the caller promises.
        let (lines, data) = unsafe {
            (path(pkt_file_path, "pkt_file_path")?, path(data_file_path, "data_file_path")?)
        };
        state::with(|simulation| {
            let scratchpad = simulation.settings.machine.scratchpad_bytes();
            let packets = trace::read(&lines, &data, scratchpad)?;
            for (index, packet) in packets.iter().enumerate() {
                check(packet, &simulation.settings).map_err(|error| {
                    Error::Argument(format!("{}: packet {index}: {error}", lines.display()))
                })?;
            }
            simulation.inbox.add_packets(packets);
            Ok(())
        })
    })
}

/// Adds a packet behind those added before.
///
/// # Safety
/// `pkt_data` is null or points to `pkt_len` bytes; they are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_packet_add(
    ec: Option<&SpinEc>,
    msgid: u32,
    pkt_data: *const u8,
    pkt_len: usize,
    pkt_l1_len: usize,
    eom: u8,
    wait_cycles: u32,
    user_ptr: u64,
) -> c_int {
    call("pspinsim_packet_add", || {
        let context = *ec.ok_or_else(|| is_null("ec"))?;
        if pkt_data.is_null() {
            return Err(is_null("pkt_data"));
        }
        state::with(|simulation| {
            let limit = simulation.settings.machine.inbound.max_packet_bytes as usize;
            check_length(pkt_len, limit)?;
            // SAFETY: as the caller promises.
            let data = unsafe { std::slice::from_raw_parts(pkt_data, pkt_len) }.to_vec();
            let packet = Packet {
                context,
                message: msgid,
                data,
                l1_bytes: pkt_l1_len.min(pkt_len) as u32,
                end_of_message: eom != 0,
                wait_cycles,
                user: user_ptr,
            };
            check(&packet, &simulation.settings)?;
            simulation.inbox.add_packets([packet]);
            Ok(())
        })
    })
}

fn check_length(bytes: usize, limit: usize) -> Result<()> {
    match bytes {
        0 => Err(Error::Argument("the packet is empty".to_owned())),
        bytes if bytes > limit => Err(Error::Argument(format!(
            "the packet has {bytes} bytes, and the machine takes {limit}"
        ))),
        _ => Ok(()),
    }
}

fn check(packet: &Packet, settings: &Settings) -> Result<()> {
    check_length(packet.data.len(), settings.machine.inbound.max_packet_bytes as usize)?;
    Ok(engine::describe(&packet.context, &settings.machine, None).check(&settings.machine)?)
}

/// Says that no packets follow.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_packet_eos() -> c_int {
    call("pspinsim_packet_eos", || {
        state::with(|simulation| {
            simulation.inbox.end_stream();
            Ok(())
        })
    })
}

/// Sets who gets packets that leave; null: nobody.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_cb_set_pkt_out(cb: Option<PktOutCallback>) -> c_int {
    call("pspinsim_cb_set_pkt_out", || {
        state::with(|simulation| {
            simulation.callbacks.pkt_out = cb;
            Ok(())
        })
    })
}

/// Sets who hears of writes to host memory.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_cb_set_pcie_slv_write(cb: Option<PcieSlvCallback>) -> c_int {
    call("pspinsim_cb_set_pcie_slv_write", || {
        state::with(|simulation| {
            simulation.callbacks.pcie_slv_write = cb;
            Ok(())
        })
    })
}

/// Sets who gives the data for reads of host memory.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_cb_set_pcie_slv_read(cb: Option<PcieSlvCallback>) -> c_int {
    call("pspinsim_cb_set_pcie_slv_read", || {
        state::with(|simulation| {
            simulation.callbacks.pcie_slv_read = cb;
            Ok(())
        })
    })
}

/// Sets who hears that a write to NIC memory is done.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_cb_set_pcie_mst_write_completion(cb: Option<PcieMstCallback>) -> c_int {
    call("pspinsim_cb_set_pcie_mst_write_completion", || {
        state::with(|simulation| {
            simulation.callbacks.pcie_mst_write = cb;
            Ok(())
        })
    })
}

/// Sets who hears that a read of NIC memory is done.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_cb_set_pcie_mst_read_completion(cb: Option<PcieMstCallback>) -> c_int {
    call("pspinsim_cb_set_pcie_mst_read_completion", || {
        state::with(|simulation| {
            simulation.callbacks.pcie_mst_read = cb;
            Ok(())
        })
    })
}

/// Sets who hears of packets' completions.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_cb_set_pkt_feedback(cb: Option<PktFeedbackCallback>) -> c_int {
    call("pspinsim_cb_set_pkt_feedback", || {
        state::with(|simulation| {
            simulation.callbacks.pkt_feedback = cb;
            Ok(())
        })
    })
}
