//! The heap: for Wi-Fi, which takes about 60 KB, and for the member.

/// Makes the heap ready. A program calls this first.
pub fn start() {
    esp_alloc::heap_allocator!(size: 120 << 10);
}

/// What the program needs, in bytes. What is 0 is not measured on this chip.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// 0: the linker knows it.
    pub flash: usize,
    /// 0: the linker knows it.
    pub statics: usize,
    /// What is allocated now, for Wi-Fi too.
    pub heap: usize,
    /// 0: the stack is not painted.
    pub stack: usize,
}

/// Returns what the program needs.
pub fn needs() -> Needs {
    Needs { heap: esp_alloc::HEAP.used(), ..Needs::default() }
}
