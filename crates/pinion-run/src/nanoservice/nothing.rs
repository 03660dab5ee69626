//! What must be said of a node to which nothing came, or from which nothing went: its summary comes
//! in, a sentence goes out.

use super::summary::Nanoservice;
use pinion_observe::report::Ending;
use pinion_observe::words::count;

impl Nanoservice {
    /// Says that no message reached the program, or that none of its own left, if that is so;
    /// `why` tells why nothing came in.
    pub fn why_silent(&self, ending: &Ending, why: &str) -> Option<String> {
        // A program that ends itself may need no messages; a run that was cut short may have been
        // about to get one.
        if !matches!(ending, Ending::Finished | Ending::CycleLimit) {
            return None;
        }
        let (came, went) = (self.receive.delivered_messages, self.transmit.messages);
        if came == 0 && self.frames.frames_in == 0 && went == 0 {
            return Some(format!("no message came: {why}"));
        }
        self.why_lost()
    }

    /// Says that packets came and no message of them reached the program, or that messages were
    /// written and none left, if that is so.
    pub fn why_lost(&self) -> Option<String> {
        let (came, went) = (self.receive.delivered_messages, self.transmit.messages);
        if came == 0 && self.receive.dropped_packets() > 0 {
            return Some(format!(
                "no message reached the program: {} of {} packets were dropped ({}); the node speaks \
                 {}",
                count(self.receive.dropped_packets()),
                count(self.frames.frames_in),
                self.reasons(),
                self.transport
            ));
        }
        let stays = went > 0 && self.frames.frames_out == 0;
        stays.then(|| format!("{} messages were written, and no packet left the node", count(went)))
    }
}
