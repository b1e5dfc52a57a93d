//! The record of a run for an audit: every value that was used, which party made it of which
//! values, and every message.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::fmt;

use groupkey::PartyId;
use groupkey::author::{Rule, Traced, Tracer};
use hashbrown::HashMap;

/// A value of a trace, numbered from 0 in the order in which values first appeared.
pub type ValueId = u32;

/// All operations and messages of a run, on byte strings.
#[derive(Default)]
pub struct OperationTrace {
    event: u32,
    values: Vec<Box<[u8]>>,
    ids: HashMap<Box<[u8]>, ValueId>,
    acts: Vec<TracedOperation>,
    /// Inputs and outputs of all acts, one after the other.
    operands: Vec<ValueId>,
    contexts: Vec<u8>,
    messages: Vec<TracedMessage>,
}

/// One operation of one party.
#[derive(Clone, Copy, Debug)]
pub struct TracedOperation {
    /// The party that performed the operation.
    pub party: PartyId,
    /// The event during which it was performed, as [`OperationTrace::set_event`] counts.
    pub event: u32,
    /// The kind of operation.
    pub rule: Rule,
    label: &'static str,
    operands: (u32, u32, u32),
    context: (u32, u32),
}

/// A message as it was sent.
#[derive(Clone, Debug)]
pub struct TracedMessage {
    /// The sender.
    pub from: PartyId,
    /// The receiver, if the channel was confidential; none if any party may have listened.
    pub to: Option<PartyId>,
    /// The event during which it was sent.
    pub event: u32,
    /// The whole message.
    pub bytes: Rc<[u8]>,
}

impl OperationTrace {
    /// Sets the event to which the following operations and messages belong.
    pub fn set_event(&mut self, event: u32) {
        self.event = event;
    }

    /// Returns all values.
    pub fn values(&self) -> &[Box<[u8]>] {
        &self.values
    }

    /// Returns the value of these bytes, if it occurred.
    pub fn value(&self, bytes: &[u8]) -> Option<ValueId> {
        self.ids.get(bytes).copied()
    }

    /// Returns all operations, in the order in which they were done.
    pub fn acts(&self) -> &[TracedOperation] {
        &self.acts
    }

    /// Returns the inputs of an operation, in the order that its rule says.
    pub fn inputs(&self, act: &TracedOperation) -> &[ValueId] {
        let (start, middle, _) = act.operands;
        &self.operands[start as usize..middle as usize]
    }

    /// Returns the outputs of an operation.
    pub fn outputs(&self, act: &TracedOperation) -> &[ValueId] {
        let (_, middle, end) = act.operands;
        &self.operands[middle as usize..end as usize]
    }

    /// Returns the bytes that went in besides the inputs. They may contain values. Of a wrap, they
    /// are the epoch and the label (8 bytes each) and whether it is bound to them (1 or 0).
    pub fn context(&self, act: &TracedOperation) -> &[u8] {
        &self.contexts[act.context.0 as usize..act.context.1 as usize]
    }

    /// Returns whether a wrap is bound to what it is for: it opens with nothing else.
    pub fn is_bound(&self, act: &TracedOperation) -> bool {
        self.context(act).last() == Some(&1)
    }

    /// Returns all messages, in the order in which they were sent.
    pub fn messages(&self) -> &[TracedMessage] {
        &self.messages
    }

    pub(super) fn published(&mut self, from: PartyId, bytes: Rc<[u8]>) {
        self.messages.push(TracedMessage { to: None, from, event: self.event, bytes });
    }

    pub(super) fn entrusted(&mut self, from: PartyId, to: PartyId, bytes: Rc<[u8]>) {
        self.messages.push(TracedMessage { to: Some(to), from, event: self.event, bytes });
    }

    fn intern(&mut self, bytes: &[u8]) -> ValueId {
        if let Some(&id) = self.ids.get(bytes) {
            return id;
        }
        let id = self.values.len() as ValueId;
        self.values.push(bytes.into());
        self.ids.insert(bytes.into(), id);
        id
    }
}

impl TracedOperation {
    /// Returns the purpose of a derivation.
    pub const fn label(&self) -> &'static str {
        self.label
    }
}

impl Tracer for OperationTrace {
    fn operation(&mut self, party: PartyId, traced: Traced<'_>) {
        // Every step of a party begins with what it was given. Once is enough: no other party has it.
        if traced.rule == Rule::Given
            && traced.outputs.iter().all(|&secret| self.value(secret).is_some())
        {
            return;
        }
        let start = self.operands.len() as u32;
        for input in traced.inputs {
            let id = self.intern(input);
            self.operands.push(id);
        }
        let middle = self.operands.len() as u32;
        for output in traced.outputs {
            let id = self.intern(output);
            self.operands.push(id);
        }
        let operands = (start, middle, self.operands.len() as u32);
        let context = self.contexts.len() as u32;
        self.contexts.extend_from_slice(traced.context);
        let context = (context, self.contexts.len() as u32);
        let Traced { rule, label, .. } = traced;
        self.acts.push(TracedOperation {
            party,
            event: self.event,
            rule,
            label,
            operands,
            context,
        });
    }
}

impl fmt::Debug for OperationTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperationTrace")
            .field("values", &self.values.len())
            .field("acts", &self.acts.len())
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}
