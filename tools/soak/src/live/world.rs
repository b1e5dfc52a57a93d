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

use super::Era;
use super::LiveSettings;
use super::action::LiveAction;
use super::broker::MosquittoBroker;
use super::device::{DeviceState, LiveDevice};
use super::files::{RunFolder, name};
use super::operator::{Operator, StoreVersion};
use super::outsider::Outsider;
use super::process::{Guardian, Process, ProcessOutput, ProcessOwner};
use super::report::{LiveError, LiveInvariant, LiveProgress, LiveReport, LiveViolation};
use crate::history::below;
use crate::live_scheme::{LiveScheme, SubjectError};

/// All that runs. The processes end before the folder goes: fields are dropped in this order.
pub(super) struct LiveWorld<'a> {
    settings: &'a LiveSettings<'a>,
    stranger: Outsider,
    operator: Operator,
    devices: Vec<LiveDevice>,
    broker: MosquittoBroker,
    guardian: Guardian,
    folder: RunFolder,
    said: (Sender<ProcessOutput>, Receiver<ProcessOutput>),
    rng: ChaCha20Rng,
    /// What happens later.
    due: BTreeMap<(Instant, u64), DelayedAction>,
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
pub(super) enum RunStop {
    Broken(LiveInvariant, String),
    Failed(LiveError),
    Interrupted,
}

/// Something that happens later. A number is that of the process's life, which may be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelayedAction {
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

impl<'a> LiveWorld<'a> {
    pub(super) fn new(settings: &'a LiveSettings<'a>) -> Result<Self, LiveError> {
        let id = settings.scheme.id;
        match LiveScheme::new(settings.scheme, 4) {
            Ok(subject) if !subject.has_peers() => {}
            Ok(_) | Err(SubjectError::NotLive(_)) => return Err(LiveError::NoService(id)),
            Err(error) => return Err(LiveError::Failed(error.to_string())),
        }
        let folder = RunFolder::new()?;
        let broker = MosquittoBroker::new(&folder)?;
        let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
        let most = settings.members as usize + NEWCOMERS.max(settings.members as usize / 10);
        folder.configure(settings, (broker.port, most), &mut rng)?;
        let log = OpenOptions::new().create(true).append(true).open(folder.log("soak"))?;
        Ok(Self {
            settings,
            stranger: Outsider::new(broker.port)?,
            operator: Operator::new(id),
            devices: (0..most).map(|_| LiveDevice::default()).collect(),
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
    pub(super) fn run(&mut self) -> Result<(), RunStop> {
        self.start_broker()?;
        self.start_service()?;
        for device in 0..self.settings.members as usize {
            self.devices[device].standing = DeviceState::In;
            self.start_device(device)?;
        }
        self.settle()?;
        self.begin = Instant::now();
        let all = self.settings.faults;
        while self.report.all_faults() < all {
            let group = 2 + below(&mut self.rng, 5);
            for _ in 0..group {
                let place = self.report.all_faults();
                let (act, pause) = LiveAction::draw(&mut self.rng, place);
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
            (self.settings.on_progress)(&LiveProgress {
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
    pub(super) fn keep(&mut self, kind: LiveInvariant, seen: String) -> LiveViolation {
        self.note(&format!("BROKEN {}: {seen}", kind.name()));
        let folder = self.folder.keep();
        LiveViolation { kind, seen, step: self.step, act: self.act.clone(), folder }
    }

    /// Lets time pass: handles what processes say, and does what is due.
    fn pass(&mut self, time: Duration) -> Result<(), RunStop> {
        let end = Instant::now() + time;
        loop {
            if self.settings.stop.load(Ordering::Relaxed) {
                return Err(RunStop::Interrupted);
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
    fn later(&mut self, time: Duration, due: DelayedAction) {
        self.numbers += 1;
        self.due.insert((Instant::now() + time, self.numbers), due);
    }

    fn happen(&mut self, due: DelayedAction) -> Result<(), RunStop> {
        match due {
            DelayedAction::DiskFree(life) => {
                let process = self.operator.process.as_ref();
                if let Some(process) = process.filter(|process| process.life == life) {
                    process.fill_disk(false);
                    self.operator.is_disk_full = false;
                }
            }
            DelayedAction::ResumeBroker => self.broker.process.iter_mut().for_each(Process::resume),
            DelayedAction::ResumeDevice(device) => {
                self.devices[device].process.iter_mut().for_each(Process::resume);
            }
            DelayedAction::ResumeService => {
                self.operator.process.iter_mut().for_each(Process::resume)
            }
            DelayedAction::KillInChange(life, away) => self.kill_in_change(life, away)?,
            DelayedAction::BrokerInChange(life, away) => self.break_broker_in_change(life, away)?,
            DelayedAction::StartBroker => self.start_broker()?,
            DelayedAction::StartDevice(device) => {
                if self.devices[device].should_run() {
                    self.start_device(device)?;
                }
            }
            DelayedAction::StartService => self.start_service()?,
            DelayedAction::EndTrial(life) => {
                let process = self.operator.process.as_ref();
                let is_on = process.is_some_and(|process| process.life == life);
                match self.operator.store {
                    StoreVersion::Old if is_on => self.end_trial()?,
                    // It runs: what is missing of the file was nothing.
                    StoreVersion::Torn if is_on => self.operator.store = StoreVersion::Last,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn start_broker(&mut self) -> Result<(), RunStop> {
        if self.broker.process.is_none() {
            self.broker.start(&self.folder, &self.guardian, self.said.0.clone())?;
        }
        Ok(())
    }

    /// Starts the service, if it does not run. One that was killed has first to be seen to end.
    fn start_service(&mut self) -> Result<(), RunStop> {
        if self.operator.process.is_some() {
            return Ok(());
        }
        self.operator.lives += 1;
        // A write on a full disk shall fail. It is a signal that would end the process.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" serve --config serve.toml"]);
        command.arg(self.settings.command).current_dir(self.folder.path());
        let (who, log) = ((ProcessOwner::Service, self.operator.lives), self.folder.log("service"));
        let said = self.said.0.clone();
        self.operator.process = Some(Process::start(command, who, &self.guardian, &log, said)?);
        Ok(())
    }

    /// Starts a device's process, if it has none.
    fn start_device(&mut self, number: usize) -> Result<(), RunStop> {
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
        let (who, log) = ((ProcessOwner::Device(number), device.lives), self.folder.log(&name));
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

impl From<LiveError> for RunStop {
    fn from(error: LiveError) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for RunStop {
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
