//! The clocks that computation is measured by.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The time that a processor spent on the calling thread. While others have the processor, this
    /// clock stands still.
    Thread,
    /// The time of day, without its corrections. It goes on while others have the processor.
    Wall,
}

impl Clock {
    /// Returns the best clock for the work of one thread.
    pub const fn of_thread() -> Self {
        if KNOWS_PROCESSOR_TIME { Self::Thread } else { Self::Wall }
    }

    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "processor",
            Self::Wall => "wall",
        }
    }

    /// Returns the time since some moment, which is the same for all readings. Systems that do not
    /// count processor time give the time of day.
    pub fn now(self) -> Duration {
        processor_time(self).unwrap_or_else(|| START.elapsed())
    }
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

const KNOWS_PROCESSOR_TIME: bool = cfg!(any(target_os = "linux", target_os = "macos"));

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn processor_time(clock: Clock) -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};

    let time = (clock == Clock::Thread).then(|| clock_gettime(ClockId::ThreadCPUTime))?;
    Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const fn processor_time(_: Clock) -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// While the thread sleeps, and while another thread works, its own clock stands still.
    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn processor_time_is_that_of_the_own_work() {
        const WAIT: Duration = Duration::from_millis(60);
        let clocks = [Clock::Thread, Clock::Wall];
        let before = clocks.map(Clock::now);
        let worker = thread::spawn(|| {
            let (start, mut number) = (Clock::Thread.now(), 0_u64);
            while Clock::Thread.now() - start < WAIT {
                number = std::hint::black_box(number + 1);
            }
        });
        worker.join().unwrap();
        let mut passed = clocks.map(Clock::now);
        passed.iter_mut().zip(before).for_each(|(time, before)| *time -= before);
        let [thread, wall] = passed;
        assert!(thread < WAIT / 3, "{thread:?}");
        assert!(wall >= WAIT, "{wall:?}");
    }
}
