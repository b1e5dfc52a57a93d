//! The functions of the header. Each turns the caller's pointers into slices, and calls the library.

#![expect(clippy::missing_safety_doc, reason = "the header says once what pointers must be")]

use core::ffi::{CStr, c_char, c_void};
use core::{ptr, slice};

use groupkey::exporter::LONGEST_EXPORT;
use groupkey::{Command, MemberId, PartyId, SubgroupId};

use crate::error::{self, Error};
use crate::library::{self, Founding, Library, MOST_PARAMETERS, SCHEMES};
use crate::memory::{Exclusive, POOL};
use crate::need;
use crate::panics;
use crate::randomness;
use crate::types::{Address, Device, Event, Fatal, MemoryUse, Random, Settings};

/// Hands over a pool, from which all memory of the library comes. It is the library's until
/// `groupkey_finish`.
///
/// `random` fills a buffer with random bytes. `context` is for it alone. `fatal` is called if the
/// library cannot continue: if it panics (without the feature `std`), or if the pool ends in the middle
/// of a call. If it is null or returns, `abort` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_init(
    pool: *mut c_void,
    size: usize,
    random: Random,
    context: *mut c_void,
    fatal: Fatal,
) -> Error {
    let entered = STATE.enter(|state| {
        if state.is_some() {
            return Err(Error::AlreadyInitialised);
        }
        let memory = ptr::NonNull::new(pool.cast::<u8>()).ok_or(Error::BadPointer)?;
        if random.is_none() || isize::try_from(size).is_err() {
            return Err(Error::BadPointer);
        }
        // SAFETY: the caller hands the memory over, and this is the one call that is running.
        unsafe { POOL.open(ptr::NonNull::slice_from_raw_parts(memory, size), fatal) };
        if let Err(error) = POOL.has(need::LIBRARY) {
            POOL.close()?;
            return Err(error);
        }
        panics::silence();
        *state = Some(State { library: Library::new(random, context), panicked: false });
        Ok(())
    });
    code(entered)
}

/// Gives the pool back to the caller. All devices must be destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_finish() -> Error {
    let entered = STATE.enter(|state| {
        let present = state.as_ref().ok_or(Error::NotInitialised)?;
        if !present.library.is_empty() && !present.panicked {
            return Err(Error::DevicesLeft);
        }
        *state = None;
        POOL.close()
    });
    code(entered)
}

/// Makes a controller of a centralized or hybrid scheme.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_controller(
    settings: *const Settings,
    device: *mut Device,
) -> Error {
    // SAFETY: the caller's pointers, as this function's caller promises.
    unsafe { found(settings, PartyId::Controller, device) }
}

/// Makes a member.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_member(
    settings: *const Settings,
    number: u32,
    device: *mut Device,
) -> Error {
    // SAFETY: the caller's pointers, as this function's caller promises.
    unsafe { found(settings, MemberId(number).into(), device) }
}

/// Makes the controller of a subgroup of a hybrid scheme.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_subgroup_controller(
    settings: *const Settings,
    number: u32,
    device: *mut Device,
) -> Error {
    // SAFETY: the caller's pointers, as this function's caller promises.
    unsafe { found(settings, SubgroupId(number).into(), device) }
}

/// Wipes a device and gives its memory back to the pool. Its handle is refused from now on.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_destroy(device: Device) -> Error {
    enter(|library| library.destroy(device))
}

/// Deployment phase, at the controller: gives each of these members an individual key.
/// `groupkey_next_confidential` fetches the messages. `now` is the time in ns since an origin of the
/// caller's choice. It must not go back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_enroll(
    device: Device,
    members: *const u32,
    count: usize,
    now: u64,
) -> Error {
    // SAFETY: the caller promises `count` numbers.
    let members = unsafe { list(members, count) };
    enter(|library| library.enroll(device, members?, now))
}

/// Makes a group of these members, at least two.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_create(
    device: Device,
    members: *const u32,
    count: usize,
    now: u64,
) -> Error {
    // SAFETY: the caller promises `count` numbers.
    let members = unsafe { list(members, count) };
    enter(|library| library.create(device, members?, now))
}

/// Adds members and evicts others, all in one change of the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_batch(
    device: Device,
    joining: *const u32,
    joining_count: usize,
    leaving: *const u32,
    leaving_count: usize,
    now: u64,
) -> Error {
    // SAFETY: the caller promises so many numbers.
    let (joining, leaving) =
        unsafe { (list(joining, joining_count), list(leaving, leaving_count)) };
    enter(|library| library.batch(device, joining?, leaving?, now))
}

/// Adds a member to the group.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_add(device: Device, member: u32, now: u64) -> Error {
    enter(|library| library.command(device, Command::Add(MemberId(member)), now))
}

/// Evicts a member from the group.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_remove(device: Device, member: u32, now: u64) -> Error {
    enter(|library| library.command(device, Command::Remove(MemberId(member)), now))
}

/// Changes the key though nobody joins or leaves.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_rekey(device: Device, now: u64) -> Error {
    enter(|library| library.command(device, Command::Rekey, now))
}

/// Asks for changes that a member missed, after the error `SKIPPED_EPOCH`.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_catch_up(device: Device, now: u64) -> Error {
    enter(|library| library.command(device, Command::CatchUp, now))
}

/// Refuses all that a member says from now on. In a distributed scheme, call it at all devices when a
/// member is evicted, and before a device joins or catches up.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_forget(device: Device, member: u32) -> Error {
    enter(|library| library.forget(device, member))
}

/// Takes a message as it came over the transport. `groupkey_next_event` says what happened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_receive(
    device: Device,
    message: *const u8,
    length: usize,
    now: u64,
) -> Error {
    // SAFETY: the caller promises `length` bytes.
    let message = unsafe { list(message, length) };
    enter(|library| library.receive(device, message?, now))
}

/// Takes a message that came over the confidential channel of the deployment phase.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_receive_confidential(
    device: Device,
    message: *const u8,
    length: usize,
    now: u64,
) -> Error {
    // SAFETY: the caller promises `length` bytes.
    let message = unsafe { list(message, length) };
    enter(|library| library.receive_confidential(device, message?, now))
}

/// Copies a member's membership, to be kept where a restart finds it. It has the member's individual key,
/// and not the group key, and is encrypted under `storage_key`: 16 bytes that this device alone has, for
/// nothing else. It changes when the member gets another individual key, and never else.
///
/// Returns `NOT_CREATED` if the member has no individual key yet, and `BUFFER_TOO_SMALL` if the buffer is
/// too short. Then and on success, `length` is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_membership(
    device: Device,
    storage_key: *const u8,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Error {
    enter(|library| {
        // SAFETY: the caller's pointers, as this function's caller promises.
        unsafe {
            let storage_key = array::<16>(storage_key).ok_or(Error::BadPointer)?;
            check(length)?;
            let kept = library.membership(device, storage_key)?;
            put(length, kept.len())?;
            copy(&kept, buffer, capacity)
        }
    })
}

/// After a restart: gives a new member the membership that was kept. The group's key stays.
/// `groupkey_next_outgoing` fetches the request for the key; `groupkey_catch_up` repeats it. Until the
/// answer comes, the member takes nothing else.
///
/// The member does not know which messages it has heard. So whoever operates the group counts
/// resumptions, and tells all members (`groupkey_note_resumptions`). `resumptions` is the number of this
/// one, from 1: the member then refuses recordings of earlier messages. With 0 it takes each once more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_resume(
    device: Device,
    storage_key: *const u8,
    kept: *const u8,
    length: usize,
    resumptions: u32,
    now: u64,
) -> Error {
    // SAFETY: the caller promises 16 bytes, and `length` bytes.
    let (storage_key, kept) = unsafe { (array::<16>(storage_key), list(kept, length)) };
    enter(|library| {
        let storage_key = storage_key.ok_or(Error::BadPointer)?;
        library.resume(device, storage_key, kept?, resumptions, now)
    })
}

/// Tells a member how often members of the group have resumed. Its next message begins another session.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_note_resumptions(device: Device, count: u32) -> Error {
    enter(|library| library.note_resumptions(device, count))
}

/// Encrypts at most 65,535 bytes to the group (65,459 with signatures). `groupkey_next_outgoing`
/// fetches the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_send(
    device: Device,
    content: *const u8,
    length: usize,
    now: u64,
) -> Error {
    // SAFETY: the caller promises `length` bytes.
    let content = unsafe { list(content, length) };
    enter(|library| library.send(device, content?, now))
}

/// Fetches the oldest message to transmit, and where it goes. Takes no memory of the pool.
///
/// Returns `EMPTY` if there is none, and `BUFFER_TOO_SMALL` if the buffer is too short: the message then
/// remains. In both cases and on success, `length` is set (`EMPTY`: 0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_next_outgoing(
    device: Device,
    to: *mut Address,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Error {
    enter(|library| {
        let next = library.open(device);
        // SAFETY: the caller's pointers, as this function's caller promises.
        unsafe { hand_out(next, to, buffer, capacity, length)? };
        library.take_open(device)
    })
}

/// As `groupkey_next_outgoing`, for messages that need a confidential and authentic channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_next_confidential(
    device: Device,
    to: *mut Address,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Error {
    enter(|library| {
        let next = library.confidential(device);
        // SAFETY: the caller's pointers, as this function's caller promises.
        unsafe { hand_out(next, to, buffer, capacity, length)? };
        library.take_confidential(device)
    })
}

/// Fetches the oldest event. The content of a `MESSAGE` goes to the buffer, which may be null before
/// any other event. Takes no memory of the pool.
///
/// Returns `EMPTY` if there is none, and `BUFFER_TOO_SMALL` if the buffer is too short: `event` is then
/// set, and the event remains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_next_event(
    device: Device,
    event: *mut Event,
    buffer: *mut u8,
    capacity: usize,
) -> Error {
    enter(|library| {
        let (next, content) = library.event(device)?;
        // SAFETY: the caller's pointers, as this function's caller promises.
        unsafe {
            put(event, next)?;
            copy(content, buffer, capacity)?;
        }
        library.take_event(device)
    })
}

/// Copies the group key (16 bytes) and its epoch. Wipe the copy after use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_group_key(
    device: Device,
    key: *mut u8,
    epoch: *mut u64,
) -> Error {
    enter(|library| {
        let (current, bytes) = library.group_key(device)?;
        // SAFETY: the caller promises 16 bytes for the key, and a place for the epoch.
        unsafe {
            check(epoch)?;
            copy(bytes.as_bytes(), key, bytes.as_bytes().len())?;
            put(epoch, current.0)
        }
    })
}

/// Fills `output` with `length` bytes (at most 8,160) that follow from the group key, for another protocol,
/// and says which epoch it is. `label` is a text that states the purpose, and the context tells uses
/// of one label apart. All members of the epoch get the same bytes. Wipe them after use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_export(
    device: Device,
    label: *const c_char,
    context: *const u8,
    context_length: usize,
    output: *mut u8,
    length: usize,
    epoch: *mut u64,
) -> Error {
    enter(|library| {
        // SAFETY: the caller promises a text that ends with a zero, `context_length` bytes of context,
        // a place for the epoch, and place for `length` bytes, which are set before they are read.
        unsafe {
            check(epoch)?;
            check(output)?;
            if length > LONGEST_EXPORT {
                return Err(Error::MessageTooLong);
            }
            let label = text(label)?.ok_or(Error::BadPointer)?;
            let context = list(context, context_length)?;
            ptr::write_bytes(output, 0, length);
            let output = slice::from_raw_parts_mut(output, length);
            put(epoch, library.export(device, label, context, output)?.0)
        }
    })
}

/// Computes the public key (32 bytes) of a signing key (32 bytes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_public_key(signing_key: *const u8, public_key: *mut u8) -> Error {
    // SAFETY: the caller promises 32 bytes.
    let secret = unsafe { array::<32>(signing_key) };
    enter(|_| {
        let public = library::public_key(secret.ok_or(Error::BadPointer)?)?;
        // SAFETY: the caller promises 32 bytes.
        unsafe { copy(&public, public_key, public.len()) }
    })
}

/// Says how much memory of the pool is and was in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_memory(usage: *mut MemoryUse) -> Error {
    // SAFETY: the caller promises a place for it.
    enter(|_| unsafe { put(usage, POOL.usage()) })
}

/// Says what an error code means: one line of English, zero-terminated, which stays valid. May be
/// called at any time.
#[unsafe(no_mangle)]
pub extern "C" fn groupkey_error_text(error: i32) -> *const c_char {
    error::text(error).as_ptr()
}

/// Copies the id of a scheme that the library was built with, zero-terminated. The first has the index
/// 0. Returns `EMPTY` after the last one. May be called at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupkey_scheme(
    index: usize,
    buffer: *mut c_char,
    capacity: usize,
) -> Error {
    let Some(scheme) = SCHEMES.get(index) else { return Error::Empty };
    let (id, buffer) = (scheme.id.as_bytes(), buffer.cast::<u8>());
    if id.len() >= capacity {
        return Error::BufferTooSmall;
    }
    // SAFETY: the caller promises `capacity` bytes, and the id is shorter.
    unsafe {
        match copy(id, buffer, capacity) {
            Ok(()) => buffer.add(id.len()).write(0),
            Err(error) => return error,
        }
    }
    Error::None
}

static STATE: Exclusive<Option<State>> = Exclusive::new(None);

struct State {
    library: Library,
    /// Nothing is done any more with devices of which one panicked.
    panicked: bool,
}

/// Runs a call.
fn enter(act: impl FnOnce(&mut Library) -> Result<(), Error>) -> Error {
    let entered = STATE.enter(|state| {
        let State { library, panicked } = state.as_mut().ok_or(Error::NotInitialised)?;
        if *panicked {
            return Err(Error::Panicked);
        }
        let outcome = panics::catch(|| act(library));
        randomness::forget();
        *panicked = outcome == Err(Error::Panicked);
        outcome
    });
    code(entered)
}

fn code(entered: Option<Result<(), Error>>) -> Error {
    match entered {
        Some(Ok(())) => Error::None,
        Some(Err(error)) => error,
        None => Error::Busy,
    }
}

/// Makes a device for a party.
///
/// # Safety
///
/// As the header says of the functions that make devices.
unsafe fn found(settings: *const Settings, me: PartyId, device: *mut Device) -> Error {
    enter(|library| {
        // SAFETY: the caller promises settings, with all that they point to, and a place for the
        // handle.
        unsafe {
            check(device)?;
            check(settings)?;
            put(device, library.found(&founding(&*settings)?, me)?)
        }
    })
}

/// Follows the pointers of the settings.
///
/// # Safety
///
/// They must point to what the header says.
unsafe fn founding(settings: &Settings) -> Result<Founding<'_>, Error> {
    let &Settings { parameters, parameter_count, public_keys, public_key_count, .. } = settings;
    // SAFETY: as the caller promises.
    unsafe {
        let parameters = list(parameters, parameter_count)?;
        let mut values = [None; MOST_PARAMETERS];
        // No scheme has more.
        let mut places = values.iter_mut();
        for parameter in parameters {
            let name = text(parameter.name)?.ok_or(Error::BadPointer)?;
            *places.next().ok_or(Error::UnknownParameter)? = Some((name, parameter.value));
        }
        Ok(Founding {
            scheme: text(settings.scheme)?.ok_or(Error::BadPointer)?,
            profile: text(settings.profile)?.unwrap_or("sound"),
            suite: text(settings.suite)?.unwrap_or("standard"),
            parameters: values,
            most_members: settings.most_members as usize,
            group: settings.group,
            instance: settings.instance,
            mac_key: array(settings.mac_key),
            signing_key: array(settings.signing_key),
            public_keys: list(public_keys, public_key_count)?,
            protection: settings.protection,
        })
    }
}

/// Gives out a message, unless the buffer is too short.
///
/// # Safety
///
/// The pointers must be null, or have place for an address, for `capacity` bytes and for a length.
unsafe fn hand_out(
    next: Result<(Address, &[u8]), Error>,
    to: *mut Address,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    unsafe {
        check(to)?;
        put(length, next.map_or(0, |(_, bytes)| bytes.len()))?;
        let (address, bytes) = next?;
        copy(bytes, buffer, capacity)?;
        put(to, address)
    }
}

/// Returns the items at a pointer, which may be null if there are none.
///
/// # Safety
///
/// A pointer that is not null must have `count` items, which nobody changes during the call.
unsafe fn list<'c, T>(items: *const T, count: usize) -> Result<&'c [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    check(items)?;
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Error::BadPointer);
    }
    // SAFETY: the caller promises the items; pointer and length were checked.
    Ok(unsafe { slice::from_raw_parts(items, count) })
}

/// Returns the bytes at a pointer; `None` if it is null.
///
/// # Safety
///
/// A pointer that is not null must have so many bytes, which nobody changes during the call.
unsafe fn array<'c, const N: usize>(bytes: *const u8) -> Option<&'c [u8; N]> {
    // SAFETY: the caller promises the bytes, and they have no alignment.
    unsafe { bytes.cast::<[u8; N]>().as_ref() }
}

/// Returns a text; `None` if the pointer is null. A text that is not UTF-8 names nothing.
///
/// # Safety
///
/// A pointer that is not null must have a text that ends with a zero.
unsafe fn text<'c>(text: *const c_char) -> Result<Option<&'c str>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises the zero.
    Ok(Some(unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")))
}

/// Copies bytes to a buffer.
///
/// # Safety
///
/// A buffer that is not null must have place for `capacity` bytes.
unsafe fn copy(bytes: &[u8], buffer: *mut u8, capacity: usize) -> Result<(), Error> {
    if bytes.len() > capacity {
        return Err(Error::BufferTooSmall);
    }
    if bytes.is_empty() {
        return Ok(());
    }
    check(buffer)?;
    // SAFETY: the buffer is long enough, and is not the library's memory.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, bytes.len()) };
    Ok(())
}

/// Writes a value to its place.
///
/// # Safety
///
/// A pointer that is not null must have place for the value.
unsafe fn put<T>(place: *mut T, value: T) -> Result<(), Error> {
    check(place)?;
    // SAFETY: the caller promises the place; it is not null, and aligned.
    unsafe { place.write(value) };
    Ok(())
}

/// Refuses pointers that cannot point to anything.
fn check<T>(pointer: *const T) -> Result<(), Error> {
    let is_usable = !pointer.is_null() && pointer.is_aligned();
    is_usable.then_some(()).ok_or(Error::BadPointer)
}
