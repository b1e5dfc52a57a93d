//! Members alone in the emulator, and the same members here.

use std::path::Path;

use groupkey::crypto::meter::Meter;
use groupkey_testkit::replay::{MemberReplay, ReplayInput};
use groupkey_testkit::workbench::Handling;

use super::super::costs::HandledMessages;
use super::super::emulated::{EmulationError, Target};
use super::super::profile::DeviceProfile;
use super::row::MemberCost;
use super::{MemberCostError, RAM, STATIC_RAM};
use crate::bench::recording::{Recording, RoleWork};

pub(super) struct EmulatedRecording {
    recording: Recording,
    blank: MemberCost,
    frames: Vec<u8>,
    /// The counted work of each part.
    meters: Vec<Meter>,
    hash: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct EmulatorOutput {
    parts: Vec<PartCosts>,
    /// Bytes of heap in use before the member.
    before: u64,
    hash: String,
    /// If the heap was too small: the bytes that it would have needed to go on.
    needed: Option<u64>,
    /// If the heap of a small device was too small.
    fragmented: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct PartCosts {
    instructions: u64,
    stack: u64,
    heap_peak: u64,
    heap_kept: u64,
    steps: u64,
    received: [u64; 2],
    sent: [u64; 2],
}

/// The heap of the emulated machine, most of its memory (bytes).
const LARGE_HEAP: u64 = 0x38_0000;

/// Runs the recordings, and returns their outcomes in the same order. First each gets as much heap
/// as the machine has. If a member needs most of a small device's heap, it gets no more than that in
/// another run: the allocator itself takes some bytes, and leaves gaps.
pub(super) fn all(
    target: Target,
    firmware: &Path,
    units: &[EmulatedRecording],
) -> Result<Vec<EmulatorOutput>, EmulationError> {
    let all: Vec<&EmulatedRecording> = units.iter().collect();
    let mut outcomes = run(target, firmware, &all, LARGE_HEAP)?;
    for (unit, outcome) in units.iter().zip(&mut outcomes) {
        let heap = outcome.parts.iter().map(|part| part.heap_peak).max().unwrap_or_default();
        let stack = outcome.parts.iter().map(|part| part.stack).max().unwrap_or_default();
        // A signature of suite `pq` has a stack larger than that.
        let most = (RAM - STATIC_RAM).saturating_sub(stack);
        if outcome.needed.is_none() && heap <= most && heap > most / 2 {
            let small = run(target, firmware, &[unit], most + outcome.before)?;
            outcome.fragmented = small.iter().any(|outcome| outcome.needed.is_some());
        }
    }
    Ok(outcomes)
}

/// Runs the recordings with this much heap. After one that needs more, the emulator starts again.
fn run(
    target: Target,
    firmware: &Path,
    units: &[&EmulatedRecording],
    heap: u64,
) -> Result<Vec<EmulatorOutput>, EmulationError> {
    let mut outcomes: Vec<EmulatorOutput> = Vec::new();
    while outcomes.len() < units.len() {
        let mut input = Vec::new();
        frame(&mut input, &(heap as u32).to_be_bytes());
        units[outcomes.len()..].iter().for_each(|unit| input.extend_from_slice(&unit.frames));
        frame(&mut input, &[]);
        let (before, mut current, mut unreadable) =
            (outcomes.len(), EmulatorOutput::default(), None);
        target.run_with(firmware, "members", input, &mut |line| match current.read(line) {
            Some(true) => outcomes.push(std::mem::take(&mut current)),
            Some(false) => {}
            None => unreadable = Some(line.to_owned()),
        })?;
        if let Some(line) = unreadable {
            return Err(EmulationError::Unreadable(line));
        }
        if outcomes.len() == before {
            return Err(EmulationError::Stopped(target));
        }
    }
    Ok(outcomes)
}

impl EmulatorOutput {
    /// Reads a line of the firmware. Returns whether it is the last line of a recording; `None` if it
    /// has no sense.
    fn read(&mut self, line: &str) -> Option<bool> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "before" => self.before = rest.parse().ok()?,
            "part" => {
                let numbers = rest.split(' ').map(|number| number.parse::<u64>().ok());
                let numbers: [u64; 9] = numbers.collect::<Option<Vec<_>>>()?.try_into().ok()?;
                let [instructions, stack, heap_peak, heap_kept, steps, traffic @ ..] = numbers;
                let [received, received_bytes, sent, sent_bytes] = traffic;
                self.parts.push(PartCosts {
                    instructions,
                    stack,
                    heap_peak,
                    heap_kept,
                    steps,
                    received: [received, received_bytes],
                    sent: [sent, sent_bytes],
                });
            }
            "hash" => {
                self.hash = rest.get(..HASH_DIGITS)?.to_owned();
                return Some(true);
            }
            "memory" => {
                self.needed = Some(rest.parse().ok()?);
                return Some(true);
            }
            _ => return None,
        }
        Some(false)
    }
}

const HASH_DIGITS: usize = 16;

impl EmulatedRecording {
    pub(super) fn new(recording: Recording, blank: &MemberCost) -> Self {
        let mut frames = Vec::new();
        frame(&mut frames, &recording.subject.to_frame());
        let mut replay = MemberReplay::new(recording.subject.clone()).expect("it ran in the group");
        replay.begin();
        let mut meters = vec![Meter::new()];
        for act in &recording.acts {
            let bytes = act.to_frame();
            frame(&mut frames, &bytes);
            let act = ReplayInput::from_frame(&bytes).expect("just written");
            if act == ReplayInput::End {
                meters.push(Meter::new());
            }
            let meter = meters.last_mut().expect("there is one");
            replay.act(&act, meter, &mut ()).expect("it ran in the group");
        }
        frame(&mut frames, &[]);
        // Otherwise the device would be compared with another mistake.
        assert_eq!(replay.hash(), recording.hash, "a member alone sends what it sent in its group");
        let hash = recording.hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { recording, blank: blank.clone(), frames, meters, hash: hash[..HASH_DIGITS].into() }
    }

    /// Returns the rows of the recording. Fails if the device's member is not the member here.
    pub(super) fn rows(
        &self,
        outcome: &EmulatorOutput,
        device: &DeviceProfile,
    ) -> Result<Vec<MemberCost>, MemberCostError> {
        if outcome.needed.is_none() && outcome.hash != self.hash {
            return Err(MemberCostError::OtherBytes(Box::new(self.blank.clone())));
        }
        Ok(self.recording.works.iter().map(|work| self.row(work, outcome, device)).collect())
    }

    /// Returns the recorded rows of the recording, with the hash and the model computed anew.
    pub(super) fn again(&self, recorded: &[MemberCost], device: &DeviceProfile) -> Vec<MemberCost> {
        let again = self.recording.works.iter().map(|work| {
            let row = self.named(work);
            let Some(then) = recorded.iter().find(|then| then.is_of(&row)) else { return row };
            let traffic = |messages: Option<u64>, bytes: Option<u64>| {
                [messages, bytes].map(Option::unwrap_or_default)
            };
            let part = PartCosts {
                received: traffic(then.received_messages, then.received_bytes),
                sent: traffic(then.sent_messages, then.sent_bytes),
                ..PartCosts::default()
            };
            let modelled = then.instructions.and_then(|_| self.modelled(work, &part, device));
            MemberCost { hash: row.hash, modelled_instructions: modelled, ..then.clone() }
        });
        again.collect()
    }

    /// Returns the row of a part, without figures.
    fn named(&self, work: &RoleWork) -> MemberCost {
        MemberCost {
            operation: work.operation.to_owned(),
            role: work.role.name().to_owned(),
            phase: work.phase.name().to_owned(),
            hash: self.hash.clone(),
            ..self.blank.clone()
        }
    }

    fn modelled(&self, work: &RoleWork, part: &PartCosts, device: &DeviceProfile) -> Option<u64> {
        let suite = self.recording.subject.suite;
        let meter = &self.meters[work.part];
        let modelled = device.instructions(suite, meter, &part.handled(work.operation));
        modelled.map(|instructions| instructions.round() as u64)
    }

    fn row(&self, work: &RoleWork, outcome: &EmulatorOutput, device: &DeviceProfile) -> MemberCost {
        let row = self.named(work);
        let Some(part) = outcome.parts.get(work.part) else {
            let needed = outcome.needed.unwrap_or_default().saturating_sub(outcome.before);
            let reason = format!("heap: needs more than {needed} bytes");
            return MemberCost { fits: Some(false), reason, ..row };
        };
        let row = MemberCost {
            instructions: Some(part.instructions),
            modelled_instructions: self.modelled(work, part, device),
            stack_bytes: Some(part.stack),
            heap_peak_bytes: Some(part.heap_peak),
            heap_kept_bytes: Some(part.heap_kept),
            steps: Some(part.steps),
            received_messages: Some(part.received[0]),
            received_bytes: Some(part.received[1]),
            sent_messages: Some(part.sent[0]),
            sent_bytes: Some(part.sent[1]),
            ..row
        };
        let reason = match row.ram_bytes() {
            Some(needed) if needed > RAM => format!("memory: needs {needed} bytes of {RAM}"),
            _ if outcome.fragmented => "heap: the allocator leaves gaps".to_owned(),
            _ => String::new(),
        };
        MemberCost { fits: Some(reason.is_empty()), reason, ..row }
    }
}

impl PartCosts {
    fn handled(&self, operation: &str) -> HandledMessages {
        let (sending, receiving) = match operation {
            "encrypt" | "decrypt" => (Handling::Encrypt, Handling::Decrypt),
            _ => (Handling::Send, Handling::Receive),
        };
        let mut handled = HandledMessages::default();
        for (handling, [messages, bytes]) in [(sending, self.sent), (receiving, self.received)] {
            handled.add(handling, messages, bytes);
        }
        handled
    }
}

fn frame(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}
