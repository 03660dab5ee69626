//! Memory as bytes, and as instructions.

use pinion_isa::disassemble;
use serde::Deserialize;
use serde_json::{Value, json};

use super::requests::{Answer, Session, read};
use super::variables::reference;

/// Bytes that are read, and instructions that are written, at a time.
const BYTES_MAX: u64 = 1 << 20;
const INSTRUCTIONS_MAX: u64 = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    memory_reference: String,
    #[serde(default)]
    offset: i64,
    count: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Code {
    memory_reference: String,
    #[serde(default)]
    offset: i64,
    #[serde(default)]
    instruction_offset: i64,
    instruction_count: u64,
}

impl Session<'_, '_> {
    pub fn read_memory(&mut self, arguments: Value) -> Answer {
        let Range { memory_reference, offset, count } = read(arguments)?;
        let address = self.address(&memory_reference)?.wrapping_add_signed(offset);
        let wanted = count.min(BYTES_MAX);
        let mut bytes = vec![0; wanted as usize];
        let there = self.console.timeline.read(self.console.focus, address, &mut bytes);
        Ok(json!({
            "address": reference(address),
            "data": base64(&bytes[..there]),
            "unreadableBytes": wanted - there as u64,
        }))
    }

    pub fn disassemble(&mut self, arguments: Value) -> Answer {
        let Code { memory_reference, offset, instruction_offset, instruction_count } =
            read(arguments)?;
        let address = self.address(&memory_reference)?.wrapping_add_signed(offset);
        let code: Vec<_> = self.symbols.instructions().collect();
        let at = code.partition_point(|(pc, _)| *pc < address) as i64;
        let first = at.saturating_add(instruction_offset);
        let count = instruction_count.min(INSTRUCTIONS_MAX) as i64;
        let lines = (first..first.saturating_add(count)).map(|index| {
            let found = usize::try_from(index).ok().and_then(|index| code.get(index));
            match found {
                Some((pc, instruction)) => self.written(*pc, instruction),
                // As many as were asked for must come, whatever lies there.
                None => json!({
                    "address": reference(address.wrapping_add_signed(2 * (index - at))),
                    "instruction": "",
                    "presentationHint": "invalid",
                }),
            }
        });
        Ok(json!({ "instructions": lines.collect::<Vec<_>>() }))
    }

    fn written(&self, pc: u64, instruction: &pinion_isa::Instruction) -> Value {
        let word = self.symbols.word_at(pc).unwrap_or(0).to_le_bytes();
        let bytes = &word[..usize::from(instruction.length).min(4)];
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut line = json!({
            "address": reference(pc),
            "instructionBytes": hex.join(" "),
            "instruction": disassemble(instruction, pc),
        });
        if let Some(name) = self.symbols.describe(pc).filter(|name| !name.contains('+')) {
            line["symbol"] = json!(name);
        }
        if let Some(row) = self.symbols.lines().row(pc).filter(|row| row.address == pc) {
            line["line"] = json!(row.line);
            line["location"] = json!({ "path": self.symbols.lines().file(row.file) });
        }
        line
    }
}

/// Writes bytes as base64 (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().chain(&[0, 0]).take(3).fold(0, |word, byte| word << 8 | u32::from(*byte));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn bytes_are_written_as_base64() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
