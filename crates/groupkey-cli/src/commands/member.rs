//! `groupkey member`: one member of a live group.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueEnum};
use groupkey::{Epoch, Error};
use groupkey_mqtt::config::{MEMBER_TEMPLATE, MemberConfig, Participation, hold, identity};
use groupkey_mqtt::driver::{Connection, Handle, Running, Status, run as drive};
use groupkey_mqtt::event::{Hint, MemberEvent};
use groupkey_mqtt::keyring::hex;
use groupkey_mqtt::member::MembershipFile;
use groupkey_mqtt::peer::DecisionFile;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::{Member, Peer, Runtime};
use rand_chacha::ChaCha20Rng;
use tokio::runtime::Runtime as Tokio;
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use crate::commands::key_export::KeyExport;
use crate::commands::member_event::EventLine;
use crate::failure::Failure;
use crate::standard_input::Framing;
use crate::{interruption, log_lines, standard_input};

/// Arguments of `groupkey member`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nobody has reviewed the cryptography. Do not use it to protect anything that matters.

Each line of standard input goes to the group, encrypted. Messages from others appear on
standard output:
  3: slippery road         member 3 said it
  export srtp 7 b0231a8f...   a key for SRTP (--export), which follows from the key of epoch 7
Everything else that happens appears on standard error. When the input ends, the member keeps
listening.

Control characters in a message are escaped, and bytes that are no UTF-8 are lost. --json has every
byte, in base64, and puts all events on standard output, with the time in ms since 1970:
  {\"base64\":\"aGk=\",\"epoch\":7,\"event\":\"heard\",\"member\":3,\"text\":\"hi\",\"time\":1796030400000}
Its events are connected, joined, resumed, behind, unproven, proven, epoch, active, exported, heard,
changed, outside, joins again, evicted and status. text is null if the message is no UTF-8.
--raw changes no byte: each line of the input, without its line feed, is a message, and each message
is written with a line feed after it. With --raw=whole, all of the input is one message of at most
65,535 bytes, 65,355 with signed senders, and nothing is added to what is written.

With [[peer]]s in the file, there is no service: run this on each side.

Examples:
  groupkey member --print-config > member.toml
  groupkey member --config member.toml
  groupkey member --config member.toml --json | jq -r 'select(.event == \"heard\").text'
  groupkey member --config member.toml --raw=whole < picture.png
  groupkey member --config member.toml --export srtp:30
  groupkey member --public truck-7.key      the public key of an identity, created if missing")]
pub(crate) struct MemberArguments {
    /// Configuration file.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["print_config", "public"])]
    config: Option<PathBuf>,

    /// Print a commented file with the defaults.
    #[arg(long)]
    print_config: bool,

    /// Print the public key of the identity in this file. The file is created if missing.
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    public: Option<PathBuf>,

    /// Print a key for another protocol with each new key of the group.
    #[arg(long, value_name = "LABEL:LENGTH[:HEX]", value_parser = KeyExport::parse)]
    export: Vec<KeyExport>,

    /// Print what happens inside, on standard error: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<tracing::Level>,

    /// Print one JSON object for each event (JSON Lines).
    #[arg(long, conflicts_with = "public")]
    json: bool,

    /// Take and write bytes as they are: lines, or whole: all of the input is one message
    #[arg(
        long,
        value_name = "FRAMING",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "lines",
        conflicts_with_all = ["json", "export", "public"]
    )]
    raw: Option<RawFraming>,
}

/// What is one message in input and output that are not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RawFraming {
    /// A line, without its line feed.
    Lines,
    /// All of the input, up to its end. The output has nothing between messages.
    Whole,
}

/// Takes part in the group until it is interrupted or evicted.
pub(crate) fn run(arguments: &MemberArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.public {
        let identity = identity(path).map_err(|error| Failure::input(error.to_string()))?;
        writeln!(out, "{}", hex(&identity.public()))?;
        return Ok(());
    }
    let Some(path) = arguments.config.as_ref().filter(|_| !arguments.print_config) else {
        write!(out, "{MEMBER_TEMPLATE}")?;
        return Ok(());
    };
    log_lines::begin(arguments.log);
    let config = MemberConfig::read(path).map_err(|error| {
        Failure::input(error.to_string()).with_help("groupkey member --print-config shows a file")
    })?;
    let MemberConfig { connection, identity_file, resumes, part } = config;
    let MemberArguments { json: as_json, raw, .. } = *arguments;
    let exports = &arguments.export[..];
    // Two members with one identity would take turns at the broker.
    let _held = hold(&identity_file).map_err(|error| Failure::input(error.to_string()))?;
    match part {
        Participation::Member(settings) => {
            let mut member =
                Member::new(settings).map_err(|error| Failure::input(error.to_string()))?;
            if resumes {
                member = member.remembering(Box::new(MembershipFile::beside(&identity_file)));
            }
            let help = "the operator can let it join again: readmit NAME";
            let does = Doing { say: Member::say, export: Member::export };
            take_part(member, connection, does, Telling { as_json, raw, help, exports }, out)
        }
        Participation::Peer(settings) => {
            let memory = Box::new(DecisionFile::beside(&identity_file));
            let peer =
                Peer::open(settings, memory).map_err(|error| Failure::input(error.to_string()))?;
            let help = "who left comes back when it is started again; who was evicted needs an operator's \
                        ticket: groupkey ticket";
            let does = Doing { say: Peer::say, export: Peer::export };
            take_part(peer, connection, does, Telling { as_json, raw, help, exports }, out)
        }
    }
}

/// How a member tells what happens.
#[derive(Clone, Copy)]
struct Telling<'a> {
    as_json: bool,
    /// How bytes that are not changed are cut into messages.
    raw: Option<RawFraming>,
    /// What to do after an eviction.
    help: &'static str,
    exports: &'a [KeyExport],
}

/// What a member or a peer can do.
struct Doing<R> {
    say: Say<R>,
    export: Export<R>,
}

type Say<R> = fn(&mut R, &[u8], u64, &mut ChaCha20Rng) -> Result<(), Error>;
type Export<R> = fn(&R, &str, &[u8], &mut [u8]) -> Result<Epoch, Error>;

fn take_part<R: Runtime<Event = MemberEvent> + Send + 'static>(
    runtime: R,
    connection: Connection,
    does: Doing<R>,
    telling: Telling<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    let _guard = tokio.enter();
    let running = drive(runtime, connection);
    tokio.block_on(talk(running, does, telling, out)).map_err(Failure::of_one_that_should_run_on)
}

async fn talk<R: Runtime<Event = MemberEvent> + Send + 'static>(
    mut running: Running<R>,
    does: Doing<R>,
    telling: Telling<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Telling { as_json, raw, help, exports } = telling;
    let Doing { say, export } = does;
    let mut lines = standard_input::framed(match raw {
        None => Framing::Text,
        Some(RawFraming::Lines) => Framing::Bytes,
        Some(RawFraming::Whole) => Framing::Whole,
    });
    let mut input_open = true;
    let mut has_key = false;
    let mut status = running.handle.status();
    let mut known = Status::default();
    let mut interrupted = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            event = running.events.recv() => match event {
                Some(event) => {
                    match event {
                        MemberEvent::Behind(_)
                        | MemberEvent::JoinsAgain
                        | MemberEvent::Unproven => has_key = false,
                        MemberEvent::Rekeyed(_) | MemberEvent::Proven => has_key = true,
                        _ => {}
                    }
                    let is_evicted = matches!(event, MemberEvent::Evicted);
                    let is_new_key = matches!(event, MemberEvent::Rekeyed(_));
                    match (event, raw) {
                        (MemberEvent::Heard(received), Some(framing)) => {
                            write_raw(&received.content, framing, out)?;
                        }
                        (event, _) => print(event, as_json, out)?,
                    }
                    for wanted in exports.iter().filter(|_| is_new_key) {
                        print_key(&running.handle, export, wanted, as_json, out).await?;
                    }
                    if is_evicted {
                        return Err(Failure::evicted("evicted from the group").with_help(help));
                    }
                }
                None => return Err(ended(&mut running.end).await),
            },
            // Lines that arrive before there is a key wait for it.
            line = lines.recv(), if input_open && has_key => match line {
                Some(Err(error)) => eprintln!("not said: {error}"),
                Some(Ok(line)) => {
                    let said = running
                        .handle
                        .call(move |runtime, now, rng| say(runtime, &line, now, rng));
                    if let Some(Err(error)) = said.await {
                        eprintln!("not said: {error}");
                    }
                }
                None => input_open = false,
            },
            Ok(()) = status.changed() => {
                let status = status.borrow_and_update().clone();
                for change in status.changes_since(&known) {
                    let event =
                        if change == "connected" { EventLine::Connected } else { EventLine::Status(&change) };
                    event.tell(as_json, out)?;
                }
                known = status;
            }
            _ = interrupted.tick() => {
                if interruption::requested().load(Ordering::Relaxed) {
                    eprintln!("the member has stopped");
                    return Ok(());
                }
            }
        }
    }
}

/// Prints a key for another protocol, if the member still has a key of the group.
async fn print_key<R: 'static>(
    handle: &Handle<R>,
    export: Export<R>,
    wanted: &KeyExport,
    as_json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let KeyExport { label, length, context } = wanted.clone();
    let exported = handle.call(move |runtime, _, _| {
        let mut key = Zeroizing::new(vec![0; length]);
        export(runtime, &label, &context, &mut key).map(|epoch| (epoch.0, key))
    });
    match exported.await {
        Some(Ok((epoch, key))) => {
            EventLine::Exported { epoch, label: &wanted.label, key }.tell(as_json, out)
        }
        _ => Ok(()),
    }
}

/// Writes a message as it came.
fn write_raw(content: &[u8], framing: RawFraming, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(content)?;
    if framing == RawFraming::Lines {
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn print(event: MemberEvent, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    let event = match event {
        MemberEvent::Activated(epoch) => EventLine::Active(epoch.0),
        MemberEvent::Behind(epoch) => EventLine::Behind(epoch.0),
        MemberEvent::Changed { scheme, founded } => EventLine::Changed { scheme, founded },
        MemberEvent::Evicted => EventLine::Evicted,
        MemberEvent::Heard(received) => {
            let (member, epoch) = (received.sender.0, Some(received.epoch.0));
            EventLine::Heard { member, epoch, content: received.content }
        }
        MemberEvent::Joined { member, founded } => EventLine::Joined { member: member.0, founded },
        MemberEvent::JoinsAgain => EventLine::Again,
        MemberEvent::NotIn(hint) => {
            let (reason, advice) = advice(hint);
            EventLine::Outside { reason, advice }
        }
        MemberEvent::Proven => EventLine::Proven(true),
        MemberEvent::Unproven => EventLine::Proven(false),
        MemberEvent::Rekeyed(epoch) => EventLine::Epoch(epoch.0),
        MemberEvent::Resumed { member, founded } => {
            EventLine::Resumed { member: member.0, founded }
        }
        MemberEvent::Unkept(error) => {
            let why = error.to_string();
            return EventLine::Unkept(&why).tell(as_json, out);
        }
    };
    event.tell(as_json, out)
}

async fn ended(task: &mut JoinHandle<Result<(), Fatal>>) -> Failure {
    match task.await {
        Ok(Err(fatal)) => Failure::running(fatal.to_string()),
        _ => Failure::running("the member has ended"),
    }
}

/// Returns what can be wrong, as a device sees it: its name, and the advice.
pub(super) const fn advice(hint: Hint) -> (&'static str, &'static str) {
    match hint {
        Hint::NoAnswer => (
            "no-answer",
            "no answer. Does groupkey serve run with our group.prefix, and know our secret or identity? \
             It says whom it refuses",
        ),
        Hint::Known => ("known", "the service knows us, and says what it waits for"),
        Hint::Unopened => (
            "unopened",
            "an answer does not open. Is service in our file what groupkey serve prints, and the \
             secret the same?",
        ),
        Hint::OtherScheme => {
            ("other-scheme", "the group has a scheme that this device does not have")
        }
        Hint::TooWeak(_) => (
            "too-weak",
            "the group is weaker than this device accepts: see allow_mac and allow_published in \
             [group] of our file",
        ),
    }
}
