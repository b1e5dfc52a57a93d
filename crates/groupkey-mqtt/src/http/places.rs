//! Places for connections. A connection that has sent no request yet makes room for another one.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

use super::limits::Limits;

/// The connections that are open.
#[derive(Clone)]
pub(super) struct Places {
    limits: Limits,
    /// The oldest first.
    taken: Arc<Mutex<Vec<Taken>>>,
}

struct Taken {
    peer: IpAddr,
    connection: AbortHandle,
    asked: HasAsked,
}

/// Whether a connection has sent a request.
#[derive(Clone, Default)]
pub(super) struct HasAsked(Arc<AtomicBool>);

impl HasAsked {
    /// Notes that a request arrived.
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Places {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    /// Makes room for a connection of this peer. If there is none, the oldest connection that has
    /// sent no request ends: the peer's, or anybody's if all places are taken. Returns whether
    /// there is room.
    pub(super) fn make_room(&self, peer: IpAddr) -> bool {
        let (of_all, of_peer) = (self.limits.connections, self.limits.connections_of_peer);
        let mut taken = self.taken();
        taken.retain(|place| !place.connection.is_finished());
        let full = |taken: &[Taken]| {
            let theirs = taken.iter().filter(|place| place.peer == peer).count();
            if theirs >= of_peer {
                return Some(Some(peer));
            }
            (taken.len() >= of_all).then_some(None)
        };
        while let Some(whose) = full(&taken) {
            let is_silent = |place: &Taken| {
                whose.is_none_or(|peer| place.peer == peer)
                    && !place.asked.0.load(Ordering::Relaxed)
            };
            let Some(oldest) = taken.iter().position(is_silent) else { return false };
            taken.remove(oldest).connection.abort();
        }
        true
    }

    /// Gives a connection its place, until it ends.
    pub(super) fn take(&self, peer: IpAddr, connection: AbortHandle, asked: HasAsked) {
        self.taken().push(Taken { peer, connection, asked });
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::net::Ipv4Addr;

    use tokio::task::JoinHandle;

    use super::*;

    struct Connections {
        places: Places,
        made: Vec<(JoinHandle<()>, HasAsked)>,
    }

    impl Connections {
        fn arrive(&mut self, peer: u8) -> bool {
            let peer = IpAddr::from(Ipv4Addr::new(192, 0, 2, peer));
            if !self.places.make_room(peer) {
                return false;
            }
            let (task, asked) = (tokio::spawn(pending::<()>()), HasAsked::default());
            self.places.take(peer, task.abort_handle(), asked.clone());
            self.made.push((task, asked));
            true
        }

        async fn open(&mut self) -> Vec<bool> {
            tokio::task::yield_now().await;
            self.made.iter().map(|(task, _)| !task.is_finished()).collect()
        }
    }

    #[tokio::test]
    async fn who_asks_stays_and_who_is_silent_makes_room() {
        let limits = Limits { connections: 5, connections_of_peer: 2, ..Limits::default() };
        let mut all = Connections { places: Places::new(limits), made: Vec::new() };
        assert!(all.arrive(1) && all.arrive(1));
        all.made[0].1.note();
        // The peer has two places. Its silent connection ends.
        assert!(all.arrive(1));
        assert_eq!(all.open().await, [true, false, true]);
        all.made[2].1.note();
        assert!(!all.arrive(1), "both of its connections have asked");
        assert!(all.arrive(2) && all.arrive(2) && all.arrive(3));
        // All places are taken. The oldest silent connection of any peer ends.
        assert!(all.arrive(4));
        assert_eq!(all.open().await, [true, false, true, false, true, true, true]);
        // A connection that has ended leaves its place.
        all.made[0].0.abort();
        all.made.iter().for_each(|(_, asked)| asked.note());
        tokio::task::yield_now().await;
        assert!(all.arrive(5));
    }
}
