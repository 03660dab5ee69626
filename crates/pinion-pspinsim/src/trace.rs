//! Packet traces in the published text format: a line of 13 comma-separated numbers per packet, and
//! a binary file with the packets' bytes, one behind the other.

use std::path::Path;

use crate::error::{Error, Result};
use crate::inbox::Packet;
use crate::types::{HEADER_CLUSTERS, PCIE_START, SpinEc};

/// Names the numbers of a line.
const COLUMNS: [&str; 13] = [
    "message id",
    "header handler",
    "its size",
    "payload handler",
    "its size",
    "completion handler",
    "its size",
    "handler memory",
    "its size",
    "packet bytes",
    "L1 bytes",
    "end of message",
    "wait cycles",
];
/// Bytes of host memory of a trace's contexts (published driver).
const HOST_BYTES: u32 = 0x4000_0000;

/// Reads a trace; its contexts have host memory from its start on and all of the scratchpads.
pub fn read(lines: &Path, data: &Path, scratchpad_bytes: u32) -> Result<Vec<Packet>> {
    let file = |path: &Path, source| Error::File { path: path.to_owned(), source };
    let text = pinion_input::text(lines).map_err(|error| file(lines, error))?;
    let bytes = pinion_input::bytes(data).map_err(|error| file(data, error))?;
    let mut rest = &bytes[..];
    let mut packets = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |problem| Error::Line { path: lines.to_owned(), line: index + 1, problem };
        let numbers = parse(line).map_err(wrong)?;
        let length = numbers[9] as usize;
        let Some((packet, more)) = rest.split_at_checked(length) else {
            return Err(wrong(format!(
                "its packet has {length} bytes, and {} are left in {}",
                rest.len(),
                data.display()
            )));
        };
        rest = more;
        packets.push(describe(&numbers, packet, scratchpad_bytes));
    }
    if !rest.is_empty() {
        let (left, name) = (rest.len(), data.display());
        eprintln!("pinion: {left} bytes of {name} belong to no packet of {}", lines.display());
    }
    Ok(packets)
}

fn parse(line: &str) -> std::result::Result<[u32; 13], String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let mut numbers = [0; 13];
    if fields.len() != numbers.len() {
        return Err(format!(
            "it has {} numbers instead of 13: {}",
            fields.len(),
            COLUMNS.join(", ")
        ));
    }
    for ((number, field), column) in numbers.iter_mut().zip(fields).zip(COLUMNS) {
        *number = field.parse().map_err(|_| {
            format!("the {column} is `{field}`, which is no decimal number of 32 bits")
        })?;
    }
    Ok(numbers)
}

fn describe(numbers: &[u32; 13], data: &[u8], scratchpad_bytes: u32) -> Packet {
    Packet {
        context: SpinEc {
            hh_addr: numbers[1],
            hh_size: numbers[2],
            ph_addr: numbers[3],
            ph_size: numbers[4],
            th_addr: numbers[5],
            th_size: numbers[6],
            handler_mem_addr: numbers[7],
            handler_mem_size: numbers[8],
            host_mem_addr: PCIE_START,
            host_mem_size: HOST_BYTES,
            scratchpad_addr: [0; HEADER_CLUSTERS],
            scratchpad_size: [scratchpad_bytes; HEADER_CLUSTERS],
        },
        message: numbers[0],
        data: data.to_vec(),
        l1_bytes: numbers[10],
        end_of_message: numbers[11] == 1,
        wait_cycles: numbers[12],
        user: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_thirteen_numbers() {
        let line = "3,0,0,486539264,4096, 0,0,472907776,65536,64,32,1,7";
        let numbers = parse(line).unwrap();
        let packet = describe(&numbers, &[1; 64], 1000);
        assert_eq!((packet.message, packet.l1_bytes, packet.wait_cycles), (3, 32, 7));
        assert!(packet.end_of_message);
        let (handler, memory) = (packet.context.ph_addr, packet.context.handler_mem_addr);
        assert_eq!((handler, memory), (0x1d00_0000, 0x1c30_0000));
    }

    #[test]
    fn wrong_lines_are_told() {
        assert!(parse("1,2,3").unwrap_err().contains("3 numbers instead of 13"));
        let line = "3,0,0,0x10,4096,0,0,472907776,65536,64,32,1,7";
        assert!(parse(line).unwrap_err().contains("payload handler is `0x10`"));
    }
}
