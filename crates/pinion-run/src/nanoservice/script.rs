//! Messages with their answers, one after the other: a `messages.toml` comes in, messages and, at
//! the end, what came back otherwise go out. It holds the answers that are still to come, and waits
//! for them before it sends the next message.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;

use pinion_net::frame::lnic::Header;
use serde::Deserialize;

use super::run::PEER_IP;
use pinion_app::error::{Error, Result};

/// Names the file beside a manifest.
pub const FILE_NAME: &str = "messages.toml";
/// Bounds a message: what its length's 16 bits say.
const MOST_WORDS: usize = 65_535 / 8;
/// The address and the context that messages come from: answers go there.
const SENDER: (u32, u16) = (PEER_IP, 0);
/// Bounds the differences that are told in full.
const KEPT: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    #[serde(default)]
    announcements: Vec<Vec<Number>>,
    #[serde(default)]
    message: Vec<RawMessage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMessage {
    #[serde(default)]
    context: u16,
    #[serde(default)]
    doubles: bool,
    send: Vec<Number>,
    reply: Option<Vec<Number>>,
    replies: Option<Vec<Vec<Number>>>,
    #[serde(default)]
    ports: Vec<u16>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Double(f64),
}

impl Number {
    fn word(self, doubles: bool) -> Option<u64> {
        match (self, doubles) {
            (Self::Double(value), true) => Some(value.to_bits()),
            (Self::Signed(value), true) => Some((value as f64).to_bits()),
            (Self::Unsigned(value), true) => Some((value as f64).to_bits()),
            (Self::Signed(value), false) => Some(value as u64),
            (Self::Unsigned(value), false) => Some(value),
            (Self::Double(_), false) => None,
        }
    }
}

/// A message that is sent and what must come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The context it goes to.
    pub context: u16,
    /// Its words.
    pub send: Vec<u64>,
    /// The answers, in order: the sender's context that each goes to, and its words.
    pub replies: Vec<(u16, Vec<u64>)>,
}

/// Plays messages.
#[derive(Debug, Clone)]
pub struct Script {
    announcements: Vec<Vec<u64>>,
    exchanges: Vec<Exchange>,
    /// Number of the messages sent.
    sent: usize,
    /// Number of the answers to the last one.
    answered: usize,
    /// Holds packets of messages that are not complete, by id and context.
    parts: HashMap<(u16, u16), Vec<Option<Vec<u8>>>>,
    /// Holds which use of its id each message was that is complete; packets may come again.
    complete: HashMap<(u16, u16), u16>,
    differences: Vec<String>,
}

impl Script {
    /// Reads a file of messages.
    ///
    /// # Errors
    /// When it cannot be read or is no such file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = pinion_input::text(path).map_err(|error| Error::file("read", path, error))?;
        let wrong = |problem: String| Error::Usage(format!("{}: {problem}", path.display()));
        let raw: RawScript = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let mut exchanges = Vec::new();
        for (index, message) in raw.message.into_iter().enumerate() {
            let said = |problem| wrong(format!("message {}: {problem}", index + 1));
            exchanges.push(message.exchange().map_err(said)?);
        }
        let announcements = raw.announcements.iter().map(|numbers| words(numbers, false));
        let announcements: std::result::Result<Vec<_>, &str> = announcements.collect();
        let announcements =
            announcements.map_err(|problem| wrong(format!("announcements: {problem}")))?;
        Ok(Self {
            announcements,
            exchanges,
            sent: 0,
            answered: 0,
            parts: HashMap::new(),
            complete: HashMap::new(),
            differences: Vec::new(),
        })
    }

    /// Takes the next message, if what came before is answered: its number, context and bytes.
    pub fn take_next(&mut self) -> Option<(u16, u16, Vec<u8>)> {
        if !self.is_due() {
            return None;
        }
        let exchange = self.exchanges.get(self.sent)?;
        let number = (self.sent % 127) as u16;
        self.sent += 1;
        self.answered = 0;
        let bytes = exchange.send.iter().flat_map(|word| word.to_be_bytes()).collect();
        Some((number, exchange.context, bytes))
    }

    /// Tells whether a message can go.
    pub fn is_due(&self) -> bool {
        self.announcements.is_empty() && self.missing() == 0 && self.sent < self.exchanges.len()
    }

    /// Tells whether all is sent and answered.
    pub fn is_done(&self) -> bool {
        self.announcements.is_empty() && self.missing() == 0 && self.sent == self.exchanges.len()
    }

    /// Counts the messages there are.
    pub fn total(&self) -> u64 {
        self.exchanges.len() as u64
    }

    /// Counts the messages sent.
    pub fn sent(&self) -> u64 {
        self.sent as u64
    }

    fn missing(&self) -> usize {
        let last = self.sent.checked_sub(1).and_then(|last| self.exchanges.get(last));
        last.map_or(0, |exchange| exchange.replies.len().saturating_sub(self.answered))
    }

    /// Hears a packet of the node's to an address and a context.
    pub fn hear(&mut self, to: (u32, u16), header: &Header, payload: &[u8], packet_bytes: usize) {
        let packets = usize::from(header.msg_len).div_ceil(packet_bytes.max(1)).clamp(1, 64);
        let key = (header.tx_msg_id, header.src_context);
        // Data packets carry no offset here, but a count of the id's uses, from 1.
        let generation = header.pull_offset;
        if generation != 0 && self.complete.get(&key) == Some(&generation) {
            return;
        }
        let parts = self.parts.entry(key).or_default();
        parts.resize(packets, None);
        if let Some(part) = parts.get_mut(usize::from(header.pkt_offset)) {
            *part = Some(payload.to_vec());
        }
        if parts.iter().any(Option::is_none) {
            return;
        }
        self.complete.insert(key, generation);
        let parts = self.parts.remove(&key).unwrap_or_default();
        let bytes: Vec<u8> = parts.into_iter().flatten().flatten().collect();
        self.hear_message(to, &bytes[..bytes.len().min(header.msg_len.into())]);
    }

    fn hear_message(&mut self, to: (u32, u16), bytes: &[u8]) {
        // Behind a message's end there are zeros.
        let byte = |chunk: &[u8], at: usize| u64::from(chunk.get(at).copied().unwrap_or(0));
        let word = |chunk: &[u8]| (0..8).fold(0, |word, at| word << 8 | byte(chunk, at));
        let words: Vec<u64> = bytes.chunks(8).map(word).collect();
        // An announcement is for whoever runs the program, too: for address 0.
        if let Some(place) = self.announcements.iter().position(|expected| *expected == words)
            && (to == SENDER || to.0 == 0)
        {
            self.announcements.swap_remove(place);
            return;
        }
        let number = self.sent;
        let expected = number.checked_sub(1).and_then(|last| self.exchanges.get(last));
        let Some((port, due)) = expected.and_then(|exchange| exchange.replies.get(self.answered))
        else {
            self.differ(format!("nobody expected the message {}", list(&words)));
            return;
        };
        self.answered += 1;
        if to != (PEER_IP, *port) {
            let [found, due] = [to, (PEER_IP, *port)]
                .map(|(ip, context)| format!("{}, context {context}", Ipv4Addr::from_bits(ip)));
            self.differ(format!("message {number} was answered to {found}, not to {due}"));
        } else if *due != words {
            let (expected, found) = (list(due), list(&words));
            self.differ(format!("message {number} was answered {found}, not {expected}"));
        }
    }

    fn differ(&mut self, text: String) {
        if self.differences.len() < KEPT {
            self.differences.push(text);
        }
    }

    /// Lists what came back otherwise, or did not come back.
    pub fn differences(&self) -> Vec<String> {
        let mut all = self.differences.clone();
        for words in &self.announcements {
            all.push(format!("the announcement {} never came", list(words)));
        }
        if self.missing() > 0 {
            all.push(format!("message {} was not answered", self.sent));
        }
        if self.sent < self.exchanges.len() {
            let (first, last) = (self.sent + 1, self.exchanges.len());
            all.push(format!("messages {first} to {last} were not sent"));
        }
        all
    }
}

impl RawMessage {
    fn exchange(self) -> std::result::Result<Exchange, &'static str> {
        let replies = match (self.reply, self.replies) {
            (Some(_), Some(_)) => return Err("it has `reply` and `replies`; write one of them"),
            (Some(reply), None) => vec![reply],
            (None, replies) => replies.unwrap_or_default(),
        };
        let replies = replies.iter().map(|reply| words(reply, self.doubles));
        let send = words(&self.send, self.doubles)?;
        if send.is_empty() {
            return Err("`send` has no words; a message has at least one");
        }
        let replies = replies.collect::<std::result::Result<Vec<_>, _>>()?;
        if ![0, replies.len()].contains(&self.ports.len()) {
            return Err("`ports` are as many as answers, or none");
        }
        let ports = self.ports.into_iter().chain(std::iter::repeat(SENDER.1));
        Ok(Exchange { context: self.context, send, replies: ports.zip(replies).collect() })
    }
}

fn words(numbers: &[Number], doubles: bool) -> std::result::Result<Vec<u64>, &'static str> {
    if numbers.len() > MOST_WORDS {
        return Err("a message has at most 8191 words");
    }
    let words: Option<Vec<u64>> = numbers.iter().map(|number| number.word(doubles)).collect();
    words.ok_or("words are integers unless doubles = true")
}

fn list(words: &[u64]) -> String {
    let show = |word: &u64| match *word {
        small if small < 1 << 32 => small.to_string(),
        large => format!("{large:#x}"),
    };
    format!("[{}]", words.iter().map(show).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn script(text: &str) -> Result<Script> {
        let name = format!("pinion-script-{}-{}.toml", std::process::id(), text.len());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        let script = Script::read(&path);
        fs::remove_file(&path).unwrap();
        script
    }

    #[test]
    fn a_message_waits_for_the_answer_before() {
        let text = "announcements = [[7]]\n[[message]]\nsend = [0xffffffffffffffff, -1]\n\
                    reply = [1]\n[[message]]\ncontext = 2\nsend = [5]\n";
        let mut script = script(text).unwrap();
        assert_eq!(script.take_next(), None);
        script.hear_message((0, 0), &7u64.to_be_bytes());
        assert_eq!(script.take_next(), Some((0, 0, vec![0xff; 16])));
        assert_eq!(script.take_next(), None);
        script.hear_message(SENDER, &2u64.to_be_bytes());
        assert_eq!(script.take_next().unwrap().1, 2);
        assert!(script.is_done());
        assert_eq!(script.differences(), ["message 1 was answered [2], not [1]"]);
    }

    #[test]
    fn an_answer_to_somebody_else_is_none() {
        let text = "announcements = [[7]]\n[[message]]\nsend = [1]\nreplies = [[1], [1]]\n\
                    [[message]]\nsend = [1]\nreplies = [[1], [1]]\nports = [3, 0]\n";
        let mut script = script(text).unwrap();
        for to in [(PEER_IP, 4), (0, 0)] {
            script.hear_message(to, &7u64.to_be_bytes());
        }
        for to in [SENDER, (0, 0), (PEER_IP, 3), (PEER_IP, 3)] {
            script.take_next();
            script.hear_message(to, &1u64.to_be_bytes());
        }
        assert!(script.is_done());
        let wrong = [
            "nobody expected the message [7]",
            "message 1 was answered to 0.0.0.0, context 0, not to 10.0.0.1, context 0",
            "message 2 was answered to 10.0.0.1, context 3, not to 10.0.0.1, context 0",
        ];
        assert_eq!(script.differences(), wrong);
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("[[message]]\nsend = []", "no words"),
            ("[[message]]\nsend = [1.5]", "doubles = true"),
            ("[[message]]\nsend = [1]\nreply = [1]\nreplies = []", "one of them"),
            ("[[message]]\nsend = [1]\nreply = [1]\nports = [1, 2]", "as many as answers"),
            ("[[message]]\nsnd = [1]", "snd"),
        ] {
            let error = script(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
