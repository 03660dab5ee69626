//! Core selection: which hart gets a message (nanoPU paper, §2.3 and §4.2; RTL LNIC/RxQueues.scala).
//!
//! In: contexts that harts bind, messages that arrived for a context, harts that are done with one.
//! Out: the hart that gets a message now, or that nobody can. Holds the policy; who serves what, and
//! how busy, is in the tables of [JBSQ](super::jbsq), which the other policies bound a hart's messages
//! with, too. A message waits while all harts that may take it have their share.
//!
//! A context has one lane of waiting messages under JBSQ and one per hart under the other
//! policies, whose messages belong to a hart from the start.

use pinion_net::frame::lnic::Header;

use super::jbsq::Jbsq;
use crate::Cycle;
use crate::hardware::{InLoop, JbsqSeat, Placed as _};
use crate::machine::receive::{CoreSelectionSection, SelectionHash, SelectionPolicy};

/// Names a context's queue of waiting messages.
pub type Lane = u32;

/// Holds who serves what, and how busy.
#[derive(Clone, Debug)]
pub struct CoreSelection {
    policy: SelectionPolicy,
    hash: SelectionHash,
    assignment: Vec<u8>,
    harts: usize,
    tables: Jbsq,
    /// The block in JBSQ's place, or beside it.
    hardware: InLoop<JbsqSeat>,
}

impl CoreSelection {
    /// Makes the policy for `contexts` contexts on `harts` harts; nobody serves any yet.
    ///
    /// # Panics
    /// With more than [`MAX_HARTS`](super::jbsq::MAX_HARTS) harts; the node's configuration checks that.
    pub fn new(section: &CoreSelectionSection, contexts: u16, harts: usize) -> Self {
        Self {
            policy: section.policy,
            hash: section.hash,
            assignment: section.assignment.clone(),
            harts,
            tables: Jbsq::new(section.outstanding, contexts, harts),
            hardware: InLoop::default(),
        }
    }

    /// Puts a block into JBSQ's place, or beside it.
    pub fn set_hardware(&mut self, seat: JbsqSeat) {
        self.hardware = InLoop::new(seat);
    }

    /// Gives JBSQ's block.
    pub fn hardware(&self) -> Option<&JbsqSeat> {
        self.hardware.get()
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        let Self { hardware, tables, .. } = self;
        if let Some(seat) = hardware.get_mut() {
            seat.clock(to, || tables.describe());
        }
    }

    /// Enters that a hart serves a context, from cycle `now` on. Returns false for a context without a
    /// queue.
    pub fn bind(&mut self, hart: u8, context: u16, now: Cycle) -> bool {
        self.clock(now);
        let is_there = self.tables.bind(hart, context);
        if let Some(seat) = self.hardware.get_mut().filter(|_| is_there) {
            seat.bind(hart, context);
        }
        is_there
    }

    /// Tells whether a context has a queue.
    pub fn in_range(&self, context: u16) -> bool {
        self.tables.in_range(context)
    }

    /// Tells whether some hart serves a context.
    pub fn is_bound(&self, context: u16) -> bool {
        self.tables.bound(context) != 0
    }

    /// Counts the lanes of each context.
    pub fn lanes_per_context(&self) -> usize {
        match self.policy {
            SelectionPolicy::Jbsq => 1,
            SelectionPolicy::Rss | SelectionPolicy::Static => self.harts,
        }
    }

    /// Gives the lane that a message waits in.
    pub fn lane(&self, header: &Header) -> Lane {
        let context = header.dst_context;
        let hart = match self.policy {
            SelectionPolicy::Jbsq => return Lane::from(context),
            SelectionPolicy::Rss => self.hashed_hart(header),
            SelectionPolicy::Static => self.assigned_hart(context),
        };
        Lane::from(context) * self.harts as u32 + u32::from(hart)
    }

    /// Gives the lane from which a hart is served.
    pub fn lane_of(&self, hart: u8, context: u16) -> Lane {
        match self.policy {
            SelectionPolicy::Jbsq => Lane::from(context),
            _ => Lane::from(context) * self.harts as u32 + u32::from(hart),
        }
    }

    /// Gives the context of a lane.
    pub fn context_of(&self, lane: Lane) -> u16 {
        (lane / self.lanes_per_context() as u32) as u16
    }

    /// Chooses in cycle `now` the hart for the message at the head of a lane, if one can take it, and
    /// counts it as outstanding there.
    pub fn choose(&mut self, lane: Lane, now: Cycle) -> Option<u8> {
        let context = self.context_of(lane);
        self.clock(now);
        let Self { hardware, tables, .. } = self;
        let seat = hardware.get_mut();
        if self.policy != SelectionPolicy::Jbsq {
            return tables.join((lane as usize % self.harts) as u8, context);
        }
        let Some(seat) = seat else { return tables.shortest(context) };
        seat.arrive(context);
        if seat.compares() {
            let chosen = tables.shortest(context);
            seat.follow(chosen);
            return chosen;
        }
        let bound = tables.bound(context);
        let joins = |hart: u8| bound >> hart & 1 == 1 && tables.join(hart, context).is_some();
        seat.chosen(context, joins)
    }

    /// Gives in cycle `now` the place of a message that a hart is done with to the one at the head of its
    /// lane; gives the hart that gets it.
    pub fn hand_on(&mut self, hart: u8, context: u16, now: Cycle) -> Option<u8> {
        self.clock(now);
        let Self { hardware, tables, .. } = self;
        let Some(seat) = hardware.get_mut() else { return Some(hart) };
        seat.done(hart, context, true);
        if seat.compares() {
            seat.follow(Some(hart));
            return Some(hart);
        }
        let had = tables.release(hart, context);
        let bound = tables.bound(context);
        // Who says that it is done without a message gets one all the same, as with the model.
        let joins = |other: u8| match other == hart && !had {
            true => true,
            false => bound >> other & 1 == 1 && tables.join(other, context).is_some(),
        };
        seat.chosen(context, joins)
    }

    /// Counts in cycle `now` a message less at a hart. Returns false if none was outstanding there.
    pub fn release(&mut self, hart: u8, context: u16, now: Cycle) -> bool {
        self.clock(now);
        if let Some(seat) = self.hardware.get_mut() {
            seat.done(hart, context, false);
        }
        self.tables.release(hart, context)
    }

    /// Counts the messages of a context that are outstanding at a hart.
    pub fn outstanding(&self, hart: u8, context: u16) -> u16 {
        self.tables.outstanding(hart, context)
    }

    /// Picks one of the harts that serve the message's context by a hash.
    fn hashed_hart(&self, header: &Header) -> u8 {
        let bound = self.tables.bound(header.dst_context);
        let id = match self.hash {
            SelectionHash::Flow => 0,
            SelectionHash::Message => u64::from(header.tx_msg_id) << 16,
        };
        let flow = u64::from(header.src_ip) << 32 | u64::from(header.src_context);
        let mixed = (flow ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
        let nth = (mixed * u64::from(bound.count_ones())) >> 32;
        let hart = (0..nth).fold(bound, |harts, _| harts & harts.wrapping_sub(1)).trailing_zeros();
        hart as u8 % self.harts as u8
    }

    /// Gives the hart a context is assigned to, or a stand-in that serves it.
    fn assigned_hart(&self, context: u16) -> u8 {
        let bound = self.tables.bound(context);
        let assigned = self.assignment.get(usize::from(context)).map_or(context, |&h| h.into());
        let assigned = (usize::from(assigned) % self.harts) as u8;
        match bound >> assigned & 1 {
            1 => assigned,
            _ => bound.trailing_zeros() as u8 % self.harts as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(policy: SelectionPolicy, outstanding: u16, hash: SelectionHash) -> CoreSelection {
        let section = CoreSelectionSection { policy, outstanding, hash, assignment: vec![3, 9] };
        let mut selection = CoreSelection::new(&section, 4, 4);
        for hart in 0..4 {
            assert!(selection.bind(hart, 0, 0));
        }
        selection
    }

    #[test]
    fn rss_keeps_a_flow_together_and_spreads_messages() {
        let message = |src_ip, tx_msg_id| Header { src_ip, tx_msg_id, ..Header::default() };
        let flows = selection(SelectionPolicy::Rss, 2, SelectionHash::Flow);
        assert!((0..99).all(|id| flows.lane(&message(7, id)) == flows.lane(&message(7, 0))));
        for hash in [SelectionHash::Flow, SelectionHash::Message] {
            let mut rss = selection(SelectionPolicy::Rss, 2, hash);
            let mut harts = [0; 4];
            for n in 0..4000 {
                let lane = rss.lane(&message(0x0a00_0000 + n, n as u16));
                let hart = rss.choose(lane, 0).unwrap();
                assert_eq!(rss.lane_of(hart, 0), lane);
                assert!(rss.release(hart, 0, 0));
                harts[usize::from(hart)] += 1;
            }
            assert!(harts.iter().all(|n| (800..1200).contains(n)), "{harts:?}");
        }
    }

    #[test]
    fn static_assignment_follows_its_list_where_it_can() {
        let mut fixed = selection(SelectionPolicy::Static, 1, SelectionHash::Flow);
        let lane = fixed.lane(&Header::default());
        assert_eq!([fixed.choose(lane, 0), fixed.choose(lane, 0)], [Some(3), None]);
        assert!(fixed.bind(2, 1, 0));
        let lane = fixed.lane(&Header { dst_context: 1, ..Header::default() });
        assert_eq!(fixed.choose(lane, 0), Some(2), "hart 9 is hart 1, which has not bound it");
        assert_eq!(fixed.context_of(lane), 1);
    }
}
