//! `groupkey demo`: a live group in one process, with a broker, over loopback TCP.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use groupkey::catalogue::Scheme;
use groupkey::{Epoch, Key};
use groupkey_mqtt::agent::Told;
use groupkey_mqtt::driver::{Connection, Running, fresh_rng, run as drive};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{Form, Member, Policy, Service, broker, member};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tokio::runtime::Runtime as Tokio;

use crate::choice;
use crate::failure::Failure;
use crate::table::figure;

/// Arguments of `groupkey demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing is simulated: parties of the library, MQTT over TCP on this machine, signatures, real keys. Of
times, look at their order of magnitude: everybody shares one processor here.

Examples:
  groupkey demo
  groupkey demo --scheme skdc --members 20")]
pub(crate) struct DemoArguments {
    /// The scheme; one with a controller.
    #[arg(long, default_value = "lkh-group", value_parser = choice::scheme())]
    scheme: &'static Scheme,

    /// Members that found the group.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(3..=500))]
    members: u32,

    /// The devices' keys follow from it. Keys of the group are drawn by the operating system.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Shows a group's life.
pub(crate) fn run(arguments: &DemoArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut form = Form::of(arguments.scheme);
    if !arguments.scheme.has_controller() {
        return Err(Failure::input(format!("{} has no controller", arguments.scheme.id))
            .with_help("run groupkey member on each side, or choose lkh-group, skdc, igkmp, ..."));
    }
    if arguments.scheme.parameters.iter().any(|parameter| parameter.name == "subgroups") {
        // As many as a small group can fill.
        let _ = form.configuration.set("subgroups", 3);
    }
    form.check(false).map_err(|error| Failure::input(error.to_string()))?;
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    let address = broker::start()
        .map_err(|error| Failure::running(format!("the broker does not start: {error}")))?;
    writeln!(
        out,
        "A broker listens on {address}. {} ({}), {} devices with keys of their own.\n",
        arguments.scheme.name,
        arguments.scheme.provenance.name(),
        arguments.members + 1,
    )?;
    let _guard = tokio.enter();
    let mut group = Group::new(form, arguments, address.port())?;
    tokio.block_on(story(&mut group, arguments.members, out))
}

async fn story(group: &mut Group, members: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let everybody: Vec<u32> = (0..members).collect();
    let begin = Instant::now();
    everybody.iter().for_each(|&number| group.arrive(number));
    let epoch = group.agree(&everybody).await?;
    line(out, epoch, begin, &format!("device-0 to device-{} joined", members - 1))?;

    group.say(1, "slippery road at kilometre 7").await?;
    let heard = group.heard(0).await?;
    writeln!(out, "         device-1 to all, encrypted: {heard:?} - device-0 reads it")?;

    let begin = Instant::now();
    group.arrive(members);
    let with_newcomer: Vec<u32> = (0..=members).collect();
    let epoch = group.agree(&with_newcomer).await?;
    line(
        out,
        epoch,
        begin,
        &format!("device-{members} joined: a new key, so it reads nothing old"),
    )?;

    let begin = Instant::now();
    group.evict(1).await?;
    let rest: Vec<u32> = with_newcomer.into_iter().filter(|&number| number != 1).collect();
    let epoch = group.agree(&rest).await?;
    line(out, epoch, begin, "device-1 was evicted: a new key that it does not have")?;

    group.say(members as usize, "turn left at the next crossing").await?;
    let heard = group.heard(0).await?;
    writeln!(out, "         device-{members} to all, encrypted: {heard:?} - device-0 reads it")?;
    let outsider = group.has_key(1).await?;
    writeln!(
        out,
        "         device-1 {} the group's key",
        if outsider { "HAS" } else { "has not" }
    )?;
    let counters = group.service.handle.call(|service, _, _| service.counters()).await;
    let counters = counters.ok_or_else(ended)?;
    writeln!(
        out,
        "\nThe service took {} messages and refused {}. Next: groupkey serve --print-config",
        counters.taken,
        counters.refusals()
    )?;
    if outsider {
        return Err(Failure::running("an evicted member has the group's key"));
    }
    Ok(())
}

fn line(out: &mut dyn Write, epoch: Epoch, begin: Instant, what: &str) -> Result<(), Failure> {
    let ms = figure(begin.elapsed().as_secs_f64() * 1e3);
    writeln!(out, "epoch {epoch}: {what} ({ms} ms until all have it)")?;
    Ok(())
}

struct Group {
    port: u16,
    seed: u64,
    service: Running<Service>,
    service_key: [u8; 32],
    members: Vec<Running<Member>>,
}

impl Group {
    fn new(form: Form, arguments: &DemoArguments, port: u16) -> Result<Self, Failure> {
        let mut policy = Policy { founders: arguments.members as usize, ..Policy::of(form) };
        for number in 0..=arguments.members {
            policy.keys.insert(name(number), secret(arguments.seed, number, 0));
        }
        let mut rng = fresh_rng().map_err(|error| Failure::running(error.to_string()))?;
        let store = Box::new(MemoryStore::default());
        let service = Service::open(policy, store, &mut rng)
            .map_err(|error| Failure::running(error.to_string()))?;
        let service_key = service.public();
        let service = drive(service, connection("service", port));
        Ok(Self { port, seed: arguments.seed, service, service_key, members: Vec::new() })
    }

    fn arrive(&mut self, number: u32) {
        let settings = member::Settings {
            prefix: "groupkey/1".to_owned(),
            name: name(number),
            identity: secret(self.seed, number, 1),
            shared: Some(secret(self.seed, number, 0)),
            service: Some(self.service_key),
            messages: groupkey::messages::Settings::default(),
        };
        let member = Member::new(settings).expect("the name is one, and there is a key");
        self.members.push(drive(member, connection(&name(number), self.port)));
    }

    async fn evict(&self, number: u32) -> Result<(), Failure> {
        let evicted = self.service.handle.call(move |service, now, rng| {
            service.evict(&name(number), now, rng).map_err(|error| error.to_string())
        });
        evicted.await.ok_or_else(ended)?.map_err(Failure::running)?;
        Ok(())
    }

    async fn say(&self, index: usize, what: &'static str) -> Result<(), Failure> {
        let said = self.members[index].handle.call(move |member, now, rng| {
            member.say(what.as_bytes(), now, rng).map_err(|error| error.to_string())
        });
        said.await.ok_or_else(ended)?.map_err(Failure::running)
    }

    /// What a member hears next.
    async fn heard(&mut self, index: usize) -> Result<String, Failure> {
        let notices = &mut self.members[index].notices;
        let heard = async {
            loop {
                if let Told::Heard(received) = notices.recv().await? {
                    return Some(String::from_utf8_lossy(&received.content).into_owned());
                }
            }
        };
        tokio::time::timeout(PATIENCE, heard).await.ok().flatten().ok_or_else(ended)
    }

    async fn has_key(&self, index: usize) -> Result<bool, Failure> {
        Ok(self.key_of(index).await? == self.service_holds().await?)
    }

    /// Waits until these members have the service's key.
    async fn agree(&self, numbers: &[u32]) -> Result<Epoch, Failure> {
        let begin = Instant::now();
        loop {
            let expected = self.service_holds().await?;
            let mut agreed = expected.is_some();
            for &number in numbers {
                agreed = agreed && self.key_of(number as usize).await? == expected;
            }
            if let Some((epoch, _)) = expected.filter(|_| agreed) {
                return Ok(epoch);
            }
            if begin.elapsed() > PATIENCE {
                return Err(Failure::running("the members do not agree on a key"));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn service_holds(&self) -> Result<Option<(Epoch, Key)>, Failure> {
        let held = self.service.handle.call(|service, _, _| owned(service.group_key()));
        held.await.ok_or_else(ended)
    }

    async fn key_of(&self, index: usize) -> Result<Option<(Epoch, Key)>, Failure> {
        let held = self.members[index].handle.call(|member, _, _| owned(member.group_key()));
        held.await.ok_or_else(ended)
    }
}

fn owned(key: Option<(Epoch, &Key)>) -> Option<(Epoch, Key)> {
    key.map(|(epoch, key)| (epoch, key.clone()))
}

fn ended() -> Failure {
    Failure::running("a party of the demonstration has ended")
}

fn name(number: u32) -> String {
    format!("device-{number}")
}

fn secret(seed: u64, number: u32, kind: u64) -> Secret {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(number) * 2 + kind);
    let mut bytes = [0; 32];
    rng.fill_bytes(&mut bytes);
    Secret::from_bytes(bytes)
}

fn connection(name: &str, port: u16) -> Connection {
    Connection::new("127.0.0.1", port, format!("demo-{name}"))
}

const PATIENCE: Duration = Duration::from_secs(60);
