//! A row of a scenario's results on disk comes in, a recorded frame goes out.

use serde::Deserialize;

use super::observation::{self, Direction, Fields, Record};

/// A row of a scenario's results.
#[derive(Deserialize)]
pub(super) struct ResultRow {
    direction: String,
    origin: String,
    label: String,
    kind: String,
    bytes: usize,
    first_flit_cycle: i64,
    last_flit_cycle: i64,
    src_ip: String,
    dst_ip: String,
    src_context: u16,
    dst_context: u16,
    msg_len: u16,
    pkt_offset: u8,
    pull_offset: u16,
    tx_msg_id: u16,
    buf_ptr: u16,
    buf_size_class: u8,
    frame_crc32: String,
    payload_words: String,
}

impl ResultRow {
    /// Gives the frame that it records.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn record(self) -> std::result::Result<Record, String> {
        let hex = |text: &str, column: &str| {
            u32::from_str_radix(text, 16).map_err(|_| format!("{column}: `{text}` is not in hex"))
        };
        let words = self.payload_words.split_whitespace().map(|word| {
            u64::from_str_radix(word, 16)
                .map_err(|_| format!("payload_words: `{word}` is not in hex"))
        });
        let direction = match self.direction.as_str() {
            "in" => Direction::In,
            "out" => Direction::Out,
            other => return Err(format!("direction: `{other}` is neither `in` nor `out`")),
        };
        let fields = Fields {
            flags: observation::flags(&self.kind)
                .ok_or_else(|| format!("kind: `{}` is no sum of flags", self.kind))?,
            src_ip: hex(&self.src_ip, "src_ip")?,
            dst_ip: hex(&self.dst_ip, "dst_ip")?,
            src_context: self.src_context,
            dst_context: self.dst_context,
            msg_len: self.msg_len,
            pkt_offset: self.pkt_offset,
            pull_offset: self.pull_offset,
            tx_msg_id: self.tx_msg_id,
            buf_ptr: self.buf_ptr,
            buf_size_class: self.buf_size_class,
        };
        Ok(Record {
            direction,
            script: self.origin == "script",
            label: self.label,
            first: self.first_flit_cycle,
            last: self.last_flit_cycle,
            bytes: self.bytes,
            fields,
            crc32: hex(&self.frame_crc32, "frame_crc32")?,
            words: words.collect::<std::result::Result<_, _>>()?,
            frame: Vec::new(),
        })
    }
}
