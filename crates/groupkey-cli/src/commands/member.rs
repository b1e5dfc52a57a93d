//! `groupkey member`: one member of a live group.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use groupkey::Error;
use groupkey_mqtt::config::{MEMBER_TEMPLATE, MemberConfig, Participation, hold, identity};
use groupkey_mqtt::driver::{Connection, Running, Status, run as drive};
use groupkey_mqtt::event::{Hint, MemberEvent};
use groupkey_mqtt::keyring::hex;
use groupkey_mqtt::member::MembershipFile;
use groupkey_mqtt::peer::DecisionFile;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::{Member, Peer, Runtime};
use rand_chacha::ChaCha20Rng;
use tokio::runtime::Runtime as Tokio;
use tokio::task::JoinHandle;

use crate::commands::member_event::EventLine;
use crate::failure::Failure;
use crate::{interruption, standard_input};

/// Arguments of `groupkey member`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nobody has reviewed the cryptography. Do not use it to protect anything that matters.

Each line of standard input goes to the group, encrypted. Messages from others appear on
standard output:
  3: slippery road         member 3 said it
Everything else that happens appears on standard error. When the input ends, the member keeps
listening.

Control characters in a message are escaped, and bytes that are no UTF-8 are lost. --json has every
byte, in hexadecimal digits, and puts all events on standard output:
  {\"event\":\"heard\",\"member\":3,\"hex\":\"6869\",\"text\":\"hi\"}
Its events are connected, joined, resumed, behind, unproven, proven, epoch, heard, changed, outside,
joins again, evicted and status. text is null if the message is no UTF-8.

With [[peer]]s in the file, there is no service: run this on each side.

Examples:
  groupkey member --print-config > member.toml
  groupkey member --config member.toml
  groupkey member --config member.toml --json | jq -r 'select(.event == \"heard\").text'
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

    /// Print one JSON object for each event (JSON Lines).
    #[arg(long, conflicts_with = "public")]
    json: bool,
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
    let config = MemberConfig::read(path).map_err(|error| {
        Failure::input(error.to_string()).with_help("groupkey member --print-config shows a file")
    })?;
    let MemberConfig { connection, identity_file, resumes, part } = config;
    let as_json = arguments.json;
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
            take_part(member, connection, Member::say, Telling { as_json, help }, out)
        }
        Participation::Peer(settings) => {
            let memory = Box::new(DecisionFile::beside(&identity_file));
            let peer =
                Peer::open(settings, memory).map_err(|error| Failure::input(error.to_string()))?;
            let help = "who left comes back when it is started again; who was evicted needs an operator's \
                        ticket: groupkey ticket";
            take_part(peer, connection, Peer::say, Telling { as_json, help }, out)
        }
    }
}

/// How a member tells what happens.
#[derive(Clone, Copy)]
struct Telling {
    as_json: bool,
    /// What to do after an eviction.
    help: &'static str,
}

type Say<R> = fn(&mut R, &[u8], u64, &mut ChaCha20Rng) -> Result<(), Error>;

fn take_part<R: Runtime<Event = MemberEvent> + Send + 'static>(
    runtime: R,
    connection: Connection,
    say: Say<R>,
    telling: Telling,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    let _guard = tokio.enter();
    let running = drive(runtime, connection);
    tokio.block_on(talk(running, say, telling, out)).map_err(Failure::of_one_that_should_run_on)
}

async fn talk<R: Runtime<Event = MemberEvent> + Send + 'static>(
    mut running: Running<R>,
    say: Say<R>,
    telling: Telling,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Telling { as_json, help } = telling;
    let mut lines = standard_input::of_standard_input();
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
                    print(event, as_json, out)?;
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

fn print(event: MemberEvent, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    let event = match event {
        MemberEvent::Behind(epoch) => EventLine::Behind(epoch.0),
        MemberEvent::Changed { scheme, founded } => EventLine::Changed { scheme, founded },
        MemberEvent::Evicted => EventLine::Evicted,
        MemberEvent::Heard(received) => {
            EventLine::Heard { member: received.sender.0, content: received.content }
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

/// Returns why a member ended by itself.
async fn ended(task: &mut JoinHandle<Result<(), Fatal>>) -> Failure {
    match task.await {
        Ok(Err(fatal)) => Failure::running(fatal.to_string()),
        _ => Failure::running("the member has ended"),
    }
}

/// Returns what can be wrong, as a device sees it: its name, and the advice.
const fn advice(hint: Hint) -> (&'static str, &'static str) {
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
