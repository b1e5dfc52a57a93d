//! An insider puts messages of the join together, from all parts of recorded ones and from its own.

use alloc::vec;
use alloc::vec::Vec;

use groupkey::catalogue;

use super::*;
use crate::group_form::GroupForm;

/// Nobody takes anything but the answer to its own request.
#[test]
fn exchanged_parts_deceive_no_device() {
    let exchange = RecordedExchange::new(false);
    for place in 0..HONEST {
        assert_eq!(exchange.false_offers_taken(place), 0, "request {place}");
        assert!(exchange.false_welcomes_taken(place).is_empty(), "request {place}");
    }
}

/// The attack is loud enough: a thief of the shared secrets is the service for the one device that knows
/// no more of the service. A welcome is in the thief's own name all the same.
#[test]
fn a_thief_of_secrets_deceives_who_does_not_know_the_services_key() {
    let exchange = RecordedExchange::new(true);
    for place in 0..HONEST {
        let is_deceived = exchange.device(place).service.is_none();
        assert_eq!(exchange.false_offers_taken(place) > 0, is_deceived, "request {place}");
        let named = exchange.false_welcomes_taken(place);
        assert_eq!(!named.is_empty(), is_deceived, "request {place}");
        let insider = exchange.devices[INSIDER].identity.public();
        assert!(named.iter().all(|named| *named == insider), "request {place}");
    }
}

/// A request counts as it was made, or is the insider's own.
#[test]
fn exchanged_parts_make_no_request_of_another_device() {
    let exchange = RecordedExchange::new(false);
    let insider = &exchange.devices[INSIDER].identity;
    let recorded: Vec<_> = exchange.asked.iter().map(AskedDevice::request).collect();
    let secrets: Vec<_> = exchange.devices[..INSIDER].iter().flat_map(|d| &d.shared).collect();
    for made in &recorded {
        let is_insiders = *made.body.identity == insider.public();
        for proof in recorded.iter().map(|request| request.proof).chain([None]) {
            let parts = [&made.body_bytes[..], proof.as_ref().map_or(&[][..], |proof| proof)];
            let own = insider.sign(REQUEST, &parts);
            for signature in recorded.iter().map(|request| request.signature).chain([own]) {
                let request = JoinRequest { proof, signature, ..made.clone() };
                let is_as_made = (proof, signature) == (made.proof, made.signature);
                assert!(is_as_made || is_insiders || !request.is_signed());
                assert!(!is_insiders || secrets.iter().all(|secret| !request.proves(secret)));
            }
        }
    }
}

/// Three honest devices, each of which has asked twice, and an insider. It has asked for itself and with the
/// point of each of their requests, by its secret and by its identity alone. The service has answered all.
struct RecordedExchange {
    service: Secret,
    devices: [JoiningDevice; 5],
    asked: Vec<AskedDevice>,
    /// The shared secrets that the insider knows.
    stolen: Vec<Secret>,
}

/// A device with what it knows of the service: its key, a secret that both share, or both.
struct JoiningDevice {
    identity: Secret,
    shared: Option<Secret>,
    service: Option<[u8; 32]>,
}

struct AskedDevice {
    device: usize,
    waiting: WaitingRequest,
    offer: Offer,
    welcome: SealedWelcome,
}

/// The parts of a welcome as it is sent: ephemeral key, ciphertext, signature.
#[derive(Clone, PartialEq, Eq)]
struct SealedWelcome([u8; 32], Vec<u8>, [u8; 64]);

impl RecordedExchange {
    fn new(is_thief: bool) -> Self {
        let service = secret(1);
        let device = |number: u8, has_secret: bool, knows_service: bool| JoiningDevice {
            identity: secret(10 + number),
            shared: has_secret.then(|| secret(20 + number)),
            service: knows_service.then(|| service.public()),
        };
        let devices = [
            device(0, true, false),
            device(1, true, true),
            device(2, false, true),
            device(INSIDER as u8, true, true),
            device(INSIDER as u8, false, true),
        ];
        let honest = (0..HONEST).map(|place| (place / 2, place as u8));
        let insiders = [INSIDER, INSIDER + 1]
            .map(|device| (0..=HONEST).map(move |place| (device, place as u8)));
        let asked = honest.chain(insiders.into_iter().flatten()).enumerate().map(
            |(stamp, (device, exponent))| {
                AskedDevice::new(&service, (device, &devices[device]), exponent, stamp as u64)
            },
        );
        let asked = asked.collect();
        let secrets = devices.iter().enumerate().filter(|(place, _)| is_thief || *place == INSIDER);
        let stolen = secrets.filter_map(|(_, device)| device.shared.clone()).collect();
        Self { service, devices, asked, stolen }
    }

    fn device(&self, place: usize) -> &JoiningDevice {
        &self.devices[self.asked[place].device]
    }

    /// Returns how many offers a device takes that the service did not make for this request.
    fn false_offers_taken(&self, place: usize) -> usize {
        let (victim, device) = (&self.asked[place], self.device(place));
        let of = |asked: &AskedDevice| asked.offer.offered().expect("it has a place");
        let (genuine, other) = (of(victim), of(&self.asked[(place + 1) % HONEST]));
        let mut taken = 0;
        for offered in [
            Some(OfferedPlace { epoch: other.epoch, ..genuine }),
            Some(OfferedPlace { epoch: genuine.epoch + 100, ..genuine }),
            Some(OfferedPlace { active: genuine.active + 1, ..genuine }),
            Some(OfferedPlace { place: Place::new(7, &INSTANCE), ..genuine }),
            Some(OfferedPlace { resumptions: Some(0), ..genuine }),
            Some(OfferedPlace { stamp: genuine.stamp + 1, ..genuine }),
            Some(other),
            None,
        ] {
            let OfferedPlace { epoch, active, resumptions, stamp, .. } = offered.unwrap_or(genuine);
            let place = offered.map(|offered| offered.place);
            let content = content(offered.as_ref());
            let parts: [&[u8]; 2] = [&victim.waiting.hash, &content];
            let own = self.stolen.iter().map(|secret| proof(Some(secret), OFFER_PROOF, &parts));
            let proofs = self.asked.iter().map(|asked| asked.offer.proof.to_vec()).chain(own);
            let own = self.devices[INSIDER].identity.sign(OFFER, &parts);
            let signatures: Vec<_> =
                self.asked.iter().map(|asked| *asked.offer.signature).chain([own]).collect();
            for proof in proofs {
                for &signature in &signatures {
                    let (proof, signature) = (proof.clone().into(), signature.into());
                    let hash = victim.waiting.hash.into();
                    let offer = encoded(&Offer {
                        place,
                        epoch,
                        active,
                        resumptions,
                        stamp,
                        hash,
                        proof,
                        signature,
                    });
                    let (service, shared) = (device.service.as_ref(), device.shared.as_ref());
                    let offered = victim.waiting.offered(&offer, service, shared);
                    taken += usize::from(offered.is_some_and(|offered| offered != Offered::Forged));
                    assert_ne!(offered, Some(Offered::Place(genuine)));
                }
            }
        }
        taken
    }

    /// Returns whom the welcomes name that a device takes, and that do not answer this request.
    fn false_welcomes_taken(&self, place: usize) -> Vec<[u8; 32]> {
        let (victim, device) = (&self.asked[place], self.device(place));
        let insider = &self.devices[INSIDER].identity;
        let mut pool: Vec<_> = self.asked.iter().map(|asked| asked.welcome.clone()).collect();
        for shared in self.stolen.iter().map(Some).chain([None]) {
            for named in [self.service.public(), insider.public()] {
                let own = (insider, shared, OWN_EXPONENT);
                pool.push(SealedWelcome::new(&victim.request(), named, own));
            }
        }
        let mut named = Vec::new();
        for SealedWelcome(recorded, sealed, _) in &pool {
            for public in [*recorded, victim.welcome.0, point(OWN_EXPONENT), point(place as u8)] {
                let own = insider.sign(WELCOME, &[&victim.waiting.hash, &public, sealed]);
                for signature in pool.iter().map(|welcome| welcome.2).chain([own]) {
                    let welcome = SealedWelcome(public, sealed.clone(), signature);
                    let (service, shared) = (device.service.as_ref(), device.shared.as_ref());
                    let opened = victim.waiting.open(&welcome.bytes(), service, shared);
                    assert!(welcome != victim.welcome || opened.is_some());
                    if welcome != victim.welcome {
                        named.extend(opened.map(|opened| *opened.controllers[0].1));
                    }
                }
            }
        }
        named
    }
}

impl AskedDevice {
    fn new(
        service: &Secret,
        (number, device): (usize, &JoiningDevice),
        exponent: u8,
        stamp: u64,
    ) -> Self {
        let JoiningDevice { identity, shared, .. } = device;
        let shared = shared.as_ref();
        let credentials = JoinCredentials { prefix: "a", name: NAMES[number], identity, shared };
        let place = Place::new(number as u32, &INSTANCE);
        let wanted = stamp.is_multiple_of(2).then_some(place);
        let waiting = ask(credentials, [5; 8], &[exponent + 1; 32], stamp, wanted, false, None);
        let request = JoinRequest::read(&waiting.bytes).unwrap();
        let (epoch, active) = (10 + stamp, 9 + stamp);
        let offered = OfferedPlace { place, epoch, active, resumptions: None, stamp };
        let offer = request.offer(offered, service, shared);
        let own = (service, shared, 100 + stamp as u8);
        let welcome = SealedWelcome::new(&request, service.public(), own);
        Self { device: number, waiting, offer: decoded(&offer).unwrap(), welcome }
    }

    fn request(&self) -> JoinRequest {
        JoinRequest::read(&self.waiting.bytes).unwrap()
    }
}

impl SealedWelcome {
    /// Welcomes a device in the name of a service: signed by this party, with this secret and exponent.
    fn new(
        request: &JoinRequest,
        named: [u8; 32],
        (signer, shared, exponent): (&Secret, Option<&Secret>, u8),
    ) -> Self {
        let welcome = Welcome {
            member: 0,
            form: GroupForm::of(catalogue::scheme("skdc").unwrap()).write(),
            mac: None,
            controllers: vec![(0, named.into())],
            enrolment: Vec::new(),
            founded: 8,
            instance: INSTANCE.into(),
            epoch: 0,
            certificate: None,
        };
        let answer = request.answer(&welcome, signer, shared, &[exponent + 1; 32]).unwrap();
        let (public, sealed, signature): (ByteArray<32>, ByteVec, ByteArray<64>) =
            decoded(&answer).unwrap();
        Self(public.into(), sealed.into(), signature.into())
    }

    fn bytes(&self) -> Vec<u8> {
        let Self(public, sealed, signature) = self;
        let sealed = ByteVec::from(sealed.clone());
        encoded(&(ByteArray::from(*public), sealed, ByteArray::from(*signature)))
    }
}

fn secret(byte: u8) -> Secret {
    Secret::from_bytes([byte; 32])
}

/// The point of an exponent, which [`ask`] and [`SealedWelcome::new`] take.
fn point(exponent: u8) -> [u8; 32] {
    AgreementKey::from_bytes(&[exponent + 1; 32]).public()
}

const NAMES: [&str; 5] = ["alice", "bob", "carol", "insider", "insider"];

/// The insider with its secret; after it, the insider that the service knows by its identity.
const INSIDER: usize = 3;

/// How many of the requests are honest devices'. They have the exponents below this number.
const HONEST: usize = 6;

const OWN_EXPONENT: u8 = HONEST as u8;

const INSTANCE: [u8; 16] = [9; 16];
