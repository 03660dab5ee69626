//! A host program of a sPIN NIC: it looks at one HPU's flag after the other, serves the request it
//! finds, and answers through the NIC's memory (`fpspin_pop_req`, `fpspin_push_resp`).

use pinion_host::HostModel;
use pinion_host::model::to_ps;

use super::world::{Actor, World};

/// Bytes of the page that belongs to an HPU.
const PAGE_BYTES: u64 = 4096;
/// Offset of a request's payload in its page.
const PAYLOAD_OFFSET: u64 = 64;
/// Most bytes of a payload.
const PAYLOAD_BYTES: u64 = PAGE_BYTES - PAYLOAD_OFFSET;

const LOOK: u64 = 0;
const ANSWER: u64 = 1;

/// Says what a program does with a request.
pub trait Service {
    /// Serves a request of an HPU; may change the payload, which goes back to the page. `None`: the
    /// request gets no answer.
    fn serve(&mut self, hpu: u32, payload: &mut Vec<u8>) -> Option<Answer>;
}

/// What a program answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The length that the flag tells the handler.
    pub bytes: u32,
    /// How long the program works at it, in ps.
    pub work_ps: u64,
}

/// The layout of the pages and of the answers.
#[derive(Clone, Copy, Debug)]
struct Places {
    host_address: u64,
    hpus: u32,
    flags_address: u32,
}

/// Polls and serves.
#[derive(Debug)]
pub struct Poller<S> {
    /// What it does with requests.
    pub service: S,
    model: HostModel,
    places: Places,
    /// When the look at `page` may begin, as far as it is known.
    scan_ps: u64,
    page: u32,
    /// Flags that were written and not yet seen: page, and when.
    written: Vec<(u32, u64)>,
    /// The look that a timer waits for.
    looking: Option<u32>,
    /// Number of timers, so that those that no longer count are told apart.
    generation: u64,
    answer: Option<(u32, Vec<u8>, [u8; 8])>,
    served: u64,
}

impl<S: Service> Poller<S> {
    /// Makes a program whose pages lie at `host_address`, a page for each HPU, and that answers at
    /// `flags_address` (`__host_data.flag`) of the NIC's memory.
    pub fn new(
        model: &HostModel,
        service: S,
        host_address: u64,
        hpus: u32,
        flags_address: u32,
    ) -> Self {
        Self {
            service,
            model: model.clone(),
            places: Places { host_address, hpus: hpus.max(1), flags_address },
            scan_ps: 0,
            page: 0,
            written: Vec::new(),
            looking: None,
            generation: 0,
            answer: None,
            served: 0,
        }
    }

    /// Counts the requests that it served.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// Waits for the look that finds the next flag.
    fn look_on(&mut self, world: &mut World<'_>) {
        let poll_ps = to_ps(self.model.program.poll_ns).max(1);
        let hpus = u64::from(self.places.hpus);
        let first = self.written.iter().map(|&(page, written_ps)| {
            let ahead = (u64::from(page) + hpus - u64::from(self.page)) % hpus;
            let look_ps = self.scan_ps + ahead * poll_ps;
            let late = written_ps.saturating_sub(look_ps);
            (look_ps + late.div_ceil(hpus * poll_ps) * hpus * poll_ps, page)
        });
        let Some((look_ps, page)) = first.min() else { return };
        self.generation += 1;
        self.looking = Some(page);
        world.at(look_ps + poll_ps, LOOK | self.generation << 1);
    }

    fn found(&mut self, page: u32, world: &mut World<'_>) {
        self.written.retain(|&(other, _)| other != page);
        self.page = (page + 1) % self.places.hpus;
        self.scan_ps = world.now_ps();
        let address = self.places.host_address + u64::from(page) * PAGE_BYTES;
        let mut flag = [0; 8];
        world.read_host(address, &mut flag);
        let bytes = u32::from_le_bytes([flag[1], flag[2], flag[3], flag[4]]);
        let mut payload = vec![0; u64::from(bytes).min(PAYLOAD_BYTES) as usize];
        world.read_host(address + PAYLOAD_OFFSET, &mut payload);
        self.served += 1;
        let Some(answer) = self.service.serve(page, &mut payload) else {
            return self.look_on(world);
        };
        flag[1..5].copy_from_slice(&answer.bytes.to_le_bytes());
        self.answer = Some((page, payload, flag));
        world.at(world.now_ps() + answer.work_ps + to_ps(self.model.program.push_ns), ANSWER);
    }
}

impl<S: Service> Actor for Poller<S> {
    fn host_written(&mut self, address: u64, bytes: u32, world: &mut World<'_>) {
        let Some(offset) = address.checked_sub(self.places.host_address) else { return };
        let page = offset / PAGE_BYTES;
        let is_flag = bytes == 8 && offset % PAGE_BYTES == 0;
        if !is_flag || page >= u64::from(self.places.hpus) {
            return;
        }
        self.written.push((page as u32, world.now_ps()));
        if self.answer.is_none() {
            self.look_on(world);
        }
    }

    fn timer(&mut self, token: u64, world: &mut World<'_>) {
        if token != ANSWER {
            if token >> 1 == self.generation
                && let Some(page) = self.looking.take()
            {
                self.found(page, world);
            }
            return;
        }
        let Some((page, payload, flag)) = self.answer.take() else { return };
        let address = self.places.host_address + u64::from(page) * PAGE_BYTES;
        let written = world.write_host(address + PAYLOAD_OFFSET, &payload);
        let there = world.write_nic(self.places.flags_address + page * 8, &flag);
        debug_assert!(written && there, "both lie where the application put them");
        self.scan_ps = world.now_ps();
        self.look_on(world);
    }
}
