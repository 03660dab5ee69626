//! Frames that were read from the device and wait for the simulation. In: frames and when they were
//! read. Out: frames for the NIC. Holds a bounded number of them; drops those that find it full or
//! that waited longer than a bound, and counts them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pinion_app::tape::Tape;
use pinion_sim::Time;
use pinion_spin::{Frame, Offer, Traffic};

/// The number of frames that may wait.
const CAPACITY: usize = 4096;

/// A frame, when it was read, and when it arrives in simulated time.
#[derive(Debug)]
struct Waiting {
    read: Instant,
    arrival: Time,
    bytes: Vec<u8>,
}

/// Holds waiting frames.
#[derive(Debug)]
pub struct Queue {
    waiting: VecDeque<Waiting>,
    bound: Duration,
    skip: u32,
    last_arrival: Time,
    /// Keeps what the simulation takes.
    tape: Option<Tape>,
    /// Number of frames taken by the NIC.
    pub given: u64,
    /// Number of frames dropped because they waited too long.
    pub late: u64,
    /// Number of frames dropped because too many waited.
    pub overflowed: u64,
    /// The longest time a frame waited before the NIC took it.
    pub longest_wait: Duration,
    /// The longest wait since somebody last took notice.
    pub recent_wait: Duration,
    /// When the first frame arrived that was given since somebody last reset it.
    pub first_given: Option<Time>,
}

impl Queue {
    /// Makes an empty queue.
    pub fn new(bound: Duration, skip: u32) -> Self {
        Self {
            waiting: VecDeque::new(),
            bound,
            skip,
            last_arrival: Time::ZERO,
            tape: None,
            given: 0,
            late: 0,
            overflowed: 0,
            longest_wait: Duration::ZERO,
            recent_wait: Duration::ZERO,
            first_given: None,
        }
    }

    /// Keeps frames that are taken from now on, and up to when the simulation ran with them.
    pub fn record(&mut self, tape: Option<Tape>) {
        self.tape = tape;
    }

    /// Notes that the simulation ran up to a moment with the frames that it had taken.
    pub fn ran(&self, until: u64) {
        if let Some(tape) = &self.tape {
            tape.ran(until);
        }
    }

    /// Adds a frame that was just read, with its arrival in simulated time.
    pub fn push(&mut self, frame: &[u8], arrival: Time) {
        if self.waiting.len() >= CAPACITY {
            self.overflowed += 1;
        } else {
            let bytes = frame.to_vec();
            self.waiting.push_back(Waiting { read: Instant::now(), arrival, bytes });
        }
    }

    /// Takes the next frame that has not waited too long, with its arrival in simulated time.
    pub fn take(&mut self) -> Option<(Time, Vec<u8>)> {
        while let Some(Waiting { read, arrival, bytes }) = self.waiting.pop_front() {
            let waited = read.elapsed();
            if waited > self.bound {
                self.late += 1;
                continue;
            }
            self.longest_wait = self.longest_wait.max(waited);
            self.recent_wait = self.recent_wait.max(waited);
            self.last_arrival = self.last_arrival.max(arrival);
            self.first_given.get_or_insert(self.last_arrival);
            self.given += 1;
            if let Some(tape) = &self.tape {
                tape.frame(self.last_arrival, &bytes);
            }
            return Some((self.last_arrival, bytes));
        }
        None
    }

    /// Takes the next frame, which arrives at a moment at the latest, however long it has waited.
    pub fn take_by(&mut self, latest: Time) -> Option<Offer> {
        let front = self.waiting.front_mut()?;
        (front.read, front.arrival) = (Instant::now(), front.arrival.min(latest));
        match self.next() {
            frame @ Offer::Frame(_) => Some(frame),
            _ => None,
        }
    }

    /// Lets frames wait from now on: what they have waited was no fault of the simulation.
    pub fn forgive(&mut self) {
        self.waiting.iter_mut().for_each(|waiting| waiting.read = Instant::now());
    }

    /// Tells whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Gives when the newest waiting frame arrives.
    pub fn newest_arrival(&self) -> Time {
        self.waiting.back().map_or(Time::ZERO, |frame| frame.arrival)
    }
}

impl Traffic for Queue {
    fn next(&mut self) -> Offer {
        let tag = self.given;
        let Some((arrival, bytes)) = self.take() else { return Offer::Nothing };
        Offer::Frame(Frame { arrival, bytes, skip: self.skip, classification: None, tag })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_frames_are_dropped_and_counted() {
        let mut queue = Queue::new(Duration::from_millis(5), 0);
        queue.push(&[1; 60], Time::ZERO);
        std::thread::sleep(Duration::from_millis(10));
        queue.push(&[2; 60], Time::ZERO);
        let Offer::Frame(frame) = queue.next() else { panic!("a frame waits") };
        assert_eq!((frame.bytes[0], queue.late), (2, 1));
        assert!(matches!(queue.next(), Offer::Nothing));
    }

    #[test]
    fn the_queue_is_bounded() {
        let mut queue = Queue::new(Duration::from_secs(5), 0);
        for _ in 0..=CAPACITY {
            queue.push(&[0; 60], Time::ZERO);
        }
        assert_eq!(queue.overflowed, 1);
    }
}
