//! `groupkey device run`: a member of a live group on an emulated microcontroller.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use clap::Args;
use groupkey::catalogue::Scheme;
use groupkey_choose::programs::Programs;
use groupkey_lab::device::Target;
use groupkey_lab::device::emulated_board::{self, BoardFiles, EmulatedBoard};
use groupkey_mqtt::config::{self, ConfigError, FlashForm, client_identifier, read_secret};
use groupkey_mqtt::device_settings::{DeviceSettings, LONGEST_MESSAGE};
use groupkey_mqtt::keyring::{Secret, bytes_from_hex, from_hex};
use groupkey_mqtt::topics::is_name;

use super::emulation_failure;
use crate::commands::member_event::EventLine;
use crate::failure::Failure;
use crate::standard_input::{self, LineError};
use crate::{interruption, value_parsers};

/// Arguments of `groupkey device run`.
#[derive(Args, Debug)]
pub(crate) struct DeviceRunArguments {
    /// The board: `cortex-m4` is QEMU's mps2-an386, `rv32imac` its virt.
    #[arg(long, value_name = "PROCESSOR", value_parser = value_parsers::target())]
    target: Target,

    /// The scheme that the firmware links, with both suites for live groups [default: lkh-group,
    /// lkh-key and skdc, with the suite standard].
    #[arg(long, value_name = "ID", value_parser = value_parsers::scheme_with_controller())]
    scheme: Option<&'static Scheme>,

    /// The broker. The device speaks MQTT 5 without TLS.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1883")]
    broker: String,

    /// Accept a broker on another machine, where others may see which devices talk.
    #[arg(long)]
    allow_plain: bool,

    /// The user at the broker.
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,

    /// The file of the user's password.
    #[arg(long, value_name = "FILE", requires = "user")]
    password: Option<PathBuf>,

    /// The prefix of the group's topics.
    #[arg(long, default_value = "groupkey/1")]
    prefix: String,

    /// The device's name.
    #[arg(long)]
    name: String,

    /// The file of the pre-shared key, or of the token: 64 hexadecimal digits.
    #[arg(long, value_name = "FILE", required_unless_present = "service_key")]
    psk: Option<PathBuf>,

    /// The service's public key, as `groupkey serve` prints it.
    #[arg(long, value_name = "KEY")]
    service_key: Option<String>,

    /// The file that stands in for the device's flash, created if missing [default: NAME.flash].
    #[arg(long, value_name = "FILE")]
    flash: Option<PathBuf>,

    /// Write the settings to the flash file and run nothing: for a board (docs/boards.md).
    #[arg(long, conflicts_with_all = ["say", "monitor", "json"])]
    settings_only: bool,

    /// Say this to the group once the device has the key. Repeatable.
    #[arg(long, value_name = "TEXT")]
    say: Vec<String>,

    /// Offer the emulator's monitor on this Unix socket, to cut the network: set_link net off.
    #[arg(long, value_name = "SOCKET")]
    monitor: Option<PathBuf>,

    /// The folder of the firmware.
    #[arg(long, value_name = "FOLDER", default_value = "firmware")]
    firmware: PathBuf,

    /// Print a JSON object for each event.
    #[arg(long)]
    json: bool,
}

/// Builds the firmware, and runs it until the device is evicted or the user interrupts.
pub(crate) fn run(arguments: &DeviceRunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let stop = interruption::requested();
    let target = arguments.target;
    if let Some(text) = arguments.say.iter().find(|text| !is_one_message(text.as_bytes())) {
        return Err(Failure::input(format!("--say {text:?}: {NOT_ONE_MESSAGE}")));
    }
    if let Some(scheme) = arguments.scheme.filter(|scheme| !Programs::of(scheme).device) {
        return Err(Failure::input(format!("the firmware cannot run {}", scheme.id)).with_help(
            "it runs members of the catalogue's schemes with a controller and one group key",
        ));
    }
    let settings = settings(arguments)?;
    if arguments.settings_only && settings.address == emulated_board::HOST {
        return Err(Failure::input("a board does not reach this machine as 127.0.0.1")
            .with_help("give --broker the machine's address in the board's network"));
    }
    let flash = match &arguments.flash {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.flash", arguments.name)),
    };
    let form = target.flash();
    // A sector for the settings, two for the device's own log, and two for its membership.
    let form = FlashForm { sector: form.sector, sectors: 5, length: form.length };
    let _held = config::write_settings(&flash, form, &settings).map_err(refused)?;
    if arguments.settings_only {
        eprintln!("the settings are in the first bytes of {}", flash.display());
        return Ok(());
    }
    eprintln!("building the firmware for {}", target.name());
    let program =
        target.build_live(&arguments.firmware, arguments.scheme).map_err(emulation_failure)?;
    let monitor = arguments.monitor.as_deref();
    let files = BoardFiles { program: &program, flash: &flash, monitor };
    let mut board = target.start_live(files).map_err(emulation_failure)?;
    let happened = listen(&mut board, arguments.say.clone())?;
    loop {
        match happened.recv_timeout(Duration::from_millis(100)) {
            Ok(LoopEvent::Printed(line)) => {
                event(&line).tell(arguments.json, out)?;
            }
            Ok(LoopEvent::NotSaid(why)) => eprintln!("not said: {why}"),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                if stop.load(Ordering::Relaxed) {
                    eprintln!("the device has stopped");
                    return Ok(());
                }
                if let Some(status) = board.ended()? {
                    return Err(match status.code() {
                        Some(EVICTED) => Failure::evicted("evicted from the group")
                            .with_help("the operator can let it join again: readmit NAME"),
                        _ => Failure::running(format!("the device has ended: {status}")),
                    });
                }
            }
        }
    }
}

/// What the main loop waits for.
enum LoopEvent {
    /// The device printed a line.
    Printed(String),
    /// A line of standard input does not go to the device.
    NotSaid(String),
}

/// Starts a thread for each direction of the serial port.
fn listen(board: &mut EmulatedBoard, say: Vec<String>) -> Result<Receiver<LoopEvent>, Failure> {
    let (sender, happened) = mpsc::channel();
    let no_port = || Failure::running("the device has no serial port");
    let (to_device, from_device) = board.serial().ok_or_else(no_port)?;
    let printed = sender.clone();
    thread::spawn(move || relay(from_device, &printed));
    thread::spawn(move || speak(to_device, say, &sender));
    Ok(happened)
}

fn relay(port: impl Read, printed: &Sender<LoopEvent>) {
    for line in BufReader::new(port).split(b'\n') {
        let Ok(line) = line else { return };
        let line = String::from_utf8_lossy(&line).into_owned();
        if printed.send(LoopEvent::Printed(line)).is_err() {
            return;
        }
    }
}

/// Hands the messages to the device, and then the lines of standard input. The device takes them
/// once it has a key.
fn speak(mut port: impl Write, say: Vec<String>, refused: &Sender<LoopEvent>) {
    let mut send =
        |text: &[u8]| port.write_all(&[text, b"\n"].concat()).and_then(|()| port.flush()).is_ok();
    if !say.iter().all(|text| send(text.as_bytes())) {
        return;
    }
    let mut typed = standard_input::of_standard_input();
    while let Some(line) = typed.blocking_recv() {
        let taken = match line {
            Ok(text) if is_one_message(&text) => send(&text),
            Ok(_) => refused.send(LoopEvent::NotSaid(NOT_ONE_MESSAGE.to_owned())).is_ok(),
            Err(error @ LineError::Unreadable(_)) => {
                let _ = refused.send(LoopEvent::NotSaid(error.to_string()));
                return;
            }
            Err(error) => refused.send(LoopEvent::NotSaid(error.to_string())).is_ok(),
        };
        if !taken {
            return;
        }
    }
}

fn is_one_message(text: &[u8]) -> bool {
    text.len() <= LONGEST_MESSAGE && !text.contains(&b'\n')
}

const NOT_ONE_MESSAGE: &str = "a device sends one line of at most 1,024 bytes at a time";

/// Reads a line that `firmware/live/src/member.rs` prints.
fn event(line: &str) -> EventLine<'_> {
    known(line).unwrap_or(EventLine::Other(line))
}

fn known(line: &str) -> Option<EventLine<'_>> {
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    let mut words = rest.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    Some(match kind {
        "connected" => EventLine::Connected,
        "lost" => EventLine::Lost(rest),
        "identity" => EventLine::Identity(rest),
        "joined" => {
            EventLine::Joined { member: u32::try_from(number()?).ok()?, founded: number()? }
        }
        "resumed" => {
            EventLine::Resumed { member: u32::try_from(number()?).ok()?, founded: number()? }
        }
        "unkept" => EventLine::Unkept("the flash takes no membership"),
        "changed" => {
            let (scheme, founded) = rest.split_once(' ')?;
            EventLine::Changed { scheme, founded: founded.parse().ok()? }
        }
        "behind" => EventLine::Behind(number()?),
        "epoch" => EventLine::Epoch(number()?),
        "heard" => {
            let (member, content) = rest.split_once(' ')?;
            EventLine::Heard {
                member: member.parse().ok()?,
                epoch: None,
                content: from_hex(content)?,
            }
        }
        "said" => EventLine::Said(true),
        "unsaid" => EventLine::Said(false),
        "outside" => EventLine::Outside { reason: rest, advice: advice(rest) },
        "again" => EventLine::Again,
        "memory" => EventLine::Memory {
            flash: number()?,
            statics: number()?,
            heap: number()?,
            stack: number()?,
        },
        "counters" => {
            EventLine::Counters { taken: number()?, refused: number()?, dropped: number()? }
        }
        _ => return None,
    })
}

/// Returns what can be wrong, as a device sees it.
fn advice(reason: &str) -> &str {
    match reason {
        "no-answer" => {
            "no answer. Does groupkey serve run with this --prefix, and know our key or identity? \
             It says whom it refuses"
        }
        "known" => "the service knows us, and says what it waits for",
        "unopened" => "an answer does not open. Are --service-key and --psk those of the service?",
        "other-scheme" => {
            "the group has a scheme that this firmware does not link: give it with --scheme"
        }
        reason => reason,
    }
}

fn settings(arguments: &DeviceRunArguments) -> Result<DeviceSettings, Failure> {
    let DeviceRunArguments { prefix, name, .. } = arguments;
    if !is_name(name) {
        let rule = groupkey_mqtt::member::MemberSettingsError::Name;
        return Err(Failure::input(format!("--name {name:?}: {rule}")));
    }
    let client = client_identifier(prefix, &format!("device:{name}"))
        .map_err(|error| Failure::input(format!("--prefix {prefix:?}: {error}")))?;
    let shared = arguments.psk.as_deref().map(pre_shared_key).transpose()?;
    let service = arguments.service_key.as_deref().map(|text| {
        bytes_from_hex(text).ok_or_else(|| {
            Failure::input(format!("--service-key {text:?}: 64 hexadecimal digits are needed"))
                .with_help("groupkey serve prints it: service KEY")
        })
    });
    let broker = broker(&arguments.broker, arguments.allow_plain)?;
    let place = (prefix.clone(), name.clone());
    let mut settings =
        DeviceSettings::new(broker, client, place, shared.as_ref(), service.transpose()?);
    if let (Some(user), Some(path)) = (&arguments.user, &arguments.password) {
        let password = read_secret(path).map_err(refused)?;
        let password = String::from_utf8_lossy(&password);
        settings.login = Some((user.clone(), password.trim_end_matches(['\r', '\n']).to_owned()));
    }
    Ok(settings)
}

fn pre_shared_key(path: &Path) -> Result<Secret, Failure> {
    let text = read_secret(path).map_err(refused)?;
    str::from_utf8(&text).ok().and_then(Secret::from_hex).ok_or_else(|| {
        Failure::input(format!("{}: 64 hexadecimal digits are needed", path.display()))
    })
}

fn broker(text: &str, allow_plain: bool) -> Result<([u8; 4], u16), Failure> {
    let wrong = |what: String| {
        Failure::input(format!("--broker {text:?}: {what}"))
            .with_help("give HOST:PORT, as in 127.0.0.1:1883")
    };
    let addresses = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    let mut addresses = addresses.filter_map(|address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    });
    let address =
        addresses.next().ok_or_else(|| wrong("the device needs an IPv4 address".to_owned()))?;
    if *address.ip() == Ipv4Addr::LOCALHOST {
        return Ok((emulated_board::HOST, address.port()));
    }
    if address.ip().is_loopback() {
        return Err(wrong("the device reaches 127.0.0.1 alone of this machine".to_owned()));
    }
    if !allow_plain {
        return Err(Failure::input(format!(
            "--broker {text:?} is another machine, and the device has no TLS: whoever is between \
             sees which devices talk, and the broker's password"
        ))
        .with_help("add --allow-plain if the network protects it"));
    }
    Ok((address.ip().octets(), address.port()))
}

fn refused(error: ConfigError) -> Failure {
    Failure::input(error.to_string())
}

/// What the program returns when the group has evicted the device.
const EVICTED: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_device_are_read() {
        for (line, event) in [
            ("connected", EventLine::Connected),
            ("lost the connection broke", EventLine::Lost("the connection broke")),
            ("joined 3 17", EventLine::Joined { member: 3, founded: 17 }),
            ("resumed 3 17", EventLine::Resumed { member: 3, founded: 17 }),
            ("changed skdc 18", EventLine::Changed { scheme: "skdc", founded: 18 }),
            ("heard 3 6869", EventLine::Heard { member: 3, epoch: None, content: b"hi".to_vec() }),
            ("heard 3 ", EventLine::Heard { member: 3, epoch: None, content: Vec::new() }),
            ("behind 9", EventLine::Behind(9)),
            ("memory 1 2 3 4", EventLine::Memory { flash: 1, statics: 2, heap: 3, stack: 4 }),
            ("counters 1 2 3", EventLine::Counters { taken: 1, refused: 2, dropped: 3 }),
        ] {
            assert_eq!(super::event(line), event);
        }
        for line in ["", "joined", "joined x 1", "heard 3 6", "heard 3 6x", "heard 3 é", "epoch -1"]
        {
            assert_eq!(event(line), EventLine::Other(line));
        }
    }

    #[test]
    fn the_device_reaches_this_machine_as_its_gateway() {
        assert_eq!(broker("127.0.0.1:1884", false).unwrap(), (emulated_board::HOST, 1884));
        for (text, allow_plain, problem) in [
            ("127.0.0.2:1883", true, "127.0.0.1"),
            ("192.0.2.1:1883", false, "no TLS"),
            ("[::1]:1883", true, "IPv4"),
            ("127.0.0.1", true, "invalid"),
        ] {
            let Err(Failure::Input(refusal)) = broker(text, allow_plain) else {
                panic!("{text} was taken")
            };
            assert!(format!("{refusal:?}").contains(problem), "{refusal:?}");
        }
        assert_eq!(broker("192.0.2.1:1883", true).unwrap(), ([192, 0, 2, 1], 1883));
    }
}
