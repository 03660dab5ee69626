//! Requests to a key-value store, and whether their answers are right. In: numbers of requests. Out:
//! GETs and SETs, half and half, of keys that are drawn uniformly. Holds what was last written to each
//! key and what each GET without an answer must give.
//!
//! Sizes and mix are those of the nanoPU's evaluation with MICA (nanoPU paper, §4.3 a; artifact, load
//! type MICA): requests of 48 B and the value, answers of 16 B and the value or of 24 B; the parity of
//! the request's number tells GET from SET, and the sender hashes the key. The layout is that of
//! `examples/nanopu_mica`:
//!
//! | words | request | answer |
//! |---|---|---|
//! | 0 | service time | status; 0: done |
//! | 1 | time of sending | time of sending |
//! | 2 | 1: GET, 2: SET | the value's (GET), or its version (SET) |
//! | 3 | hash of the key | |
//! | 4, 5 | the key | |
//! | 6 … | the value (SET) | |
//!
//! A GET must give what the last SET before it wrote: requests to one context reach its hart in the
//! order they were sent, which holds as long as the link loses nothing and the context is one hart's.
//! Each node has a store of its own.

use std::collections::BTreeMap;

use rand_core::Rng;

use super::wire::{Label, PACKET_BYTES};

/// Bytes of a request without the value.
const REQUEST_BYTES: usize = 48;
/// Bytes of an answer in front of the value.
const ANSWER_BYTES: usize = 16;
/// Multiplies, to spread what it multiplies: 2^64 divided by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
/// In the tags of values that this source wrote; tags of preloaded ones are their keys' numbers.
const WRITTEN: u64 = 1 << 63;

/// Describes a store and what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRequests {
    /// Keys of each context; those of context 1 follow those of context 0.
    pub keys: u64,
    /// Bytes of a value, a multiple of 8.
    pub value_bytes: u16,
}

/// Most bytes of a value: requests are a packet.
pub(super) const MOST_VALUE_BYTES: u16 = (PACKET_BYTES - REQUEST_BYTES) as u16;

/// Makes requests and checks answers.
#[derive(Clone, Debug)]
pub(super) struct StoreModel {
    requests: StoreRequests,
    /// Tags of the values last written, by node and key; others are as they were in the beginning.
    written: BTreeMap<(u32, u64), u64>,
    /// Tags that GETs without an answer must give, by number of the request; `None`: a SET.
    expected: BTreeMap<u64, Option<u64>>,
}

impl StoreModel {
    pub(super) fn new(requests: StoreRequests) -> Self {
        Self { requests, written: BTreeMap::new(), expected: BTreeMap::new() }
    }

    /// Makes the message of a request.
    pub(super) fn request(
        &mut self,
        to: Label,
        service: u64,
        sent: u64,
        random: &mut impl Rng,
    ) -> Vec<u8> {
        let Label { number, node, context } = to;
        let drawn = u128::from(random.next_u64()) * u128::from(self.requests.keys);
        let key = u64::from(context) * self.requests.keys + (drawn >> 64) as u64;
        let second = !key.wrapping_mul(ODD);
        let is_set = number % 2 == 1;
        let head = [service, sent, 1 + u64::from(is_set), hash(key, second), key, second];
        let mut words = head.to_vec();
        if is_set {
            let tag = WRITTEN | number;
            words.extend(value(tag).take(self.words()));
            self.written.insert((node, key), tag);
            self.expected.insert(number, None);
        } else {
            let tag = self.written.get(&(node, key)).copied().unwrap_or(key);
            self.expected.insert(number, Some(tag));
        }
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// Tells whether a message is the right answer to a request.
    pub(super) fn is_right(&mut self, number: u64, answer: &[u8]) -> bool {
        let Some(expected) = self.expected.remove(&number) else { return false };
        let mut words = answer.as_chunks::<8>().0.iter().map(|word| u64::from_be_bytes(*word));
        if words.next() != Some(0) {
            return false;
        }
        match expected {
            None => answer.len() == ANSWER_BYTES + 8,
            Some(tag) => {
                answer.len() == ANSWER_BYTES + usize::from(self.requests.value_bytes)
                    && words.skip(1).eq(value(tag).take(self.words()))
            }
        }
    }

    fn words(&self) -> usize {
        usize::from(self.requests.value_bytes) / 8
    }
}

/// Gives the words of a value: its tag, then what follows from it.
fn value(tag: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(tag), |word| Some(word.wrapping_add(ODD)))
}

/// Hashes a key of two words, as the store does.
fn hash(first: u64, second: u64) -> u64 {
    let mixed = (first ^ second.rotate_left(32)).wrapping_mul(ODD);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(ODD);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng as _;
    use rand_pcg::Pcg64Mcg;

    fn to(number: u64, context: u16) -> Label {
        Label { number, node: 0, context }
    }

    fn words(message: &[u8]) -> Vec<u64> {
        message.as_chunks::<8>().0.iter().map(|word| u64::from_be_bytes(*word)).collect()
    }

    fn message(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
        words.into_iter().flat_map(u64::to_be_bytes).collect()
    }

    #[test]
    fn requests_have_the_published_sizes_and_keys_of_their_context() {
        let mut model = StoreModel::new(StoreRequests { keys: 100, value_bytes: 512 });
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for number in 0..1000 {
            let request = model.request(to(number, 3), 90, 7, &mut random);
            let words = words(&request);
            let (bytes, operation) = if number % 2 == 0 { (48, 1) } else { (560, 2) };
            assert_eq!((request.len(), &words[..3]), (bytes, &[90, 7, operation][..]));
            assert!((300..400).contains(&words[4]), "{}", words[4]);
        }
    }

    #[test]
    fn an_answer_is_right_when_it_gives_what_was_written_last() {
        let mut model = StoreModel::new(StoreRequests { keys: 1, value_bytes: 16 });
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for number in 0..5 {
            model.request(to(number, 0), 0, number, &mut random);
        }
        let answer = |tag| message([0, 9].into_iter().chain(value(tag).take(2)));
        assert!(model.is_right(0, &answer(0)), "the first GET finds what was there");
        assert!(model.is_right(1, &message([0, 9, 1])));
        assert!(!model.is_right(1, &message([0, 9, 1])), "answered twice");
        assert!(!model.is_right(2, &answer(0)), "stale");
        assert!(!model.is_right(3, &message([1, 9, 1])), "not done");
        assert!(model.is_right(4, &answer(WRITTEN | 3)));
        let torn = message([0, 9, WRITTEN | 5, 0]);
        model.request(to(6, 0), 0, 6, &mut random);
        assert!(!model.is_right(6, &torn));
    }
}
