//! Nanoservices live. A node has one address, for which ARP is answered outside; requests are not its
//! own but come from whoever is beyond the device.

use std::borrow::Borrow;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use pinion_nanopu::Cycle;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::node::{NodeEnd, Progress as NodeProgress};
use pinion_net::tap::InterfaceAddress;
use pinion_sim::node::{Node as _, RestoreError, SaveError, Saved};

use super::ears::Ears;
use super::frames::{Frames, Matching, Outputs};
use super::hang;
use super::profile::Watched;
use super::run::{PEER_IP, Settling};
use super::said::Said;
use super::setup::Setup;
use super::summary::{Summary, sum_up};
use super::wire::Wire;
use crate::live::guest::{Books, Guest};
use crate::live::{Cycles, Device, Holds, Inside, NIC_MAC, Options, Outside, Summed, drive};
use crate::watch::Observer;
use pinion_app::error::Result;
use pinion_app::service::Service;
use pinion_app::tape::Played;
use pinion_observe::profile::Profile;
use pinion_observe::report::{Ending, Report};

/// Gives the node's address on a network: the machine's if it lies there, else the first that is
/// not the kernel's.
pub fn node_ip(setup: &Setup, kernel: Option<InterfaceAddress>) -> Ipv4Addr {
    let own = setup.machine.value.address.ip;
    let Some(kernel) = kernel else { return own };
    let shift = 32 - u32::from(kernel.prefix.min(32));
    let network = |ip: Ipv4Addr| ip.to_bits().checked_shr(shift).unwrap_or(0);
    if network(own) == network(kernel.address) && own != kernel.address {
        return own;
    }
    let base = network(kernel.address).checked_shl(shift).unwrap_or(0);
    let first = (1..=2).map(|host| Ipv4Addr::from_bits(base | host));
    first.into_iter().find(|ip| *ip != kernel.address).unwrap_or(own)
}

/// Runs a nanoservice on a device until its program ends, the observer stops it or the time is over; a guest
/// may take part.
///
/// # Errors
/// When the device cannot be opened or is lost, or an output fails.
pub fn run(
    service: &Service,
    mut setup: Setup,
    options: &Options,
    outputs: &Outputs,
    guest: &mut dyn Guest,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let ip = node_ip(&setup, options.address);
    let device = Device::open(options, false)?.for_nodes([ip, ip]);
    let ears = Watched::new(service, &setup);
    let live = Live::new(service, &mut setup, (ip, device.mac()), outputs, ears)?;
    let mut outside = Outside::new(device, options, 0);
    let cycles = Cycles::boot(live, setup.clock, &mut outside, observer)?;
    if let Some(tape) = &options.tape {
        tape.peer(setup.address.next_hop_mac);
        tape.ready(cycles.ready);
    }
    let report = |cycles: &mut Cycles<Live<&Service, Watched<'_>>>| -> Box<dyn Report> {
        Box::new(so_far(cycles, &setup, Ending::Finished))
    };
    let mut summed = Summed { cycles, report };
    let driven = drive(&mut summed, &mut outside, options, (guest, observer))?;
    let mut summary = sum_up_live(summed.cycles, &setup, driven.host)?;
    driven.mark(&mut summary);
    outside.tell(&mut summary);
    Ok(summary)
}

/// Runs a nanoservice as it ran live, with the kernel's side at an address, until a cycle at most; `listener`
/// hears everything.
///
/// # Errors
/// When the recording is damaged, or an output fails.
pub fn replay<L: Settling>(
    service: &Service,
    setup: &Setup,
    (Recorded { folder, kernel }, until): (&Recorded, Cycle),
    outputs: &Outputs,
    observer: &mut dyn Observer,
    listener: L,
) -> Result<Summary> {
    let (mut setup, mut played) = (setup.clone(), Played::open(folder)?);
    let ip = node_ip(&setup, *kernel);
    let live = Live::new(service, &mut setup, (ip, played.peer), outputs, listener)?;
    let (mut cycles, host) = Cycles::play(live, setup.clock, (&mut played, until), observer)?;
    cycles.inside.end.ears.other.settle(Cycle::MAX)?;
    sum_up_live(cycles, &setup, host)
}

/// Says where what came in during a live run lies.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The folder of its tape.
    pub folder: PathBuf,
    /// The kernel's address on the wire.
    pub kernel: Option<InterfaceAddress>,
}

/// Sums up a live run, apart from how it went outside.
fn sum_up_live<L: Settling>(
    mut cycles: Cycles<Live<&Service, L>>,
    setup: &Setup,
    host: Duration,
) -> Result<Summary> {
    let ending = cycles.inside.ending();
    let mut summary = so_far(&cycles, setup, ending);
    cycles.inside.end.ears.frames.finish()?;
    summary.host = host;
    Ok(summary)
}

/// Sums up what a node has done so far.
pub fn so_far<S: Borrow<Service>, L: Settling>(
    cycles: &Cycles<Live<S, L>>,
    setup: &Setup,
    ending: Ending,
) -> Summary {
    let Live { end, service, .. } = &cycles.inside;
    let ended = (cycles.now, Some(cycles.ready));
    sum_up(service.borrow(), setup, end, ending, ended, end.ears.frames.so_far())
}

/// A node behind a wire.
pub struct Live<S, L> {
    /// The node at its end of the wire.
    pub end: NodeEnd<Ears<L>>,
    service: S,
    contexts: u16,
    said: Said,
    setup: Setup,
}

/// What is kept of a run beside the state of the node.
struct Kept {
    ears: Ears<Deaf>,
    said: Said,
}

impl<S: Borrow<Service>, L: Settling> Live<S, L> {
    /// Makes a node with an address of its own, behind a wire whose other side has a hardware address.
    ///
    /// # Errors
    /// When the program does not fit, or an output fails.
    pub fn new(
        service: S,
        setup: &mut Setup,
        (ip, peer): (Ipv4Addr, [u8; 6]),
        outputs: &Outputs,
        listener: L,
    ) -> Result<Self> {
        setup.address.ip = ip.to_bits();
        setup.address.mac = NIC_MAC;
        setup.address.next_hop_mac = peer;
        setup.wait_for_peers();
        let wire = Wire::new(setup, PEER_IP);
        let frames = Frames::new(outputs, wire, Matching::Oldest, setup.clock)?;
        let node = setup.node(service.borrow())?;
        let ears = Ears::new(node.harts(), frames, listener);
        Ok(Self {
            said: Said::new(node.harts()),
            end: NodeEnd::new(node, ears),
            service,
            contexts: setup.machine.value.hart_interface.contexts,
            setup: setup.clone(),
        })
    }

    /// Says how the program has ended, or how it stands.
    pub fn ending(&self) -> Ending {
        match self.end.progress {
            NodeProgress::Exited { code, at } => Ending::Exited { code, at },
            NodeProgress::Stopped { why, at } => Ending::Stopped { why: why.to_owned(), at },
            _ if self.end.begun(self.contexts) > 0 && !self.end.is_quiet() => Ending::Stuck(
                hang::describe(&self.end.node, &self.service.borrow().image, self.contexts),
            ),
            _ => Ending::Finished,
        }
    }
}

impl<S: Borrow<Service>, L: Settling> Inside for Live<S, L> {
    fn arrive(&mut self, first_flit: Cycle, frame: Vec<u8>) {
        self.end.arrive(0, first_flit, frame);
    }

    fn run(&mut self, until: Cycle, sent: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.end.run(until, &mut |_: usize, _: Cycle, _: Cycle, frame: Vec<u8>| sent(&frame));
        self.end.ears.frames.settle(until)?;
        self.end.ears.other.settle(until)
    }

    fn is_quiet(&mut self) -> bool {
        self.end.is_quiet()
    }

    fn is_ready(&mut self) -> bool {
        (0..self.contexts).any(|context| self.end.node.receive().serves(context))
    }

    fn ended(&mut self) -> Option<Ending> {
        self.end.has_ended().then(|| self.ending())
    }

    fn is_unheard(&mut self) -> bool {
        self.end.ears.other.is_over()
    }

    fn moved(&mut self) -> Cycle {
        self.end.moved()
    }

    fn holds(&mut self) -> Holds {
        let end = &self.end;
        if !end.node.receive().is_empty() || end.begun(self.contexts) > 0 {
            Holds::Work
        } else if end.unread_words(self.contexts) > 0
            || end.node.transmit().resident().next().is_some()
        {
            Holds::Messages
        } else {
            Holds::Nothing
        }
    }

    fn pass_on(&mut self, observer: &mut dyn Observer) {
        self.said.print(&self.end.node, observer, self.end.has_ended());
        self.said.warn(&self.end.node, self.service.borrow(), observer);
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.end.state(tell);
    }

    fn listen(&mut self, closely: bool) {
        self.end.ears.other.listen(closely);
    }

    fn profiles(&self) -> Vec<Profile<'_>> {
        self.end.ears.other.profile().into_iter().collect()
    }

    fn save(&self) -> std::result::Result<Saved, SaveError> {
        self.end.save()
    }

    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        self.end.restore(saved)
    }

    fn blank_books(&self) -> Books {
        let wire = Wire::new(&self.setup, PEER_IP);
        let frames = Frames::silent(wire, Matching::Oldest, self.setup.clock);
        let harts = self.end.node.harts();
        Books::new(Kept { ears: Ears::new(harts, frames, Deaf), said: Said::new(harts) })
    }

    fn exchange_books(&mut self, books: &mut Books) {
        let kept = books.get::<Kept>();
        self.end.ears.exchange_counts(&mut kept.ears);
        std::mem::swap(&mut self.said, &mut kept.said);
    }
}
