//! The two emulated boards behind one interface: console, clock, randomness, network and flash.
//!
//! A board gives `now()`, `idle()`, `Console`, `Nic`, `Flash`, `Board::start()`. Nothing above this module knows which
//! board it runs on.

#[cfg(target_arch = "riscv32")]
mod virt;
#[cfg(target_arch = "riscv32")]
mod virtio;

#[cfg(target_arch = "arm")]
mod lan9118;
#[cfg(target_arch = "arm")]
mod mps2;

#[cfg(target_arch = "arm")]
pub use self::lan9118::Nic;
#[cfg(target_arch = "arm")]
pub use self::mps2::{Flash, idle, network, now, randomness, read_byte, start, write_byte};
#[cfg(target_arch = "riscv32")]
pub use self::virt::{Flash, idle, network, now, randomness, read_byte, start, write_byte};
#[cfg(target_arch = "riscv32")]
pub use self::virtio::Nic;
