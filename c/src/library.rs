//! The devices behind the handles.

#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr;

use groupkey::catalogue::{self, Class, Configuration, ParameterError, Profile, Scheme};
use groupkey::device::{Device as Inner, DeviceOutput, Keys};
#[cfg(feature = "messages")]
use groupkey::messages::MessageSettings;
use groupkey::protection::{Guard, PublicIdentity};
use groupkey::{Command, Epoch, GroupId, Instance, Key, MemberId, PartyId, Recipient, Suite};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::memory::POOL;
use crate::need::{self, Call, Need};
use crate::randomness::{self, OfThisCall};
use crate::types::{
    Address, Device, Event, EventKind, GROUPKEY_PROTECTION_BY_KEY, GROUPKEY_PROTECTION_MAC,
    GROUPKEY_PROTECTION_MERKLE, GROUPKEY_PROTECTION_SIGNATURE, Random,
};

/// All devices, and where their randomness comes from.
pub(crate) struct Library {
    random: Random,
    /// The address of the caller's context, which only the caller looks into.
    context: usize,
    slots: Vec<Slot>,
}

/// The schemes: all of the families that are linked, or the one that `GROUPKEY_SCHEME` named when the
/// library was built. The code of other schemes is then left out.
pub(crate) static SCHEMES: &[Scheme] = match option_env!("GROUPKEY_SCHEME") {
    Some(_) => &ONE,
    None => catalogue::SCHEMES,
};

static ONE: [Scheme; 1] = [*match option_env!("GROUPKEY_SCHEME") {
    Some(id) => catalogue::scheme(id).expect("GROUPKEY_SCHEME names a scheme of these features"),
    None => &catalogue::SCHEMES[0],
}];

/// No scheme has more parameters.
pub(crate) const MOST_PARAMETERS: usize = 4;

/// What a device is made of, once the caller's pointers have been followed.
pub(crate) struct Founding<'c> {
    pub(crate) scheme: &'c str,
    pub(crate) profile: &'c str,
    pub(crate) suite: &'c str,
    pub(crate) parameters: [Option<(&'c str, u32)>; MOST_PARAMETERS],
    pub(crate) most_members: usize,
    pub(crate) group: u64,
    pub(crate) instance: [u8; 16],
    pub(crate) mac_key: Option<&'c [u8; 32]>,
    pub(crate) signing_key: Option<&'c [u8; 32]>,
    pub(crate) public_keys: &'c [crate::types::PublicKey],
    pub(crate) protection: u32,
}

/// A place for a device. Its generation is part of the handle, so that the handle of a device that was
/// destroyed does not name its successor.
struct Slot {
    generation: u16,
    seat: Option<Box<Seat>>,
}

/// A device, and what waits for the caller.
struct Seat {
    device: Inner,
    need: Need,
    /// How many members the caller expects, at most.
    most_members: usize,
    /// How many members commands have named.
    named: usize,
    open: Option<(Recipient, Vec<u8>)>,
    confidential: Option<(Recipient, Zeroizing<Vec<u8>>)>,
    events: VecDeque<DeviceOutput>,
}

impl Library {
    pub(crate) fn new(random: Random, context: *mut c_void) -> Self {
        Self { random, context: context.expose_provenance(), slots: Vec::new() }
    }

    /// Returns whether no device exists.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.seat.is_none())
    }

    /// Makes the device of a party.
    pub(crate) fn found(&mut self, founding: &Founding<'_>, me: PartyId) -> Result<Device, Error> {
        let configuration = founding.configuration()?;
        let scheme = configuration.scheme();
        let class = scheme.class();
        let exists = match me {
            PartyId::Controller => class != Class::Distributed,
            PartyId::Member(_) => true,
            PartyId::SubgroupController(subgroup) => subgroup.0 < configuration.subgroups(),
        };
        if !exists {
            return Err(Error::NoSuchParty);
        }
        POOL.has(need::device(scheme, self.slots.len(), founding.public_keys.len()))?;
        let suite = Suite::named(founding.suite).ok_or(Error::UnknownSuite)?;
        let (guard, keys) = founding.keys()?;
        let (group, instance) = (GroupId(founding.group), Instance(founding.instance));
        let setting = configuration.setting(group, suite, guard, "", instance);
        let need = Need::of(&configuration, me);
        let device = Inner::new(configuration.party(me), me, setting, keys, OfThisCall);
        let device = match me {
            PartyId::Member(_) => device.remembering(),
            PartyId::Controller | PartyId::SubgroupController(_) => device,
        };
        #[cfg(feature = "messages")]
        let device = device.with_messages(MessageSettings::of_small_device());
        let seat = Seat {
            device,
            need,
            most_members: founding.most_members,
            named: 0,
            open: None,
            confidential: None,
            events: VecDeque::new(),
        };
        self.place(Box::new(seat))
    }

    /// Wipes a device.
    pub(crate) fn destroy(&mut self, device: Device) -> Result<(), Error> {
        let slot = self.slot(device)?;
        slot.seat = None;
        // The last generation is not used again: no handle ever names two devices.
        slot.generation = slot.generation.saturating_add(1);
        Ok(())
    }

    pub(crate) fn enroll(
        &mut self,
        device: Device,
        members: &[u32],
        now: u64,
    ) -> Result<(), Error> {
        self.change(device, &Call::Roster, members.len(), |inner| {
            inner.command(Command::Enroll(&numbered(members)), now)
        })
    }

    pub(crate) fn create(
        &mut self,
        device: Device,
        members: &[u32],
        now: u64,
    ) -> Result<(), Error> {
        self.change(device, &Call::Roster, members.len(), |inner| {
            inner.command(Command::Create(&numbered(members)), now)
        })
    }

    pub(crate) fn batch(
        &mut self,
        device: Device,
        joining: &[u32],
        leaving: &[u32],
        now: u64,
    ) -> Result<(), Error> {
        self.change(device, &Call::Roster, joining.len() + leaving.len(), |inner| {
            let (joining, leaving) = (&numbered(joining)[..], &numbered(leaving)[..]);
            inner.command(Command::Batch { joining, leaving }, now)
        })
    }

    /// Refuses all that a member says from now on.
    pub(crate) fn forget(&mut self, device: Device, member: u32) -> Result<(), Error> {
        Ok(self.seat(device)?.device.forget(MemberId(member).into())?)
    }

    /// Gives a command that names one member at most.
    pub(crate) fn command(
        &mut self,
        device: Device,
        command: Command<'_>,
        now: u64,
    ) -> Result<(), Error> {
        self.change(device, &Call::Change, 1, |inner| inner.command(command, now))
    }

    /// Gives a command that names so many members.
    fn change(
        &mut self,
        device: Device,
        call: &Call,
        named: usize,
        act: impl FnOnce(&mut Inner) -> Result<Vec<DeviceOutput>, groupkey::Error>,
    ) -> Result<(), Error> {
        let seat = self.seat(device)?;
        let named = seat.named.saturating_add(named);
        let need = seat.need.for_call(call, seat.most_members.max(named));
        self.step(device, need, |seat| {
            let happened = act(&mut seat.device)?;
            seat.named = named;
            Ok(happened)
        })
    }

    pub(crate) fn receive(&mut self, device: Device, bytes: &[u8], now: u64) -> Result<(), Error> {
        let seat = self.seat(device)?;
        let need = seat.need.for_call(&Call::Message(bytes.len()), seat.members());
        self.step(device, need, |seat| seat.device.receive(bytes, now))
    }

    pub(crate) fn receive_confidential(
        &mut self,
        device: Device,
        bytes: &[u8],
        now: u64,
    ) -> Result<(), Error> {
        let seat = self.seat(device)?;
        let need = seat.need.for_call(&Call::Message(bytes.len()), seat.members());
        self.step(device, need, |seat| seat.device.receive_confidential(bytes, now))
    }

    /// Returns a member's membership, encrypted under a key that the device alone has.
    pub(crate) fn membership(
        &mut self,
        device: Device,
        storage: &[u8; 16],
    ) -> Result<Vec<u8>, Error> {
        let seat = self.seat(device)?;
        POOL.has(seat.need.for_call(&Call::Message(0), seat.members()))?;
        Ok(self.seat(device)?.device.membership(&Key::from_bytes(*storage))?)
    }

    /// Resumes a membership that was kept.
    pub(crate) fn resume(
        &mut self,
        device: Device,
        storage: &[u8; 16],
        kept: &[u8],
        resumptions: u32,
        now: u64,
    ) -> Result<(), Error> {
        let seat = self.seat(device)?;
        let need = seat.need.for_call(&Call::Message(kept.len()), seat.members());
        let storage = Key::from_bytes(*storage);
        self.step(device, need, |seat| seat.device.resume(&storage, kept, resumptions, now))
    }

    /// Notes how often members have resumed.
    pub(crate) fn note_resumptions(&mut self, device: Device, count: u32) -> Result<(), Error> {
        self.seat(device)?.device.note_resumptions(count);
        Ok(())
    }

    pub(crate) fn send(&mut self, device: Device, content: &[u8], now: u64) -> Result<(), Error> {
        let seat = self.seat(device)?;
        let need = seat.need.for_call(&Call::Send(content.len()), seat.members());
        self.step(device, need, |seat| seat.device.send(content, now).map(|()| Vec::new()))
    }

    /// Looks at the next message for an open channel. [`Self::take_open`] removes it.
    pub(crate) fn open(&mut self, device: Device) -> Result<(Address, &[u8]), Error> {
        let seat = self.seat(device)?;
        if seat.open.is_none() {
            seat.open = seat.device.outgoing().next();
        }
        seat.open.as_ref().map(|(to, bytes)| ((*to).into(), &bytes[..])).ok_or(Error::Empty)
    }

    pub(crate) fn take_open(&mut self, device: Device) -> Result<(), Error> {
        self.seat(device)?.open = None;
        Ok(())
    }

    /// Looks at the next message for a confidential channel. [`Self::take_confidential`] removes it.
    pub(crate) fn confidential(&mut self, device: Device) -> Result<(Address, &[u8]), Error> {
        let seat = self.seat(device)?;
        if seat.confidential.is_none() {
            seat.confidential = seat.device.confidential().next();
        }
        seat.confidential.as_ref().map(|(to, bytes)| ((*to).into(), &bytes[..])).ok_or(Error::Empty)
    }

    pub(crate) fn take_confidential(&mut self, device: Device) -> Result<(), Error> {
        self.seat(device)?.confidential = None;
        Ok(())
    }

    /// Looks at the next event, and the content of its message. [`Self::take_event`] removes it.
    pub(crate) fn event(&mut self, device: Device) -> Result<(Event, &[u8]), Error> {
        let happened = self.seat(device)?.events.front().ok_or(Error::Empty)?;
        Ok(described(happened))
    }

    pub(crate) fn take_event(&mut self, device: Device) -> Result<(), Error> {
        self.seat(device)?.events.pop_front();
        Ok(())
    }

    pub(crate) fn group_key(&mut self, device: Device) -> Result<(Epoch, &Key), Error> {
        self.seat(device)?.device.group_key().ok_or(Error::NoGroupKey)
    }

    pub(crate) fn export(
        &mut self,
        device: Device,
        label: &str,
        context: &[u8],
        output: &mut [u8],
    ) -> Result<Epoch, Error> {
        let device = &self.seat(device)?.device;
        device.group_key().ok_or(Error::NoGroupKey)?;
        Ok(device.export(label, context, output)?)
    }

    /// Runs a step once memory and randomness for it are there.
    fn step(
        &mut self,
        device: Device,
        need: usize,
        act: impl FnOnce(&mut Seat) -> Result<Vec<DeviceOutput>, groupkey::Error>,
    ) -> Result<(), Error> {
        POOL.has(need)?;
        let (random, context) = (self.random, self.context);
        randomness::seed(|bytes| {
            let context = ptr::with_exposed_provenance_mut(context);
            random.is_some_and(|random| random(context, bytes.as_mut_ptr(), bytes.len()) == 0)
        })?;
        let seat = self.seat(device)?;
        let happened = act(seat)?;
        seat.events.extend(happened);
        Ok(())
    }

    fn place(&mut self, seat: Box<Seat>) -> Result<Device, Error> {
        let is_free = |slot: &Slot| slot.seat.is_none() && slot.generation < u16::MAX;
        let index = match self.slots.iter().position(is_free) {
            Some(index) => index,
            None => {
                self.slots.push(Slot { generation: 1, seat: None });
                self.slots.len() - 1
            }
        };
        let Ok(number) = u16::try_from(index) else { return Err(Error::HandlesUsedUp) };
        let slot = &mut self.slots[index];
        slot.seat = Some(seat);
        Ok(Device { id: u32::from(slot.generation) << 16 | u32::from(number) })
    }

    fn slot(&mut self, device: Device) -> Result<&mut Slot, Error> {
        let (generation, index) = ((device.id >> 16) as u16, device.id as u16);
        let slot = self.slots.get_mut(usize::from(index));
        slot.filter(|slot| slot.generation == generation && slot.seat.is_some())
            .ok_or(Error::NoSuchDevice)
    }

    fn seat(&mut self, device: Device) -> Result<&mut Seat, Error> {
        self.slot(device)?.seat.as_deref_mut().ok_or(Error::NoSuchDevice)
    }
}

impl Seat {
    fn members(&self) -> usize {
        self.most_members.max(self.named)
    }
}

impl Founding<'_> {
    fn configuration(&self) -> Result<Configuration, Error> {
        let profile = Profile::named(self.profile).ok_or(Error::UnknownProfile)?;
        let scheme = SCHEMES.iter().find(|scheme| scheme.id == self.scheme);
        let scheme = scheme.ok_or(Error::UnknownScheme)?;
        let mut configuration = scheme.configuration(profile);
        for (name, value) in self.parameters.into_iter().flatten() {
            configuration.set(name, value).map_err(|error| match error {
                ParameterError::OutOfRange { .. } => Error::ParameterOutOfRange,
                ParameterError::Unknown => Error::UnknownParameter,
            })?;
        }
        Ok(configuration)
    }

    fn keys(&self) -> Result<(Guard, Keys), Error> {
        let guard = match self.protection {
            GROUPKEY_PROTECTION_BY_KEY if self.signing_key.is_none() => Guard::Mac,
            GROUPKEY_PROTECTION_BY_KEY | GROUPKEY_PROTECTION_SIGNATURE => Guard::Signature,
            GROUPKEY_PROTECTION_MAC => Guard::Mac,
            GROUPKEY_PROTECTION_MERKLE => Guard::Merkle,
            _ => return Err(Error::OneKeyNeeded),
        };
        match (guard, self.mac_key, self.signing_key) {
            (Guard::Mac, Some(key), None) => Ok((guard, Keys::mac(*key))),
            (Guard::Merkle | Guard::Signature, None, Some(secret)) => {
                let mut directory = BTreeMap::new();
                for public in self.public_keys {
                    directory.insert(public.party.party()?, public_identity(&public.key)?);
                }
                Ok((guard, signing(guard, secret, directory)?))
            }
            _ => Err(Error::OneKeyNeeded),
        }
    }
}

#[cfg(feature = "signatures")]
fn signing(
    guard: Guard,
    secret: &[u8; 32],
    directory: BTreeMap<PartyId, PublicIdentity>,
) -> Result<Keys, Error> {
    let identity = groupkey::protection::Identity::from_secret(secret);
    Ok(match guard {
        Guard::Merkle => Keys::Merkle { identity, directory },
        _ => Keys::Signature { identity, directory },
    })
}

#[cfg(not(feature = "signatures"))]
fn signing(_: Guard, _: &[u8; 32], _: BTreeMap<PartyId, PublicIdentity>) -> Result<Keys, Error> {
    Err(Error::BadPublicKey)
}

#[cfg(feature = "signatures")]
fn public_identity(bytes: &[u8; 32]) -> Result<PublicIdentity, Error> {
    PublicIdentity::from_bytes(bytes).ok_or(Error::BadPublicKey)
}

#[cfg(not(feature = "signatures"))]
fn public_identity(_: &[u8; 32]) -> Result<PublicIdentity, Error> {
    Err(Error::BadPublicKey)
}

/// Returns the public key of a signing key.
#[cfg(feature = "signatures")]
pub(crate) fn public_key(secret: &[u8; 32]) -> Result<[u8; 32], Error> {
    Ok(groupkey::protection::Identity::from_secret(secret)
        .public()
        .to_ed25519_bytes()
        .expect("it is of Ed25519"))
}

#[cfg(not(feature = "signatures"))]
pub(crate) fn public_key(_: &[u8; 32]) -> Result<[u8; 32], Error> {
    Err(Error::NoIdentity)
}

fn numbered(members: &[u32]) -> Vec<MemberId> {
    members.iter().copied().map(MemberId).collect()
}

fn described(happened: &DeviceOutput) -> (Event, &[u8]) {
    let event = match *happened {
        DeviceOutput::Message(ref message) => {
            let event = Event {
                epoch: message.epoch.0,
                sender: message.sender.0,
                length: message.content.len(),
                ..Event::of(EventKind::Message)
            };
            return (event, &message.content);
        }
        DeviceOutput::Event(groupkey::Event::Rekeyed(epoch)) => {
            Event { epoch: epoch.0, ..Event::of(EventKind::Rekeyed) }
        }
        DeviceOutput::Event(groupkey::Event::Removed) => Event::of(EventKind::Removed),
        DeviceOutput::Event(groupkey::Event::Subscribed(subset)) => {
            Event { subset: subset.0, ..Event::of(EventKind::Subscribed) }
        }
        DeviceOutput::Event(groupkey::Event::Unsubscribed(subset)) => {
            Event { subset: subset.0, ..Event::of(EventKind::Unsubscribed) }
        }
        DeviceOutput::Event(groupkey::Event::MessageKey) => Event::of(EventKind::MessageKey),
        DeviceOutput::Event(_) => Event::of(EventKind::Other),
    };
    (event, &[])
}
