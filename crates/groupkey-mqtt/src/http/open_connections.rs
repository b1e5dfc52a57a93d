//! Places for connections. A connection that has sent no request yet makes room for another one, and one
//! that has shown a token takes nobody's of its address.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::HttpLimits;

#[derive(Clone)]
pub(super) struct OpenConnections {
    limits: HttpLimits,
    /// The oldest first.
    taken: Arc<Mutex<Vec<OpenConnection>>>,
    /// Is told when there may be room.
    waiting: Arc<Notify>,
}

struct OpenConnection {
    peer: IpAddr,
    connection: AbortHandle,
    progress: ConnectionProgress,
    since: Instant,
}

enum Room {
    Now,
    /// Not before this time.
    At(Instant),
    /// All connections that count have sent a request.
    None,
}

#[derive(Clone, Default)]
pub(super) struct ConnectionProgress {
    stage: Arc<AtomicU8>,
    waiting: Arc<Notify>,
}

/// The stages of a connection.
const SILENT: u8 = 0;
const ASKED: u8 = 1;
const SHOWED_A_TOKEN: u8 = 2;

impl ConnectionProgress {
    /// Notes that a request arrived.
    pub(super) fn asked(&self) {
        self.stage.store(ASKED, Ordering::Relaxed);
    }

    pub(super) fn showed_a_token(&self) {
        self.stage.store(SHOWED_A_TOKEN, Ordering::Relaxed);
        self.waiting.notify_one();
    }

    fn is(&self, stage: u8) -> bool {
        self.stage.load(Ordering::Relaxed) == stage
    }
}

impl OpenConnections {
    pub(super) fn new(limits: HttpLimits) -> Self {
        Self { limits, taken: Arc::default(), waiting: Arc::default() }
    }

    /// Waits until there is room for a connection of this peer. If there is none, the oldest connection
    /// that has sent no request ends: the peer's, or anybody's if all places are taken. Each
    /// connection has [`GRACE`] to send one. Those that showed a token do not count among the peer's.
    /// Returns whether there is room.
    pub(super) async fn make_room(&self, peer: IpAddr) -> bool {
        loop {
            match self.try_room(peer) {
                Room::Now => return true,
                // One of them may show a token before that.
                Room::At(time) => drop(timeout_at(time, self.waiting.notified()).await),
                Room::None => return false,
            }
        }
    }

    fn try_room(&self, peer: IpAddr) -> Room {
        let (of_all, of_peer) = (self.limits.connections, self.limits.connections_of_peer);
        let mut taken = self.taken();
        taken.retain(|place| !place.connection.is_finished());
        let counts =
            |place: &&OpenConnection| place.peer == peer && !place.progress.is(SHOWED_A_TOKEN);
        let theirs = taken.iter().filter(counts).count();
        if theirs < of_peer && taken.len() < of_all {
            return Room::Now;
        }
        let is_silent = |place: &OpenConnection| {
            (place.peer == peer || theirs < of_peer) && place.progress.is(SILENT)
        };
        let Some(oldest) = taken.iter().position(is_silent) else { return Room::None };
        let until = taken[oldest].since + GRACE;
        if until > Instant::now() {
            return Room::At(until);
        }
        taken.remove(oldest).connection.abort();
        Room::Now
    }

    pub(super) fn progress(&self) -> ConnectionProgress {
        ConnectionProgress { stage: Arc::default(), waiting: self.waiting.clone() }
    }

    /// Gives a connection its place, until it ends.
    pub(super) fn take(&self, peer: IpAddr, connection: AbortHandle, progress: ConnectionProgress) {
        self.taken().push(OpenConnection { peer, connection, progress, since: Instant::now() });
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
        made: Vec<(JoinHandle<()>, ConnectionProgress)>,
    }

    impl Connections {
        async fn arrive(&mut self, peer: u8) -> bool {
            let peer = IpAddr::from(Ipv4Addr::new(192, 0, 2, peer));
            if !self.places.make_room(peer).await {
                return false;
            }
            let (task, progress) = (tokio::spawn(pending::<()>()), self.places.progress());
            self.places.take(peer, task.abort_handle(), progress.clone());
            self.made.push((task, progress));
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
        all.made[0].1.asked();
        // The peer has two places. Its silent connection ends, but not at once.
        let begin = Instant::now();
        assert!(all.arrive(1).await);
        assert!(begin.elapsed() >= GRACE / 2, "{:?}", begin.elapsed());
        assert_eq!(all.open().await, [true, false, true]);
        all.made[2].1.asked();
        assert!(!all.arrive(1).await, "both of its connections have asked");
        assert!(all.arrive(2).await && all.arrive(2).await && all.arrive(3).await);
        // All places are taken. The oldest silent connection of any peer ends.
        assert!(all.arrive(4).await);
        assert_eq!(all.open().await, [true, false, true, false, true, true, true]);
        // A connection that has ended leaves its place.
        all.made[0].0.abort();
        all.made.iter().for_each(|(_, progress)| progress.asked());
        tokio::task::yield_now().await;
        assert!(all.arrive(5).await);
    }

    /// An operator has many requests on the way.
    #[tokio::test]
    async fn who_showed_a_token_takes_no_place_of_its_address() {
        let limits = HttpLimits { connections: 6, connections_of_peer: 2, ..HttpLimits::default() };
        let mut all = Connections { places: OpenConnections::new(limits), made: Vec::new() };
        for number in 0..4 {
            assert!(all.arrive(1).await, "{number}");
            all.made[number].1.showed_a_token();
        }
        assert!(all.arrive(1).await && all.arrive(1).await);
        all.made[4..].iter().for_each(|(_, progress)| progress.asked());
        assert!(!all.arrive(1).await && !all.arrive(2).await, "all places are taken");
        all.made[0].0.abort();
        tokio::task::yield_now().await;
        assert!(!all.arrive(1).await, "two of its connections have shown none");
        assert!(all.arrive(2).await);
    }

    #[tokio::test]
    async fn who_waits_for_room_hears_of_a_token_at_once() {
        let limits = HttpLimits { connections_of_peer: 1, ..HttpLimits::default() };
        let mut all = Connections { places: OpenConnections::new(limits), made: Vec::new() };
        let begin = Instant::now();
        assert!(all.arrive(1).await);
        let progress = all.made[0].1.clone();
        let shows = tokio::spawn(async move { progress.showed_a_token() });
        assert!(all.arrive(1).await);
        assert!(begin.elapsed() < GRACE, "{:?}", begin.elapsed());
        assert_eq!(all.open().await, [true, true]);
        shows.await.unwrap();
    }
}
