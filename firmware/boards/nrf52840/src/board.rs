//! The hardware of an nRF52840: a serial port on the pins of Nordic's development kit, and the
//! generator of random numbers. `accelerators` has what computes.

use embassy_nrf::buffered_uarte::{self, BufferedUarte};
use embassy_nrf::rng::Rng;
use embassy_nrf::{bind_interrupts, mode, peripherals, uarte};
use groupkey::crypto::hardware::WrongAnswer;
use static_cell::ConstStaticCell;

use crate::accelerators;

bind_interrupts!(struct Interrupts {
    UARTE0 => buffered_uarte::InterruptHandler<peripherals::UARTE0>;
});

/// The parts of the chip that the program uses.
pub struct Board {
    /// The serial line to the gateway: 115,200 baud, receive on P0.08, transmit on P0.06.
    pub line: BufferedUarte<'static>,
    /// What the chip's AES computes wrongly: software does it instead.
    pub wrong_answer: Option<WrongAnswer>,
    generator: Rng<'static, mode::Blocking>,
}

impl Board {
    /// Prepares the board. A program calls this once.
    pub fn start() -> Self {
        static RECEIVED: ConstStaticCell<[u8; BUFFER]> = ConstStaticCell::new([0; BUFFER]);
        static SENDING: ConstStaticCell<[u8; BUFFER]> = ConstStaticCell::new([0; BUFFER]);

        let chip = embassy_nrf::init(embassy_nrf::config::Config::default());
        let mut config = uarte::Config::default();
        config.baudrate = uarte::Baudrate::Baud115200;
        let line = BufferedUarte::new(
            chip.UARTE0,
            chip.TIMER0,
            chip.PPI_CH0,
            chip.PPI_CH1,
            chip.PPI_GROUP0,
            chip.P0_08,
            chip.P0_06,
            Interrupts,
            config,
            RECEIVED.take(),
            SENDING.take(),
        );
        let generator = Rng::new_blocking(chip.RNG);
        // Without it, zeros and ones are not equally frequent.
        generator.set_bias_correction(true);
        let wrong_answer = accelerators::start().err();
        Self { line, wrong_answer, generator }
    }

    /// Returns 32 random bytes of the chip's generator, which amplifies thermal noise.
    pub fn randomness(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.generator.blocking_fill_bytes(&mut bytes);
        bytes
    }
}

/// The size of each buffer of the serial port, in bytes.
const BUFFER: usize = 512;
