//! Values with small reusable numbers: events carry the number, the value waits here.

/// A vector whose freed places are used again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Stores `value`; the number is valid until it is taken.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.places[number as usize] = value;
            return number;
        }
        self.places.push(value);
        (self.places.len() - 1) as u32
    }

    /// Gives the value back and frees its place.
    pub(crate) fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.places[number as usize]
    }
}
