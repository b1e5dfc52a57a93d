//! The membership in the flash, in the two sectors behind the identity's log: after a reset the device
//! resumes it.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use embedded_storage_async::nor_flash as waiting;
use groupkey_mqtt::member::MembershipFlash;
use groupkey_mqtt::store::StoreError;

use crate::board::Flash;

/// Returns the membership that is kept in this flash.
pub fn of(flash: Flash) -> Result<MembershipFlash<BlockingFlash>, StoreError> {
    let sector = <Flash as waiting::NorFlash>::ERASE_SIZE as u32;
    MembershipFlash::new(BlockingFlash(flash), 3 * sector..5 * sector)
}

/// The board's flash for who cannot wait: it is written once for each membership.
pub struct BlockingFlash(Flash);

impl ErrorType for BlockingFlash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for BlockingFlash {
    const READ_SIZE: usize = <Flash as waiting::ReadNorFlash>::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        done(waiting::ReadNorFlash::read(&mut self.0, offset, bytes)).map_err(|error| error.kind())
    }

    fn capacity(&self) -> usize {
        waiting::ReadNorFlash::capacity(&self.0)
    }
}

impl NorFlash for BlockingFlash {
    const WRITE_SIZE: usize = <Flash as waiting::NorFlash>::WRITE_SIZE;
    const ERASE_SIZE: usize = <Flash as waiting::NorFlash>::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        done(waiting::NorFlash::erase(&mut self.0, from, to)).map_err(|error| error.kind())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        done(waiting::NorFlash::write(&mut self.0, offset, bytes)).map_err(|error| error.kind())
    }
}

/// Polls until the flash is done.
fn done<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}
