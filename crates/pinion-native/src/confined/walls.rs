//! The walls: what the process of the handlers cannot reach, and of the kernel's calls the few that it can
//! make.
//!
//! First go what it inherited (descriptors, namespaces, the file system), then come the calls. The filter is
//! made by `seccompiler`, rust-vmm's, which Firecracker runs behind. In front of it stands a check of our own:
//! a call whose instruction lies below 4 GiB is a handler's, for there lies its program and nothing of ours,
//! and is refused whatever it asks for.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// Says what there is to confine handlers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Walls {
    /// Everything.
    Whole,
    /// Namespaces are missing; the kernel's calls are refused all the same.
    CallsOnly(String),
    /// Nothing.
    None(String),
}

/// What a process must be allowed for a new thread, and nothing that makes a process.
const THREAD: u64 = (libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND) as u64;
/// Every namespace that a process can leave without becoming another one.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;
/// Arenas of the C library's allocator: above so many it would ask a file how many processors there are,
/// which lies behind the walls.
#[cfg(target_env = "gnu")]
const ARENAS: libc::c_int = 8;
/// A folder in which nothing can be found once its process has no descriptors.
const EMPTY_FOLDER: &std::ffi::CStr = c"/proc/self/fdinfo";

/// Tries in a process of its own what [`enter`] would do.
pub fn probe() -> Walls {
    let tried = |with_namespaces: bool| -> io::Result<()> {
        // SAFETY: the child calls the kernel, allocates, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let entered = if with_namespaces { leave_namespaces() } else { Ok(()) };
                let entered = entered.and_then(|()| refuse_calls(0));
                let number = entered.err().map_or(0, |error| error.raw_os_error().unwrap_or(255));
                // SAFETY: ends the child.
                unsafe { libc::_exit(number.min(255)) }
            }
            process if process < 0 => Err(io::Error::last_os_error()),
            process => {
                let mut status = 0;
                // SAFETY: a child of ours.
                unsafe { libc::waitpid(process, &mut status, 0) };
                match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
                    (true, 0) => Ok(()),
                    (true, number) => Err(io::Error::from_raw_os_error(number)),
                    _ => Err(io::Error::other("a filter ends its own process")),
                }
            }
        }
    };
    match (tried(true), tried(false)) {
        (Ok(()), _) => Walls::Whole,
        (Err(error), Ok(())) => {
            Walls::CallsOnly(format!("the kernel gives no namespaces: {error}"))
        }
        (_, Err(error)) => Walls::None(format!("the kernel filters no system calls: {error}")),
    }
}

/// Puts the calling process behind the walls, with this socket as its only descriptor; it has one thread.
/// Namespaces that the kernel does not give are left out: whoever must have them asks [`probe`].
pub fn enter(socket: RawFd) -> io::Result<()> {
    // SAFETY: plain calls about this process; it was forked for this, and uses nothing that goes here.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        #[cfg(target_env = "gnu")]
        libc::mallopt(libc::M_ARENA_MAX, ARENAS);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            // Who started us says when it is over.
            libc::signal(signal, libc::SIG_IGN);
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            libc::dup2(null, standard);
        }
        let (below, above) = (socket as libc::c_uint, socket as libc::c_uint + 1);
        if below > 3 {
            libc::syscall(libc::SYS_close_range, 3, below - 1, 0);
        }
        if libc::syscall(libc::SYS_close_range, above, libc::c_uint::MAX, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // Missing ones leave the calls' filter, which keeps what namespaces would keep.
    let _ = leave_namespaces();
    let nothing = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    for limit in [libc::RLIMIT_CORE, libc::RLIMIT_FSIZE, libc::RLIMIT_NOFILE] {
        // SAFETY: lowers a limit of this process.
        unsafe { libc::setrlimit(limit, &nothing) };
    }
    refuse_calls(socket)
}

/// Leaves what this process shares with others, and the file system.
fn leave_namespaces() -> io::Result<()> {
    // SAFETY: calls about this process alone.
    let done = unsafe {
        libc::unshare(NAMESPACES) == 0
            && libc::chroot(EMPTY_FOLDER.as_ptr()) == 0
            && libc::chdir(c"/".as_ptr()) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets this process, and the threads that it makes, call what is needed and nothing else.
fn refuse_calls(socket: RawFd) -> io::Result<()> {
    let program = program(socket).map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

fn program(socket: RawFd) -> Result<BpfProgram, seccompiler::BackendError> {
    let is = |number: u8, value: u64| {
        SeccompCondition::new(number, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
    };
    let only = |condition| SeccompRule::new(vec![condition]);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    for call in [libc::SYS_read, libc::SYS_write, libc::SYS_recvfrom, libc::SYS_sendto] {
        rules.insert(call, vec![only(is(0, socket as u64)?)?]);
    }
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![only(is(0, own)?)?]);
    rules.insert(libc::SYS_prctl, vec![only(is(0, libc::PR_SET_NAME as u64)?)?]);
    let is_thread =
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(THREAD), THREAD)?;
    rules.insert(libc::SYS_clone, vec![only(is_thread)?]);
    let filter =
        SeccompFilter::new(rules, SeccompAction::Trap, SeccompAction::Allow, TargetArch::x86_64)?;
    let rest: BpfProgram = filter.try_into()?;
    let mut program = handlers_first();
    program.extend(rest);
    Ok(program)
}

/// What threads, memory, time and signals of our own process need.
const ALLOWED: [i64; 25] = [
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_poll,
];

/// Instructions of the kernel's filters (`linux/bpf_common.h`): load a word, compare, return.
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// Offset of a call's number in `struct seccomp_data`.
const NUMBER: u32 = 0;
/// Offset of the upper half of the address that a call comes from.
const UPPER_ADDRESS: u32 = 12;
/// Answers with SIGSYS, or with an error's number (`linux/seccomp.h`).
const TRAP: u32 = 0x0003_0000;
const ERROR: u32 = 0x0005_0000;

/// Refuses calls of handlers, and tells the C library that there is no `clone3`: what it asks for stands in
/// memory, where a filter does not see it, so threads are made by `clone`.
fn handlers_first() -> BpfProgram {
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_WORD, 0, 0, UPPER_ADDRESS),
        step(JUMP_IF_EQUAL, 0, 1, 0),
        step(RETURN, 0, 0, TRAP),
        step(LOAD_WORD, 0, 0, NUMBER),
        step(JUMP_IF_EQUAL, 0, 1, libc::SYS_clone3 as u32),
        step(RETURN, 0, 0, ERROR | libc::ENOSYS as u32),
    ]
}
