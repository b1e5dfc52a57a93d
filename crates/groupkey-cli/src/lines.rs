//! Standard input, line by line, for a command that waits for other things too.

use std::io::BufRead;
use std::thread;

use tokio::sync::mpsc;

/// The lines as they come; the channel closes when the input ends.
pub(crate) fn of_standard_input() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(64);
    // Reading cannot be interrupted, so it has a thread that ends with the process.
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
