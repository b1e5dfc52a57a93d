//! A list of secrets that leaves no copies behind.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use super::Key;

/// A list of items that wipe themselves when they are dropped.
///
/// A `Vec` that grows moves its items and frees the old memory without wiping it. When an item is
/// removed from a `Vec`, the items after it move up. Here items are copied, and the originals are
/// dropped in place, so nothing can be moved out. `tools/residue` checks for residues all the
/// same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List<T>(Vec<T>);

impl<T> List<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn remove(&mut self, place: usize) {
        self.0[place..].rotate_left(1);
        self.0.truncate(self.0.len() - 1);
    }

    /// Drops all but the first `length`.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }
}

impl<T: Clone> List<T> {
    pub(crate) fn filled(item: T, length: usize) -> Self {
        Self(alloc::vec![item; length])
    }

    /// Makes room for this many more items. A list that grows at least doubles its length.
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.0.capacity() - self.0.len() < more {
            self.reserve_exact(more.max(self.0.len()));
        }
    }

    pub(crate) fn reserve_exact(&mut self, more: usize) {
        if self.0.capacity() - self.0.len() < more {
            let mut larger = Vec::with_capacity(self.0.len() + more);
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
    }

    pub(crate) fn push(&mut self, item: T) {
        self.reserve(1);
        self.0.push(item);
    }

    /// Inserts an item at a place, before the item that is there.
    pub(crate) fn insert(&mut self, place: usize, item: T) {
        self.reserve(1);
        self.0.insert(place, item);
    }

    pub(crate) fn append(&mut self, items: &[T]) {
        self.reserve(items.len());
        self.0.extend_from_slice(items);
    }

    /// Drops all items that `keep` does not accept.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&&T) -> bool) {
        let mut kept = Vec::with_capacity(self.0.len());
        kept.extend(self.0.iter().filter(keep).cloned());
        self.0 = kept;
    }
}

impl List<Key> {
    pub(crate) fn zeros(length: usize) -> Self {
        Self::filled(Key::default(), length)
    }

    /// Appends keys of zeros up to this length, if the list is shorter.
    pub(crate) fn extend_to(&mut self, length: usize) {
        let more = length.saturating_sub(self.0.len());
        self.reserve(more);
        self.0.resize(self.0.len() + more, Key::default());
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Clone> From<&[T]> for List<T> {
    fn from(items: &[T]) -> Self {
        Self(items.to_vec())
    }
}

impl<T: Clone> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        let items = items.into_iter();
        self.reserve(items.size_hint().0);
        items.for_each(|item| self.push(item));
    }
}

impl<T: Clone> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        list.extend(items);
        list
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut List<T> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_a_vector_holds(steps in prop::collection::vec((0..6_u8, any::<u8>()), 0..60)) {
            let key = |byte| Key::from_bytes([byte; 16]);
            let (mut list, mut model) = (List::new(), Vec::new());
            for (step, byte) in steps {
                match step {
                    0 => {
                        let items = [key(byte), key(byte ^ 1)];
                        list.append(&items[..usize::from(byte % 3)]);
                        model.extend_from_slice(&items[..usize::from(byte % 3)]);
                    }
                    1 if !model.is_empty() => {
                        let place = usize::from(byte) % model.len();
                        list.remove(place);
                        model.remove(place);
                    }
                    2 => {
                        list.retain(|item| item.as_bytes()[0] % 5 != byte % 5);
                        model.retain(|item| item.as_bytes()[0] % 5 != byte % 5);
                    }
                    3 => {
                        let place = usize::from(byte) % (model.len() + 1);
                        list.insert(place, key(byte));
                        model.insert(place, key(byte));
                    }
                    4 => {
                        list.extend((0..byte % 4).map(key));
                        model.extend((0..byte % 4).map(key));
                        list.truncate(usize::from(byte / 8));
                        model.truncate(usize::from(byte / 8));
                    }
                    _ => {
                        let length = list.len().max(usize::from(byte % 16));
                        list.extend_to(length);
                        model.resize(length, Key::default());
                        list.reserve(2);
                        prop_assert!(list.0.capacity() >= list.len() + 2);
                    }
                }
                prop_assert!(list[..] == model[..]);
                prop_assert!(list.iter().cloned().collect::<List<_>>() == list);
            }
        }
    }
}
