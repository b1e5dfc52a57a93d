//! Runs the program's one future, and gives time to libraries.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use embassy_time_driver::{Driver, TICK_HZ, time_driver_impl};

use crate::board;
use crate::network::Network;

/// Polls the future every millisecond, or sooner, until it ends. In between, the network goes on
/// and the processor sleeps. No future needs its waker.
pub fn run<T>(network: &Network, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        network.poll();
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        network.poll();
        board::idle();
    }
}

/// Returns the future's result, or `None` if it takes longer than this.
pub async fn within<T>(milliseconds: u64, future: impl Future<Output = T>) -> Option<T> {
    let deadline = after(milliseconds);
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if board::now() >= deadline => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Waits this long.
pub async fn sleep(milliseconds: u64) {
    within::<()>(milliseconds, core::future::pending()).await;
}

/// Returns the time so many milliseconds from now, in ns since 1970.
fn after(milliseconds: u64) -> u64 {
    board::now() + milliseconds * 1_000_000
}

struct Clock;

impl Driver for Clock {
    fn now(&self) -> u64 {
        board::now() / (1_000_000_000 / TICK_HZ)
    }

    fn schedule_wake(&self, _: u64, _: &Waker) {}
}

time_driver_impl!(static CLOCK: Clock = Clock);
