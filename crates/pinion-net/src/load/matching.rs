//! Requests and their answers. In: what was sent, what came back. Out: which request an answer
//! belongs to. Holds the requests without an answer, in the order of sending.

use super::spec::Matching;
use std::collections::VecDeque;

/// Holds a request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Its number, from 0.
    pub(super) number: u64,
    /// When it was due: the time it carries. No two requests have the same.
    pub(super) sent: u64,
    /// The node it went to.
    pub(super) node: u32,
    /// The context it went to.
    pub(super) context: u16,
    /// The mode of its service time.
    pub(super) mode: usize,
    is_open: bool,
}

impl Request {
    /// Makes one that has no answer yet.
    pub(super) fn new(number: u64, sent: u64, to: (u32, u16), mode: usize) -> Self {
        let (node, context) = to;
        Self { number, sent, node, context, mode, is_open: true }
    }
}

/// Says what a message of the node was an answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This request.
    Request(Request),
    /// A request that was answered or given up before.
    Again,
    /// No request.
    Nothing,
}

/// Finds the requests that answers belong to.
#[derive(Clone, Debug)]
pub(super) struct Outstanding {
    matching: Matching,
    requests: VecDeque<Request>,
    open: u64,
    last_sent: Option<u64>,
}

impl Outstanding {
    pub(super) fn new(matching: Matching) -> Self {
        Self { matching, requests: VecDeque::new(), open: 0, last_sent: None }
    }

    /// Notes a request; requests come with rising times.
    pub(super) fn add(&mut self, request: Request) {
        self.requests.push_back(request);
        self.open += 1;
        self.last_sent = Some(request.sent);
    }

    /// Gives the number of requests without an answer.
    pub(super) fn len(&self) -> u64 {
        self.open
    }

    /// Gives the oldest request without an answer.
    pub(super) fn oldest(&self) -> Option<&Request> {
        self.requests.front()
    }

    /// Finds the request that a message answers, by the time in it or by whom it comes from: a node,
    /// where it is one of those asked, and a context.
    pub(super) fn answer(&mut self, sent: Option<u64>, from: (Option<u32>, u16)) -> Found {
        let place = match self.matching {
            Matching::Oldest => {
                let is_from = |r: &Request| (Some(r.node), r.context) == from;
                self.requests.iter().position(|r| r.is_open && is_from(r))
            }
            Matching::SentTime => {
                let Some(sent) = sent else { return Found::Nothing };
                match self.requests.binary_search_by_key(&sent, |request| request.sent) {
                    Ok(place) => Some(place),
                    // Closed requests leave the front; a time before it was one's, or nobody's.
                    Err(0) if self.last_sent.is_some_and(|last| sent <= last) => {
                        return Found::Again;
                    }
                    Err(_) => None,
                }
            }
        };
        let Some(request) = place.and_then(|place| self.requests.get_mut(place)) else {
            return Found::Nothing;
        };
        if !request.is_open {
            return Found::Again;
        }
        request.is_open = false;
        let found = *request;
        self.open -= 1;
        self.drop_closed();
        Found::Request(found)
    }

    /// Gives up the oldest request without an answer.
    pub(super) fn give_up_oldest(&mut self) -> Option<Request> {
        let request = self.requests.pop_front()?;
        self.open -= 1;
        self.drop_closed();
        Some(request)
    }

    fn drop_closed(&mut self) {
        while self.requests.front().is_some_and(|request| !request.is_open) {
            self.requests.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(matching: Matching) -> Outstanding {
        let mut outstanding = Outstanding::new(matching);
        for (number, sent, context) in [(0, 10, 0), (1, 20, 1), (2, 30, 0)] {
            outstanding.add(Request::new(number, sent, (0, context), 0));
        }
        outstanding
    }

    fn number(found: Found) -> Option<u64> {
        match found {
            Found::Request(request) => Some(request.number),
            _ => None,
        }
    }

    #[test]
    fn the_time_in_an_answer_names_the_request_once() {
        let mut outstanding = three(Matching::SentTime);
        assert_eq!(number(outstanding.answer(Some(20), (Some(0), 0))), Some(1));
        assert_eq!(outstanding.answer(Some(20), (Some(0), 0)), Found::Again);
        assert_eq!(outstanding.answer(Some(21), (Some(0), 0)), Found::Nothing);
        assert_eq!(outstanding.answer(Some(31), (Some(0), 0)), Found::Nothing);
        assert_eq!(outstanding.answer(None, (Some(0), 0)), Found::Nothing);
        assert_eq!(number(outstanding.answer(Some(10), (Some(0), 0))), Some(0));
        assert_eq!(outstanding.oldest().map(|request| request.sent), Some(30));
        assert_eq!(outstanding.answer(Some(10), (Some(0), 0)), Found::Again);
        assert_eq!(outstanding.give_up_oldest().map(|request| request.number), Some(2));
        assert_eq!((outstanding.len(), outstanding.give_up_oldest()), (0, None));
        assert_eq!(outstanding.answer(Some(30), (Some(0), 0)), Found::Again);
    }

    #[test]
    fn or_the_oldest_of_a_context_is_meant() {
        let mut outstanding = three(Matching::Oldest);
        assert_eq!(number(outstanding.answer(None, (Some(0), 0))), Some(0));
        assert_eq!(number(outstanding.answer(None, (Some(0), 0))), Some(2));
        assert_eq!(outstanding.answer(None, (Some(0), 0)), Found::Nothing);
        assert_eq!(number(outstanding.answer(None, (Some(0), 1))), Some(1));
        assert_eq!(outstanding.len(), 0);
    }
}
