//! `spin.h`: NIC memory from the host, and handlers by name.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

use pinion_isa::elf::Image;

use super::{call, is_null, path, string};
use crate::error::{Error, Result};
use crate::inbox::{Transfer, TransferData};
use crate::program::HANDLER_BYTES;
use crate::state;

/// Starts a write of NIC memory; the data are copied at once.
///
/// # Safety
/// `data` is null or points to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spin_nicmem_write(
    addr: u32,
    data: *const c_void,
    size: usize,
    user_ptr: *mut c_void,
) -> c_int {
    call("spin_nicmem_write", || {
        if data.is_null() {
            return Err(is_null("data"));
        }
        check_range(addr, size)?;
        // SAFETY: as the caller promises.
        let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }.to_vec();
        add(addr, TransferData::Write(data), user_ptr)
    })
}

/// Starts a read of NIC memory.
///
/// # Safety
/// `data` is null or points to `size` bytes that nobody else uses until the read's callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spin_nicmem_read(
    addr: u32,
    data: *mut c_void,
    size: usize,
    user_ptr: *mut c_void,
) -> c_int {
    call("spin_nicmem_read", || {
        if data.is_null() {
            return Err(is_null("data"));
        }
        check_range(addr, size)?;
        add(addr, TransferData::Read(data.expose_provenance(), size), user_ptr)
    })
}

fn add(address: u32, data: TransferData, user: *mut c_void) -> Result<()> {
    let user = user.expose_provenance();
    state::with(|simulation| {
        simulation.inbox.add_transfer(Transfer { address, data, user });
        Ok(())
    })
}

fn check_range(address: u32, bytes: usize) -> Result<()> {
    state::with(|simulation| match simulation.settings.has_memory(address, bytes) {
        true => Ok(()),
        false => Err(Error::Argument(format!(
            "{bytes} bytes at {address:#010x} do not lie in one of the NIC's memories"
        ))),
    })
}

/// A place of a driver's that nobody has written yet, in a packed structure or not.
#[repr(C, packed)]
pub struct Anywhere<T>(MaybeUninit<T>);

/// Looks a handler up in the program's ELF, which also becomes the program that the NIC runs unless
/// another one was named. A handler that it does not have is mentioned and gets address 0, which
/// means none: drivers ask for all three and use those they find.
///
/// # Safety
/// The names are null or strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spin_find_handler_by_name(
    binfile: *const c_char,
    handler_name: *const c_char,
    handler_addr: Option<&mut Anywhere<u32>>,
    handler_size: Option<&mut Anywhere<usize>>,
) -> c_int {
    call("spin_find_handler_by_name", || {
        // SAFETY: as the caller promises.
        let (file, name) =
            unsafe { (path(binfile, "binfile")?, string(handler_name, "handler_name")?) };
        let (Some(handler_addr), Some(handler_size)) = (handler_addr, handler_size) else {
            return Err(is_null("the place for the result"));
        };
        let image = Image::read(&file)?;
        let (address, bytes) = match image.require(&name) {
            Ok(symbol) => (symbol.address as u32, HANDLER_BYTES as usize),
            Err(missing) => {
                eprintln!("pinion: spin_find_handler_by_name: {missing}; there is no such handler");
                (0, 0)
            }
        };
        state::remember_program(image)?;
        handler_addr.0 = MaybeUninit::new(address);
        handler_size.0 = MaybeUninit::new(bytes);
        Ok(())
    })
}
