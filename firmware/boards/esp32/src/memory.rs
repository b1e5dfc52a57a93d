//! The heap: for Wi-Fi, which takes about 60 KB, and for the member.

/// Makes the heap ready. A program calls this first.
pub fn start() {
    esp_alloc::heap_allocator!(size: 120 << 10);
}

/// What the program uses.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes of the heap, of Wi-Fi too.
    pub heap: usize,
    /// 0: not measured on this chip.
    pub stack: usize,
}

/// Returns what the program uses now.
pub fn peak() -> Peak {
    Peak { heap: esp_alloc::HEAP.used(), stack: 0 }
}
