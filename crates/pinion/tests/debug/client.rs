//! What gdb does with a stub, in small: packets with checksums over TCP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// `pinion debug --listen`, and where it listens.
pub struct Session {
    process: Child,
    address: String,
}

impl Session {
    pub fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_pinion"))
            .arg("debug")
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .env("PINION_SDK", super::outside::sdk())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("waiting for gdb on ").unwrap_or_else(|| panic!("{line}"));
        let address = address.split(": ").next().unwrap().to_owned();
        Self { process, address }
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
        Client { stream, acknowledges: true }
    }

    /// Waits for the end; gives the status and what was said of problems.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut problem = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut problem).unwrap();
        (self.process.wait().unwrap().code(), problem)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The connection.
pub struct Client {
    stream: TcpStream,
    acknowledges: bool,
}

impl Client {
    pub fn no_acknowledgements(&mut self) {
        self.acknowledges = false;
    }

    pub fn send(&mut self, packet: &str) {
        let sum = packet.bytes().fold(0_u8, u8::wrapping_add);
        write!(self.stream, "${packet}#{sum:02x}").unwrap();
    }

    pub fn interrupt(&mut self) {
        self.stream.write_all(&[3]).unwrap();
    }

    fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).unwrap();
        byte[0]
    }

    /// Gives the next answer; what the stub has gdb print comes before it.
    pub fn receive(&mut self) -> String {
        loop {
            while self.byte() != b'$' {}
            let mut packet = Vec::new();
            loop {
                match self.byte() {
                    b'#' => break,
                    byte => packet.push(byte),
                }
            }
            let sum = [self.byte(), self.byte()];
            let sum = u8::from_str_radix(std::str::from_utf8(&sum).unwrap(), 16).unwrap();
            assert_eq!(packet.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), sum);
            if self.acknowledges {
                self.stream.write_all(b"+").unwrap();
            }
            let text = expanded(&packet);
            // `OK` is an answer; other packets that begin with O are for the console.
            if text == "OK" || !text.starts_with('O') {
                return text;
            }
        }
    }

    pub fn ask(&mut self, packet: &str) -> String {
        self.send(packet);
        self.receive()
    }

    /// Asks what is answered in hexadecimal text.
    pub fn ask_text(&mut self, packet: &str) -> String {
        text(&self.ask(packet))
    }

    pub fn monitor(&mut self, command: &str) -> String {
        let hex: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.send(&format!("qRcmd,{hex}"));
        let mut said = String::new();
        loop {
            while self.byte() != b'$' {}
            let mut packet = Vec::new();
            loop {
                match self.byte() {
                    b'#' => break,
                    byte => packet.push(byte),
                }
            }
            let _ = [self.byte(), self.byte()];
            if self.acknowledges {
                self.stream.write_all(b"+").unwrap();
            }
            match expanded(&packet).as_str() {
                "OK" => return said,
                packet => said += &text(packet.strip_prefix('O').expect("console output")),
            }
        }
    }

    /// Gives x0 to x31 and the program counter.
    pub fn registers(&mut self) -> Vec<u32> {
        let answer = self.ask("g");
        let words = answer.as_bytes().chunks(8).map(|word| std::str::from_utf8(word).unwrap());
        words.map(|word| u32::from_str_radix(word, 16).unwrap().swap_bytes()).collect()
    }

    pub fn word(&mut self, address: u32) -> u32 {
        let answer = self.ask(&format!("m{address:x},4"));
        u32::from_str_radix(&answer, 16).unwrap().swap_bytes()
    }
}

/// Undoes the protocol's run-length encoding.
fn expanded(packet: &[u8]) -> String {
    let mut text = Vec::new();
    let mut bytes = packet.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' => {
                let count = usize::from(bytes.next().unwrap() - 29);
                let last = *text.last().unwrap();
                text.resize(text.len() + count, last);
            }
            byte => text.push(*byte),
        }
    }
    String::from_utf8(text).unwrap()
}

fn text(hex: &str) -> String {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    let bytes = digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
    String::from_utf8(bytes).unwrap()
}
