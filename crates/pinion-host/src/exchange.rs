//! What host programs write into memory that they share with a NIC, as the NIC comes to see it. In: the
//! reads and writes of the NIC's side, in their order. Out: at which read bytes were other than the NIC
//! could know; or, in a run that is repeated, those bytes, in time. So a run has all that it needs of
//! the programs' side, however they wrote it. One that goes on can be gone back in: a copy of the NIC reads
//! again what was read, and what it writes nobody sees.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::page::PAGE_BYTES;

/// Bits of a word that says which bytes of a page are known.
const WORD_BITS: usize = 64;
/// Estimate of the bytes that news take beside what they tell.
const NEWS_BYTES: u64 = 64;

/// Bytes that a host program had written when the NIC read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Number of the read, from 0.
    pub read: u64,
    /// Where they lie in host memory.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Keeps what host programs wrote, or gives it again. Copies are the same one.
#[derive(Clone, Debug)]
pub struct Exchange(Arc<Mutex<Inside>>);

#[derive(Debug)]
struct Inside {
    reads: u64,
    side: Side,
}

#[derive(Debug)]
enum Side {
    /// Of a run that is recorded: what the NIC knows of each page, and what is new.
    Kept(Pages, Vec<News>),
    /// Of a run that is repeated: what is going to be new.
    Given(VecDeque<News>),
    /// Of a run that goes on and is repeated from a moment on: what the copy knows of each page, and who
    /// keeps what was new.
    Again(Pages, Exchange),
}

type Pages = HashMap<u64, Arc<Page>>;

/// What a NIC knew at a moment of memory that it shares.
#[derive(Clone, Debug)]
pub struct Known {
    reads: u64,
    pages: Pages,
}

/// What the NIC has read or written of a page.
#[derive(Clone, Debug)]
struct Page {
    bytes: [u8; PAGE_BYTES],
    known: [u64; PAGE_BYTES / WORD_BITS],
}

impl Default for Page {
    fn default() -> Self {
        Self { bytes: [0; PAGE_BYTES], known: [0; PAGE_BYTES / WORD_BITS] }
    }
}

impl Page {
    fn byte(&self, at: usize) -> Option<u8> {
        (self.known[at / WORD_BITS] >> (at % WORD_BITS) & 1 == 1).then_some(self.bytes[at])
    }

    /// Puts what is known from an offset on into a buffer.
    fn show(&self, offset: usize, buffer: &mut [u8]) {
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = self.byte(offset + at).unwrap_or(*byte);
        }
    }

    fn learn(&mut self, offset: usize, data: &[u8]) {
        self.bytes[offset..offset + data.len()].copy_from_slice(data);
        for at in offset..offset + data.len() {
            self.known[at / WORD_BITS] |= 1 << (at % WORD_BITS);
        }
    }
}

impl Exchange {
    /// Makes one that keeps what programs write.
    pub fn keeping() -> Self {
        Self::new(Side::Kept(HashMap::new(), Vec::new()))
    }

    /// Makes one that gives again what was kept.
    pub fn giving() -> Self {
        Self::new(Side::Given(VecDeque::new()))
    }

    fn new(side: Side) -> Self {
        Self(Arc::new(Mutex::new(Inside { reads: 0, side })))
    }

    /// Gives what the NIC knows now.
    pub fn known(&self) -> Known {
        let inside = self.inside();
        let pages = match &inside.side {
            Side::Kept(pages, _) | Side::Again(pages, _) => pages.clone(),
            Side::Given(_) => Pages::new(),
        };
        Known { reads: inside.reads, pages }
    }

    /// Makes one for a copy of a NIC whose news are kept here, from a moment on.
    #[must_use]
    pub fn again(&self, from: &Known) -> Self {
        let Known { reads, pages } = from.clone();
        Self(Arc::new(Mutex::new(Inside { reads, side: Side::Again(pages, self.clone()) })))
    }

    /// Counts the bytes that are kept, about.
    pub fn bytes(&self) -> u64 {
        match &self.inside().side {
            Side::Kept(_, news) => {
                news.iter().map(|news| NEWS_BYTES + news.bytes.len() as u64).sum()
            }
            Side::Given(_) | Side::Again(..) => 0,
        }
    }

    /// Takes what was kept since it was taken last.
    pub fn take(&self) -> Vec<News> {
        match &mut self.inside().side {
            Side::Kept(_, news) => std::mem::take(news),
            Side::Given(_) | Side::Again(..) => Vec::new(),
        }
    }

    /// Adds what is to be given.
    pub fn give(&self, more: impl IntoIterator<Item = News>) {
        if let Side::Given(news) = &mut self.inside().side {
            news.extend(more);
        }
    }

    /// Gives what programs had written when the read came that is next; `None`: nothing more.
    pub(crate) fn due(&self) -> Option<News> {
        let mut inside = self.inside();
        let reads = inside.reads;
        match &mut inside.side {
            Side::Given(news) if news.front().is_some_and(|news| news.read <= reads) => {
                news.pop_front()
            }
            _ => None,
        }
    }

    /// Notes what the NIC reads from a page's offset; a copy that repeats it reads what was read.
    pub(crate) fn read(&self, page: u64, offset: usize, data: &mut [u8]) {
        let inside = &mut *self.inside();
        let base = page * PAGE_BYTES as u64;
        match &mut inside.side {
            Side::Kept(pages, news) => {
                let known = pages.entry(page).or_default();
                let is_new = |at: &usize| known.byte(offset + at) != Some(data[*at]);
                if let Some(first) = (0..data.len()).find(is_new) {
                    let last = (0..data.len()).rfind(is_new).unwrap_or(first);
                    let bytes = data[first..=last].to_vec();
                    Arc::make_mut(known).learn(offset + first, &bytes);
                    let address = base + (offset + first) as u64;
                    news.push(News { read: inside.reads, address, bytes });
                }
            }
            Side::Given(_) => {}
            Side::Again(pages, keeper) => {
                let known = pages.entry(page).or_default();
                keeper.tell(inside.reads, |news| {
                    Arc::make_mut(known).learn((news.address - base) as usize, &news.bytes);
                });
                known.show(offset, data);
            }
        }
        inside.reads += 1;
    }

    /// Tells what was new at a read.
    fn tell(&self, read: u64, mut tell: impl FnMut(&News)) {
        if let Side::Kept(_, news) = &self.inside().side {
            let first = news.partition_point(|news| news.read < read);
            news[first..].iter().take_while(|news| news.read == read).for_each(&mut tell);
        }
    }

    /// Shows what a copy of the NIC knows of a page from an offset on; whatever else is in the buffer stays.
    pub(crate) fn show(&self, page: u64, offset: usize, buffer: &mut [u8]) {
        if let Side::Again(pages, _) = &self.inside().side
            && let Some(known) = pages.get(&page)
        {
            known.show(offset, buffer);
        }
    }

    /// Notes that the NIC wrote at a page's offset; `false`: nobody else is to see it.
    pub(crate) fn wrote(&self, page: u64, offset: usize, data: &[u8]) -> bool {
        match &mut self.inside().side {
            Side::Kept(pages, _) => {
                Arc::make_mut(pages.entry(page).or_default()).learn(offset, data);
                true
            }
            Side::Given(_) => true,
            Side::Again(pages, _) => {
                Arc::make_mut(pages.entry(page).or_default()).learn(offset, data);
                false
            }
        }
    }

    /// Notes that pages are other memory now.
    pub(crate) fn forget(&self, first: u64, count: u64) {
        if let Side::Kept(pages, _) = &mut self.inside().side {
            pages.retain(|page, _| !(first..first + count).contains(page));
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use crate::{HostMemory, SharedRegion};

    use super::*;

    const BASE: u64 = 1 << 36;

    /// Does what a NIC does; before some reads the program writes. Gives what was read.
    fn run(exchange: &Exchange, mut program: impl FnMut(usize, &SharedRegion)) -> Vec<Vec<u8>> {
        let mut memory = HostMemory::new(1 << 20);
        memory.exchange(Some(exchange.clone()));
        let mut read = Vec::new();
        for part in 0..2 {
            let region = SharedRegion::new("test", 2 * PAGE_BYTES).unwrap();
            assert!(memory.map(BASE, region.clone()));
            for turn in 0..4 {
                program(4 * part + turn, &region);
                memory.write(BASE + 30 * turn as u64, &[turn as u8 + 1; 10]).unwrap();
                for (address, bytes) in [(4090, 20), (0, 64), (8, 8)] {
                    let mut buffer = vec![0xaa; bytes];
                    memory.read(BASE + address, &mut buffer).unwrap();
                    read.push(buffer);
                }
            }
            memory.unmap(BASE);
        }
        read
    }

    #[test]
    fn a_nic_reads_again_what_programs_wrote() {
        let kept = Exchange::keeping();
        let wrote = |turn: usize, region: &SharedRegion| {
            // Some of it is what is there already, or what was there before the NIC wrote.
            assert!(region.write(4 + turn, &[turn as u8; 5]));
            assert!(region.write(4093, &[turn as u8 / 2; 6]));
            assert!(region.write(1000, &[9; 100]), "never read");
        };
        let first = run(&kept, wrote);
        let news = kept.take();
        assert!(news.iter().map(|news| news.bytes.len()).sum::<usize>() < 600, "{news:?}");
        assert!(news.windows(2).all(|two| two[0].read <= two[1].read));
        let given = Exchange::giving();
        given.give(news.clone());
        // What the repeated run's own side writes into new memory does not matter.
        let again = run(&given, |turn, region| {
            assert!(turn % 4 > 0 || region.write(4092, &[0x55; 8]));
        });
        assert_eq!(first, again);
        assert_eq!(given.due(), None);
        let none = run(&Exchange::giving(), |_, _| {});
        assert_ne!(first, none);
    }

    #[test]
    fn a_copy_reads_again_what_was_read_and_writes_where_nobody_sees_it() {
        let region = SharedRegion::new("test", 2 * PAGE_BYTES).unwrap();
        let exchange = Exchange::keeping();
        let mut memory = HostMemory::new(1 << 20);
        memory.exchange(Some(exchange.clone()));
        assert!(memory.map(BASE, region.clone()));
        // What a NIC does at a turn, and what it reads.
        let nic = |memory: &mut HostMemory, turn: u8| {
            let mut read = [0xaa; 40];
            memory.read(BASE + 4080, &mut read).unwrap();
            memory.write(BASE + 4090 + u64::from(turn), &[turn | 0x40]).unwrap();
            memory.write(BASE + 7000, &[turn]).unwrap();
            read
        };
        let (mut first, mut from) = (Vec::new(), Vec::new());
        for turn in 0..6 {
            assert!(region.write(4085 + usize::from(turn), &[turn + 1; 3]));
            from.push(exchange.known());
            first.push(nic(&mut memory, turn));
        }
        // From any moment on, as often as one likes, whatever the program writes meanwhile.
        for back in [3, 0, 5, 3] {
            let mut copy = memory.clone();
            copy.exchange(Some(exchange.again(&from[back])));
            assert!(region.write(4080, &[back as u8; 50]));
            let again: Vec<_> = (back..6).map(|turn| nic(&mut copy, turn as u8)).collect();
            assert_eq!(first[back..], again, "from {back}");
            let mut seen = [0];
            copy.look(BASE + 7000, &mut seen);
            assert_eq!(seen, [5]);
            assert!(region.read(4080, &mut seen) && seen == [back as u8], "nothing was written");
        }
        // To look is not to read.
        let before = exchange.known().reads;
        memory.look(BASE + 4080, &mut [0; 8]);
        assert_eq!((exchange.known().reads, exchange.bytes() > 0), (before, true));
    }
}
