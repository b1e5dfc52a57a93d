//! A carrier that breaks when somebody asks for it, so that a long run ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

use groupkey::crypto::meter::Meter;
use groupkey::{PartyId, Recipient};
use groupkey_sim::group::{Carrier, Station};
use groupkey_sim::{ClientId, Duration, MessageId, NetworkEvent, PacketLoad, Time, Traffic};

/// A carrier, and the flag that breaks it.
pub(crate) struct InterruptibleCarrier<'a, C> {
    pub(crate) carrier: C,
    pub(crate) stop: &'a AtomicBool,
}

impl<C> InterruptibleCarrier<'_, C> {
    fn go_on(&self) -> Result<(), String> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err("the run was stopped".to_owned()),
            false => Ok(()),
        }
    }
}

impl<C: Carrier> Carrier for InterruptibleCarrier<'_, C> {
    const ALTERS_NOTHING: bool = C::ALTERS_NOTHING;

    fn seat(&mut self, party: PartyId, station: Station) -> ClientId {
        self.carrier.seat(party, station)
    }

    fn subscribe(&mut self, client: ClientId, to: Recipient) {
        self.carrier.subscribe(client, to);
    }

    fn unsubscribe(&mut self, client: ClientId, to: Recipient) {
        self.carrier.unsubscribe(client, to);
    }

    fn publish(&mut self, from: ClientId, to: Recipient, message: MessageId, bytes: &[u8]) {
        self.carrier.publish(from, to, message, bytes);
    }

    fn wake_at(&mut self, time: Time, token: u64) {
        self.carrier.wake_at(time, token);
    }

    fn poll(&mut self) -> Result<Option<NetworkEvent>, String> {
        self.go_on()?;
        self.carrier.poll()
    }

    fn wait(&mut self) -> Result<Option<NetworkEvent>, String> {
        self.go_on()?;
        self.carrier.wait()
    }

    fn is_connected(&self, client: ClientId) -> bool {
        self.carrier.is_connected(client)
    }

    fn rest(&mut self, done: Time, time: Duration) -> Result<(), String> {
        self.go_on()?;
        self.carrier.rest(done, time)
    }

    fn settle(&mut self, done: Time, seed: u64) -> Result<(), String> {
        self.go_on()?;
        self.carrier.settle(done, seed)
    }

    fn carry_directly(&mut self, directly: bool) {
        self.carrier.carry_directly(directly);
    }

    fn note(&mut self, client: ClientId, meter: &Meter, has_key: bool) {
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
