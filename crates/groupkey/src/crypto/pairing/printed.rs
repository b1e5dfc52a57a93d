//! The bytes of an element of the target group of BLS12-381. Neither library encodes them, but both
//! print the twelve coefficients of an element, lowest first, each as `0x` and 96 digits.

use alloc::vec::Vec;
use core::fmt::{self, Debug, Write};

/// Appends the values of the digits of all numbers in a text.
pub(super) fn take_digits(element: &impl Debug, out: &mut Vec<u8>) {
    let mut digits = Digits { out, state: State::Outside };
    // Writing to a vector does not fail.
    let _ = write!(digits, "{element:?}");
}

struct Digits<'o> {
    out: &'o mut Vec<u8>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// Between two numbers.
    Outside,
    /// After a zero that may begin a number.
    Zero,
    /// In a number, after an even number of digits.
    Even,
    /// In a number, after an odd number of digits. The field is the last digit.
    Odd(u8),
}

impl Write for Digits<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let digit = character.to_digit(16).map(|digit| digit as u8);
            self.state = match (self.state, character, digit) {
                (State::Outside, '0', _) => State::Zero,
                (State::Zero, 'x', _) => State::Even,
                (State::Even, _, Some(digit)) => State::Odd(digit),
                (State::Odd(high), _, Some(low)) => {
                    self.out.push(high << 4 | low);
                    State::Even
                }
                _ => State::Outside,
            };
        }
        Ok(())
    }
}
