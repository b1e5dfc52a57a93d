//! A device's life: it reads its flash, joins, and connects again whenever the connection breaks.

use alloc::boxed::Box;

use groupkey_mqtt::device_settings::DeviceSettings;
use minimq::{Buffers, ConfigBuilder, ConfigError, PeerError, Session};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use static_cell::ConstStaticCell;

use crate::console::line;
use crate::member::{End, MemberDriver};
use crate::network::Network;
use crate::{board, executor, identity, member, membership};

/// Takes part in the group. Returns once the device is evicted.
pub fn start() -> Result<(), &'static str> {
    let mut rng =
        ChaCha20Rng::from_seed(board::randomness().ok_or("the machine gives no randomness")?);
    let flash = board::Flash::open().ok_or("there is no flash")?;
    let card = board::network().ok_or("there is no network card")?;
    let network = Network::new(card, rng.next_u64());
    executor::run(&network, async {
        let kept = match identity::read(flash, &mut rng).await {
            Ok(read) => read,
            Err(problem) => {
                line!("flash {problem}");
                return Err("the flash cannot be used");
            }
        };
        let settings = kept.settings;
        line!("identity {}", member::Hex(&kept.identity.public()));
        let memory = membership::of(kept.flash).map_err(|_| "the flash cannot be used")?;
        let device =
            MemberDriver::new(&settings, kept.identity, kept.starts, Box::new(memory), rng);
        let mut device = device.map_err(|error| {
            line!("settings {error}");
            "the settings cannot be used"
        })?;
        stay(&network, &settings, &mut device).await
    })
}

/// Connects again and again.
async fn stay(
    network: &Network,
    settings: &DeviceSettings,
    device: &mut MemberDriver,
) -> Result<(), &'static str> {
    static RECEIVING: ConstStaticCell<[u8; LONGEST_PACKET]> =
        ConstStaticCell::new([0; LONGEST_PACKET]);
    static SENDING: ConstStaticCell<[u8; IN_FLIGHT]> = ConstStaticCell::new([0; IN_FLIGHT]);

    let buffers = Buffers::new(RECEIVING.take(), SENDING.take());
    let mut session = Session::new(
        configuration(settings, buffers).map_err(|_| "the client identifier is too long")?,
    );
    let mut failures = 0;
    loop {
        let begin = board::now();
        let stream = network.connect(settings.address, settings.port);
        let problem = match executor::within(HANDSHAKE_MS, stream).await {
            None | Some(Err(_)) => "the broker does not answer",
            Some(Ok(stream)) => match executor::within(HANDSHAKE_MS, session.connect(stream)).await
            {
                None => "the broker does not answer in MQTT 5",
                Some(Err(error)) => explain(&error),
                Some(Ok(connection)) => match device.take_part(connection).await {
                    Ok(never) => match never {},
                    Err(End::Evicted) => return Ok(()),
                    Err(End::Fatal) => return Err("the member cannot continue"),
                    Err(End::Lost(error)) => explain(&error),
                },
            },
        };
        line!("lost {problem}");
        // Only a connection that lasted resets the pauses: the broker may refuse the same thing again.
        if board::now() - begin >= LASTING_NS {
            failures = 0;
        }
        executor::sleep(FIRST_PAUSE_MS << failures).await;
        failures = (failures + 1).min(MOST_DOUBLINGS);
    }
}

/// Says why a connection ended.
fn explain<E>(error: &minimq::Error<E>) -> &'static str {
    match error {
        minimq::Error::Peer(PeerError::Rejected(reason)) => {
            line!("refused {}", u8::from(*reason));
            "the broker refuses what this device asks for"
        }
        minimq::Error::Peer(PeerError::InvalidPacket) => "the broker does not speak MQTT 5",
        minimq::Error::Resource(_) => "a packet is too long for the device",
        _ => "the connection broke",
    }
}

fn configuration<'a>(
    settings: &'a DeviceSettings,
    buffers: Buffers<'a>,
) -> Result<ConfigBuilder<'a>, ConfigError> {
    let configuration = ConfigBuilder::new(buffers)
        .client_id(&settings.client)?
        .keepalive_interval(KEEP_ALIVE_S)
        .session_expiry_interval(SESSION_EXPIRY_S);
    match &settings.login {
        Some((user, password)) => configuration.auth(user, password.as_bytes()),
        None => Ok(configuration),
    }
}

/// The maximum length of a packet that the device receives, in bytes. It tells the broker, which
/// drops longer ones.
const LONGEST_PACKET: usize = 2_048;

/// Room for the messages in flight, and for the next one, in bytes.
const IN_FLIGHT: usize = 2_048;

/// The time between pings, in s.
const KEEP_ALIVE_S: u16 = 15;

/// How long a broker keeps the session while the device is away, in s: a day, as for hosts.
const SESSION_EXPIRY_S: u32 = 24 * 60 * 60;

/// How long the broker may take to accept a connection, in TCP and then in MQTT, in ms.
const HANDSHAKE_MS: u64 = 10_000;

/// The wait before the next attempt to connect, in ms. It doubles up to six times.
const FIRST_PAUSE_MS: u64 = 50;
const MOST_DOUBLINGS: u32 = 6;

/// A connection that lasts at least this long was successful, in ns.
const LASTING_NS: u64 = 5_000_000_000;
