//! A carrier that also counts what each party computes and publishes in an operation.

use groupkey::crypto::meter::Meter;
use groupkey::{PartyId, Recipient};
use groupkey_sim::group::{Carrier, Station};
use groupkey_sim::{ClientId, Duration, MessageId, NetworkEvent, PacketLoad, Time, Traffic};

/// A carrier, and what parties did since the last rest.
pub(super) struct CountingCarrier<C> {
    carrier: C,
    parties: Vec<CountedParty>,
}

/// What one party did.
pub(super) struct CountedParty {
    pub(super) id: PartyId,
    pub(super) meter: Meter,
    pub(super) published: u64,
}

impl<C> CountingCarrier<C> {
    pub(super) const fn new(carrier: C) -> Self {
        Self { carrier, parties: Vec::new() }
    }

    /// Returns all parties that ever had a seat, in the order of their seats.
    pub(super) fn parties(&self) -> &[CountedParty] {
        &self.parties
    }

    /// What was before an operation is not counted.
    fn forget(&mut self) {
        for party in &mut self.parties {
            (party.meter, party.published) = (Meter::new(), 0);
        }
    }
}

impl<C: Carrier> Carrier for CountingCarrier<C> {
    const ALTERS_NOTHING: bool = C::ALTERS_NOTHING;

    fn seat(&mut self, party: PartyId, station: Station) -> ClientId {
        self.parties.push(CountedParty { id: party, meter: Meter::new(), published: 0 });
        self.carrier.seat(party, station)
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        self.carrier.subscribe(client, to);
    }

    fn unsubscribe(&mut self, client: ClientId, to: Recipient) {
        self.carrier.unsubscribe(client, to);
    }

    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]) {
        self.parties[from.index()].published += 1;
        self.carrier.publish(from, to, message, bytes);
    }

    fn wake_at(&mut self, time: Time, token: u64) {
        self.carrier.wake_at(time, token);
    }

    fn poll(&mut self) -> Result<Option<NetworkEvent>, String> {
        self.carrier.poll()
    }

    fn wait(&mut self) -> Result<Option<NetworkEvent>, String> {
        self.carrier.wait()
    }

    fn is_connected(&self, client: ClientId) -> bool {
        self.carrier.is_connected(client)
    }

    fn rest(&mut self, done: Time, time: Duration) -> Result<(), String> {
        self.forget();
        self.carrier.rest(done, time)
    }

    fn settle(&mut self, done: Time, seed: u64) -> Result<(), String> {
        self.forget();
        self.carrier.settle(done, seed)
    }

    fn carry_directly(&mut self, directly: bool) {
        self.carrier.carry_directly(directly);
    }

    fn note(&mut self, client: ClientId, meter: &Meter, has_key: bool) {
        self.parties[client.index()].meter.add(meter);
        self.carrier.note(client, meter, has_key);
    }

    fn now(&self) -> Time {
        self.carrier.now()
    }

    fn traffic(&self) -> Traffic {
        self.carrier.traffic()
    }

    fn packets(&self, client: ClientId) -> Option<[PacketLoad; 2]> {
        self.carrier.packets(client)
    }
}
