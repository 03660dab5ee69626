//! The windows of host memory that are shared with host programs. In: accesses, page by page. Out:
//! whether a window served them. Holds the windows in the order of their addresses; where there are
//! none, asking costs nothing.

#[cfg(target_os = "linux")]
use crate::SharedRegion;
#[cfg(target_os = "linux")]
use crate::exchange::Exchange;
#[cfg(target_os = "linux")]
use crate::page::PAGE_BYTES;

/// Holds the windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    /// First page, pages, and the memory.
    #[cfg(target_os = "linux")]
    list: Vec<(u64, u64, SharedRegion)>,
    /// Hears of accesses, if somebody keeps what programs write.
    #[cfg(target_os = "linux")]
    pub exchange: Option<Exchange>,
}

#[cfg(target_os = "linux")]
impl Windows {
    /// Adds a window of whole pages; `false` if it is not that, or meets another.
    pub fn add(&mut self, address: u64, region: SharedRegion) -> bool {
        let bytes = region.bytes() as u64;
        let size = PAGE_BYTES as u64;
        let whole = address.is_multiple_of(size) && bytes.is_multiple_of(size);
        if !whole || address.checked_add(bytes - 1).is_none() {
            return false;
        }
        let (first, pages) = (address / size, bytes / size);
        let meets = |&(other, count, _): &(u64, u64, SharedRegion)| {
            first < other + count && other < first + pages
        };
        if self.list.iter().any(meets) {
            return false;
        }
        let at = self.list.partition_point(|&(other, ..)| other < first);
        self.list.insert(at, (first, pages, region));
        if let Some(exchange) = &self.exchange {
            exchange.forget(first, pages);
        }
        true
    }

    /// Removes the window that begins at an address.
    pub fn remove(&mut self, address: u64) {
        self.list.retain(|&(first, ..)| first != address / PAGE_BYTES as u64);
    }

    fn find(&self, page: u64) -> Option<(usize, &SharedRegion)> {
        let after = self.list.partition_point(|&(first, ..)| first <= page);
        let (first, pages, region) = self.list.get(after.checked_sub(1)?)?;
        (page - first < *pages).then_some(((page - first) as usize * PAGE_BYTES, region))
    }

    /// Says whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Says whether a page belongs to a window.
    pub fn holds(&self, page: u64) -> bool {
        self.find(page).is_some()
    }

    /// Reads from a page's offset; `false`: no window holds the page.
    pub fn read(&self, page: u64, offset: usize, buffer: &mut [u8]) -> bool {
        let Some((start, region)) = self.find(page) else { return false };
        let Some(exchange) = &self.exchange else { return region.read(start + offset, buffer) };
        let base = page * PAGE_BYTES as u64;
        while let Some(news) = exchange.due() {
            let at = news.address.checked_sub(base).filter(|at| *at < PAGE_BYTES as u64);
            // What lies elsewhere was never read like this: the run is another one, or damaged.
            let _ = at.is_some_and(|at| region.write(start + at as usize, &news.bytes));
        }
        let is_there = region.read(start + offset, buffer);
        exchange.read(page, offset, buffer);
        is_there
    }

    /// Shows what lies at a page's offset, without being a read of the NIC's; `false`: no window holds the
    /// page.
    pub fn look(&self, page: u64, offset: usize, buffer: &mut [u8]) -> bool {
        let Some((start, region)) = self.find(page) else { return false };
        let is_there = region.read(start + offset, buffer);
        self.exchange.iter().for_each(|exchange| exchange.show(page, offset, buffer));
        is_there
    }

    /// Writes at a page's offset; `false`: no window holds the page.
    pub fn write(&self, page: u64, offset: usize, data: &[u8]) -> bool {
        let Some((start, region)) = self.find(page) else { return false };
        let is_seen = self.exchange.as_ref().is_none_or(|it| it.wrote(page, offset, data));
        !is_seen || region.write(start + offset, data)
    }
}

#[cfg(not(target_os = "linux"))]
impl Windows {
    /// Says that there are none.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// Says that no window holds the page.
    pub fn holds(&self, _page: u64) -> bool {
        false
    }

    /// Says that no window holds the page.
    pub fn read(&self, _page: u64, _offset: usize, _buffer: &mut [u8]) -> bool {
        false
    }

    /// Says that no window holds the page.
    pub fn look(&self, _page: u64, _offset: usize, _buffer: &mut [u8]) -> bool {
        false
    }

    /// Says that no window holds the page.
    pub fn write(&self, _page: u64, _offset: usize, _data: &[u8]) -> bool {
        false
    }
}
