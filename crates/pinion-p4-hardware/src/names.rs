//! Names, numbers and bits as Verilog has them.

/// Writes a name as Verilog has it: a place's without the region of headers.
pub(super) fn plain(name: &str) -> String {
    let name = name.strip_prefix("hdr.").unwrap_or(name);
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

pub(super) fn range(width: u32) -> String {
    match width {
        1 => String::new(),
        _ => format!("[{}:0] ", width - 1),
    }
}

pub(super) fn literal(value: u128, width: u32) -> String {
    format!("{width}'h{value:x}")
}
