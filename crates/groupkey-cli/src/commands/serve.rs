//! `groupkey serve`: the service of a live group.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use groupkey_mqtt::config::{HttpConfig, SERVE_TEMPLATE, ServeConfig};
use groupkey_mqtt::driver::{Running, Status, fresh_rng, now, run as drive};
use groupkey_mqtt::http::SchemeView;
use groupkey_mqtt::keyring::hex;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::service::trail::Actor;
use groupkey_mqtt::service::{ChangeError, OpenError, OperationError, RefusalReason, ServiceEvent};
use groupkey_mqtt::{Service, http};
use tokio::runtime::Runtime as Tokio;

use crate::commands::{ctl, http_listener};
use crate::failure::Failure;
use crate::{interruption, log_lines, standard_input};

/// Arguments of `groupkey serve`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nobody has reviewed the cryptography. Do not use it to protect anything that matters.

groupkey ctl lists and evicts members, and changes the key or the scheme. It needs [http] in the
file, which also shows a page in the browser: docs/operate.md. Standard input takes the same words
a line, for a terminal: members, evict, readmit, rekey, scheme, change and cancel; and accept or
found where the service waits for the operator.

A service that begins again does nothing until the notice that the broker retains shows that the
store is its last state. An old copy of the store would have evicted devices as members. If the
broker has no notice, the service says so and waits: say accept or found, or start it with one.

A service with an empty store waits for that notice for 10 s, unless its identity is new. If the
notice shows that the service has a group, it ends with 1: the store's path may be wrong, or its
volume not mounted. Only with --found does it found another group.

Every operation is in the store before its first message leaves. Killed at any point, the service
continues where it was when it is started again.

Examples:
  groupkey serve --print-config > serve.toml
  groupkey serve --config serve.toml")]
pub(crate) struct ServeArguments {
    /// Configuration file.
    #[arg(long, value_name = "FILE", required_unless_present = "print_config")]
    config: Option<PathBuf>,

    /// Begin although the broker may have no notice that shows whether the store is the last state
    #[arg(long)]
    accept_state: bool,

    /// Found the group anew if the store is empty or not the last state: with the devices that the
    /// store knows, evicted ones barred. A store that is the last state keeps its group
    #[arg(long)]
    found: bool,

    /// Print what happens inside, on standard error: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<tracing::Level>,

    /// Print a commented file with the defaults.
    #[arg(long)]
    print_config: bool,
}

/// Serves until it is interrupted.
pub(crate) fn run(arguments: &ServeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(path) = arguments.config.as_ref().filter(|_| !arguments.print_config) else {
        write!(out, "{SERVE_TEMPLATE}")?;
        return Ok(());
    };
    log_lines::begin(arguments.log);
    run_by(path, arguments, out).map_err(Failure::of_one_that_should_run_on)
}

fn run_by(path: &Path, arguments: &ServeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let config = ServeConfig::read(path).map_err(|error| {
        Failure::input(error.to_string()).with_help("groupkey serve --print-config shows a file")
    })?;
    let path = config.store.path.display();
    let store =
        config.store.open().map_err(|error| Failure::running(format!("{path}: {error}")))?;
    if config.store.key_file.is_none() {
        eprintln!("{path} is not encrypted: whoever copies it has the group's keys");
    }
    let mut rng = fresh_rng().map_err(|error| Failure::running(error.to_string()))?;
    let mut service =
        Service::open(config.policy, Box::new(store), now(), &mut rng).map_err(|error| {
            let problem = format!("{path}: {error}");
            match error {
                OpenError::Fatal(_) => Failure::running(problem),
                // Starting the service again changes nothing, so a supervisor should not.
                _ => Failure::input(problem),
            }
        })?;
    let failed = |error: Fatal| Failure::running(error.to_string());
    if arguments.accept_state {
        service.acting_for(Actor::Terminal).accept_state(now(), &mut rng).map_err(failed)?;
    }
    if arguments.found {
        service.acting_for(Actor::Terminal).found_anew(now(), &mut rng).map_err(failed)?;
    }
    writeln!(out, "service {}", hex(&service.public()))?;
    // Epochs begin anew with each founding.
    writeln!(out, "founding {}", service.founded())?;
    if !service.is_confirmed() && service.group_key().is_none() {
        writeln!(out, "the store has no group: waiting for the broker's notice of one")?;
    }
    if let Some((epoch, _)) = service.group_key() {
        let members = service.members().len();
        writeln!(out, "continues in epoch {epoch} with {members} members")?;
        if service.was_changed() {
            let form = &service.policy().form;
            writeln!(out, "the scheme is {form}: it was changed while the group lived")?;
        }
    }
    out.flush()?;
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    let _guard = tokio.enter();
    let running = drive(service, config.connection);
    tokio.block_on(async {
        if let Some(http) = config.http {
            listen(http, &running, out).await?;
        }
        serve(running, out).await
    })
}

async fn listen(
    config: HttpConfig,
    running: &Running<Service>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (listener, address, access) = http_listener::listen(config).await?;
    let (service, limits) = (running.handle.clone(), http::HttpLimits::default());
    tokio::spawn(http::serve(listener, service, access, limits));
    writeln!(out, "http://{address}")?;
    Ok(out.flush()?)
}

async fn serve(mut running: Running<Service>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut lines = standard_input::of_standard_input();
    let mut input_open = true;
    let mut status = running.handle.status();
    let mut known = Status::default();
    let mut interrupted = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            event = running.events.recv() => match event {
                Some(event) => print(&event, out)?,
                None => return end(&mut running).await,
            },
            line = lines.recv(), if input_open => match line {
                Some(line) => match standard_input::text(line) {
                    Ok(line) => command(&running, line.trim(), out).await?,
                    Err(error) => writeln!(out, "not done: {error}")?,
                },
                None => input_open = false,
            },
            Ok(()) = status.changed() => {
                let status = status.borrow_and_update().clone();
                for change in status.changes_since(&known) {
                    writeln!(out, "{change}")?;
                }
                known = status;
            }
            _ = interrupted.tick() => {
                if interruption::requested().load(Ordering::Relaxed) {
                    stop(&mut running).await?;
                    eprintln!("the service has stopped; its store has everything");
                    return Ok(());
                }
            }
        }
        out.flush()?;
    }
}

/// Makes the service write its last state. It may have ended before.
async fn stop(running: &mut Running<Service>) -> Result<(), Failure> {
    match running.handle.call(|service, now, _| service.stop(now)).await {
        Some(stopped) => stopped.map_err(|fatal| Failure::running(fatal.to_string())),
        None => {
            end(running).await?;
            Err(Failure::running("the service ended before it could write its last state"))
        }
    }
}

async fn end(running: &mut Running<Service>) -> Result<(), Failure> {
    match (&mut running.end).await {
        Ok(Err(fatal)) => Err(Failure::running(fatal.to_string())),
        Ok(Ok(())) => Ok(()),
        Err(error) => Err(Failure::running(error.to_string())),
    }
}

fn print(event: &ServiceEvent, out: &mut dyn Write) -> Result<(), Failure> {
    match event {
        ServiceEvent::Activated { epoch } => writeln!(out, "members send under epoch {}", epoch.0)?,
        ServiceEvent::Admitted { name, member } => writeln!(out, "{name} is member {member}")?,
        ServiceEvent::Changed { scheme, members, left_behind, founded } => {
            writeln!(
                out,
                "founding {founded}\nthe scheme is {scheme} with {members} members; {left_behind} were left behind"
            )?;
        }
        ServiceEvent::ChangeBegun { scheme } => {
            writeln!(out, "the members are told that the scheme changes to {scheme}")?;
        }
        ServiceEvent::ChangeFailed { scheme, why } => {
            writeln!(out, "the scheme does not change to {scheme}: {why}")?;
        }
        ServiceEvent::Founding { founded } => writeln!(out, "founding {founded}")?,
        ServiceEvent::Left { name, member } => writeln!(out, "{name}, member {member}, is out")?,
        ServiceEvent::Refused { name, why } => writeln!(out, "{name} {}", refusal(name, *why))?,
        ServiceEvent::Resumed { name, member } => {
            writeln!(out, "{name}, member {member}, is back")?
        }
        ServiceEvent::Silent { name, member } => {
            writeln!(out, "{name}, member {member}, was silent for too long and is out")?;
        }
        ServiceEvent::Waits { name, waiting, founders } => {
            writeln!(out, "{name} waits: {waiting} of {founders} founders are there")?;
        }
        ServiceEvent::Unconfirmed => writeln!(
            out,
            "the broker has no notice that shows whether the store is the last state: nothing is done \
             until you say accept or found, or start it with --accept-state or --found. In an old copy of the store, evicted devices are \
             members again; --found begins a new group with the devices of this store, and all join again"
        )?,
        ServiceEvent::Rekeyed { epoch, members } => {
            writeln!(out, "epoch {epoch}: {members} members")?;
        }
    }
    Ok(())
}

fn refusal(name: &str, why: RefusalReason) -> String {
    match why {
        RefusalReason::Barred => {
            format!("may not join: it was evicted; groupkey ctl readmit {name} lets it")
        }
        RefusalReason::Full => "may not join yet: too many others wait".to_owned(),
        RefusalReason::NoPermission => {
            "may not join: what it shows is no unspent token, key or identity of this file"
                .to_owned()
        }
    }
}

async fn command(
    running: &Running<Service>,
    line: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let name = rest.trim().to_owned();
    let answer = match verb {
        "" => return Ok(()),
        "members" => {
            let state =
                running.handle.call(|service, _, _| (service.members(), service.counters())).await;
            state.map(|(members, counters)| {
                let members = members.iter().map(|(name, id)| format!("{name} ({id})"));
                let members = members.collect::<Vec<_>>().join(", ");
                Ok(format!(
                    "members: {members}; taken {}, refused {}",
                    counters.taken,
                    counters.refusals()
                ))
            })
        }
        "accept" => {
            let accepted = running.handle.call(|service, now, rng| {
                let service = service.acting_for(Actor::Terminal);
                service.accept_state(now, rng).map_err(|error| error.to_string())
            });
            accepted.await.map(|done| done.map(|()| "the state is accepted".to_owned()))
        }
        "found" => {
            let founded = running.handle.call(|service, now, rng| {
                let service = service.acting_for(Actor::Terminal);
                service.found_anew(now, rng).map_err(|error| error.to_string())
            });
            let done = "if the store is not the last state, the group is founded anew";
            founded.await.map(|result| result.map(|()| done.to_owned()))
        }
        "evict" => {
            let evicted = running.handle.operate(move |service, now, rng| {
                let service = service.acting_for(Actor::Terminal);
                service.evict(&name, now, rng).map(|epoch| format!("epoch {epoch}"))
            });
            evicted.await.map(in_words)
        }
        "readmit" => {
            let readmitted = running.handle.operate(move |service, now, _| {
                let service = service.acting_for(Actor::Terminal);
                service.readmit(&name, now).map(|()| "it may join again".to_owned())
            });
            readmitted.await.map(in_words)
        }
        "rekey" => {
            let rekey = match rest.trim() {
                "" => Service::rekey,
                "--hard" => Service::rekey_hard,
                _ => {
                    writeln!(out, "not done: rekey takes nothing, or --hard")?;
                    return Ok(());
                }
            };
            let rekeyed = running.handle.operate(move |service, now, rng| {
                rekey(service.acting_for(Actor::Terminal), now, rng)
                    .map(|epoch| format!("epoch {epoch}"))
            });
            rekeyed.await.map(in_words)
        }
        "scheme" => {
            running.handle.call(|service, _, _| Ok(ctl::scheme(&SchemeView::of(service)))).await
        }
        "change" => match ctl::form_request(rest.split_whitespace()) {
            Ok(wish) => {
                let begun = running.handle.operate(move |service, now, rng| {
                    let form = service.policy().form.with(&wish);
                    let form = form.map_err(ChangeError::Form)?;
                    service.acting_for(Actor::Terminal).change_scheme(form, now, rng)?;
                    Ok(ctl::scheme(&SchemeView::of(service)))
                });
                begun.await.map(in_words)
            }
            Err(error) => Some(Err(error)),
        },
        "cancel" => {
            let cancelled = running.handle.call(|service, _, _| {
                match service.acting_for(Actor::Terminal).cancel_change() {
                    true => Ok("the scheme stays as it is".to_owned()),
                    false => Err("no change is under way".to_owned()),
                }
            });
            cancelled.await
        }
        _ => Some(Err(format!(
            "{verb}: unknown command; use members, evict NAME, readmit NAME, rekey, rekey --hard, scheme, \
             change SCHEME, cancel, accept or found; groupkey ctl has more"
        ))),
    };
    match answer {
        Some(Ok(done)) => writeln!(out, "{done}")?,
        Some(Err(refusal)) => writeln!(out, "not done: {refusal}")?,
        None => {}
    }
    Ok(())
}

fn in_words(done: Result<String, OperationError>) -> Result<String, String> {
    done.map_err(|error| error.to_string())
}
