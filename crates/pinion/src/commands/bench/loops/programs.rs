//! The loops' programs: the same turns with what each target wants around them.

use std::path::{Path, PathBuf};
use std::process::Command;

use pinion::error::{Error, Result};

/// A loop: what a turn does, with t0 = 1, a0 the turns that are left, s0 a word of one's own and s1 one
/// that others have too.
pub struct Loop {
    /// Says what it does.
    pub name: &'static str,
    /// What a turn does, without its end.
    body: &'static str,
    /// Brings what counts the turns into t4.
    result: &'static str,
    /// Instructions of a turn, its end included.
    pub a_turn: u64,
}

/// The loops.
pub const LOOPS: [Loop; 3] = [
    Loop {
        name: "load, add, store",
        body: "lw t1, 0(s0)\nadd t1, t1, t0\nsw t1, 0(s0)",
        result: "lw t4, 0(s0)",
        a_turn: 5,
    },
    Loop {
        name: "load, atomic add",
        body: "lw t1, 0(s0)\namoadd.w t2, t0, (s1)",
        result: "lw t4, 0(s1)",
        a_turn: 4,
    },
    Loop {
        name: "arithmetic",
        body: "add t1, t1, t0\nxor t2, t2, t1\nslli t3, t1, 3\nsub t2, t2, t3",
        result: "mv t4, t1",
        a_turn: 6,
    },
];

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Linux on a core of 32 bits, in QEMU's user mode.
    Linux32,
    /// The same of 64 bits.
    Linux64,
    /// A nanoPU or Spike: a bare core of 64 bits with `tohost`.
    Bare64,
}

impl Target {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Linux32 => &["-march=rv32imac", "-mabi=ilp32", "-Wl,-Ttext=0x10000"],
            Self::Linux64 => &["-march=rv64gc", "-mabi=lp64d", "-Wl,-Ttext=0x10000"],
            Self::Bare64 => &["-march=rv64gc", "-mabi=lp64d", "-Wl,-Ttext=0x80000000"],
        }
    }

    /// Gives what begins a program: only the first core goes on.
    fn begins(self) -> &'static str {
        match self {
            Self::Bare64 => "csrr t0, mhartid\n1: bnez t0, 1b",
            _ => "",
        }
    }

    /// Gives what ends a program with the status in t5: 0 or 1.
    fn ends(self) -> &'static str {
        match self {
            // The exit status above the bit that says that it is one.
            Self::Bare64 => "la t1, tohost\nslli t5, t5, 1\nori t5, t5, 1\nsd t5, 0(t1)\n4: j 4b",
            _ => "mv a0, t5\nli a7, 93\necall",
        }
    }
}

/// Compiles a loop of so many turns, which exits with 1 unless it has made all of them.
///
/// # Errors
/// When it cannot be written or compiled.
pub fn compile(
    gcc: &[String],
    folder: &Path,
    one: &Loop,
    target: Target,
    turns: u64,
) -> Result<PathBuf> {
    let source = folder.join("loop.S");
    let elf = folder.join(format!("{target:?}-{turns}.elf"));
    let Loop { body, result, .. } = one;
    let (begins, ends) = (target.begins(), target.ends());
    let text = format!(
        ".globl _start, tohost, fromhost\n.text\n_start: {begins}\nla s0, data\naddi s1, s0, 64\n\
         li t0, 1\nli t1, 0\nli a0, {turns}\n.balign 64\n2: {body}\naddi a0, a0, -1\n\
         bnez a0, 2b\n{result}\nli t6, {turns}\nxor t5, t4, t6\nsnez t5, t5\n{ends}\n\
         .balign 4096\ndata: .zero 128\n.balign 64\ntohost: .dword 0\n.balign 64\nfromhost: .dword 0\n"
    );
    let failed = |why: String| Error::Usage(format!("{}: {why}", source.display()));
    std::fs::write(&source, text).map_err(|error| failed(error.to_string()))?;
    let output = Command::new(&gcc[0])
        .args(&gcc[1..])
        .args(target.options())
        .args(["-nostdlib", "-static", "-Wl,-N", "-o"])
        .arg(&elf)
        .arg(&source)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(elf),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Writes an application whose handler makes a loop's turns; gives its folder. The shared word is the
/// cluster's, an HPU's own word lies in a bank of its own.
///
/// # Errors
/// When it cannot be written.
pub fn handlers(folder: &Path, one: &Loop, turns: u64) -> Result<PathBuf> {
    let folder = folder.join(one.name.replace(", ", "_").replace(' ', "_"));
    let manifest = "[app]\nname = \"loop\"\nsources = [\"loop.c\"]\n\n[[context]]\nname = \"loop\"\n\
                    match = [\"udp\"]\npayload = \"loop_ph\"\nscratchpad = \"1KiB\"\n";
    let body = one.body.replace('\n', "\\n");
    let source = format!(
        "#include <handler.h>\n\n__handler__ void loop_ph(handler_args_t *args)\n{{\n\
         \x20   uint32_t *shared = args->task->scratchpad[args->cluster_id];\n\
         \x20   register uint32_t *own asm(\"s0\") = shared + 16 + args->hpu_id;\n\
         \x20   register uint32_t *all asm(\"s1\") = shared;\n\
         \x20   register uint32_t left asm(\"a0\") = {turns};\n\n\
         \x20   asm volatile(\"li t0, 1\\n.balign 32\\n2: {body}\\naddi a0, a0, -1\\nbnez a0, 2b\"\n\
         \x20                : \"+r\"(left)\n\
         \x20                : \"r\"(own), \"r\"(all)\n\
         \x20                : \"t0\", \"t1\", \"t2\", \"t3\", \"memory\");\n}}\n"
    );
    let failed = |error: std::io::Error| Error::Usage(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::fs::write(folder.join("app.toml"), manifest).map_err(failed)?;
    std::fs::write(folder.join("loop.c"), source).map_err(failed)?;
    Ok(folder)
}
