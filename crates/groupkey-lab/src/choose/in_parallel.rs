//! Works on many things at once, in an order that does not depend on the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Works on all items on several threads, and returns what comes of each, in the order of the items.
/// When `stop` becomes true, no other item is begun: what comes of those left is `None`. `on_done`
/// gets the number of items that are done.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    stop: &AtomicBool,
    on_done: &(dyn Fn(usize) + Sync),
    work: &(dyn Fn(&T) -> R + Sync),
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<(usize, Vec<Option<R>>)> =
        Mutex::new((0, items.iter().map(|_| None).collect()));
    let run = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place).filter(|_| !stop.load(Ordering::Relaxed)) else {
                return;
            };
            let result = work(item);
            let mut results = results.lock().expect("no thread panics while it has it");
            results.0 += 1;
            results.1[place] = Some(result);
            on_done(results.0);
        }
    };
    thread::scope(|scope| {
        (1..threads.clamp(1, items.len().max(1))).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    results.into_inner().expect("no thread panics while it has it").1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_and_end_when_it_is_stopped() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [1, 3] {
            let squares =
                in_parallel(&items, threads, &AtomicBool::new(false), &|_| (), &|item| item * item);
            assert!(squares.into_iter().eq(items.iter().map(|item| Some(item * item))));
        }
        let stop = AtomicBool::new(false);
        let told = in_parallel(&items, 1, &stop, &|_| (), &|item| {
            stop.store(*item == 3, Ordering::Relaxed);
            *item
        });
        assert!(told[..4].iter().all(Option::is_some) && told[4..].iter().all(Option::is_none));
    }
}
