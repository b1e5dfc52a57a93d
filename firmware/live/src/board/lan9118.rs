//! The network card of the board MPS2: SMSC's LAN9118. Its buffers are in the chip, behind two
//! registers; this driver polls it.

use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use static_cell::ConstStaticCell;

/// The network card.
pub struct Nic {
    received: &'static mut [u32; WORDS],
    sending: &'static mut [u32; WORDS],
}

impl Nic {
    /// Returns the network card, if the board has one.
    pub fn find() -> Option<Self> {
        static RECEIVED: ConstStaticCell<[u32; WORDS]> = ConstStaticCell::new([0; WORDS]);
        static SENDING: ConstStaticCell<[u32; WORDS]> = ConstStaticCell::new([0; WORDS]);

        if read(BYTE_TEST) != 0x8765_4321 {
            return None;
        }
        write(HW_CFG, RESET);
        while read(HW_CFG) & RESET != 0 {}
        write(HW_CFG, MUST_BE_ONE | SEND_FIFO_5_KIB);
        write_mac(MAC_CR, MAC_SEND | MAC_RECEIVE | MAC_FULL_DUPLEX);
        write(TX_CFG, TX_ON);
        Some(Self { received: RECEIVED.take(), sending: SENDING.take() })
    }

    /// Returns the card's hardware address.
    pub fn address(&self) -> [u8; 6] {
        let [a, b, c, d] = read_mac(MAC_ADDRESS_LOW).to_le_bytes();
        let [e, f, ..] = read_mac(MAC_ADDRESS_HIGH).to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// Copies the next good frame out of the chip, and returns its length in bytes.
    fn next(&mut self) -> Option<usize> {
        while read(RX_FIFO_INF) & STATUS_WORDS != 0 {
            let status = read(RX_STATUS_FIFO);
            let with_check_sum = (status >> 16 & 0x3FFF) as usize;
            for word in 0..with_check_sum.div_ceil(4) {
                let bytes = read(RX_DATA_FIFO);
                // A frame that is too long is read to its end, and refused below.
                if let Some(place) = self.received.get_mut(word) {
                    *place = bytes;
                }
            }
            let length = with_check_sum.saturating_sub(CHECK_SUM);
            if status & RX_ERROR == 0 && (1..=FRAME).contains(&length) {
                return Some(length);
            }
        }
        None
    }
}

impl Device for Nic {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_>)> {
        let length = self.next()?;
        Some((Received { frame: self.received, length }, Sending(self.sending)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        let has_room = (read(TX_FIFO_INF) & FREE_BYTES) as usize >= FRAME + 3 * 4;
        has_room.then_some(Sending(self.sending))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities.max_burst_size = Some(1);
        capabilities
    }
}

/// A received frame.
pub struct Received<'a> {
    frame: &'a [u32; WORDS],
    length: usize,
}

/// Room for a frame to send.
pub struct Sending<'a>(&'a mut [u32; WORDS]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        // SAFETY: bytes have no alignment, and the frame is within the words.
        let bytes = unsafe { self.frame.align_to::<u8>().1 };
        take(&bytes[..self.length])
    }
}

impl phy::TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        // SAFETY: as above; all bytes are valid words.
        let bytes = unsafe { self.0.align_to_mut::<u8>().1 };
        let result = fill(&mut bytes[..length]);
        // The chip wants to know the length twice: of this buffer, and of the frame.
        write(TX_DATA_FIFO, FIRST_BUFFER | LAST_BUFFER | length as u32);
        write(TX_DATA_FIFO, length as u32);
        self.0[..length.div_ceil(4)].iter().for_each(|&word| write(TX_DATA_FIFO, word));
        while read(TX_FIFO_INF) & STATUS_WORDS != 0 {
            read(TX_STATUS_FIFO);
        }
        result
    }
}

fn read(register: usize) -> u32 {
    // SAFETY: the register is one of the chip's, and nothing else uses the chip.
    unsafe { ((BASE + register) as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: as above.
    unsafe { ((BASE + register) as *mut u32).write_volatile(value) }
}

fn read_mac(register: u32) -> u32 {
    write(MAC_COMMAND, MAC_BUSY | MAC_READ | register);
    while read(MAC_COMMAND) & MAC_BUSY != 0 {}
    read(MAC_DATA)
}

fn write_mac(register: u32, value: u32) {
    write(MAC_DATA, value);
    write(MAC_COMMAND, MAC_BUSY | register);
    while read(MAC_COMMAND) & MAC_BUSY != 0 {}
}

/// The length of an Ethernet frame without its check sum, in bytes.
const FRAME: usize = 1_514;
const WORDS: usize = FRAME.div_ceil(4);
const CHECK_SUM: usize = 4;

const BASE: usize = 0x4020_0000;

const RX_DATA_FIFO: usize = 0x00;
const TX_DATA_FIFO: usize = 0x20;
const RX_STATUS_FIFO: usize = 0x40;
const TX_STATUS_FIFO: usize = 0x48;
const BYTE_TEST: usize = 0x64;
const TX_CFG: usize = 0x70;
const HW_CFG: usize = 0x74;
const RX_FIFO_INF: usize = 0x7C;
const TX_FIFO_INF: usize = 0x80;
const MAC_COMMAND: usize = 0xA4;
const MAC_DATA: usize = 0xA8;

/// Of the registers on the state of a FIFO: the number of status words, and of free bytes.
const STATUS_WORDS: u32 = 0xFF << 16;
const FREE_BYTES: u32 = 0xFFFF;

const RESET: u32 = 1;
const MUST_BE_ONE: u32 = 1 << 20;
const SEND_FIFO_5_KIB: u32 = 5 << 16;
const TX_ON: u32 = 1 << 1;
const RX_ERROR: u32 = 1 << 15;
const FIRST_BUFFER: u32 = 1 << 13;
const LAST_BUFFER: u32 = 1 << 12;

const MAC_BUSY: u32 = 1 << 31;
const MAC_READ: u32 = 1 << 30;
const MAC_CR: u32 = 1;
const MAC_ADDRESS_HIGH: u32 = 2;
const MAC_ADDRESS_LOW: u32 = 3;
const MAC_RECEIVE: u32 = 1 << 2;
const MAC_SEND: u32 = 1 << 3;
const MAC_FULL_DUPLEX: u32 = 1 << 20;
