//! A part of work that several machines share out among themselves.

use std::ops::Range;

/// Which part: the `number`-th (from 1) of `parts`, in the order of the work. All parts, one after the
/// other, are the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPart {
    number: usize,
    parts: usize,
}

impl WorkPart {
    /// All of the work.
    pub const WHOLE: Self = Self { number: 1, parts: 1 };

    /// Returns a part, or `None` if `number` is not from 1 to `parts`.
    pub fn new(number: usize, parts: usize) -> Option<Self> {
        (1..=parts).contains(&number).then_some(Self { number, parts })
    }

    /// Returns the places of this part among `count` pieces of work. Parts differ by one piece at most,
    /// and are empty where there are more parts than pieces.
    pub fn places(self, count: usize) -> Range<usize> {
        // In 128 bits nothing is too large.
        let end = |part: usize| (part as u128 * count as u128 / self.parts as u128) as usize;
        end(self.number - 1)..end(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_in_its_order() {
        for (count, parts) in [(0, 3), (2, 5), (7, 1), (7, 3), (350, 35), (usize::MAX, 2)] {
            let all = (1..=parts).map(|number| WorkPart::new(number, parts).expect("it is one"));
            let end = all.fold(0, |end, part| {
                let places = part.places(count);
                assert_eq!(places.start, end);
                assert!(places.len().abs_diff(count / parts) <= 1, "{places:?}");
                places.end
            });
            assert_eq!(end, count);
        }
        assert_eq!((WorkPart::new(0, 3), WorkPart::new(4, 3)), (None, None));
    }
}
