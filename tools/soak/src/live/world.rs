//! A run: all processes, the steps, and what is due later.

mod acts;
mod events;
mod settle;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::LiveSettings;
use super::act::Act;
use super::broker::Broker;
use super::device::{Device, Standing};
use super::era::Era;
use super::files::{Folder, name};
use super::operator::{Operator, Store};
use super::process::{Guardian, Party, Process, Said};
use super::report::{Broken, Kind, LiveError, LiveReport, Progress};
use super::stranger::Stranger;
use crate::history::below;
use crate::subject::{Subject, SubjectError};

/// All that runs. The processes end before the folder goes: fields are dropped in this order.
pub(super) struct World<'a> {
    settings: &'a LiveSettings<'a>,
    stranger: Stranger,
    operator: Operator,
    devices: Vec<Device>,
    broker: Broker,
    guardian: Guardian,
    folder: Folder,
    said: (Sender<Said>, Receiver<Said>),
    rng: ChaCha20Rng,
    /// What happens later.
    due: BTreeMap<(Instant, u64), Due>,
    numbers: u64,
    /// Of each word that a member was told to say: the epoch that it had at least.
    words: Vec<Era>,
    /// The latest epoch that the service acknowledged, or that a member has.
    seen: Era,
    /// Whether the broker may retain no notice, or one from before.
    is_notice_lost: bool,
    step: u64,
    act: String,
    begin: Instant,
    log: File,
    report: LiveReport,
}

/// Why a run ends early.
pub(super) enum Stop {
    Broken(Kind, String),
    Failed(LiveError),
    Interrupted,
}

/// Something that happens later. A number is that of the process's life, which may be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    DiskFree(u64),
    ResumeBroker,
    ResumeDevice(usize),
    ResumeService,
    StartBroker,
    StartDevice(usize),
    StartService,
    /// A service is killed in a change of scheme, and is away for some time.
    KillInChange(u64, Duration),
    /// The broker restarts in a change of scheme, and is away for some time.
    BrokerInChange(u64, Duration),
    /// A service with an old or torn store had time enough to refuse it.
    EndTrial(u64),
}

impl<'a> World<'a> {
    pub(super) fn new(settings: &'a LiveSettings<'a>) -> Result<Self, LiveError> {
        let id = settings.scheme.id;
        match Subject::new(settings.scheme, 4) {
            Ok(subject) if !subject.has_peers() => {}
            Ok(_) | Err(SubjectError::NotLive(_)) => return Err(LiveError::NoService(id)),
            Err(error) => return Err(LiveError::Failed(error.to_string())),
        }
        let folder = Folder::new()?;
        let broker = Broker::new(&folder)?;
        let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
        let most = settings.members as usize + NEWCOMERS.max(settings.members as usize / 10);
        folder.configure(settings, (broker.port, most), &mut rng)?;
        let log = OpenOptions::new().create(true).append(true).open(folder.log("soak"))?;
        Ok(Self {
            settings,
            stranger: Stranger::new(broker.port)?,
            operator: Operator::new(id),
            devices: (0..most).map(|_| Device::default()).collect(),
            broker,
            guardian: Guardian::start()?,
            folder,
            said: channel(),
            rng,
            due: BTreeMap::new(),
            numbers: 0,
            words: Vec::new(),
            seen: Era::default(),
            is_notice_lost: false,
            step: 0,
            act: "all arrive".to_owned(),
            begin: Instant::now(),
            log,
            report: LiveReport::default(),
        })
    }

    /// Runs to the end, or to what goes wrong.
    pub(super) fn run(&mut self) -> Result<(), Stop> {
        self.start_broker()?;
        self.start_service()?;
        for device in 0..self.settings.members as usize {
            self.devices[device].standing = Standing::In;
            self.start_device(device)?;
        }
        self.settle()?;
        self.begin = Instant::now();
        let all = self.settings.faults;
        while self.report.all_faults() < all {
            let group = 2 + below(&mut self.rng, 5);
            for _ in 0..group {
                let place = self.report.all_faults();
                let (act, pause) = Act::draw(&mut self.rng, place);
                self.carry_out(&act)?;
                self.pass(pause)?;
                if act.fault().is_some() {
                    // As long as the faults so far should take.
                    let share = self.report.all_faults() as f64 / all as f64;
                    let until = self.begin + self.settings.time.mul_f64(share.min(1.0));
                    let spread = until.saturating_duration_since(Instant::now()) / 4;
                    self.pass(spread.min(LONGEST_SPREAD))?;
                }
            }
            let returned = self.settle()?;
            self.report.returns += 1;
            self.report.all_returns += returned;
            self.report.slowest_return = self.report.slowest_return.max(returned);
            (self.settings.on_progress)(&Progress {
                faults: self.report.all_faults(),
                time: self.begin.elapsed(),
                epoch: self.operator.epoch.epoch,
                returned,
            });
            let share = self.report.all_faults() as f64 / all as f64;
            let until = self.begin + self.settings.time.mul_f64(share.min(1.0));
            self.pass(until.saturating_duration_since(Instant::now()))?;
        }
        Ok(())
    }

    /// Returns what was done so far.
    pub(super) fn report(&self) -> LiveReport {
        LiveReport {
            epoch: self.operator.epoch.epoch,
            messages: self.stranger.recorded(),
            time: self.begin.elapsed(),
            ..self.report.clone()
        }
    }

    /// Keeps the logs, because an invariant is broken.
    pub(super) fn keep(&mut self, kind: Kind, seen: String) -> Broken {
        self.note(&format!("BROKEN {}: {seen}", kind.name()));
        let folder = self.folder.keep();
        Broken { kind, seen, step: self.step, act: self.act.clone(), folder }
    }

    /// Lets time pass: handles what processes say, and does what is due.
    fn pass(&mut self, time: Duration) -> Result<(), Stop> {
        let end = Instant::now() + time;
        loop {
            if self.settings.stop.load(Ordering::Relaxed) {
                return Err(Stop::Interrupted);
            }
            self.operator.ask();
            while let Some((&(at, number), &due)) = self.due.first_key_value() {
                if at > Instant::now() {
                    break;
                }
                self.due.remove(&(at, number));
                self.happen(due)?;
            }
            let next = self.due.first_key_value().map_or(end, |(&(at, _), _)| at.min(end));
            let wait = next.saturating_duration_since(Instant::now()).min(TICK);
            match self.said.1.recv_timeout(wait) {
                Ok(said) => self.hear(&said)?,
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => return Ok(()),
                Err(_) => {}
            }
        }
    }

    /// Makes something happen after some time.
    fn later(&mut self, time: Duration, due: Due) {
        self.numbers += 1;
        self.due.insert((Instant::now() + time, self.numbers), due);
    }

    fn happen(&mut self, due: Due) -> Result<(), Stop> {
        match due {
            Due::DiskFree(life) => {
                let process = self.operator.process.as_ref();
                if let Some(process) = process.filter(|process| process.life == life) {
                    process.fill_disk(false);
                    self.operator.is_disk_full = false;
                }
            }
            Due::ResumeBroker => self.broker.process.iter_mut().for_each(Process::resume),
            Due::ResumeDevice(device) => {
                self.devices[device].process.iter_mut().for_each(Process::resume);
            }
            Due::ResumeService => self.operator.process.iter_mut().for_each(Process::resume),
            Due::KillInChange(life, away) => self.kill_in_change(life, away)?,
            Due::BrokerInChange(life, away) => self.break_broker_in_change(life, away)?,
            Due::StartBroker => self.start_broker()?,
            Due::StartDevice(device) => {
                if self.devices[device].should_run() {
                    self.start_device(device)?;
                }
            }
            Due::StartService => self.start_service()?,
            Due::EndTrial(life) => {
                let process = self.operator.process.as_ref();
                let is_on = process.is_some_and(|process| process.life == life);
                match self.operator.store {
                    Store::Old if is_on => self.end_trial()?,
                    // It runs: what is missing of the file was nothing.
                    Store::Torn if is_on => self.operator.store = Store::Last,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn start_broker(&mut self) -> Result<(), Stop> {
        if self.broker.process.is_none() {
            self.broker.start(&self.folder, &self.guardian, self.said.0.clone())?;
        }
        Ok(())
    }

    /// Starts the service, if it does not run. One that was killed has first to be seen to end.
    fn start_service(&mut self) -> Result<(), Stop> {
        if self.operator.process.is_some() {
            return Ok(());
        }
        self.operator.lives += 1;
        // A write on a full disk shall fail. It is a signal that would end the process.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" serve --config serve.toml"]);
        command.arg(self.settings.command).current_dir(self.folder.path());
        let (who, log) = ((Party::Service, self.operator.lives), self.folder.log("service"));
        let said = self.said.0.clone();
        self.operator.process = Some(Process::start(command, who, &self.guardian, &log, said)?);
        Ok(())
    }

    /// Starts a device's process, if it has none.
    fn start_device(&mut self, number: usize) -> Result<(), Stop> {
        let device = &mut self.devices[number];
        if device.process.is_some() {
            return Ok(());
        }
        device.lives += 1;
        (device.epoch, device.founding, device.heard) = (None, 0, None);
        device.started = Some(Instant::now());
        let name = name(number);
        let mut command = Command::new(self.settings.command);
        command.args(["member", "--config", &format!("{name}.toml")]);
        command.current_dir(self.folder.path());
        let (who, log) = ((Party::Device(number), device.lives), self.folder.log(&name));
        let said = self.said.0.clone();
        device.process = Some(Process::start(command, who, &self.guardian, &log, said)?);
        Ok(())
    }

    /// Writes a line into the run's own log.
    fn note(&mut self, what: &str) {
        let time = self.begin.elapsed().as_millis();
        let _ = writeln!(self.log, "{time:9} ms, step {}: {what}", self.step);
    }
}

impl From<LiveError> for Stop {
    fn from(error: LiveError) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// How many devices may arrive later, at least.
const NEWCOMERS: usize = 4;

/// How long a run does not look whether it should stop.
const TICK: Duration = Duration::from_millis(100);

/// The longest that faults of one group are spread: they should meet each other.
const LONGEST_SPREAD: Duration = Duration::from_secs(5);
