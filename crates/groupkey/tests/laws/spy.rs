//! A subscriber of `tracing` that keeps all it hears, and looks for secrets in it.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

/// Everything that was said at any level: names, targets, and fields with their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spy(Arc<Mutex<String>>);

impl Spy {
    /// Hears what happens in `act`, in this thread. An event that another thread says for the first time
    /// just then may stay unheard for ever, so what happens, happens twice.
    pub(crate) fn on<T>(act: impl Fn() -> T) -> (Self, T) {
        with_default(Self::default(), &act);
        tracing::callsite::rebuild_interest_cache();
        let spy = Self::default();
        let result = with_default(spy.clone(), act);
        (spy, result)
    }

    pub(crate) fn heard(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn finds(&self, secret: &[u8]) -> Vec<&'static str> {
        let heard = self.heard();
        let is_there =
            |(form, text): &(&'static str, String)| heard.contains(text).then_some(*form);
        forms(secret).iter().filter_map(is_there).collect()
    }

    fn write(&self, what: &Metadata<'_>, record: impl FnOnce(&mut Line)) {
        let mut line = Line(format!("{} {} {}", what.level(), what.target(), what.name()));
        record(&mut line);
        *self.0.lock().unwrap() += &(line.0 + "\n");
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?} {value:#?}").unwrap();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        write!(self.0, " {field}={value}").unwrap();
    }
}

impl Subscriber for Spy {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.write(span.metadata(), |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut line = Line(String::new());
        values.record(&mut line);
        *self.0.lock().unwrap() += &line.0;
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.write(event.metadata(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The forms in which bytes would be in a text.
fn forms(secret: &[u8]) -> Vec<(&'static str, String)> {
    let numbers = |separator| {
        let numbers: Vec<_> = secret.iter().map(u8::to_string).collect();
        numbers.join(separator)
    };
    let hex = |separator| {
        let digits: Vec<_> = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.join(separator)
    };
    let mut forms = vec![
        ("hex", hex("")),
        ("hex", hex("").to_uppercase()),
        ("hex with colons", hex(":")),
        ("hex with blanks", hex(" ")),
        ("a list of numbers", numbers(", ")),
        ("a list of numbers, one a line", numbers(",\n    ")),
        ("escaped bytes", secret.escape_ascii().to_string()),
        ("raw bytes", String::from_utf8_lossy(secret).into_owned()),
    ];
    // What stands before a secret in the same text moves it by up to two bytes.
    for shift in 0..3 {
        let encoded = base64(&[&vec![0; shift][..], secret].concat());
        // The ends depend on the neighbours.
        let inner = encoded[4..encoded.len() - 4].to_owned();
        forms.push(("base64", inner.replace('+', "-").replace('/', "_")));
        forms.push(("base64", inner));
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut triple = [0; 3];
        triple[..chunk.len()].copy_from_slice(chunk);
        let number = u32::from_be_bytes([0, triple[0], triple[1], triple[2]]);
        for place in 0..4 {
            let digit = number >> (18 - 6 * place) & 63;
            text.push(if place > chunk.len() { '=' } else { DIGITS[digit as usize].into() });
        }
    }
    text
}

/// Otherwise the searches prove nothing.
#[test]
fn a_spy_finds_a_secret_in_every_form_in_which_somebody_could_say_it() {
    let secret = [251, 239, 190, 65, 66, 200, 7, 31, 255, 254, 3, 99, 0, 17, 170, 85];
    let encoded = |before: &[u8]| base64(&[before, &secret, b"after"].concat());
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    type Say<'a> = Box<dyn Fn() + 'a>;
    let sayings: [Say<'_>; 9] = [
        Box::new(|| tracing::trace!(?secret)),
        Box::new(|| tracing::info!("the key is {secret:?}")),
        Box::new(|| tracing::info!("the key is {secret:#?}")),
        Box::new(|| tracing::error!(key = hex)),
        Box::new(|| drop(tracing::debug_span!("step", key = %hex.to_uppercase()))),
        Box::new(|| tracing::warn!(key = encoded(b""))),
        Box::new(|| tracing::warn!(key = encoded(b"x"))),
        Box::new(|| tracing::warn!(key = encoded(b"xy"))),
        Box::new(|| tracing::warn!(key = %secret.escape_ascii())),
    ];
    for (number, say) in sayings.iter().enumerate() {
        let (spy, ()) = Spy::on(say);
        assert!(!spy.finds(&secret).is_empty(), "{number}: {}", spy.heard());
        assert!(spy.finds(&[9; 16]).is_empty());
    }
    let (spy, ()) = Spy::on(|| tracing::info!("a key of 16 bytes"));
    assert!(spy.finds(&secret).is_empty());
    assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
}
