//! What an editor does with a debug adapter, in small: requests over pipes, answers and events in turn.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// `pinion dap`, and what it has said of its own accord.
pub struct Editor {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: i64,
    events: VecDeque<Value>,
}

impl Editor {
    pub fn start(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_pinion"))
            .arg("dap")
            .current_dir(folder)
            .env("PINION_SDK", super::outside::sdk())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, asked: 0, events: VecDeque::new() }
    }

    pub fn send(&mut self, bytes: &str) {
        self.input.as_mut().unwrap().write_all(bytes.as_bytes()).unwrap();
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the adapter has ended");
            match line.trim_end() {
                "" => break,
                line => length = line.strip_prefix("Content-Length: ").unwrap().parse().unwrap(),
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Asks, and gives what is answered; events that come before it are kept.
    fn respond(&mut self, command: &str, arguments: Value) -> Value {
        self.asked += 1;
        let request = json!({
            "seq": self.asked, "type": "request", "command": command, "arguments": arguments,
        });
        let text = request.to_string();
        self.send(&format!("Content-Length: {}\r\n\r\n{text}", text.len()));
        loop {
            let message = self.read();
            if message["type"] == "event" {
                self.events.push_back(message);
                continue;
            }
            assert_eq!(
                (&message["request_seq"], &message["command"]),
                (&json!(self.asked), &json!(command))
            );
            return message;
        }
    }

    /// Asks for what must succeed; gives the answer's body.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let mut answer = self.respond(command, arguments);
        assert_eq!(answer["success"], true, "{command}: {answer}");
        answer["body"].take()
    }

    /// Asks for what must be refused; gives the reason.
    pub fn refused(&mut self, command: &str, arguments: Value) -> String {
        let answer = self.respond(command, arguments);
        assert_eq!(answer["success"], false, "{command}: {answer}");
        answer["message"].as_str().unwrap().to_owned()
    }

    /// Waits for an event of a kind; gives its body.
    pub fn event(&mut self, kind: &str) -> Value {
        let is_it = |event: &Value| event["event"] == kind;
        loop {
            if let Some(at) = self.events.iter().position(is_it) {
                return self.events.remove(at).unwrap()["body"].take();
            }
            let event = self.read();
            self.events.push_back(event);
        }
    }

    /// Finds a text that was printed.
    pub fn said(&mut self, part: &str) -> String {
        loop {
            let output = self.event("output")["output"].as_str().unwrap().to_owned();
            if output.contains(part) {
                return output;
            }
        }
    }

    /// Ends the connection without a word.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Waits for the end; gives the status and what was said of problems.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut problem = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut problem).unwrap();
        (self.process.wait().unwrap().code(), problem)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
