//! A nanoPU at a node of a cluster: frames come in and go out; what it did is summed up at the end.

use std::sync::Arc;

use pinion_nanopu::event::Deaf;
use pinion_nanopu::node::{NodeEnd, Progress};
use pinion_nanopu::transport::Address;
use pinion_nanopu::waypoint::Met;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, Trouble};

use super::rows::NodeRow;
use super::summary::Ended;
use crate::nanoservice::ears::Ears;
use crate::nanoservice::frames::{Frames, Matching, Outputs};
use crate::nanoservice::run::Settling;
use crate::nanoservice::summary::sum_up;
use crate::nanoservice::wire::Wire;
use crate::nanoservice::{Setup, hang};
use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_observe::report::Ending;

/// A nanoPU with its program, and who hears it.
pub struct NanoEnd<L = Deaf> {
    inner: NodeEnd<Ears<L>>,
    service: Arc<Service>,
    setup: Setup,
    ends: bool,
    trouble: Option<Error>,
}

impl<L: Settling + Send> NanoEnd<L> {
    /// Makes a node in reset; with `ends` the run waits until its program ends.
    ///
    /// # Errors
    /// When the program does not fit, or the machine's numbers do not fit together.
    pub fn new(
        service: &Arc<Service>,
        setup: &Setup,
        ip: u32,
        arguments: &[String],
        ends: bool,
        listener: L,
    ) -> Result<Self> {
        let setup = setup.at(address(&setup.address, ip));
        let node = setup.node_with(service, arguments.to_vec())?;
        let wire = Wire::new(&setup, ip);
        let frames = Frames::new(&Outputs::default(), wire, Matching::Oldest, setup.clock)?;
        let ears = Ears::new(node.harts(), frames.among_others(), listener);
        let inner = NodeEnd::new(node, ears);
        Ok(Self { inner, service: Arc::clone(service), setup, ends, trouble: None })
    }

    /// Gives the node.
    pub fn node(&self) -> &pinion_nanopu::node::Node {
        &self.inner.node
    }

    /// Tells what somebody has to know of the node who begins to listen now.
    pub fn met(&self) -> Met {
        self.inner.met(self.setup.machine.value.hart_interface.contexts)
    }

    /// Tells whether messages are inside that somebody waits for.
    pub(super) fn holds(&self) -> bool {
        let contexts = self.setup.machine.value.hart_interface.contexts;
        !self.inner.node.receive().is_empty()
            || self.inner.unread_words(contexts) > 0
            || self.inner.node.transmit().resident().next().is_some()
    }

    /// Tells whether messages are inside that go on without anybody's help.
    pub(super) fn works(&self) -> bool {
        let contexts = self.setup.machine.value.hart_interface.contexts;
        !self.inner.node.receive().is_empty() || self.inner.begun(contexts) > 0
    }

    /// Gives what the program has printed.
    pub(super) fn console(&self) -> &[u8] {
        &self.inner.node.memory().devices.console
    }

    /// Gives ears that have heard nothing.
    #[cfg(target_os = "linux")]
    pub(super) fn blank_ears(&self) -> Ears<Deaf> {
        let wire = Wire::new(&self.setup, self.setup.address.ip);
        let frames = Frames::silent(wire, Matching::Oldest, self.setup.clock);
        Ears::new(self.inner.node.harts(), frames.among_others(), Deaf)
    }

    /// Exchanges what was counted with other ears.
    #[cfg(target_os = "linux")]
    pub(super) fn exchange_counts(&mut self, other: &mut Ears<Deaf>) {
        self.inner.ears.exchange_counts(other);
    }

    /// Lets who hears it write what is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn complete(&mut self) -> Result<()> {
        self.inner.ears.other.settle(u64::MAX)
    }

    /// Sums the node up.
    pub(super) fn row(&self, number: usize, name: &str, ended: &Ended) -> NodeRow {
        let contexts = self.setup.machine.value.hart_interface.contexts;
        let (open, holds) = (self.is_open(), self.holds());
        let own = match self.inner.progress {
            Progress::Exited { code, at } => Ending::Exited { code, at },
            Progress::Stopped { why, at } => Ending::Stopped { why: why.to_owned(), at },
            Progress::Running | Progress::Quiet => match ended.ending {
                _ if matches!(ended.ending, Ending::Stuck(_)) && open || ended.rests && holds => {
                    let node = &self.inner.node;
                    Ending::Stuck(hang::describe(node, &self.service.image, contexts))
                }
                Ending::CycleLimit => Ending::CycleLimit,
                Ending::Interrupted => Ending::Interrupted,
                Ending::Failed if open => Ending::CutOff,
                _ => Ending::Finished,
            },
        };
        let (end, at) = (&self.inner, (ended.at, None));
        let run = sum_up(&self.service, &self.setup, end, own, at, end.ears.frames.so_far());
        NodeRow::of_nanoservice(number, name, &run, self.console())
    }
}

/// Gives a node's addresses: the group's MAC address plus as much as its IP address is above it.
fn address(base: &Address, ip: u32) -> Address {
    let mut number = [0; 8];
    number[2..].copy_from_slice(&base.mac);
    let number = u64::from_be_bytes(number).wrapping_add(u64::from(ip.wrapping_sub(base.ip)));
    let mut mac = [0; 6];
    mac.copy_from_slice(&number.to_be_bytes()[2..]);
    Address { mac, ip, ..*base }
}

impl<L: Settling + Send> Node for NanoEnd<L> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        self.inner.arrive(port, first_flit, frame);
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        self.inner.run(until, ports);
        self.trouble = self.trouble.take().or(self.inner.ears.other.settle(until).err());
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.inner.next_cycle()
    }

    fn moved(&self) -> u64 {
        self.inner.moved()
    }

    fn is_open(&self) -> bool {
        self.ends && self.inner.is_open()
    }

    fn has_failed(&self) -> bool {
        self.inner.has_failed()
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.trouble.take().map(Into::into)
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.inner.state(tell);
    }

    fn save(&self) -> std::result::Result<Saved, SaveError> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        self.inner.restore(saved)
    }
}
