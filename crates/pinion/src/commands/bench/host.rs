//! What the computer gives to measure with: processor time, a counter of instructions, its name.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

const SECONDS_A_DAY: u64 = 86_400;

/// Gives the processor time that this process has taken.
#[cfg(unix)]
pub fn processor_seconds() -> f64 {
    usage_seconds(nix::sys::resource::UsageWho::RUSAGE_SELF)
}

/// Gives the processor time that somebody has taken.
#[cfg(unix)]
pub fn usage_seconds(who: nix::sys::resource::UsageWho) -> f64 {
    use nix::sys::time::TimeValLike as _;
    let Ok(usage) = nix::sys::resource::getrusage(who) else { return 0.0 };
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
}

/// Gives the time that has passed, where the system's processor time is not known to us.
#[cfg(not(unix))]
pub fn processor_seconds() -> f64 {
    static BEGUN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGUN.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}

/// Counts this thread's instructions, where computer and system have a counter and let us.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub struct Instructions(Option<pinion::native::Counter>);

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
impl Instructions {
    /// Opens the counter.
    pub fn open() -> Self {
        Self(pinion::native::Counter::open())
    }

    /// Gives what they were so far.
    pub fn read(&mut self) -> Option<u64> {
        self.0.as_mut().map(pinion::native::Counter::read)
    }
}

/// Counts nothing: elsewhere there is no counter that we know.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub struct Instructions;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
impl Instructions {
    /// Opens nothing.
    pub fn open() -> Self {
        Self
    }

    /// Gives nothing.
    pub fn read(&mut self) -> Option<u64> {
        None
    }
}

/// Describes this computer, and this build, in JSON.
pub fn describe() -> Value {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "processor": processor_name(),
        "processors": processors,
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "is_optimised": !cfg!(debug_assertions),
    })
}

/// Gives the processor's name as the system tells it.
fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name"));
    let name = name.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown processor".to_owned())
}

/// Gives today's date in UTC, as `2026-11-23`.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / SECONDS_A_DAY)
}

/// Turns days since the first of January 1970 into a date.
fn date(days: u64) -> String {
    let time = chrono::DateTime::from_timestamp((days * SECONDS_A_DAY) as i64, 0);
    time.unwrap_or_default().format("%F").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates_in_leap_years_too() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(59), "1970-03-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_780), "2026-11-23");
        assert_eq!(date(20_818), "2026-12-31");
    }
}
