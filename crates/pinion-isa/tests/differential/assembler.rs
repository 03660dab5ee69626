//! Writes machine code: instruction formats and a buffer with labels for short forward branches.

/// Encodes an R-type instruction.
pub fn r(opcode: u32, funct3: u32, funct7: u32, rd: u8, rs1: u8, rs2: u8) -> u32 {
    let (rd, rs1, rs2) = (u32::from(rd), u32::from(rs1), u32::from(rs2));
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// Encodes an I-type instruction.
pub fn i(opcode: u32, funct3: u32, rd: u8, rs1: u8, immediate: i32) -> u32 {
    let (rd, rs1) = (u32::from(rd), u32::from(rs1));
    (immediate as u32) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// Encodes a store.
pub fn s(funct3: u32, rs1: u8, rs2: u8, offset: i32) -> u32 {
    let offset = offset as u32;
    r(0x23, funct3, offset >> 5 & 0x7f, (offset & 31) as u8, rs1, rs2)
}

/// Encodes a branch.
pub fn b(funct3: u32, rs1: u8, rs2: u8, offset: i32) -> u32 {
    let offset = offset as u32;
    let high = (offset >> 12 & 1) << 6 | offset >> 5 & 0x3f;
    let low = (offset & 0x1e) | offset >> 11 & 1;
    r(0x63, funct3, high, low as u8, rs1, rs2)
}

/// Encodes `lui` (0x37) or `auipc` (0x17) with the upper 20 bits of a value.
pub fn u(opcode: u32, rd: u8, value: u32) -> u32 {
    value & 0xffff_f000 | u32::from(rd) << 7 | opcode
}

/// Encodes `jal`.
pub fn jal(rd: u8, offset: i32) -> u32 {
    let o = offset as u32;
    (o >> 20 & 1) << 31
        | (o >> 1 & 0x3ff) << 21
        | (o >> 11 & 1) << 20
        | (o & 0xf_f000)
        | u32::from(rd) << 7
        | 0x6f
}

/// Encodes `addi`.
pub fn addi(rd: u8, rs1: u8, immediate: i32) -> u32 {
    i(0x13, 0, rd, rs1, immediate)
}

/// Encodes `csrrw` (1), `csrrs` (2), `csrrc` (3) or their immediate forms (5 to 7).
pub fn csr(funct3: u32, rd: u8, csr: u16, source: u8) -> u32 {
    i(0x73, funct3, rd, source, i32::from(csr))
}

/// Encodes `mul`.
pub fn mul(rd: u8, rs1: u8, rs2: u8) -> u32 {
    r(0x33, 0, 1, rd, rs1, rs2)
}

/// Encodes `xor`.
pub fn xor(rd: u8, rs1: u8, rs2: u8) -> u32 {
    r(0x33, 4, 0, rd, rs1, rs2)
}

/// `mret`.
pub const MRET: u32 = 0x3020_0073;
/// `ecall`.
pub const ECALL: u32 = 0x0000_0073;

/// Collects code from a base address on.
pub struct Code {
    /// The bytes so far.
    pub bytes: Vec<u8>,
    base: u32,
    wide: bool,
}

impl Code {
    /// Starts an empty buffer for code at `base`, for RV64 if `wide`.
    pub fn new(base: u32, wide: bool) -> Self {
        Self { bytes: Vec::new(), base, wide }
    }

    /// Gives the address behind the last instruction.
    pub fn here(&self) -> u32 {
        self.base + self.bytes.len() as u32
    }

    /// Appends a 32-bit instruction.
    pub fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_le_bytes());
    }

    /// Appends a 16-bit instruction.
    pub fn half(&mut self, half: u16) {
        self.bytes.extend(half.to_le_bytes());
    }

    /// Fills with zeros up to a multiple of `bytes`.
    pub fn align(&mut self, bytes: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(bytes), 0);
    }

    /// Writes an instruction over the one at `address`.
    pub fn patch(&mut self, address: u32, word: u32) {
        let at = (address - self.base) as usize;
        self.bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    /// Appends a branch or jump whose target [`Code::land`] sets.
    pub fn hole(&mut self) -> u32 {
        let here = self.here();
        self.word(0);
        here
    }

    /// Makes the hole at `from` a branch to here.
    pub fn land_branch(&mut self, from: u32, funct3: u32, rs1: u8, rs2: u8) {
        self.patch(from, b(funct3, rs1, rs2, (self.here() - from) as i32));
    }

    /// Makes the hole at `from` a jump to here.
    pub fn land_jump(&mut self, from: u32, rd: u8) {
        self.patch(from, jal(rd, (self.here() - from) as i32));
    }

    /// Loads a register with an address near the code.
    pub fn address(&mut self, rd: u8, address: u32) {
        let offset = address.wrapping_sub(self.here());
        let low = (offset as i32) << 20 >> 20;
        self.word(u(0x17, rd, offset.wrapping_sub(low as u32)));
        self.word(addi(rd, rd, low));
    }

    /// Loads a register with a 32-bit constant (sign-extended on RV64).
    pub fn constant(&mut self, rd: u8, value: u32) {
        let low = (value as i32) << 20 >> 20;
        self.word(u(0x37, rd, value.wrapping_sub(low as u32)));
        // addiw keeps the sum within 32 bits on RV64.
        self.word(i(if self.wide { 0x1b } else { 0x13 }, 0, rd, rd, low));
    }

    /// Stores a whole register.
    pub fn save(&mut self, register: u8, base: u8, offset: i32) {
        self.word(s(if self.wide { 3 } else { 2 }, base, register, offset));
    }

    /// Loads a whole register.
    pub fn restore(&mut self, register: u8, base: u8, offset: i32) {
        self.word(i(0x03, if self.wide { 3 } else { 2 }, register, base, offset));
    }
}
