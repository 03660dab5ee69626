//! One line per packet, as CSV: records of completed packets come in, a file goes out. It grows
//! under a temporary name and gets its final one when the run ends.

use std::io::BufWriter;
use std::path::Path;

use pinion_output::{OutputFile, Partial};
use pinion_sim::Time;
use pinion_spin::PacketRecord;

use pinion_app::error::{Error, Result};

const HEADER: [&str; 24] = [
    "packet",
    "context",
    "message",
    "bytes",
    "end_of_message",
    "arrival_ns",
    "inbound_ns",
    "her_ns",
    "handler_start_ns",
    "handler_end_ns",
    "completion_ns",
    "departure_ns",
    "cluster",
    "hpu",
    "instructions",
    "stall_load_use",
    "stall_branch",
    "stall_arithmetic",
    "stall_fetch",
    "stall_l1",
    "stall_remote",
    "stall_command",
    "stall_total",
    "failed",
];

/// Writes the packets' file.
pub struct PacketFile {
    writer: csv::Writer<BufWriter<OutputFile>>,
    partial: Partial,
}

impl PacketFile {
    /// Creates the file and writes the head line.
    pub fn create(target: &Path) -> Result<Self> {
        let (file, partial) = Partial::create(target)?;
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        writer.write_record(HEADER).map_err(|error| failed(target, error))?;
        Ok(Self { writer, partial })
    }

    /// Writes one packet.
    pub fn write(&mut self, record: &PacketRecord, context: &str) -> Result<()> {
        let time = |time: Option<Time>| time.map_or_else(String::new, ns);
        let hpu = |part: Option<u32>| part.map_or_else(String::new, |number| number.to_string());
        let stalls = &record.stalls;
        let fields = [
            record.packet.to_string(),
            context.to_owned(),
            record.message.to_string(),
            record.bytes.to_string(),
            u8::from(record.end_of_message).to_string(),
            ns(record.arrival),
            ns(record.inbound),
            ns(record.her),
            time(record.handler_start),
            time(record.handler_end),
            ns(record.completion),
            time(record.departure),
            hpu(record.hpu.map(|(cluster, _)| cluster)),
            hpu(record.hpu.map(|(_, hpu)| hpu)),
            record.instructions.to_string(),
            stalls.load_use.to_string(),
            stalls.branch.to_string(),
            stalls.arithmetic.to_string(),
            stalls.fetch.to_string(),
            stalls.l1.to_string(),
            stalls.remote.to_string(),
            stalls.command.to_string(),
            stalls.total().to_string(),
            u8::from(record.failed).to_string(),
        ];
        let written = self.writer.write_record(&fields);
        written.map_err(|error| failed(self.partial.target(), error))
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| Error::file("write", self.partial.target(), error))?;
        Ok(self.partial.keep()?)
    }
}

fn failed(target: &Path, error: csv::Error) -> Error {
    Error::file("write", target, std::io::Error::other(error))
}

/// Writes a time in nanoseconds, exactly.
fn ns(time: Time) -> String {
    let (whole, part) = (time.ps() / 1000, time.ps() % 1000);
    match part {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:03}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn times_are_exact() {
        assert_eq!(ns(Time::from_ps(27_000)), "27");
        assert_eq!(ns(Time::from_ps(27_312)), "27.312");
        assert_eq!(ns(Time::from_ps(27_500)), "27.5");
    }

    #[test]
    fn an_unfinished_file_leaves_nothing() {
        let dir = std::env::temp_dir().join(format!("pinion-packets-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let target = dir.join("packets.csv");
        let mut file = PacketFile::create(&target).unwrap();
        file.write(&PacketRecord::default(), "echo").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        PacketFile::create(&target).unwrap().finish().unwrap();
        let text = fs::read_to_string(&target).unwrap();
        assert!(text.starts_with("packet,context,message"));
    }
}
