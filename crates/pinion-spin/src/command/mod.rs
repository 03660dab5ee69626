//! Commands: the words that a core writes, decoded. (Register list in the SDK's hwsched.h.)

pub mod cluster_path;
pub mod interface;

pub use pinion_spin_hardware::words::Kind;

/// Holds the words of a command as the core wrote them.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandWords {
    /// Type in bits 2:1, event in bit 0.
    pub info: u32,
    /// Words 0 to 6.
    pub words: [u32; 7],
}

/// Holds a command, decoded.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// What it does.
    pub kind: Kind,
    /// Address in the NIC.
    pub nic_address: u32,
    /// Address in host memory.
    pub host_address: u64,
    /// Bytes.
    pub bytes: u32,
    /// Whether it goes from the NIC to the host.
    pub to_host: bool,
    /// The data of a HostDirect.
    pub data: u64,
}

/// Largest HostDirect in bytes.
const HOST_DIRECT_BYTES: u32 = 8;

impl Command {
    /// Says whether its data come out of the NIC's memories.
    pub fn reads_nic(&self) -> bool {
        self.kind == Kind::Send || self.kind == Kind::HostDma && self.to_host
    }

    /// Says whether its data come from the host into the NIC's memories.
    pub fn writes_nic(&self) -> bool {
        self.kind == Kind::HostDma && !self.to_host
    }

    /// Decodes the words a core wrote.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(draft: &CommandWords) -> Result<Self, &'static str> {
        let w = draft.words;
        let wide = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let command = match draft.info >> 1 & 3 {
            0 => Self {
                kind: Kind::HostDma,
                nic_address: w[2],
                host_address: wide(w[1], w[0]),
                bytes: w[3],
                to_host: w[4] & 1 == 1,
                data: 0,
            },
            1 => Self {
                kind: Kind::Send,
                nic_address: w[2],
                host_address: 0,
                bytes: w[4],
                to_host: false,
                data: 0,
            },
            2 => Self {
                kind: Kind::HostDirect,
                nic_address: 0,
                host_address: wide(w[1], w[0]),
                bytes: w[2] >> 1,
                to_host: true,
                data: wide(w[4], w[3]),
            },
            _ => return Err("no such command type"),
        };
        if command.kind == Kind::HostDirect && command.bytes > HOST_DIRECT_BYTES {
            return Err("a HostDirect of more than 8 bytes");
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_the_words() {
        let direct = CommandWords { info: 4, words: [0x10, 0x1000_0000, 8 << 1 | 1, 2, 1, 0, 0] };
        let command = Command::decode(&direct).expect("well formed");
        assert_eq!(command.host_address, 0x1000_0000_0000_0010);
        assert_eq!((command.bytes, command.data), (8, 0x1_0000_0002));
        let words = [0; 7];
        assert!(Command::decode(&CommandWords { info: 6, words }).is_err());
    }
}
