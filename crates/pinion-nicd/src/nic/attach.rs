//! Contexts are taken and given back: an image is found or loaded, memory is dealt out, the NIC's
//! context and its rules are set; and all of it is undone when a host program ends.

use std::ops::Range;
use std::os::fd::OwnedFd;

use pinion_host::SharedRegion;
use pinion_spin::{ContextId, ControlError};

use super::board::{Board, Seen};
use super::holder::{self, Holder};
use super::images::Loaded;
use super::message::{HPUS_MAX, Rules};
use super::refusal::{Code, Refusal};
use super::windows::check_share;
use pinion_run::watch::Observer;

const PAGE_BYTES: u64 = 4096;

/// What a host program asks for.
#[derive(Debug)]
pub struct Wanted {
    /// The first context.
    pub context: u32,
    /// A ruleset for it and for those that follow.
    pub rules: Vec<Rules>,
    /// The size of host memory.
    pub host_bytes: u64,
    /// Name of the image.
    pub image_name: String,
    /// The image.
    pub image: Vec<u8>,
}

fn nic(error: &ControlError) -> Refusal {
    Refusal::new(Code::Nic, error.to_string())
}

impl Board {
    /// Checks what a host program asks for and makes its holder, with nothing loaded.
    pub fn admit(
        &self,
        (pid, user, program): (i32, u32, &str),
        wanted: &Wanted,
        contexts: u32,
    ) -> Result<Holder, Refusal> {
        let count = (wanted.rules.len() as u32).max(1);
        if wanted.context >= contexts {
            return Err(Refusal::new(
                Code::Limit,
                format!(
                    "there is no context {}: the NIC has {contexts}, counted from 0",
                    wanted.context
                ),
            ));
        }
        if contexts - wanted.context < count {
            return Err(Refusal::new(
                Code::Limit,
                format!(
                    "{count} rulesets from context {} on are too many: the NIC has {contexts}, one \
                     for each context",
                    wanted.context
                ),
            ));
        }
        for context in wanted.context..wanted.context + count {
            if let Some(holder) = self.holder_of(context) {
                return Err(Refusal::new(
                    Code::Busy,
                    format!(
                        "context {context} is busy: {} holds it; take another one or end that \
                         program",
                        holder.describe()
                    ),
                ));
            }
        }
        self.check_rules(&wanted.rules)?;
        let region = self.host_memory(wanted.host_bytes)?;
        Ok(Holder {
            pid,
            user,
            program: program.to_owned(),
            first: wanted.context,
            rules: wanted.rules.clone(),
            region,
            window: 0..wanted.host_bytes,
            image: None,
            image_name: wanted.image_name.clone(),
            handler_memory: 0..0,
            handler_memory_file: None,
        })
    }

    /// Finds who holds a context.
    pub fn holder_of(&self, context: u32) -> Option<&Holder> {
        self.holders.values().find(|holder| holder.contexts().contains(&context))
    }

    /// Refuses rules that the engine cannot take.
    pub fn check_rules(&self, rules: &[Rules]) -> Result<(), Refusal> {
        let limits = self.machine.matching_limits();
        for (index, rules) in rules.iter().enumerate() {
            let checked = holder::ruleset(rules).check(&holder::MESSAGE, &limits);
            checked
                .map_err(|error| Refusal::new(Code::Limit, format!("ruleset {index}: {error}")))?;
        }
        Ok(())
    }

    fn host_memory(&self, bytes: u64) -> Result<SharedRegion, Refusal> {
        let hpus = u64::from(self.machine.hpus());
        let refuse = |text| Err(Refusal::new(Code::Limit, text));
        if bytes < hpus * PAGE_BYTES || !bytes.is_multiple_of(PAGE_BYTES) {
            return refuse(format!(
                "{} pages of host memory are too few: each of the {hpus} HPUs has one; ask for \
                 {hpus} or more",
                bytes / PAGE_BYTES
            ));
        }
        if bytes > u64::from(u32::MAX) {
            return refuse(format!(
                "{} pages of host memory are too many: a context's window has less than 4 GiB",
                bytes / PAGE_BYTES
            ));
        }
        SharedRegion::new("pinion-host-memory", bytes as usize).map_err(|error| {
            Refusal::new(Code::Nic, format!("no {bytes} bytes of host memory to be had: {error}"))
        })
    }

    /// Loads an image for a holder that is not in the list, and lets packets come.
    pub fn install(
        &mut self,
        holder: &mut Holder,
        image: Vec<u8>,
        contexts: u32,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        for context in holder.contexts() {
            let is_out = self.drain(context, observer);
            if !is_out.map_err(|error| Refusal::new(Code::Nic, error.to_string()))? {
                let text =
                    format!("context {context} still has packets of its last program inside");
                return Err(Refusal::new(Code::Busy, text));
            }
        }
        let index = self.find_or_load(holder, image, contexts, observer)?;
        let shared = self.set_up(holder, index).and_then(|()| self.share(holder));
        holder.handler_memory_file = shared.inspect_err(|_| self.tear_down(holder))?;
        if let Some(loaded) = &mut self.images[index] {
            loaded.users += 1;
        }
        holder.image = Some(index);
        Ok(())
    }

    /// Sets contexts, memory and rules.
    fn set_up(&mut self, holder: &Holder, index: usize) -> Result<(), Refusal> {
        let Some(loaded) = &self.images[index] else {
            return Err(Refusal::new(Code::Nic, "the image is gone"));
        };
        let memory = &holder.handler_memory;
        if !self.nic.write_memory(memory.start, &vec![0; memory.len()]) {
            return Err(Refusal::new(Code::Nic, "the context's handler memory lies nowhere"));
        }
        let region = holder.region.clone();
        let mapped = self.nic.map_host(holder.host_address(), region);
        mapped.map_err(|error| nic(&error))?;
        for context in holder.contexts() {
            let programmed = holder.execution_context(loaded, context);
            let set = self.nic.set_context(ContextId(context), programmed);
            set.map_err(|error| nic(&error))?;
            self.seen[context as usize] = Seen::default();
        }
        for context in holder.contexts() {
            self.forget_faults(context);
        }
        number_requests(self, holder, index);
        self.set_rules(holder)
    }

    /// Moves a holder's handler memory to where the holder alone can see it; a machine whose parts are
    /// no whole pages is read through the NIC.
    fn share(&mut self, holder: &Holder) -> Result<Option<OwnedFd>, Refusal> {
        let memory = holder.handler_memory.clone();
        let base = self.machine.l2_handler.base;
        let is_page = |address: u32| (address - base).is_multiple_of(holder::PAGE_BYTES);
        if !is_page(memory.start) || !is_page(memory.end) {
            return Ok(None);
        }
        self.nic.share_handler_memory(memory).map(Some).map_err(|error| nic(&error))
    }

    /// Programs the matching engine for a holder.
    pub fn set_rules(&mut self, holder: &Holder) -> Result<(), Refusal> {
        for context in holder.contexts() {
            let set = self.nic.matching_mut().set_context(context, holder.matching(context));
            set.map_err(|error| Refusal::new(Code::Limit, error.to_string()))?;
        }
        Ok(())
    }

    fn tear_down(&mut self, holder: &Holder) {
        for context in holder.contexts() {
            let cleared = self.nic.clear_context(ContextId(context));
            debug_assert!(cleared.is_ok(), "admitted contexts exist");
        }
        self.nic.unmap_host(holder.host_address());
    }

    /// Releases what a program held; its handlers may end what they have an answer for.
    pub fn let_go(&mut self, number: u64, observer: &mut dyn Observer) {
        self.linger(number, observer);
        let Some(mut holder) = self.holders.remove(&number) else { return };
        self.uninstall(&mut holder);
        observer.notice(&format!(
            "context {}: {} has ended, its contexts are free",
            holder.first,
            holder.describe()
        ));
    }

    /// Lets no more packets come to a holder and ends its handlers.
    pub fn uninstall(&mut self, holder: &mut Holder) {
        let Some(index) = holder.image.take() else { return };
        self.tear_down(holder);
        // Whoever keeps the file sees nothing of who comes next; who comes next gets another one
        // in any case.
        drop(self.share(holder));
        if let Some(loaded) = &mut self.images[index] {
            loaded.users -= 1;
        }
        // A further image makes room; the runtime that the cores run stays.
        if self.images[index].as_ref().is_some_and(|loaded| loaded.users == 0 && !loaded.is_booted)
        {
            self.images[index] = None;
        }
    }

    /// Finds an image on the NIC or puts it there; deals out handler memory.
    fn find_or_load(
        &mut self,
        holder: &mut Holder,
        bytes: Vec<u8>,
        contexts: u32,
        observer: &mut dyn Observer,
    ) -> Result<usize, Refusal> {
        let bad = |problem: String| {
            Refusal::new(Code::BadImage, format!("image {}: {problem}", holder.image_name))
        };
        let share = holder::share(&self.machine, holder.first, contexts);
        if let Some(other) = self.holders.values().find(|other| other.is_foreign_to(holder)) {
            return Err(Refusal::new(
                Code::Busy,
                format!(
                    "{} uses the NIC: its cores run that user's programs, and those of another user \
                     can come when it has ended",
                    other.describe()
                ),
            ));
        }
        let same = |loaded: &Option<Loaded>| loaded.as_ref().is_some_and(|l| *l.bytes == *bytes);
        let is_used = self.images.iter().flatten().any(|loaded| loaded.users > 0);
        if let Some(index) = self.images.iter().position(same).filter(|_| is_used) {
            let Some(loaded) = &self.images[index] else { unreachable!("it was just found") };
            holder.handler_memory = self.memory_of(loaded, &share, &bad)?;
            if loaded.users == 0 {
                // Its variables are those it left behind: begin anew.
                self.nic.load(&loaded.image).map_err(|error| bad(error.to_string()))?;
            }
            return Ok(index);
        }
        let name = holder.image_name.clone();
        let mut loaded = Loaded::new(bytes, &name, &self.machine).map_err(bad)?;
        check_share(&loaded, &self.machine, &share).map_err(bad)?;
        if !is_used {
            self.images.clear();
        }
        holder.handler_memory = self.memory_of(&loaded, &share, &bad)?;
        if is_used {
            self.check_beside(&loaded).map_err(bad)?;
            self.nic.load(&loaded.image).map_err(|error| bad(error.to_string()))?;
        } else {
            self.reset(observer);
            self.nic.clear_memories().map_err(|error| nic(&error))?;
            let image = loaded.bootable(&self.machine);
            self.nic.start(&image).map_err(|error| bad(error.to_string()))?;
            loaded.is_booted = true;
        }
        let free = self.images.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.images.push(None);
            self.images.len() - 1
        });
        self.images[index] = Some(loaded);
        Ok(index)
    }

    /// Gives a context's handler memory: its share, behind what its image and others have there.
    fn memory_of(
        &self,
        loaded: &Loaded,
        share: &Range<u32>,
        bad: &dyn Fn(String) -> Refusal,
    ) -> Result<Range<u32>, Refusal> {
        let images = self.images.iter().flatten().chain(std::iter::once(loaded));
        let start = images.map(|image| image.end_in(share)).max().unwrap_or(share.start);
        if start >= share.end {
            return Err(bad(format!(
                "its data reach {start:#x}, and the context's part of handler memory ends at {:#x}: \
                 make them smaller, or give contexts more (pinion nic --contexts 1)",
                share.end
            )));
        }
        Ok(start..share.end)
    }

    /// Refuses an image that cannot be loaded beside those there.
    fn check_beside(&self, loaded: &Loaded) -> Result<(), String> {
        if loaded.initialises() {
            return Err(
                "its init_handlers would not run: the cores have been booted for another program; \
                 load it first, on a NIC that nobody uses"
                    .to_owned(),
            );
        }
        let stacks = self.stacks();
        if let Some((range, what)) = loaded.overlap(&stacks) {
            return Err(format!(
                "its {what} at {:#x} to {:#x} overlap the cores' stacks: build it for another place \
                 (pinion build APP --slot 1, 2 or 3)",
                range.start, range.end
            ));
        }
        for (index, other) in self.images.iter().enumerate() {
            let Some(other) = other else { continue };
            let Some((range, what)) = loaded.overlap(&other.ranges) else { continue };
            let user = self.holders.values().find(|holder| holder.image == Some(index));
            let whose = match user {
                Some(user) => format!("the image {} of {}", user.image_name, user.describe()),
                None => format!(
                    "the image {}, whose runtime the cores use until nobody uses the NIC",
                    other.image.name
                ),
            };
            return Err(format!(
                "its {what} at {:#x} to {:#x} overlap {whose}: build it for another place (pinion \
                 build APP --slot 1, 2 or 3), or end that program",
                range.start, range.end
            ));
        }
        for holder in self.holders.values() {
            if let Some((range, what)) = loaded.overlap(&holder.ranges(&self.machine)) {
                return Err(format!(
                    "its {what} at {:#x} to {:#x} reach into the handler memory of {}: make them \
                     smaller, or load it first",
                    range.start,
                    range.end,
                    holder.describe()
                ));
            }
        }
        Ok(())
    }

    /// Lists where the cores of each cluster have their stacks, as the SDK's runtime places them.
    fn stacks(&self) -> Vec<(Range<u32>, &'static str)> {
        let l1 = &self.machine.l1;
        let stack = |cluster| {
            let start = l1.base + cluster * l1.stride + l1.reserved_bytes;
            (start..start + self.machine.cluster.cores * l1.stack_bytes, "stacks")
        };
        (0..self.machine.cluster.count).map(stack).collect()
    }

    /// Gives the number of each HPU's last request, as an image's handlers count them.
    pub fn request_numbers(&self, holder: &Holder) -> [u8; HPUS_MAX] {
        let mut numbers = [0; HPUS_MAX];
        for (number, flag) in numbers.iter_mut().zip(self.flags(holder.image)) {
            *number = flag as u8;
        }
        numbers
    }

    fn flags(&self, image: Option<usize>) -> impl Iterator<Item = u64> {
        let loaded = image.and_then(|index| self.images[index].as_ref());
        let base = loaded.and_then(|loaded| loaded.host_data.as_ref()).map(|shared| shared.start);
        let hpus = if base.is_some() { self.machine.hpus() } else { 0 };
        (0..hpus).map(move |hpu| {
            let mut flag = [0; 8];
            let is_there = self.nic.read_memory(base.unwrap_or(0) + 8 * hpu, &mut flag);
            debug_assert!(is_there, "an image's data lie in NIC memory");
            u64::from_le_bytes(flag)
        })
    }
}

/// Puts the number of each HPU's last request where the host program looks for the next one, so
/// that an image which goes on counting asks for nothing yet.
fn number_requests(board: &Board, holder: &Holder, index: usize) {
    for (hpu, flag) in board.flags(Some(index)).enumerate() {
        let written = holder.region.write(hpu * PAGE_BYTES as usize, &flag.to_le_bytes());
        debug_assert!(written, "each HPU has a page");
    }
}
