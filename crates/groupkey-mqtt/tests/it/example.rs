//! The example runs to its end.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[path = "../../examples/member.rs"]
mod member;

#[test]
fn the_example_runs_to_its_end() {
    let (sender, end) = mpsc::channel();
    thread::spawn(move || sender.send(member::main().map_err(|error| error.to_string())));
    let result = end.recv_timeout(Duration::from_secs(60)).expect("it ends within a minute");
    assert_eq!(result, Ok(()));
}
