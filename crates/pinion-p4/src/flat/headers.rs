//! Headers on their way from the packet's bytes to registers and back.

use super::Op;
use super::compile::Compiler;
use super::wide::WideKind;

impl Compiler<'_> {
    /// Takes a header out of the packet: only fields that somebody reads are loaded.
    pub(super) fn extract(&mut self, number: u32) {
        let header = &self.program.headers[number as usize];
        let (first, fields, valid) = (header.first, header.fields, header.valid);
        self.ops.push(Op::Take { bytes: (header.bits / 8) as u16 });
        self.set_flag(valid, true);
        let mut at = 0;
        for slot in first..first + fields {
            let width = self.program.slots[slot as usize].width;
            if self.matters(slot) {
                let to = self.place(slot);
                let (byte, is_aligned) = ((at / 8) as u16, at % 8 == 0);
                let from_right = 64u32.checked_sub(at % 8 + width);
                match (is_aligned, width, from_right) {
                    (true, 8, _) => self.ops.push(Op::Load8 { to: to.register, at: byte }),
                    (true, 16, _) => self.ops.push(Op::Load16 { to: to.register, at: byte }),
                    (true, 32, _) => self.ops.push(Op::Load32 { to: to.register, at: byte }),
                    (true, 48, _) => self.ops.push(Op::Load48 { to: to.register, at: byte }),
                    (_, _, Some(drop)) => {
                        let (mask, drop) = (self.mask(width), drop as u16);
                        self.ops.push(Op::LoadBits { to: to.register, at: byte, drop, mask });
                    }
                    _ => self.wide(to, WideKind::Load(at)),
                }
            }
            at += width;
        }
    }

    /// Puts a header behind those before it if it is valid.
    pub(super) fn emit(&mut self, number: u32, certain: bool) {
        let header = &self.program.headers[number as usize];
        let (first, fields, valid) = (header.first, header.fields, header.valid);
        let skip = (!certain).then(|| {
            let condition = self.place(valid).register;
            self.ops.push(Op::JumpIfZero { condition, to: 0 });
            self.ops.len() - 1
        });
        let template = self.template(number);
        self.ops.push(Op::Begin { header: template });
        let mut at = 0;
        for slot in first..first + fields {
            let width = self.program.slots[slot as usize].width;
            if self.uses.constant[slot as usize].is_none() {
                let from = self.place(slot);
                let (byte, is_aligned) = ((at / 8) as u16, at % 8 == 0);
                match (is_aligned, width) {
                    (true, 8) => self.ops.push(Op::Put8 { from: from.register, at: byte }),
                    (true, 16) => self.ops.push(Op::Put16 { from: from.register, at: byte }),
                    (true, 32) => self.ops.push(Op::Put32 { from: from.register, at: byte }),
                    (true, 48) => self.ops.push(Op::Put48 { from: from.register, at: byte }),
                    (_, 0..=64) => {
                        let (at, width) = (at as u16, width as u16);
                        self.ops.push(Op::PutBits { from: from.register, at, width });
                    }
                    _ => self.wide(from, WideKind::Put(from, at)),
                }
            }
            at += width;
        }
        if let Some(skip) = skip {
            self.land(skip);
        }
    }
}
