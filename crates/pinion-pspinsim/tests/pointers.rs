//! The C interface called from Rust with pointers to exactly what it may touch, so that miri and the address
//! sanitizer see each byte too many: packets, memory of the NIC, places for results, callbacks.

use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;
use std::sync::Mutex;

use pinion_pspinsim::ffi::pspinsim::*;
use pinion_pspinsim::ffi::spin::*;
use pinion_pspinsim::types::{FAILURE, SUCCESS, SpinEc};

const HANDLER_MEMORY: u32 = 0x1c30_0000;
const USER: u64 = 0x1234_5678_9abc;

static SENT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
static DONE: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static MOVED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

unsafe extern "C" fn sent(data: *mut u8, length: usize) {
    // SAFETY: the interface promises so many bytes.
    SENT.lock().unwrap().push(unsafe { std::slice::from_raw_parts(data, length) }.to_vec());
}

unsafe extern "C" fn done(user: u64, _: u64, _: u64, _: u64) {
    DONE.lock().unwrap().push(user);
}

unsafe extern "C" fn moved(user: *mut c_void) {
    MOVED.lock().unwrap().push(user.addr());
}

/// A structure as C drivers have it: a place that is not aligned.
#[repr(C, packed)]
struct Found {
    _byte: u8,
    address: MaybeUninit<u32>,
    bytes: MaybeUninit<usize>,
}

fn find(program: &CString, handler: &str) -> u32 {
    let handler = CString::new(handler).unwrap();
    let mut found =
        Found { _byte: 0, address: MaybeUninit::uninit(), bytes: MaybeUninit::uninit() };
    // SAFETY: `Anywhere` is packed, so it may lie anywhere; both are this call's alone.
    let status = unsafe {
        let address = &mut *(&raw mut found.address).cast::<Anywhere<u32>>();
        let bytes = &mut *(&raw mut found.bytes).cast::<Anywhere<usize>>();
        spin_find_handler_by_name(program.as_ptr(), handler.as_ptr(), Some(address), Some(bytes))
    };
    assert_eq!(status, SUCCESS);
    // SAFETY: it was written, as the status says.
    unsafe { { found.address }.assume_init() }
}

#[test]
fn the_interface_touches_what_it_was_given_and_no_byte_more() {
    // SAFETY: this is the only thread.
    unsafe { std::env::set_var("PINION_SET", "cluster.count=1 cluster.cores=1") };
    let elf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/calibration/pspin-apps/ping_pong-burst/ping_pong.elf");
    let elf = CString::new(elf.to_str().unwrap()).unwrap();
    assert_eq!(pspinsim_default_conf(None), FAILURE);
    let mut conf = MaybeUninit::uninit();
    assert_eq!(pspinsim_default_conf(Some(&mut conf)), SUCCESS);
    // SAFETY: it was written.
    let conf = unsafe { conf.assume_init() };
    // SAFETY: the path of the defaults is null.
    assert_eq!(unsafe { pspinsim_init(0, ptr::null_mut(), Some(&conf)) }, SUCCESS);
    let mut context = SpinEc {
        handler_mem_addr: HANDLER_MEMORY,
        handler_mem_size: 4096,
        ph_addr: find(&elf, "pingpong_l1_ph"),
        ph_size: 4096,
        ..SpinEc::default()
    };
    context.scratchpad_size = [0; 4];
    assert_eq!(pspinsim_cb_set_pkt_out(Some(sent)), SUCCESS);
    assert_eq!(pspinsim_cb_set_pkt_feedback(Some(done)), SUCCESS);
    assert_eq!(pspinsim_cb_set_pcie_mst_write_completion(Some(moved)), SUCCESS);
    assert_eq!(pspinsim_cb_set_pcie_mst_read_completion(Some(moved)), SUCCESS);
    // Lengths around beats and words, each in an allocation of its own.
    let lengths = [64_usize, 65, 127, 1500];
    for (number, length) in lengths.into_iter().enumerate() {
        let mut packet = vec![number as u8; length].into_boxed_slice();
        // An Ethernet, IP and UDP head is what ping_pong turns round.
        packet[12..14].copy_from_slice(&[8, 0]);
        let is_last = u8::from(number + 1 == lengths.len());
        // SAFETY: as many bytes as are said.
        let status = unsafe {
            pspinsim_packet_add(
                Some(&context),
                1,
                packet.as_ptr(),
                packet.len(),
                packet.len(),
                is_last,
                0,
                USER + number as u64,
            )
        };
        assert_eq!(status, SUCCESS);
    }
    // SAFETY: null and a packet of no bytes are refused.
    unsafe {
        assert_eq!(pspinsim_packet_add(Some(&context), 1, ptr::null(), 64, 64, 1, 0, 0), FAILURE);
        assert_eq!(pspinsim_packet_add(Some(&context), 1, [].as_ptr(), 0, 0, 1, 0, 0), FAILURE);
    }
    let written: Box<[u8]> = (0..131).collect();
    let mut read = vec![0; written.len()].into_boxed_slice();
    // SAFETY: as many bytes as are said; nobody touches them until the run has ended.
    unsafe {
        let (at, bytes) = (HANDLER_MEMORY + 5, written.len());
        let user = ptr::without_provenance_mut(7);
        assert_eq!(spin_nicmem_write(at, written.as_ptr().cast(), bytes, user), SUCCESS);
        assert_eq!(spin_nicmem_read(at, read.as_mut_ptr().cast(), bytes, user), SUCCESS);
        assert_eq!(spin_nicmem_read(0, read.as_mut_ptr().cast(), bytes, user), FAILURE);
        assert_eq!(spin_nicmem_write(at, ptr::null(), bytes, user), FAILURE);
    }
    assert_eq!(pspinsim_packet_eos(), SUCCESS);
    assert_eq!(pspinsim_run(), SUCCESS);
    assert_eq!(pspinsim_run_tick(None), FAILURE);
    assert_eq!(pspinsim_fini(), SUCCESS);
    assert_eq!(pspinsim_fini(), FAILURE, "there is none any more");
    assert_eq!(read, written);
    assert_eq!(*MOVED.lock().unwrap(), [7, 7]);
    let mut users = DONE.lock().unwrap().clone();
    users.sort_unstable();
    assert_eq!(users, [USER, USER + 1, USER + 2, USER + 3]);
    let mut sent: Vec<usize> = SENT.lock().unwrap().iter().map(Vec::len).collect();
    sent.sort_unstable();
    assert_eq!(sent, lengths);
}
