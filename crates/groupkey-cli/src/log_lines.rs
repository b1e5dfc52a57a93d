//! What `--log` prints: what the library says to a subscriber of `tracing`, a line for each event.

use std::fmt::{self, Debug, Write};
use std::io;
use std::time::Instant;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Prints events on standard error: seconds since the start, level, what happened, fields.
struct LogLines {
    level: Level,
    start: Instant,
}

/// Prints events of this level and of graver ones, if there is a level.
pub(crate) fn begin(level: Option<Level>) {
    let lines = level.map(|level| LogLines { level, start: Instant::now() });
    // Only the first call of a process counts.
    lines.into_iter().for_each(|lines| drop(tracing::subscriber::set_global_default(lines)));
}

impl Subscriber for LogLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("groupkey")
    }

    /// One process has one runtime, whose name need not stand in each line.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let seconds = self.start.elapsed().as_secs_f64();
        let line = line(seconds, event);
        let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn line(seconds: f64, event: &Event<'_>) -> String {
    let mut fields = Fields::default();
    event.record(&mut fields);
    let Fields { message, others } = fields;
    format!("{seconds:.3} {} {message}{others}\n", event.metadata().level())
}

#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let _ = match field.name() {
            "message" => self.message.write_fmt(value),
            name => write!(self.others, " {name}={value}"),
        };
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Errors and names are displayed through Debug, and may have been chosen by a stranger.
        let text = format!("{value:?}");
        self.add(field, format_args!("{}", text.escape_debug().to_string().replace("\\\"", "\"")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::subscriber::with_default;

    use super::*;

    /// Keeps the lines in place of printing them.
    struct Kept(LogLines, Arc<Mutex<Vec<String>>>);

    impl Subscriber for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.0.enabled(metadata)
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            self.0.new_span(span)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.1.lock().expect("nobody panicked").push(line(1.5, event));
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_line_has_what_happened_and_no_control_characters() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let lines = LogLines { level: Level::DEBUG, start: Instant::now() };
        with_default(Kept(lines, Arc::clone(&kept)), || {
            tracing::info!(target: "groupkey", epoch = 7, name = "a\nb", "rekeyed");
            tracing::debug!(target: "groupkey_mqtt", error = %"\u{1b}[2J", "refused");
            tracing::trace!(target: "groupkey", "too little");
            tracing::error!(target: "other", "not ours");
        });
        assert_eq!(
            *kept.lock().expect("nobody panicked"),
            [
                "1.500 INFO rekeyed epoch=7 name=\"a\\nb\"\n",
                "1.500 DEBUG refused error=\\u{1b}[2J\n",
            ]
        );
    }
}
