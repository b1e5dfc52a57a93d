//! Places for connections. A connection that has sent no request yet makes room for another one.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::HttpLimits;

/// The connections that are open.
#[derive(Clone)]
pub(super) struct OpenConnections {
    limits: HttpLimits,
    /// The oldest first.
    taken: Arc<Mutex<Vec<OpenConnection>>>,
}

struct OpenConnection {
    peer: IpAddr,
    connection: AbortHandle,
    asked: HasAsked,
    since: Instant,
}

enum Room {
    Now,
    /// Not before this time.
    At(Instant),
    /// All connections that count have sent a request.
    None,
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

impl OpenConnections {
    pub(super) fn new(limits: HttpLimits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    /// Waits until there is room for a connection of this peer. If there is none, the oldest connection
    /// that has sent no request ends: the peer's, or anybody's if all places are taken. Each
    /// connection has [`GRACE`] to send one. Returns whether there is room.
    pub(super) async fn make_room(&self, peer: IpAddr) -> bool {
        loop {
            match self.try_room(peer) {
                Room::Now => return true,
                Room::At(time) => sleep_until(time).await,
                Room::None => return false,
            }
        }
    }

    fn try_room(&self, peer: IpAddr) -> Room {
        let (of_all, of_peer) = (self.limits.connections, self.limits.connections_of_peer);
        let mut taken = self.taken();
        taken.retain(|place| !place.connection.is_finished());
        let theirs = taken.iter().filter(|place| place.peer == peer).count();
        if theirs < of_peer && taken.len() < of_all {
            return Room::Now;
        }
        let is_silent = |place: &OpenConnection| {
            (place.peer == peer || theirs < of_peer) && !place.asked.0.load(Ordering::Relaxed)
        };
        let Some(oldest) = taken.iter().position(is_silent) else { return Room::None };
        let until = taken[oldest].since + GRACE;
        if until > Instant::now() {
            return Room::At(until);
        }
        taken.remove(oldest).connection.abort();
        Room::Now
    }

    /// Gives a connection its place, until it ends.
    pub(super) fn take(&self, peer: IpAddr, connection: AbortHandle, asked: HasAsked) {
        self.taken().push(OpenConnection { peer, connection, asked, since: Instant::now() });
    }

    fn taken(&self) -> MutexGuard<'_, Vec<OpenConnection>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a connection keeps its place in any case. A request that was sent with the connection is
/// read in this time, so a crowd of silent clients displaces nobody who asks.
const GRACE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::net::Ipv4Addr;

    use tokio::task::JoinHandle;

    use super::*;

    struct Connections {
        places: OpenConnections,
        made: Vec<(JoinHandle<()>, HasAsked)>,
    }

    impl Connections {
        async fn arrive(&mut self, peer: u8) -> bool {
            let peer = IpAddr::from(Ipv4Addr::new(192, 0, 2, peer));
            if !self.places.make_room(peer).await {
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
        let limits = HttpLimits { connections: 5, connections_of_peer: 2, ..HttpLimits::default() };
        let mut all = Connections { places: OpenConnections::new(limits), made: Vec::new() };
        assert!(all.arrive(1).await && all.arrive(1).await);
        all.made[0].1.note();
        // The peer has two places. Its silent connection ends, but not at once.
        let begin = Instant::now();
        assert!(all.arrive(1).await);
        assert!(begin.elapsed() >= GRACE / 2, "{:?}", begin.elapsed());
        assert_eq!(all.open().await, [true, false, true]);
        all.made[2].1.note();
        assert!(!all.arrive(1).await, "both of its connections have asked");
        assert!(all.arrive(2).await && all.arrive(2).await && all.arrive(3).await);
        // All places are taken. The oldest silent connection of any peer ends.
        assert!(all.arrive(4).await);
        assert_eq!(all.open().await, [true, false, true, false, true, true, true]);
        // A connection that has ended leaves its place.
        all.made[0].0.abort();
        all.made.iter().for_each(|(_, asked)| asked.note());
        tokio::task::yield_now().await;
        assert!(all.arrive(5).await);
    }
}
