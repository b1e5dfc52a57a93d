//! The member: it takes what the gateway sends over the line, and answers. The gateway is a program of
//! its user, such as the one of `docs/boards.md`.

use alloc::format;
use alloc::vec::Vec;

use embassy_time::Instant;
use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::device::{Device, DeviceOutput, Group, Keys};
use groupkey::error::Misbehaviour;
use groupkey::messages;
use groupkey::{Command, Error, Event, GroupId, Instance, MemberId, Recipient, Suite};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::board::Board;
use crate::line::{self, Frames, Kind};

/// The scheme is in a static, so that no other scheme is linked, and no controller.
static SCHEME: Scheme = catalogue::scheme("lkh-group").unwrap().for_members();

/// What a device needs to begin: 60 bytes, numbers little-endian. The key is secret.
pub struct Settings {
    group: GroupId,
    me: MemberId,
    instance: Instance,
    mac_key: [u8; 32],
}

/// Takes part until the line breaks, or the gateway gives other settings.
pub async fn run(board: &mut Board) -> Result<(), embassy_nrf::buffered_uarte::Error> {
    let mut frames = Frames::new();
    let mut device = None;
    loop {
        let (kind, content) = frames.next(&mut board.line).await?;
        let now = Instant::now().as_micros() * 1_000;
        if kind == Kind::Settings {
            match Settings::read(&content) {
                Some(settings) => device = Some(settings.device(board.randomness())),
                None => {
                    line::send(&mut board.line, Kind::Refused, b"settings have 60 bytes").await?;
                }
            }
            continue;
        }
        let Some(device) = &mut device else {
            line::send(&mut board.line, Kind::Refused, b"send settings first").await?;
            continue;
        };
        match step(device, kind, &content, now) {
            Ok(happened) => {
                for happened in happened {
                    match happened {
                        DeviceOutput::Event(Event::Rekeyed(epoch)) => {
                            let epoch = epoch.0.to_le_bytes();
                            line::send(&mut board.line, Kind::Epoch, &epoch).await?;
                        }
                        DeviceOutput::Message(message) => {
                            line::send(&mut board.line, Kind::Content, &message.content).await?;
                        }
                        DeviceOutput::Event(_) => {}
                    }
                }
            }
            Err(error) => {
                let why = format!("{error}");
                line::send(&mut board.line, Kind::Refused, why.as_bytes()).await?;
            }
        }
        for (to, bytes) in device.outgoing() {
            let kind = if to == Recipient::Group { Kind::Group } else { Kind::Controller };
            line::send(&mut board.line, kind, &bytes).await?;
        }
    }
}

/// Takes one frame. A member that missed an epoch asks for it at once.
fn step(
    device: &mut Device,
    kind: Kind,
    content: &[u8],
    now: u64,
) -> Result<Vec<DeviceOutput>, Error> {
    match kind {
        Kind::Confidential => device.receive_confidential(content, now),
        Kind::Content => device.send(content, now).map(|()| Vec::new()),
        _ => device.receive(content, now).or_else(|error| match error {
            Error::Misbehaved(Misbehaviour::SkippedEpoch { .. }) => {
                device.command(Command::CatchUp, now)
            }
            error => Err(error),
        }),
    }
}

impl Settings {
    /// Reads settings. Returns `None` if they have another length.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (group, bytes) = bytes.split_first_chunk()?;
        let (me, bytes) = bytes.split_first_chunk()?;
        let (instance, bytes) = bytes.split_first_chunk()?;
        Some(Self {
            group: GroupId(u64::from_le_bytes(*group)),
            me: MemberId(u32::from_le_bytes(*me)),
            instance: Instance(*instance),
            mac_key: bytes.try_into().ok()?,
        })
    }

    fn device(self, seed: [u8; 32]) -> Device {
        let configuration = SCHEME.configuration(Profile::Sound);
        let (keys, rng) = (Keys::mac(self.mac_key), ChaCha20Rng::from_seed(seed));
        let (suite, id, instance) = (Suite::Standard, self.group, self.instance);
        Device::member(&Group { configuration, suite, id, instance }, self.me, keys, rng)
            .with_messages(messages::MessageSettings::of_small_device())
    }
}
