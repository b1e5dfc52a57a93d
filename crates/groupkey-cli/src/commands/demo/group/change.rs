//! A group changes its scheme while its members talk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::{Duration, Instant};

use groupkey_choose::number::figure;
use groupkey_mqtt::GroupForm;
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::service::ServiceEvent;
use serde::Serialize;

use super::{DemoGroup, Epoch, PATIENCE, PartyEvent, TimedEvent, ended};
use crate::failure::Failure;

#[derive(Debug, Serialize)]
struct Changed {
    operation: &'static str,
    from: String,
    to: String,
    members: usize,
    /// From the command until the service has the new key, ms.
    made_ms: f64,
    /// From the command until the last member has it, ms.
    everywhere_ms: f64,
    /// Group messages that members sent before, during and after the change.
    messages: u64,
    heard_by_all: u64,
    /// How often a member did not hear one.
    lost: u64,
    /// How often a member heard one again.
    repeated: u64,
    /// Members that did not come along, and joined again.
    left_behind: usize,
}

/// What happens while the group changes.
struct ChangeWatch {
    begun: Option<Instant>,
    made: Option<Instant>,
    everywhere: Option<Instant>,
    /// Members that have entered the successor, and those without its key.
    entered: BTreeSet<u32>,
    waiting: BTreeSet<u32>,
    left_behind: BTreeSet<u32>,
    said: u64,
    heard: BTreeMap<u64, BTreeSet<u32>>,
    repeated: u64,
}

/// Founds a group, changes its scheme while its members talk, and says what came of it.
pub(in crate::commands::demo) async fn change(
    group: &mut DemoGroup,
    members: u32,
    (from, to): (&GroupForm, GroupForm),
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let numbers: BTreeSet<u32> = (0..members).collect();
    numbers.iter().for_each(|&number| group.arrive(number));
    let founded = group.agree(&numbers, Epoch(0), Instant::now()).await?;
    if !json {
        let ms = figure(founded.everywhere.as_secs_f64() * 1e3);
        writeln!(out, "{members} members, {from} ({ms} ms until all have the key)")?;
    }
    let mut watch = ChangeWatch::new(&numbers);
    group.watch(&mut watch, &to).await?;
    group.assert_secret(&numbers).await?;
    let changed = watch.changed(from, &to, numbers.len());
    if json {
        writeln!(out, "{}", serde_json::to_string(&changed).expect("it is a tree"))?;
    } else {
        writeln!(
            out,
            "{}: the service changed over after {} ms, and {} ms passed until all had its key",
            changed.to,
            figure(changed.made_ms),
            figure(changed.everywhere_ms)
        )?;
        writeln!(
            out,
            "{} messages were sent meanwhile; {} were heard by all others, {} times one was lost, \
             {} times repeated; {} members were left behind",
            changed.messages,
            changed.heard_by_all,
            changed.lost,
            changed.repeated,
            changed.left_behind
        )?;
    }
    match (changed.lost, changed.left_behind) {
        (0, 0) => Ok(()),
        _ => Err(Failure::running("the change lost messages or members")),
    }
}

impl DemoGroup {
    /// Lets members talk in turn, and changes the scheme after the first messages.
    async fn watch(&mut self, watch: &mut ChangeWatch, to: &GroupForm) -> Result<(), Failure> {
        let numbers: Vec<u32> = watch.waiting.iter().copied().collect();
        let mut talk = tokio::time::interval(PACE);
        let mut event_at = Instant::now();
        loop {
            let is_over = watch.everywhere.is_some_and(|at| at.elapsed() > AFTER);
            let silence = event_at.elapsed();
            if is_over && (watch.has_heard_all(numbers.len()) || silence > SILENCE) {
                return Ok(());
            }
            if silence > PATIENCE {
                let waiting = watch.waiting.len();
                return Err(Failure::running("nothing happens anymore")
                    .with_help(format!("{waiting} members wait for the new key")));
            }
            tokio::select! {
                _ = talk.tick(), if !is_over => {
                    if watch.said == BEFORE && watch.begun.is_none() {
                        watch.begun = Some(Instant::now());
                        let form = to.clone();
                        let begun = self.service.call(move |service, now, rng| {
                            service.change_scheme(form, now, rng).map_err(|error| error.to_string())
                        });
                        begun.await.ok_or_else(ended)?.map_err(Failure::running)?;
                    }
                    let speaker = numbers[watch.said as usize % numbers.len()];
                    self.say(speaker, watch.said.to_string()).await?;
                    watch.said += 1;
                }
                event = self.events.recv() => {
                    event_at = Instant::now();
                    watch.note(event.ok_or_else(ended)?)?;
                }
                () = tokio::time::sleep(PACE) => {}
            }
        }
    }
}

impl ChangeWatch {
    fn new(numbers: &BTreeSet<u32>) -> Self {
        Self {
            begun: None,
            made: None,
            everywhere: None,
            entered: BTreeSet::new(),
            waiting: numbers.clone(),
            left_behind: BTreeSet::new(),
            said: 0,
            heard: BTreeMap::new(),
            repeated: 0,
        }
    }

    fn note(&mut self, TimedEvent(at, event): TimedEvent) -> Result<(), Failure> {
        match event {
            PartyEvent::Service(ServiceEvent::Changed { .. }) => self.made = Some(at),
            PartyEvent::Service(ServiceEvent::ChangeFailed { why, .. }) => {
                return Err(Failure::running(why.to_string()));
            }
            PartyEvent::Device(number, MemberEvent::Changed { .. }) => {
                self.entered.insert(number);
            }
            PartyEvent::Device(number, MemberEvent::JoinsAgain) => {
                self.left_behind.insert(number);
                self.entered.insert(number);
            }
            PartyEvent::Device(number, MemberEvent::Rekeyed(_))
                if self.entered.contains(&number) =>
            {
                self.waiting.remove(&number);
            }
            PartyEvent::Device(number, MemberEvent::Heard(received)) => {
                let message = str::from_utf8(&received.content).ok();
                if let Some(message) = message.and_then(|message| message.parse().ok())
                    && !self.heard.entry(message).or_default().insert(number)
                {
                    self.repeated += 1;
                }
            }
            _ => {}
        }
        if self.made.is_some() && self.waiting.is_empty() {
            self.everywhere.get_or_insert(at);
        }
        Ok(())
    }

    fn heard_by_all(&self, members: usize) -> u64 {
        self.heard.values().filter(|heard| heard.len() + 1 == members).count() as u64
    }

    fn has_heard_all(&self, members: usize) -> bool {
        self.heard_by_all(members) == self.said
    }

    fn changed(&self, from: &GroupForm, to: &GroupForm, members: usize) -> Changed {
        let after = |at: Option<Instant>| {
            let time = at.zip(self.begun).map_or(Duration::ZERO, |(at, begun)| at - begun);
            time.as_secs_f64() * 1e3
        };
        let heard: u64 = self.heard.values().map(|heard| heard.len() as u64).sum();
        Changed {
            operation: "change",
            from: from.to_string(),
            to: to.to_string(),
            members,
            made_ms: after(self.made),
            everywhere_ms: after(self.everywhere),
            messages: self.said,
            heard_by_all: self.heard_by_all(members),
            lost: self.said * (members as u64 - 1) - heard,
            repeated: self.repeated,
            left_behind: self.left_behind.len(),
        }
    }
}

/// The time between two group messages.
const PACE: Duration = Duration::from_millis(200);

/// The number of group messages before the change.
const BEFORE: u64 = 10;

/// How long members talk on when all have the new key.
const AFTER: Duration = Duration::from_secs(5);

/// What did not arrive for so long after the last message is lost.
const SILENCE: Duration = Duration::from_secs(30);
