//! The virtio devices of the machine `virt`: a network card, and a source of entropy.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use static_cell::ConstStaticCell;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::device::rng::VirtIORng;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// The network card.
pub struct Nic {
    card: VirtIONetRaw<Memory, MmioTransport<'static>, QUEUE>,
    /// Buffers that the card fills, by the card's tokens for them.
    receiving: &'static mut [[u8; BUFFER]; QUEUE],
    received: &'static mut [u8; FRAME],
    sending: &'static mut [u8; FRAME],
}

impl Nic {
    /// Returns the network card, if the machine has one.
    pub fn find() -> Option<Self> {
        static RECEIVING: ConstStaticCell<[[u8; BUFFER]; QUEUE]> =
            ConstStaticCell::new([[0; BUFFER]; QUEUE]);
        static RECEIVED: ConstStaticCell<[u8; FRAME]> = ConstStaticCell::new([0; FRAME]);
        static SENDING: ConstStaticCell<[u8; FRAME]> = ConstStaticCell::new([0; FRAME]);

        let mut card = VirtIONetRaw::new(device(DeviceType::Network)?).ok()?;
        let receiving = RECEIVING.take();
        for buffer in receiving.iter_mut() {
            // SAFETY: the card has the buffer until `receive` completes, and it is only read after.
            unsafe { card.receive_begin(buffer) }.ok()?;
        }
        Some(Self { card, receiving, received: RECEIVED.take(), sending: SENDING.take() })
    }

    /// Returns the card's hardware address.
    pub fn address(&self) -> [u8; 6] {
        self.card.mac_address()
    }

    /// Copies the next frame out of its buffer, and gives the buffer back to the card.
    fn next(&mut self) -> Option<usize> {
        let token = self.card.poll_receive()?;
        let buffer = self.receiving.get_mut(usize::from(token))?;
        // SAFETY: the card got this buffer with this token: it hands out tokens in order, and
        // each buffer is given back under the token that has just become free.
        let (header, length) = unsafe { self.card.receive_complete(token, buffer) }.ok()?;
        let length = length.min(FRAME);
        self.received[..length].copy_from_slice(&buffer[header..header + length]);
        // SAFETY: as in `find`.
        let again = unsafe { self.card.receive_begin(buffer) }.ok()?;
        debug_assert_eq!(again, token);
        Some(length)
    }
}

impl Device for Nic {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_>)> {
        let length = self.next()?;
        let Self { card, received, sending, .. } = self;
        Some((Received(&received[..length]), Sending { card, frame: sending }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        let Self { card, sending, .. } = self;
        card.can_send().then_some(Sending { card, frame: sending })
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
pub struct Received<'a>(&'a [u8]);

/// Room for a frame to send.
pub struct Sending<'a> {
    card: &'a mut VirtIONetRaw<Memory, MmioTransport<'static>, QUEUE>,
    frame: &'a mut [u8; FRAME],
}

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

impl phy::TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let frame = &mut self.frame[..length];
        let result = write(frame);
        // A frame that the card does not take is lost, as on any network.
        let _ = self.card.send(frame);
        result
    }
}

/// Returns 32 bytes from the entropy device, if the machine has one.
pub fn randomness() -> Option<[u8; 32]> {
    let mut source = VirtIORng::<Memory, _>::new(device(DeviceType::EntropySource)?).ok()?;
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += source.request_entropy(&mut bytes[filled..]).ok().filter(|&count| count > 0)?;
    }
    Some(bytes)
}

/// Looks through the machine's slots for a device of this type.
fn device(wanted: DeviceType) -> Option<MmioTransport<'static>> {
    (0..SLOTS).find_map(|slot| {
        let header = NonNull::new((FIRST_SLOT + slot * SLOT) as *mut VirtIOHeader)?;
        // SAFETY: the machine has a device's registers, or an empty slot, at each of these
        // addresses. Each device is looked for once.
        let transport = unsafe { MmioTransport::new(header, SLOT) }.ok()?;
        (transport.device_type() == wanted).then_some(transport)
    })
}

/// The memory that devices and the driver share. Physical and virtual addresses are the same.
enum Memory {}

/// The pages of [`Memory`]. The entropy device's are free again when the network card starts.
static PAGES: Pages = Pages(UnsafeCell::new([[0; PAGE_SIZE]; PAGE_COUNT]));
static PAGES_IN_USE: AtomicUsize = AtomicUsize::new(0);

#[repr(align(4096))]
struct Pages(UnsafeCell<[[u8; PAGE_SIZE]; PAGE_COUNT]>);

// SAFETY: each page is handed out once, and by `Memory` alone.
unsafe impl Sync for Pages {}

// SAFETY: pages are aligned, zeroed, and not handed out again before they are all given back.
unsafe impl Hal for Memory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = PAGES_IN_USE.fetch_add(pages, Ordering::Relaxed);
        if first + pages > PAGE_COUNT {
            // The driver takes the address 0 as a failure.
            return (0, NonNull::dangling());
        }
        let start = PAGES.0.get().cast::<u8>().wrapping_add(first * PAGE_SIZE);
        // SAFETY: the pages are within the static, and nobody else has them.
        unsafe { start.write_bytes(0, pages * PAGE_SIZE) };
        (start as PhysAddr, NonNull::new(start).expect("it is no null pointer"))
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, pages: usize) -> i32 {
        // The last device alone gives pages back, and all of them.
        PAGES_IN_USE.fetch_sub(pages, Ordering::Relaxed);
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as *mut u8).expect("no device is at address 0")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// The number of frames that may wait to be received.
const QUEUE: usize = 4;

/// The length of an Ethernet frame without its check sum, in bytes.
const FRAME: usize = 1_514;

/// The length of a receive buffer: virtio's header and a frame.
const BUFFER: usize = 1_528;

/// Two pages for each queue of the card.
const PAGE_COUNT: usize = 4;

const FIRST_SLOT: usize = 0x1000_1000;
const SLOT: usize = 0x1000;
const SLOTS: usize = 8;
