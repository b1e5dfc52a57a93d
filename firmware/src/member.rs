//! A member of one scheme, as a device links it. The program is built to measure its size, not to
//! run. The compiler does not know the inputs from radio and clock.

#![no_std]
#![no_main]

mod heap;

use core::hint::black_box;

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::device::{Device, DeviceOutput, Group, Keys};
use groupkey::{Command, Event, GroupId, Instance, MemberId, Suite};
use rand_chacha::rand_core::{Infallible, TryCryptoRng, TryRng};

/// The scheme is in a static, so that no other scheme is linked.
static SCHEME: Scheme = catalogue::scheme(env!("GROUPKEY_SCHEME")).unwrap().for_members();

/// The suite that the image was built with.
const SUITE: Suite = Suite::ALL[0];

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    heap::start();
    let configuration = SCHEME.configuration(Profile::Sound);
    let (suite, id, instance) = (SUITE, GroupId(1), Instance::default());
    let device =
        Device::member(&Group { configuration, suite, id, instance }, MemberId(0), keys(), Chip);
    #[cfg(feature = "messages")]
    let device = device.with_messages(Default::default());
    let mut device = device;
    loop {
        let (bytes, now) = (black_box(&[0; 64][..]), black_box(0));
        let happened = match black_box(0) {
            0 => device.receive_confidential(bytes, now),
            1 => device.command(Command::CatchUp, now),
            #[cfg(feature = "distributed")]
            2 => device.command(Command::Create(&[MemberId(0), MemberId(1)]), now),
            _ => device.receive(bytes, now),
        };
        for happened in happened.into_iter().flatten() {
            if let DeviceOutput::Event(Event::Rekeyed(_)) = black_box(happened) {
                black_box(device.group_key());
            }
        }
        #[cfg(feature = "messages")]
        let _ = black_box(device.send(bytes, now));
        device.outgoing().for_each(|(_, bytes)| drop(black_box(bytes)));
    }
}

/// The chip's own generator, as the compiler sees it: a register.
struct Chip;

impl TryRng for Chip {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(black_box(0))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(black_box(0))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill_with(|| black_box(0));
        Ok(())
    }
}

impl TryCryptoRng for Chip {}

#[cfg(not(feature = "signatures"))]
fn keys() -> Keys {
    Keys::mac(black_box([0; 32]))
}

#[cfg(feature = "signatures")]
fn keys() -> Keys {
    use groupkey::PartyId;
    use groupkey::protection::{Identity, PublicIdentity};

    let public = [0; SUITE.signing().public_bytes()];
    let others = PublicIdentity::from_bytes(&black_box(public)).into_iter();
    Keys::Signature {
        identity: Identity::for_suite(SUITE, &black_box([0; 32])),
        directory: others.map(|public| (PartyId::Controller, public)).collect(),
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
