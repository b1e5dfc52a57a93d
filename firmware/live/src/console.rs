//! Lines of text over the serial port.

use core::fmt::{self, Write};

use groupkey_mqtt::device_settings::LONGEST_MESSAGE;
use static_cell::ConstStaticCell;

use crate::board;

/// Prints a line.
macro_rules! line {
    ($($argument:tt)*) => { $crate::console::print(format_args!($($argument)*)) };
}
pub(crate) use line;

/// Prints a line.
pub fn print(text: fmt::Arguments<'_>) {
    // The port takes every byte.
    let _ = Port.write_fmt(text);
    board::write_byte(b'\n');
}

/// A line that comes in byte by byte.
pub struct ConsoleLine {
    bytes: &'static mut [u8; LONGEST_LINE],
    /// How many bytes have come in, also beyond those that are kept.
    length: usize,
    is_whole: bool,
}

impl ConsoleLine {
    /// Returns the program's one input.
    pub fn open() -> Self {
        static BYTES: ConstStaticCell<[u8; LONGEST_LINE]> = ConstStaticCell::new([0; LONGEST_LINE]);

        Self { bytes: BYTES.take(), length: 0, is_whole: false }
    }

    /// Reads what has come in, up to the end of a line. Returns whether a line waits to be taken.
    pub fn read(&mut self) -> bool {
        while !self.is_whole
            && let Some(byte) = board::read_byte()
        {
            if byte == b'\n' {
                self.is_whole = true;
                break;
            }
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
            }
            self.length = self.length.saturating_add(1);
        }
        self.is_whole
    }

    /// Returns the line that waits, or `None` if it is longer than [`LONGEST_LINE`] bytes.
    pub fn take(&mut self) -> Option<&[u8]> {
        self.is_whole = false;
        self.bytes.get(..core::mem::take(&mut self.length))
    }
}

/// The maximum length of a line that comes in, in bytes: each is a message.
const LONGEST_LINE: usize = LONGEST_MESSAGE;

struct Port;

impl Write for Port {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(board::write_byte);
        Ok(())
    }
}
