//! `groupkey member`: one member of a live group.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use groupkey::Error;
use groupkey_mqtt::agent::{Hint, Told};
use groupkey_mqtt::config::{MEMBER_TEMPLATE, MemberConfig, Part, hold, identity};
use groupkey_mqtt::driver::{Connection, Running, Status, run as drive};
use groupkey_mqtt::keyring::hex;
use groupkey_mqtt::peer::FileMemory;
use groupkey_mqtt::{Member, Peer, Runtime};
use rand_chacha::ChaCha20Rng;
use tokio::runtime::Runtime as Tokio;

use crate::failure::Failure;
use crate::{interruption, lines};

/// Arguments of `groupkey member`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nobody has reviewed the cryptography. Do not use it to protect anything that matters.

Each line of standard input goes to the group, encrypted. Messages from others appear on
standard output:
  3: slippery road         member 3 said it
Everything else that happens appears on standard error. When the input ends, the member keeps
listening.

With [[peer]]s in the file, there is no service: run this on each side.

Examples:
  groupkey member --print-config > member.toml
  groupkey member --config member.toml
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
    let MemberConfig { connection, identity_file, part } = config;
    // Two members with one identity would take turns at the broker. Each turn would change
    // the group's key.
    let _held = hold(&identity_file).map_err(|error| Failure::input(error.to_string()))?;
    match part {
        Part::Member(settings) => {
            let member =
                Member::new(settings).map_err(|error| Failure::input(error.to_string()))?;
            let help = "the operator can let it join again: readmit NAME";
            take_part(member, connection, Member::say, help, out)
        }
        Part::Peer(settings) => {
            let memory = Box::new(FileMemory::beside(&identity_file));
            let peer =
                Peer::open(settings, memory).map_err(|error| Failure::input(error.to_string()))?;
            let help = "who left comes back when it is started again; who was evicted needs an operator's \
                        ticket: groupkey ticket";
            take_part(peer, connection, Peer::say, help, out)
        }
    }
}

type Say<R> = fn(&mut R, &[u8], u64, &mut ChaCha20Rng) -> Result<(), Error>;

fn take_part<R: Runtime<Notice = Told> + Send + 'static>(
    runtime: R,
    connection: Connection,
    say: Say<R>,
    help: &'static str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    let _guard = tokio.enter();
    let running = drive(runtime, connection);
    tokio.block_on(talk(running, say, help, out)).map_err(Failure::of_one_that_should_run_on)
}

async fn talk<R: Runtime<Notice = Told> + Send + 'static>(
    mut running: Running<R>,
    say: Say<R>,
    help: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut lines = lines::of_standard_input();
    let mut input_open = true;
    let mut has_key = false;
    let mut status = running.handle.status();
    let mut known = Status::default();
    let mut interrupted = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            told = running.notices.recv() => match told {
                Some(Told::Heard(received)) => {
                    let said = String::from_utf8_lossy(&received.content);
                    writeln!(out, "{}: {}", received.sender, said.escape_debug())?;
                    out.flush()?;
                }
                Some(Told::Behind(epoch)) => {
                    has_key = false;
                    eprintln!("behind: the group is in epoch {epoch}; asking for its key");
                }
                // Epochs begin anew with each founding.
                Some(Told::Changed { scheme, founded }) => {
                    eprintln!("the group's scheme is {scheme} now\nfounding {founded}");
                }
                Some(Told::Joined { member, founded }) => {
                    eprintln!("member {member}\nfounding {founded}");
                }
                Some(Told::JoinsAgain) => {
                    has_key = false;
                    eprintln!("the group has gone on without us: joining again");
                }
                Some(Told::NotIn(hint)) => eprintln!("not in the group yet: {}", advice(hint)),
                Some(Told::Rekeyed(epoch)) => {
                    has_key = true;
                    eprintln!("epoch {epoch}");
                }
                Some(Told::Evicted) => {
                    return Err(Failure::evicted("evicted from the group").with_help(help));
                }
                None => return Err(Failure::running("the member has ended")),
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
                status.news(&known).iter().for_each(|news| eprintln!("{news}"));
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

/// Returns what can be wrong, as a device sees it.
const fn advice(hint: Hint) -> &'static str {
    match hint {
        Hint::NoAnswer => {
            "no answer. Does groupkey serve run with our group.prefix, and know our secret or identity? \
             It says whom it refuses"
        }
        Hint::Known => "the service knows us, and says what it waits for",
        Hint::Unopened => {
            "an answer does not open. Is service in our file what groupkey serve prints, and the \
             secret the same?"
        }
        Hint::OtherScheme => "the group has a scheme that this device does not have",
    }
}
