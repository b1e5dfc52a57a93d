//! Runs members alone, one after the other, and prints what their steps cost. The inputs come from
//! the host's recordings (`groupkey_testkit::replay`), frame by frame over the standard input. A frame is its
//! length (4 bytes, the most significant first) and its bytes.
//!
//! The first frame holds the bytes of heap. An empty frame ends a recording, and another one the
//! program. For each recording it prints the bytes of heap in use before the member. For each part of
//! the recording it prints a line `part` with instructions, bytes of stack,
//! most bytes of heap, bytes of heap that stay, steps, messages and bytes received, and messages and
//! bytes sent. After a recording it prints the hash of the member's messages and keys.

#![no_std]
#![no_main]

extern crate alloc;

mod counter;
mod counting_heap;
mod stack;

use alloc::vec;
use alloc::vec::Vec;

use groupkey::{Error, Suite};
use groupkey_testkit::replay::{Gauge, MemberReplay, ReplayInput, ReplayTraffic, ReplayedMember};
use semihosting::io::{self, Read, Stdin};
use semihosting::{print, println, process};

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    counter::start();
    let mut input = io::stdin().expect("the emulator has one");
    let mut size = [0; 8];
    input.read_exact(&mut size).expect("the host says how much heap there is");
    counting_heap::start(u32::from_be_bytes([size[4], size[5], size[6], size[7]]) as usize);
    while let Some(subject) = frame(&mut input) {
        if let Err(error) = replay(&subject, &mut input) {
            println!("refused {error:?}");
            process::exit(0)
        }
    }
    process::exit(0)
}

fn replay(subject: &[u8], input: &mut Stdin) -> Result<(), Error> {
    let subject = ReplayedMember::from_frame(subject)?;
    let painted = painted(subject.suite);
    let mut replay = MemberReplay::new(subject)?;
    let before = counting_heap::live();
    println!("before {before}");
    replay.begin();
    let mut costs = Costs::new(painted);
    while let Some(frame) = frame(input) {
        let order = match ReplayInput::from_frame(&frame)? {
            ReplayInput::Command(order) => Some(order),
            ReplayInput::End => {
                drop(frame);
                costs.print(before, replay.traffic());
                costs = Costs::new(painted);
                continue;
            }
            _ => None,
        };
        match order {
            None => replay.act(&ReplayInput::from_frame(&frame)?, &mut (), &mut costs)?,
            // The command has the lists once more.
            Some(order) => {
                drop(frame);
                replay.act(&ReplayInput::Command(order), &mut (), &mut costs)?;
            }
        }
    }
    print!("hash ");
    replay.hash().iter().for_each(|byte| print!("{byte:02x}"));
    println!();
    Ok(())
}

/// Reads the next frame; `None` if it is empty.
fn frame(input: &mut Stdin) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length).expect("the host ends with an empty frame");
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    input.read_exact(&mut frame).expect("a frame is as long as it says");
    (!frame.is_empty()).then_some(frame)
}

/// Returns the bytes of stack that a step may use. To paint them takes time, and only signatures of suite
/// `pq` need as many. The machines have half a megabyte beside the heap.
fn painted(suite: Suite) -> usize {
    if suite == Suite::Pq { 400 * 1024 } else { 96 * 1024 }
}

/// What the steps of a part cost.
struct Costs {
    /// Bytes of stack that are looked at.
    painted: usize,
    instructions: u64,
    /// Most bytes of stack below the call of a step.
    stack: usize,
    /// Most bytes of heap that were in use.
    heap: usize,
}

impl Costs {
    const fn new(painted: usize) -> Self {
        Self { painted, instructions: 0, stack: 0, heap: 0 }
    }

    fn print(&self, before: usize, traffic: ReplayTraffic) {
        let kept = counting_heap::live() - before;
        let Self { instructions, stack, heap, .. } = self;
        let ReplayTraffic { steps, received_messages, received_bytes, sent_messages, sent_bytes } =
            traffic;
        println!(
            "part {instructions} {stack} {} {kept} {steps} {received_messages} {received_bytes} \
             {sent_messages} {sent_bytes}",
            heap.saturating_sub(before),
        );
    }
}

impl Gauge for Costs {
    fn measure(&mut self, step: &mut dyn FnMut()) {
        counting_heap::restart_peak();
        let mut instructions = 0;
        let stack = stack::depth(self.painted, &mut || {
            let before = counter::instructions();
            step();
            instructions = counter::instructions() - before;
        });
        self.instructions += instructions;
        self.stack = self.stack.max(stack);
        self.heap = self.heap.max(counting_heap::peak());
    }
}
