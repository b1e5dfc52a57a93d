//! The saved state of a controller: bytes from which a controller of the same configuration
//! continues as if nothing had happened.
//!
//! The state is saved, and not its history: what it takes is bounded by the size of the group, and
//! a key that was replaced is in no later state. It contains the present keys, so its bytes are
//! wiped when they are dropped.
//!
//! Form: a sequence of canonical CBOR items. First come the version of this form, the scheme's id,
//! the profile (0 published, 1 sound), the number of parameters and their values, and the party's
//! number as on the wire, but without a sign. The fields of the party follow, in the order in which
//! its scheme lists them. What follows from the configuration is not saved, and neither are indices
//! and shapes that follow from the rest. A key of zeros stands for no key and takes one byte.
//!
//! A value is `Saved`: it is written and read as a whole. A `PartyState` has parts that follow from
//! the configuration, such as the degree of a tree. It is restored into a new party of that
//! configuration. The macros `saved!` and `state!` implement these for structs.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;

use minicbor::Encoder;
use minicbor::encode::Write;
use zeroize::Zeroize;

use crate::catching_up::Nonce;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::party::Party;
use crate::scheme::Configuration;
use crate::secret::{Key, List};
use crate::wire::{Reader, infallible};

/// The version of the saved form. It changes with every change of any scheme's fields.
pub(crate) const VERSION: u8 = 1;

/// A party's saved state. It contains keys: keep it as you would keep these, authenticated and
/// encrypted. It is wiped when it is dropped.
#[derive(Default)]
pub struct SavedState(Vec<u8>);

impl SavedState {
    /// Saves a party of this configuration.
    ///
    /// # Errors
    ///
    /// [`Unsupported::SavedState`] if the party has no saved form.
    pub fn of(
        configuration: &Configuration,
        id: PartyId,
        party: &dyn Party,
    ) -> Result<Self, Error> {
        let mut saved = Self::head(configuration, id);
        party.state().ok_or(Unsupported::SavedState)?.save_state(&mut saved);
        Ok(saved)
    }

    fn head(configuration: &Configuration, party: PartyId) -> Self {
        let mut state = Self::default();
        state.number(u64::from(VERSION));
        state.bytes(configuration.scheme().id.as_bytes());
        state.number(u64::from(!configuration.profile().is_published()));
        state.array(configuration.values().len());
        configuration.values().iter().for_each(|&value| state.number(u64::from(value)));
        party.save(&mut state);
        state
    }

    /// Takes over bytes that [`Self::as_bytes`] returned. They are checked when a party is restored.
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes. The caller is responsible for wiping copies.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Appends an unsigned number, which [`Reader::number`] reads.
    pub fn number(&mut self, value: u64) {
        infallible(Encoder::new(self).u64(value));
    }

    /// Appends the head of an array, which [`Reader::array`] reads. The caller appends the items.
    pub fn array(&mut self, length: usize) {
        infallible(Encoder::new(self).array(length as u64));
    }

    /// Appends a byte string, which [`Reader::bytes`] reads.
    pub fn bytes(&mut self, bytes: &[u8]) {
        infallible(Encoder::new(self).bytes(bytes));
    }
}

impl Write for SavedState {
    type Error = Infallible;

    /// Appends bytes. A vector that grows by itself would leave a copy of what it held.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            let mut larger = Vec::with_capacity(needed.max(2 * self.0.len()));
            larger.extend_from_slice(&self.0);
            core::mem::replace(&mut self.0, larger).zeroize();
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

impl Drop for SavedState {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Prints the length only: the state contains keys.
impl fmt::Debug for SavedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedState").field("bytes", &self.0.len()).finish()
    }
}

impl Configuration {
    /// Restores the controller whose state was saved. The state must be of this version, scheme,
    /// profile and of the same values of all parameters, and nothing may follow it. The suite is
    /// not part of a configuration: the caller continues with the same one.
    ///
    /// The form is checked, and whether the parts fit together. That the state is this group's and
    /// the latest is for the caller to know, who keeps it authenticated.
    ///
    /// # Errors
    ///
    /// [`Misuse::ForeignState`] if the state is of another version, configuration or party,
    /// [`Misuse::MalformedState`] if it is not whole. [`Misuse::WrongRole`] if the scheme has no
    /// controller.
    pub fn restore_controller(&self, state: &[u8]) -> Result<Box<dyn Party>, Error> {
        let controller = self.controller().ok_or(Misuse::WrongRole)?;
        self.restore(PartyId::Controller, controller, state)
    }

    /// Restores a subgroup's controller as [`Self::restore_controller`] does the controller.
    ///
    /// # Errors
    ///
    /// The same, and [`Misuse::WrongRole`] if there is no subgroup of this number.
    pub fn restore_subgroup_controller(
        &self,
        subgroup: SubgroupId,
        state: &[u8],
    ) -> Result<Box<dyn Party>, Error> {
        if subgroup.0 >= self.subgroups() {
            return Err(Misuse::WrongRole.into());
        }
        self.restore(subgroup.into(), self.party(subgroup.into()), state)
    }

    fn restore(
        &self,
        id: PartyId,
        mut party: Box<dyn Party>,
        state: &[u8],
    ) -> Result<Box<dyn Party>, Error> {
        let head = SavedState::head(self, id);
        let rest = state.strip_prefix(head.as_bytes()).ok_or(Misuse::ForeignState)?;
        let mut reader = Reader::new(rest);
        let fresh = party.state_mut().ok_or(Unsupported::SavedState)?;
        let restored = fresh.restore_state(&mut reader).and_then(|()| reader.finish());
        match restored {
            Ok(()) => Ok(party),
            Err(Error::Misbehaved(_)) => Err(Misuse::MalformedState.into()),
            Err(error) => Err(error),
        }
    }
}

/// A value that is saved and restored as a whole.
pub(crate) trait Saved: Sized {
    /// Appends the value.
    fn save(&self, state: &mut SavedState);

    /// Reads what [`Self::save`] wrote. Refuses any other form of the same value.
    fn restore(state: &mut Reader<'_>) -> Result<Self, Error>;
}

/// The part of a party that does not follow from its configuration.
pub trait PartyState {
    /// Appends the state.
    fn save_state(&self, state: &mut SavedState);

    /// Replaces the state of a new party, or of a part of it. An error may leave it half replaced.
    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error>;
}

/// Makes a struct of these fields [`Saved`], or an enum of these variants without fields.
macro_rules! saved {
    ($type:ident: $($variant:ident),+) => {
        impl $crate::saved_state::Saved for $type {
            fn save(&self, state: &mut $crate::saved_state::SavedState) {
                let all = [$(Self::$variant),+];
                let place = all.iter().position(|variant| variant == self).unwrap_or_default();
                state.number(place as u64);
            }

            fn restore(
                state: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::Error> {
                let mut all = [$(Self::$variant),+].into_iter();
                let place = usize::try_from(state.number()?).unwrap_or(usize::MAX);
                all.nth(place).ok_or_else(|| $crate::error::Misbehaviour::Malformed.into())
            }
        }
    };
    ($type:ty { $($field:tt),+ }) => {
        impl $crate::saved_state::Saved for $type {
            fn save(&self, state: &mut $crate::saved_state::SavedState) {
                $($crate::saved_state::Saved::save(&self.$field, state);)+
            }

            fn restore(
                state: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::Error> {
                Ok(Self { $($field: $crate::saved_state::Saved::restore(state)?),+ })
            }
        }
    };
}

/// Makes a struct a [`PartyState`] of these fields. The others follow from the configuration. The
/// method after `if` says whether the restored fields fit together.
macro_rules! state {
    ([$($generics:tt)+] $($rest:tt)+) => {
        $crate::saved_state::state!(@ [<$($generics)+>] $($rest)+);
    };
    (@ [$($generics:tt)*] $type:ty { $($field:ident),* } $(if $fits:ident)?) => {
        impl $($generics)* $crate::saved_state::PartyState for $type {
            fn save_state(&self, state: &mut $crate::saved_state::SavedState) {
                let _ = &state;
                $($crate::saved_state::PartyState::save_state(&self.$field, state);)*
            }

            fn restore_state(
                &mut self,
                state: &mut $crate::wire::Reader<'_>,
            ) -> Result<(), $crate::error::Error> {
                let _ = &state;
                $($crate::saved_state::PartyState::restore_state(&mut self.$field, state)?;)*
                $($crate::saved_state::require(self.$fits())?;)?
                Ok(())
            }
        }
    };
    ($($rest:tt)+) => {
        $crate::saved_state::state!(@ [] $($rest)+);
    };
}

/// In an `impl Party`: the party itself is the [`PartyState`] that is saved.
macro_rules! party_state {
    () => {
        fn state(&self) -> Option<&dyn $crate::saved_state::PartyState> {
            Some(self)
        }

        fn state_mut(&mut self) -> Option<&mut dyn $crate::saved_state::PartyState> {
            Some(self)
        }
    };
}

pub(crate) use {party_state, saved, state};

/// Refuses a state whose parts do not fit together.
pub(crate) fn require(fits: bool) -> Result<(), Error> {
    if fits { Ok(()) } else { Err(Misbehaviour::Malformed.into()) }
}

impl<T: Saved> PartyState for T {
    fn save_state(&self, state: &mut SavedState) {
        self.save(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        *self = T::restore(state)?;
        Ok(())
    }
}

impl Saved for u64 {
    fn save(&self, state: &mut SavedState) {
        state.number(*self);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        state.number()
    }
}

impl Saved for u32 {
    fn save(&self, state: &mut SavedState) {
        state.number(u64::from(*self));
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        state.number32()
    }
}

impl Saved for u16 {
    fn save(&self, state: &mut SavedState) {
        state.number(u64::from(*self));
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        Self::try_from(state.number()?).map_err(|_| Misbehaviour::Malformed.into())
    }
}

impl Saved for bool {
    fn save(&self, state: &mut SavedState) {
        state.number(u64::from(*self));
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        match state.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Misbehaviour::Malformed.into()),
        }
    }
}

saved!(Epoch { 0 });
saved!(MemberId { 0 });

/// The number on the wire, with the sign in the lowest bit: 0, -1, 1, -2, 2.
impl Saved for PartyId {
    fn save(&self, state: &mut SavedState) {
        let number = self.number();
        state.number((number << 1 ^ number >> 63) as u64);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let number = state.number()?;
        let signed = (number >> 1) as i64 ^ -((number & 1) as i64);
        Self::from_number(signed).ok_or_else(|| Misbehaviour::Malformed.into())
    }
}

impl Saved for Nonce {
    fn save(&self, state: &mut SavedState) {
        state.bytes(&self.0);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        state.bytes()?.try_into().map(Self).map_err(|_| Misbehaviour::Malformed.into())
    }
}

impl Saved for Key {
    fn save(&self, state: &mut SavedState) {
        let bytes: &[u8] = if *self == Self::default() { &[] } else { self.as_bytes() };
        state.bytes(bytes);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let mut key = Self::default();
        match state.bytes()? {
            [] => {}
            bytes if bytes.len() == Self::BYTES => {
                key.as_bytes_mut().copy_from_slice(bytes);
                require(key != Self::default())?;
            }
            _ => return Err(Misbehaviour::Malformed.into()),
        }
        Ok(key)
    }
}

impl<T: Saved> Saved for Option<T> {
    fn save(&self, state: &mut SavedState) {
        self.is_some().save(state);
        if let Some(value) = self {
            value.save(state);
        }
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        if bool::restore(state)? { T::restore(state).map(Some) } else { Ok(None) }
    }
}

impl<T: Saved, const LENGTH: usize> Saved for [T; LENGTH] {
    fn save(&self, state: &mut SavedState) {
        self.iter().for_each(|value| value.save(state));
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let mut values = [const { None }; LENGTH];
        for value in &mut values {
            *value = Some(T::restore(state)?);
        }
        Ok(values.map(|value| value.expect("each was read")))
    }
}

impl<T: Saved, U: Saved> Saved for (T, U) {
    fn save(&self, state: &mut SavedState) {
        self.0.save(state);
        self.1.save(state);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        Ok((T::restore(state)?, U::restore(state)?))
    }
}

/// Bytes, in one string. No other list of `u8` is saved.
impl Saved for Vec<u8> {
    fn save(&self, state: &mut SavedState) {
        state.bytes(self);
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(state.bytes()?.into())
    }
}

impl<T: Saved> Saved for Vec<T> {
    fn save(&self, state: &mut SavedState) {
        state.array(self.len());
        self.iter().for_each(|value| value.save(state));
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let length = length(state)?;
        let mut values = Self::with_capacity(length);
        for _ in 0..length {
            values.push(T::restore(state)?);
        }
        Ok(values)
    }
}

impl<T: Saved + Clone> Saved for List<T> {
    fn save(&self, state: &mut SavedState) {
        state.array(self.len());
        self.iter().for_each(|value| value.save(state));
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let length = length(state)?;
        let mut values = Self::with_capacity(length);
        for _ in 0..length {
            values.push(T::restore(state)?);
        }
        Ok(values)
    }
}

/// In ascending order.
impl<K: Saved + Ord, V: Saved> Saved for BTreeMap<K, V> {
    fn save(&self, state: &mut SavedState) {
        state.array(self.len());
        for (key, value) in self {
            key.save(state);
            value.save(state);
        }
    }

    fn restore(state: &mut Reader<'_>) -> Result<Self, Error> {
        let mut map = Self::new();
        for _ in 0..length(state)? {
            let key = K::restore(state)?;
            require(map.last_key_value().is_none_or(|(last, _)| *last < key))?;
            map.insert(key, V::restore(state)?);
        }
        Ok(map)
    }
}

/// Reads the length of a list. Each value takes a byte at least, so no room is made for more values
/// than can follow.
pub(crate) fn length(state: &mut Reader<'_>) -> Result<usize, Error> {
    let length = usize::try_from(state.array()?).unwrap_or(usize::MAX);
    require(length <= state.remaining())?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use core::fmt::Debug;

    use alloc::vec;

    use super::*;
    use crate::catalogue::{self, Profile};

    fn there_and_back<T: Saved + PartialEq + Debug>(value: &T) {
        let mut state = SavedState::default();
        value.save(&mut state);
        let mut reader = Reader::new(state.as_bytes());
        assert_eq!(T::restore(&mut reader).as_ref(), Ok(value));
        assert_eq!(reader.finish(), Ok(()));
        for length in 0..state.as_bytes().len() {
            let mut reader = Reader::new(&state.as_bytes()[..length]);
            assert!(T::restore(&mut reader).is_err(), "{value:?} is cut off");
        }
    }

    #[test]
    fn values_come_back() {
        there_and_back(&[0, 1, 23, 24, u64::MAX]);
        there_and_back(&vec![(true, 7_u16), (false, u16::MAX)]);
        there_and_back(&vec![1_u8, 2, 3]);
        there_and_back(&vec![Some(Key::from_bytes([7; 16])), None, Some(Key::default())]);
        there_and_back(&BTreeMap::from([(MemberId(3), Epoch(1)), (MemberId(4), Epoch(0))]));
        let parties = [
            PartyId::Controller,
            MemberId(0).into(),
            MemberId(u32::MAX).into(),
            SubgroupId(0).into(),
            SubgroupId(u32::MAX).into(),
        ];
        there_and_back(&parties);
    }

    fn refused<T: Saved>(bytes: &[u8]) -> bool {
        let mut reader = Reader::new(bytes);
        T::restore(&mut reader).and_then(|_| reader.finish()).is_err()
    }

    #[test]
    fn every_value_has_one_form() {
        let zeros = [&[0x50][..], &[0; 16]].concat();
        assert!(refused::<Key>(&zeros) && !refused::<Key>(&[0x40]) && refused::<Key>(&[0x41, 1]));
        assert!(refused::<bool>(&[2]) && refused::<u16>(&[0x1a, 0, 1, 0, 0]));
        assert!(refused::<u32>(&[0x18, 1]));
        let descending = [0x82, 2, 0, 1, 0];
        assert!(refused::<BTreeMap<u32, u32>>(&descending));
        assert!(refused::<BTreeMap<u32, u32>>(&[0x82, 1, 0, 1, 0]));
        // More values than bytes: no room is made for them.
        assert!(refused::<Vec<u64>>(&[0x9b, 255, 255, 255, 255, 255, 255, 255, 255]));
    }

    #[test]
    fn it_does_not_show_its_bytes() {
        let state = SavedState::from_bytes(vec![7; 5]);
        assert_eq!(alloc::format!("{state:?}"), "SavedState { bytes: 5 }");
    }

    #[test]
    fn other_configurations_and_parties_are_refused() {
        let lkh = catalogue::scheme("lkh-group").unwrap().configuration(Profile::Sound);
        let controller = lkh.controller().unwrap();
        let state = SavedState::of(&lkh, PartyId::Controller, &*controller).unwrap();
        assert!(lkh.restore_controller(state.as_bytes()).is_ok());
        let foreign = |configuration: &Configuration, bytes: &[u8]| {
            let error = configuration.restore_controller(bytes).err();
            assert_eq!(error, Some(Misuse::ForeignState.into()));
        };
        foreign(&lkh.scheme().configuration(Profile::Published), state.as_bytes());
        let mut wider = lkh.clone();
        wider.set("degree", 5).unwrap();
        foreign(&wider, state.as_bytes());
        foreign(
            &catalogue::scheme("lkh-user").unwrap().configuration(Profile::Sound),
            state.as_bytes(),
        );
        let mut later = state.as_bytes().to_vec();
        later[0] += 1;
        foreign(&lkh, &later);
        foreign(&lkh, &[]);
        let longer = [state.as_bytes(), &[0]].concat();
        let malformed = Some(Error::Misuse(Misuse::MalformedState));
        assert_eq!(lkh.restore_controller(&longer).err(), malformed);
        let wrong_role = Some(Error::Misuse(Misuse::WrongRole));
        let subgroup = lkh.restore_subgroup_controller(SubgroupId(0), state.as_bytes());
        assert_eq!(subgroup.err(), wrong_role);
        let member = SavedState::of(&lkh, PartyId::Controller, &*lkh.member(MemberId(1)));
        assert_eq!(member.err(), Some(Unsupported::SavedState.into()));
    }
}
