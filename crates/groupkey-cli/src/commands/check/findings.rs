//! The lines of a check, and what a broker's properties mean for who uses it.

use std::io::Write;

use groupkey_mqtt::driver::{BrokerProperties, Status, Version};
use groupkey_mqtt::tls::{CertificateView, utc};
use serde::Serialize;

use crate::failure::Failure;

/// Prints lines, and counts them.
pub(super) struct CheckReport<'a> {
    json: bool,
    out: &'a mut dyn Write,
    /// Whose lines follow, where there are several.
    pub(super) of: Option<String>,
    lines: usize,
    failed: usize,
}

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckVerdict {
    Ok,
    /// It works, but not as one may expect.
    Look,
    Fails,
}

#[derive(Serialize)]
struct CheckLine<'a> {
    check: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'a str>,
    result: CheckVerdict,
    text: &'a str,
}

impl<'a> CheckReport<'a> {
    pub(super) fn new(json: bool, out: &'a mut dyn Write) -> Self {
        Self { json, out, of: None, lines: 0, failed: 0 }
    }

    /// Tells one thing.
    pub(super) fn tell(
        &mut self,
        check: &str,
        result: CheckVerdict,
        text: &str,
    ) -> Result<(), Failure> {
        self.lines += 1;
        self.failed += usize::from(result == CheckVerdict::Fails);
        if self.json {
            let of = self.of.as_deref();
            let line = serde_json::to_string(&CheckLine { check, of, result, text });
            return Ok(writeln!(self.out, "{}", line.expect("a line is plain data"))?);
        }
        let word = match result {
            CheckVerdict::Ok => "ok",
            CheckVerdict::Look => "look",
            CheckVerdict::Fails => "FAILS",
        };
        let of = self.of.as_ref().map(|of| format!("{of}: ")).unwrap_or_default();
        Ok(writeln!(self.out, "{word:<5}  {check:<11}  {of}{text}")?)
    }

    /// Tells until when a certificate holds. Times are in s since 1970.
    pub(super) fn certificate(
        &mut self,
        option: &str,
        view: &CertificateView,
        seconds: u64,
    ) -> Result<(), Failure> {
        let CertificateView { not_before, not_after, problem } = view;
        let (from, until) = (utc(*not_before), utc(*not_after));
        let (verdict, text) = match problem {
            _ if *not_after < seconds => (
                CheckVerdict::Fails,
                format!("expired at {until}: sign a new one, or set the clock"),
            ),
            _ if *not_before > seconds => {
                (CheckVerdict::Fails, format!("valid from {from} on: set the clock"))
            }
            Some(problem) => (CheckVerdict::Look, problem.clone()),
            None if *not_after < seconds + SOON => {
                (CheckVerdict::Look, format!("expires at {until}: sign a new one soon"))
            }
            None => (CheckVerdict::Ok, format!("valid until {until}")),
        };
        self.tell("certificate", verdict, &format!("{option}: {text}"))
    }

    pub(super) fn properties(&mut self, status: &Status, by: BrokerUse) -> Result<(), Failure> {
        let Some(announced) = &status.announced else {
            let text = format!("MQTT {} announces nothing", Version::V3);
            return self.tell("broker", CheckVerdict::Look, &text);
        };
        let BrokerProperties { retains, maximum_packet, session_expiry, .. } = announced;
        let mut notes = Vec::new();
        let lacks_retained = by == BrokerUse::OfService && !retains;
        if lacks_retained {
            notes.push("a group with a service needs retained messages: let it retain".to_owned());
        }
        let lacks_quality = by == BrokerUse::Local && status.is_lowered;
        if lacks_quality {
            notes
                .push("a bridge needs QoS 1 here, or messages are lost: let it have it".to_owned());
        } else if status.is_lowered {
            notes.push(format!("QoS {} is used in place of the file's", status.qos.level()));
        }
        if let Some(bytes) = maximum_packet.filter(|bytes| *bytes < SMALL_PACKET) {
            let what = if by == BrokerUse::Local { "messages" } else { "rekey messages" };
            notes.push(format!("{what} of more than {bytes} bytes are lost: raise its limit"));
        }
        if let Some(seconds) = session_expiry {
            notes.push(match by {
                BrokerUse::Local => format!(
                    "what is kept while the bridge is away for more than {seconds} s is lost"
                ),
                _ => format!("who is away for more than {seconds} s catches up"),
            });
        }
        let is_failing = lacks_retained || lacks_quality;
        let verdict = match (is_failing, notes.is_empty()) {
            (true, _) => CheckVerdict::Fails,
            (false, false) => CheckVerdict::Look,
            (false, true) => CheckVerdict::Ok,
        };
        let text = [vec![announced.to_string()], notes].concat().join("; ");
        self.tell("broker", verdict, &text)
    }

    /// Ends the report, with an error if something fails.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            failed => Err(Failure::running(format!("{failed} of {} checks failed", self.lines))),
        }
    }
}

/// Who uses a broker, and so what it must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokerUse {
    /// A service, or a member of its group.
    OfService,
    OfPeer,
    /// A bridge, with programs that speak in clear.
    Local,
}

/// A certificate that expires within this time is told, s: 30 days.
const SOON: u64 = 30 * 86_400;

/// A broker's limit below this one may be too low, bytes.
const SMALL_PACKET: u32 = 64 << 10;
