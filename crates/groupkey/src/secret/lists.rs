//! Lists of secrets that leave nothing behind.
//!
//! A key is wiped when it is dropped. But a list that grows moves its items and gives the old place back
//! as it is, and one from which something is taken out moves up what follows. Here items are copied,
//! and the originals dropped where they are. `groupkey-residue` looks for what is left all the same.

use alloc::vec::Vec;

use super::Key;

/// Makes room for so many more items, and for as many again as there are.
pub(crate) fn reserve<T: Clone>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        reserve_exact(list, more.max(list.len()));
    }
}

/// Makes room for so many more items.
pub(crate) fn reserve_exact<T: Clone>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        let mut larger = Vec::with_capacity(list.len() + more);
        larger.extend_from_slice(list);
        *list = larger;
    }
}

/// Makes a list as long as this by keys of zeros, if it is shorter.
pub(crate) fn extend_to(list: &mut Vec<Key>, length: usize) {
    let more = length.saturating_sub(list.len());
    reserve(list, more);
    list.resize(list.len() + more, Key::default());
}

/// Appends an item.
pub(crate) fn push<T: Clone>(list: &mut Vec<T>, item: T) {
    reserve(list, 1);
    list.push(item);
}

/// Puts an item at a place, before what is there.
pub(crate) fn insert<T: Clone>(list: &mut Vec<T>, place: usize, item: T) {
    reserve(list, 1);
    list.insert(place, item);
}

/// Appends copies of items.
pub(crate) fn append<T: Clone>(list: &mut Vec<T>, items: &[T]) {
    reserve(list, items.len());
    list.extend_from_slice(items);
}

/// Drops the item at a place.
pub(crate) fn remove<T>(list: &mut Vec<T>, place: usize) {
    list[place..].rotate_left(1);
    list.truncate(list.len() - 1);
}

/// Drops all items but these.
pub(crate) fn retain<T: Clone>(list: &mut Vec<T>, keep: impl FnMut(&&T) -> bool) {
    let mut kept = Vec::with_capacity(list.len());
    kept.extend(list.iter().filter(keep).cloned());
    *list = kept;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_hold_what_a_list_holds(steps in prop::collection::vec((0..4_u8, any::<u8>()), 0..60)) {
            let key = |byte| Key::from_bytes([byte; 16]);
            let (mut list, mut model) = (Vec::new(), Vec::new());
            for (step, byte) in steps {
                match step {
                    0 => {
                        let items = [key(byte), key(byte ^ 1)];
                        append(&mut list, &items[..usize::from(byte % 3)]);
                        model.extend_from_slice(&items[..usize::from(byte % 3)]);
                    }
                    1 if !model.is_empty() => {
                        let place = usize::from(byte) % model.len();
                        remove(&mut list, place);
                        model.remove(place);
                    }
                    2 => {
                        retain(&mut list, |item| item.as_bytes()[0] % 5 != byte % 5);
                        model.retain(|item| item.as_bytes()[0] % 5 != byte % 5);
                    }
                    _ => {
                        let length = list.len().max(usize::from(byte % 16));
                        extend_to(&mut list, length);
                        model.resize(length, Key::default());
                        reserve(&mut list, 2);
                        prop_assert!(list.capacity() >= list.len() + 2);
                    }
                }
                prop_assert!(list == model);
            }
        }
    }
}
