//! RISC-V harts: decode, execute, CSRs, privilege, PMP, disassembly, ELF images.
