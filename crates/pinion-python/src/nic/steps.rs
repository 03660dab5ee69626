//! What was done to a Nic. In: frames, bytes for host memory. Out: a script that does it again.

use pinion_sim::Time;

use crate::again;

/// What was done, in order.
#[derive(Default)]
pub struct Steps(Vec<Step>);

enum Step {
    /// A frame was pushed.
    Push { at: Time, frame: Vec<u8> },
    /// A context's host memory was written.
    Host { now: Time, context: String, offset: u64, data: Vec<u8> },
}

impl Steps {
    /// Notes a frame.
    pub fn push(&mut self, at: Time, frame: Vec<u8>) {
        self.0.push(Step::Push { at, frame });
    }

    /// Notes what was written to host memory.
    pub fn write(&mut self, now: Time, context: &str, offset: u64, data: &[u8]) {
        let (context, data) = (context.to_owned(), data.to_vec());
        self.0.push(Step::Host { now, context, offset, data });
    }

    /// Counts them.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets all but the first.
    pub fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// Writes the script of one that is made so and has come to `now`; `call` comes last.
    pub fn script(&self, made: &str, now: Time, call: &str) -> String {
        let mut lines = vec![format!("nic = {made}")];
        let frame = |frame: &[u8]| again::frame(frame);
        lines.extend(self.0.iter().map(|step| match step {
            Step::Push { at, frame: bytes } => {
                format!("nic.push({}, at={})", frame(bytes), at.ns())
            }
            Step::Host { now, context, offset, data } => format!(
                "nic.run(until={})\nnic.write_host_memory({}, {}, {offset})",
                now.ns(),
                again::text(context),
                frame(data)
            ),
        }));
        if now > Time::ZERO {
            lines.push(format!("nic.run(until={})", now.ns()));
        }
        lines.push(call.to_owned());
        again::script(&lines)
    }
}
