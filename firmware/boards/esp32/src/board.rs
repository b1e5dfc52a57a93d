//! The hardware of an ESP32-C3 or ESP32-C6: Wi-Fi, random numbers, clock, flash, and the serial port
//! over USB. `accelerators` has what computes.
//!
//! The network's name and password are those of the environment when the image is built:
//! `GROUPKEY_WIFI` and `GROUPKEY_WIFI_PASSWORD`.

use alloc::string::String;
use core::cell::RefCell;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Waker};

use critical_section::Mutex;
use embassy_net_driver::Driver;
use embedded_storage::nor_flash::{NorFlash as _, ReadNorFlash as _};
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use esp_hal::clock::CpuClock;
use esp_hal::interrupt::software::SoftwareInterruptControl;
use esp_hal::peripherals::{ADC1, FLASH, RNG, WIFI};
use esp_hal::rng::{Trng, TrngSource};
use esp_hal::time::{Duration, Instant};
use esp_hal::timer::timg::TimerGroup;
use esp_hal::usb_serial_jtag::UsbSerialJtag;
use esp_hal::{Blocking, delay::Delay};
use esp_radio::wifi::sta::StationConfig;
use esp_radio::wifi::{Config, ControllerConfig, Interface, WifiController};
use esp_storage::{FlashStorage, FlashStorageError};
use groupkey::crypto::hardware::WrongAnswer;
use smoltcp::phy;

use crate::accelerators;

/// The parts of the chip that wait for the one who needs them.
struct Parts {
    adc: Option<ADC1<'static>>,
    rng: Option<RNG<'static>>,
    flash: Option<FLASH<'static>>,
    wifi: Option<WIFI<'static>>,
    serial: Option<UsbSerialJtag<'static, Blocking>>,
}

static PARTS: Mutex<RefCell<Parts>> =
    Mutex::new(RefCell::new(Parts { adc: None, rng: None, flash: None, wifi: None, serial: None }));

/// Prepares the board. A program calls this first. Fails if the chip computes AES or SHA-256 wrongly:
/// software then does it, and the board can be used all the same.
pub fn start() -> Result<(), WrongAnswer> {
    let chip = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    // Wi-Fi runs in tasks of its own, beside the program.
    let timers = TimerGroup::new(chip.TIMG0);
    let interrupts = SoftwareInterruptControl::new(chip.SW_INTERRUPT);
    esp_rtos::start(timers.timer0, interrupts.software_interrupt0);
    with(|parts| {
        *parts = Parts {
            adc: Some(chip.ADC1),
            rng: Some(chip.RNG),
            flash: Some(chip.FLASH),
            wifi: Some(chip.WIFI),
            serial: Some(UsbSerialJtag::new(chip.USB_DEVICE)),
        };
    });
    accelerators::start(chip.AES, chip.SHA)
}

/// Returns the time in ns since the start. The chip does not know the date. The member's stamps grow
/// over restarts all the same, because it counts its starts.
pub fn now() -> u64 {
    Instant::now().duration_since_epoch().as_micros() * 1_000
}

/// Waits for a millisecond. Tasks of Wi-Fi run meanwhile.
pub fn idle() {
    Delay::new().delay(Duration::from_millis(1));
}

/// Writes a byte to the serial port. It is lost if no computer listens.
pub fn write_byte(byte: u8) {
    for _ in 0..SERIAL_TRIES {
        let is_written =
            with(|parts| parts.serial.as_mut().is_none_or(|port| port.write_byte_nb(byte).is_ok()));
        if is_written {
            break;
        }
    }
    if byte == b'\n' {
        with(|parts| parts.serial.as_mut().map(|port| port.flush_tx_nb()));
    }
}

/// Reads a byte from the serial port, if one is there.
pub fn read_byte() -> Option<u8> {
    with(|parts| parts.serial.as_mut().and_then(|port| port.read_byte().ok()))
}

/// Returns 32 random bytes. The chip's generator is true only while it gets noise: from the converter
/// here, since Wi-Fi is not on yet. `Trng` refuses to work without.
pub fn randomness() -> Option<[u8; 32]> {
    let (rng, adc) = with(|parts| (parts.rng.take(), parts.adc.take()));
    let source = TrngSource::new(rng?, adc?);
    let mut bytes = [0; 32];
    Trng::try_new().ok()?.read(&mut bytes);
    drop(source);
    Some(bytes)
}

/// Returns the Wi-Fi card, which connects by itself, and again if the connection breaks.
pub fn network() -> Option<Nic> {
    let name = env!("GROUPKEY_WIFI", "name the Wi-Fi network: GROUPKEY_WIFI=... cargo build ...");
    let password = option_env!("GROUPKEY_WIFI_PASSWORD").unwrap_or_default();
    let station = StationConfig::default().with_ssid(name).with_password(String::from(password));
    let config = ControllerConfig::default().with_initial_config(Config::Station(station));
    let wifi = with(|parts| parts.wifi.take())?;
    let (controller, interfaces) = esp_radio::wifi::new(wifi, config).ok()?;
    Some(Nic { controller, interface: interfaces.station, next_attempt: 0 })
}

/// The Wi-Fi card, as the network sees it.
pub struct Nic {
    controller: WifiController<'static>,
    interface: Interface<'static>,
    /// When to try to connect again, if there is no connection by then.
    next_attempt: u64,
}

impl Nic {
    /// Returns the card's MAC address.
    pub fn address(&self) -> [u8; 6] {
        self.interface.mac_address()
    }

    fn keep_connected(&mut self) {
        if self.controller.is_connected() || now() < self.next_attempt {
            return;
        }
        self.next_attempt = now() + ATTEMPT_NS;
        // The first poll begins to connect. The card does the rest, and `is_connected` tells the end.
        let _ = pin!(self.controller.connect_async()).poll(&mut context());
    }
}

impl phy::Device for Nic {
    type RxToken<'a> = Received<<Interface<'static> as Driver>::RxToken<'a>>;
    type TxToken<'a> = Sending<<Interface<'static> as Driver>::TxToken<'a>>;

    fn receive(
        &mut self,
        _: smoltcp::time::Instant,
    ) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.keep_connected();
        let (received, sending) = Driver::receive(&mut self.interface, &mut context())?;
        Some((Received(received), Sending(sending)))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<Self::TxToken<'_>> {
        Driver::transmit(&mut self.interface, &mut context()).map(Sending)
    }

    fn capabilities(&self) -> phy::DeviceCapabilities {
        let mut capabilities = phy::DeviceCapabilities::default();
        capabilities.medium = phy::Medium::Ethernet;
        capabilities.max_transmission_unit = self.interface.capabilities().max_transmission_unit;
        capabilities
    }
}

/// A frame that has come in.
pub struct Received<T>(T);

/// A frame that may be sent.
pub struct Sending<T>(T);

impl<T: embassy_net_driver::RxToken> phy::RxToken for Received<T> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        self.0.consume(|frame| read(frame))
    }
}

impl<T: embassy_net_driver::TxToken> phy::TxToken for Sending<T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        self.0.consume(length, write)
    }
}

/// The part of the flash that Espressif's partition table calls `nvs`.
pub struct Flash(FlashStorage<'static>);

impl Flash {
    /// Returns the flash.
    pub fn open() -> Option<Self> {
        with(|parts| parts.flash.take()).map(|flash| Self(FlashStorage::new(flash)))
    }
}

impl ErrorType for Flash {
    type Error = FlashStorageError;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FlashStorageError> {
        self.0.read(NVS + offset, bytes)
    }

    fn capacity(&self) -> usize {
        NVS_BYTES
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4_096;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashStorageError> {
        self.0.erase(NVS + from, NVS + to)
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FlashStorageError> {
        self.0.write(NVS + offset, bytes)
    }
}

fn with<T>(act: impl FnOnce(&mut Parts) -> T) -> T {
    critical_section::with(|section| act(&mut PARTS.borrow_ref_mut(section)))
}

/// Nobody waits for a wake: the program polls.
fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Where the partition begins, and its length.
const NVS: u32 = 0x9000;
const NVS_BYTES: usize = 0x6000;

/// How long an attempt to connect to the access point may take.
const ATTEMPT_NS: u64 = 10_000_000_000;

/// How often a byte is offered to a serial port that takes none: for about a millisecond.
const SERIAL_TRIES: u32 = 1_000;
