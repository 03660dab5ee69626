//! How long a thread had a core, and how long it waited for one; how long its compilers had one. In:
//! what the kernel counts (`/proc/thread-self/schedstat`, `/proc/self/stat`). Out: times so far.

use std::time::Duration;

/// The unit of times in `/proc/self/stat` (proc(5): a hundredth of a second on Linux).
const TICK: Duration = Duration::from_millis(10);

/// Gives the time that programs which this one ran and waited for had a core; `None` where the
/// system does not tell.
pub(super) fn of_children() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name is in brackets and may hold anything.
    let (_, numbers) = text.rsplit_once(')')?;
    let numbers: Vec<&str> = numbers.split_whitespace().collect();
    let ticks = |place: usize| numbers.get(place)?.parse::<u32>().ok();
    // Fields 16 and 17 of the line, cutime and cstime, of which two stand before the bracket.
    Some(TICK * (ticks(13)? + ticks(14)?))
}

/// What the kernel counted of the current thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadTime {
    /// The time it had a core.
    pub on_core: Duration,
    /// The time it could have run and other threads had the cores.
    pub waited: Duration,
}

impl ThreadTime {
    /// Asks for the current thread's time; `None` where the system does not tell.
    pub fn now() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
        let mut next = || numbers.next().flatten().map(Duration::from_nanos);
        Some(Self { on_core: next()?, waited: next()? })
    }

    /// Gives the time since an earlier one.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            on_core: self.on_core.saturating_sub(earlier.on_core),
            waited: self.waited.saturating_sub(earlier.waited),
        }
    }

    /// Adds another.
    pub fn plus(self, other: Self) -> Self {
        Self { on_core: self.on_core + other.on_core, waited: self.waited + other.waited }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_counts_and_sleep_does_not() {
        let Some(start) = ThreadTime::now() else { return };
        std::thread::sleep(Duration::from_millis(60));
        let slept = ThreadTime::now().unwrap().since(start).on_core;
        let mut sum = 0u64;
        while ThreadTime::now().unwrap().since(start).on_core < slept + Duration::from_millis(5) {
            sum = sum.wrapping_add(std::hint::black_box(1));
        }
        assert!(slept < Duration::from_millis(30), "{slept:?}");
    }

    #[test]
    fn what_a_child_works_counts() {
        let Some(before) = of_children() else { return };
        let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let done = std::process::Command::new("sh").args(["-c", script]).status();
        assert!(done.is_ok_and(|status| status.success()));
        assert!(of_children().unwrap() > before);
    }
}
