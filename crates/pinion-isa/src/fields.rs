//! The fields of a 32-bit instruction (RISC-V ISA manual, base instruction formats): its bits come in,
//! register numbers, function codes and immediates go out. Xpulp's formats are made of them too.

/// Gives the destination register.
pub(crate) const fn rd(word: u32) -> u8 {
    (word >> 7 & 31) as u8
}

/// Gives the first source register.
pub(crate) const fn rs1(word: u32) -> u8 {
    (word >> 15 & 31) as u8
}

/// Gives the second source register.
pub(crate) const fn rs2(word: u32) -> u8 {
    (word >> 20 & 31) as u8
}

/// Gives the field `funct3`.
pub(crate) const fn funct3(word: u32) -> u32 {
    word >> 12 & 7
}

/// Gives the field `funct7`.
pub(crate) const fn funct7(word: u32) -> u32 {
    word >> 25
}

/// Gives the sign-extended immediate of loads and register-immediate operations.
pub(crate) const fn i_immediate(word: u32) -> i32 {
    word as i32 >> 20
}

/// Gives the sign-extended immediate of stores.
pub(crate) const fn s_immediate(word: u32) -> i32 {
    (word as i32 >> 25 << 5) | (word >> 7 & 31) as i32
}

/// Gives a branch's offset in bytes.
pub(crate) const fn b_immediate(word: u32) -> i32 {
    let low = (word >> 7 & 0x1e) | (word >> 20 & 0x7e0) | (word << 4 & 0x800);
    (word as i32 >> 31 << 12) | low as i32
}

/// Gives a jump's offset in bytes.
pub(crate) const fn j_immediate(word: u32) -> i32 {
    let low = (word >> 20 & 0x7fe) | (word >> 9 & 0x800) | (word & 0xf_f000);
    (word as i32 >> 31 << 20) | low as i32
}
