//! Where things lie in the test program's memory, the same on both machines.

/// First address of memory on QEMU's `virt` machine.
pub const BASE: u32 = 0x8000_0000;
/// Memory that is compared at the end; QEMU puts its device tree far behind it.
pub const BYTES: usize = 0x30_0000;
/// Room for code.
pub const CODE_BYTES: u32 = 0x4_0000;
/// Registers saved by the trap handler and the signature routine, eight bytes each; then:
pub const SAVE: u32 = BASE + CODE_BYTES;
/// Offset in the save area of the signature of all traps.
pub const TRAP_SIGNATURE: i32 = 256;
/// Offset of the number of traps.
pub const TRAPS: i32 = 264;
/// Offset of the pointer behind the last signature written.
pub const LOG_POINTER: i32 = 272;
/// Offset of the number of rounds left.
pub const ROUNDS: i32 = 280;
/// Offset of the running signature.
pub const SIGNATURE: i32 = 288;
/// The page that random loads and stores reach.
pub const SCRATCH: u32 = SAVE + 0x1000;
/// What `s0` points to: every 12-bit offset from it stays in the scratch page.
pub const S0: u32 = SCRATCH + 0x800;
/// What `sp` points to.
pub const SP: u32 = SCRATCH + 0x200;
/// One signature per block executed, eight bytes each.
pub const LOG: u32 = BASE + 0x5_0000;
/// Number of signatures that fit.
pub const LOG_ENTRIES: u32 = (0x20_0000 - 0x5_0000) / 8;
/// What the trap handler saw, 32 bytes each trap: `mcause`, `mepc`, `mtval`, `mstatus`; wraps.
pub const TRAP_LOG: u32 = BASE + 0x20_0000;
/// Length of the trap log.
pub const TRAP_LOG_BYTES: u32 = 0x10_0000;
/// Offset in the save area of the trap log's address.
pub const TRAP_LOG_BASE: i32 = 296;
/// Offset in the save area of the offset in the trap log.
pub const TRAP_LOG_OFFSET: i32 = 304;
