//! A NIC with host programs while a debugger has it: it is lent for each turn of the loop. What programs do to
//! memory is kept as the NIC comes to see it, so it can be gone back in, as far as the last program that came,
//! went or changed rules.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use pinion_app::error::{Error, Result};
use pinion_debug::visit::{Effect, HearNic, Host, Lent, Visit};
use pinion_net::capture::LinkType;
use pinion_observe::report::{Collector, Links, Outputs};
use pinion_run::watch::Observer;
use pinion_spin::{ContextId, ExecutionContext, Nic, Units};

use super::House;
use super::board::{Board, Seen};
use super::images::Loaded;
use super::message::Body;
use super::refusal::Refusal;
use super::serve::{Asker, Reply};
use super::tells::{Asked, OnNic};
use super::visitor::{Known, Visiting, Visitor, no_cluster};

/// Waits for gdb so long before it looks for programs and frames.
const PATIENCE: Duration = Duration::from_millis(2);

/// The debugger that has a NIC, if one has, and what the NIC is put into for it.
#[derive(Default)]
pub struct Debugged {
    /// Who it is.
    pub visitor: Visitor,
    /// Where the NIC of the board is put into while it is lent.
    pub units: Option<Units>,
    /// Programs have come or gone since the last turn, or changed rules.
    pub is_outdated: bool,
    /// What is known of the NIC and its programs for whoever asks why.
    asked: Option<Rc<RefCell<Asked>>>,
}

impl Debugged {
    /// Answers a message about a debugger.
    pub fn answer(
        &mut self,
        board: &mut Board,
        asker: Asker<'_>,
        body: Body<'_>,
        file: Option<OwnedFd>,
    ) -> std::result::Result<Reply, Refusal> {
        let Self { visitor, units, asked, .. } = self;
        let (programs, contexts) = (board.programs(), board.contexts());
        let known = |node: Option<&str>| match node {
            None => Ok(&programs[..]),
            Some(node) => Err(no_cluster(node)),
        };
        let reply = visitor.answer(asker, (body, file), known, |stream, _| {
            let known = Rc::new(RefCell::new(board.asked()));
            *asked = Some(Rc::clone(&known));
            let tell =
                Box::new(move |target, hear: &mut HearNic<'_>| known.borrow().tell(target, hear));
            Visit::begin(board.host(units, &contexts)?, stream, tell).map(Visiting::Nic)
        });
        let has_visit = visitor.visit().is_some();
        if let Some(lent) = units.as_mut().filter(|_| !board.is_held) {
            // It was lent for the beginning.
            lent.exchange(&mut board.nic);
        }
        if !has_visit {
            (*units, *asked) = (None, None);
        }
        board.is_held = has_visit;
        reply
    }
}

impl Board {
    /// Lists the programs on the NIC.
    pub fn programs(&self) -> Vec<Known> {
        let images = self.images.iter().flatten();
        // The one that the cores were booted with comes first.
        let (booted, others): (Vec<_>, Vec<_>) = images.partition(|image| image.is_booted);
        let all = booted.into_iter().chain(others);
        all.map(|loaded| Known { name: loaded.image.name.clone(), elf: loaded.bytes.to_vec() })
            .collect()
    }

    /// Describes the NIC for whoever asks why.
    fn asked(&self) -> Asked {
        let on_nic = |loaded: &Loaded| OnNic {
            elf: loaded.bytes.to_vec(),
            image: loaded.image.clone(),
            ranges: loaded.ranges.iter().map(|(range, _)| range.clone()).collect(),
        };
        Asked {
            name: self.machine.name.clone(),
            machine: self.machine.clone(),
            contexts: self.contexts(),
            programs: self.images.iter().flatten().map(on_nic).collect(),
        }
    }

    /// Makes a NIC that nothing is on, and somebody who hears it.
    fn stand_in(&self) -> Result<Lent> {
        let nic = Nic::blank(self.machine.clone());
        let nic = nic.map_err(|error| Error::part("cannot make a NIC", error))?;
        let links = Links { out: LinkType::Ethernet, input: LinkType::Ethernet };
        let collector = Collector::new(&Outputs::default(), links, Vec::new())?;
        Ok(Lent { units: Units::alone(nic), collector })
    }

    /// Makes of the board what a debugger visits; `units` is what the NIC is put into.
    pub fn host<'h>(
        &'h mut self,
        units: &'h mut Option<Units>,
        contexts: &'h [ExecutionContext],
    ) -> Result<Host<'h>> {
        if self.is_recorded() {
            let why =
                "the NIC is recorded (--record), and what a debugger lets it do is no part of that";
            return Err(Error::Usage(why.to_owned()));
        }
        let stand_in = self.stand_in()?;
        let now = self.now();
        let units = units.insert(stand_in.units.clone());
        units.exchange(&mut self.nic);
        let collector = self.collector();
        Ok(Host { contexts, units, collector, now, stand_in })
    }
}

impl House {
    /// Lets the debugger have its turn, if one has the NIC; tells whether it has.
    pub fn attend(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        let Self { board, debugged, .. } = self;
        let Debugged { visitor, units, is_outdated, asked } = debugged;
        let (Some(units), Some(visit)) = (units, visitor.visit()) else { return Ok(false) };
        visit.hold(board.held());
        units.exchange(&mut board.nic);
        if std::mem::take(is_outdated) {
            visit.look_anew(&board.contexts(), units);
            if let Some(asked) = asked {
                *asked.borrow_mut() = board.asked();
            }
        }
        let written = std::mem::take(&mut board.written);
        let (collector, queue) = board.ears();
        let turn = visitor.turn((units, collector), (queue, written), PATIENCE);
        units.exchange(&mut board.nic);
        let Some(turn) = turn else { return Ok(false) };
        board.take_over(turn.effects, (turn.reached, turn.rests), observer)?;
        if let Some(ended) = &turn.ended
            && let Some((number, message, text)) = self.debugged.visitor.end(ended)
        {
            (self.board.is_held, self.debugged.units) = (false, None);
            self.board.written.clear();
            observer.notice(&text);
            if let Some(peer) = self.peers.get(&number) {
                let _ = peer.connection.send(&[&message], &[]);
            }
        }
        Ok(true)
    }
}

/// Notes an effect that no sink takes.
pub fn count(effect: &Effect, seen: &mut [Seen], left_behind: &mut u64) {
    let mut of = |context: &ContextId, is_fault: bool| {
        if let Some(seen) = seen.get_mut(context.0 as usize) {
            seen.packets += u64::from(!is_fault);
            seen.faults += u64::from(is_fault);
        }
    };
    match effect {
        Effect::Done(context) => of(context, false),
        Effect::Failed(context) => of(context, true),
        Effect::LeftBehind => *left_behind += 1,
        _ => {}
    }
}
