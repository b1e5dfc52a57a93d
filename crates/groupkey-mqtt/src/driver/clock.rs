//! A clock that never goes back while the process runs.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Returns the time in ns since 1970. If the system's clock is set back, this clock continues from
/// its last value, because deadlines would come late otherwise. If the system's clock is set
/// forward, this clock follows, because a device without a battery-backed clock may learn the time
/// late.
pub fn now() -> u64 {
    static CLOCK: Mutex<Option<ClockReading>> = Mutex::new(None);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut last = CLOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = ClockReading::after(*last, since, Instant::now());
    *last = Some(reading);
    u64::try_from(reading.time.as_nanos()).unwrap_or(u64::MAX)
}

/// The last time that the clock returned, and when it did so.
#[derive(Clone, Copy)]
struct ClockReading {
    /// The time since 1970.
    time: Duration,
    at: Instant,
}

impl ClockReading {
    fn after(last: Option<Self>, wall: Duration, at: Instant) -> Self {
        let least = last.map(|last| last.time + at.saturating_duration_since(last.at));
        Self { time: least.map_or(wall, |least| least.max(wall)), at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_time() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let year = 365 * 86_400 * second;
        let mut last = None;
        let mut read = |wall: Duration, seconds: u32| {
            let reading = ClockReading::after(last, wall, start + seconds * second);
            last = Some(reading);
            reading.time
        };
        assert_eq!(read(50 * year, 0), 50 * year);
        assert_eq!(read(50 * year + second, 1), 50 * year + second);
        // Five seconds later, the system's clock is a year behind.
        assert_eq!(read(49 * year + 5 * second, 6), 50 * year + 6 * second);
        assert_eq!(read(49 * year + 15 * second, 16), 50 * year + 16 * second);
        // The system's clock is set right, and then a year ahead.
        assert_eq!(read(50 * year + 17 * second, 17), 50 * year + 17 * second);
        assert_eq!(read(51 * year, 18), 51 * year);
        assert_eq!(read(51 * year, 20), 51 * year + 2 * second);
    }

    #[test]
    fn time_goes_on() {
        let before = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(now() >= before + 2_000_000);
    }
}
