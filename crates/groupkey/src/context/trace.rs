//! How steps report their operations to a tracer.

use alloc::vec::Vec;

use crate::context::state::Context;
use crate::context::tracer::Rule;
#[cfg(feature = "research")]
use crate::context::tracer::Traced;
use crate::secret::Key;

#[cfg_attr(not(feature = "research"), allow(dead_code))]
pub(crate) trait TraceValue {
    /// Returns the bytes that represent the value. Different values have different bytes.
    fn traced(&self) -> Vec<u8>;
}

impl TraceValue for Key {
    fn traced(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Context<'_> {
    #[inline]
    pub(crate) const fn is_traced(&self) -> bool {
        #[cfg(feature = "research")]
        let is_traced = self.tracer.is_some();
        #[cfg(not(feature = "research"))]
        let is_traced = false;
        is_traced
    }

    #[inline]
    pub(crate) fn trace(
        &mut self,
        rule: Rule,
        inputs: &[&dyn TraceValue],
        outputs: &[&dyn TraceValue],
    ) {
        self.trace_labelled(rule, "", &[], inputs, outputs);
    }

    #[inline]
    pub(crate) fn trace_labelled(
        &mut self,
        rule: Rule,
        label: &'static str,
        context: &[u8],
        inputs: &[&dyn TraceValue],
        outputs: &[&dyn TraceValue],
    ) {
        if self.is_traced() {
            self.tell(rule, label, context, inputs, outputs);
        }
    }

    /// Reports that parts make up a whole, if a scheme puts bytes together by itself.
    pub(crate) fn assembled(&mut self, parts: &[&Key], whole: &[u8]) {
        if self.is_traced() {
            let parts: Vec<&dyn TraceValue> =
                parts.iter().map(|&part| part as &dyn TraceValue).collect();
            self.tell(Rule::Assemble, "", &[], &parts, &[&Verbatim(whole)]);
        }
    }

    /// Reports the long-term secret that the party has from the beginning.
    #[cfg(feature = "research")]
    pub(super) fn trace_given(&mut self) {
        #[cfg(feature = "distributed")]
        if let Some(keys) = self.peer_keys.filter(|_| self.setting.suite.group().is_some()) {
            self.trace(Rule::Given, &[], &[&keys.secret()]);
        }
    }

    #[cfg(feature = "research")]
    #[cold]
    fn tell(
        &mut self,
        rule: Rule,
        label: &'static str,
        context: &[u8],
        inputs: &[&dyn TraceValue],
        outputs: &[&dyn TraceValue],
    ) {
        let Some(tracer) = self.tracer.as_deref_mut() else { return };
        let inputs: Vec<_> = inputs.iter().map(|value| value.traced()).collect();
        let outputs: Vec<_> = outputs.iter().map(|value| value.traced()).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let outputs: Vec<&[u8]> = outputs.iter().map(Vec::as_slice).collect();
        let (inputs, outputs) = (&inputs[..], &outputs[..]);
        tracer.operation(self.me, Traced { rule, label, context, inputs, outputs });
    }

    #[cfg(not(feature = "research"))]
    fn tell(
        &mut self,
        _: Rule,
        _: &'static str,
        _: &[u8],
        _: &[&dyn TraceValue],
        _: &[&dyn TraceValue],
    ) {
    }
}

/// Bytes that are themselves a value.
#[cfg_attr(not(feature = "research"), allow(dead_code))]
pub(crate) struct Verbatim<'b>(pub(crate) &'b [u8]);

impl TraceValue for Verbatim<'_> {
    fn traced(&self) -> Vec<u8> {
        self.0.to_vec()
    }
}
