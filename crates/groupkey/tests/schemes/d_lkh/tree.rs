//! The tree once more, built otherwise than the library builds it.

/// A tree of its own, for the header's formulas.
#[derive(Clone)]
pub(crate) enum Tree {
    Leaf(u32),
    Node(Box<Self>, Box<Self>),
}

impl Tree {
    pub(crate) fn balanced(members: &[u32]) -> Self {
        match members {
            [member] => Self::Leaf(*member),
            _ => {
                let (left, right) = members.split_at(members.len().div_ceil(2));
                Self::Node(Box::new(Self::balanced(left)), Box::new(Self::balanced(right)))
            }
        }
    }

    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Node(left, right) => left.width() + right.width(),
        }
    }

    pub(crate) fn has(&self, member: u32) -> bool {
        match self {
            Self::Leaf(own) => *own == member,
            Self::Node(left, right) => left.has(member) || right.has(member),
        }
    }

    pub(crate) fn depth(&self, member: u32) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::Node(left, right) => {
                1 + if left.has(member) { left.depth(member) } else { right.depth(member) }
            }
        }
    }

    pub(crate) fn shallowest(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::Node(left, right) => 1 + left.shallowest().min(right.shallowest()),
        }
    }

    pub(crate) fn levels_led_by(&self, member: u32) -> u64 {
        match self {
            Self::Leaf(_) => 0,
            Self::Node(left, right) => {
                let here = left.has(member) && left.leftmost() == member;
                u64::from(here) + left.levels_led_by(member) + right.levels_led_by(member)
            }
        }
    }

    pub(crate) fn leftmost(&self) -> u32 {
        match self {
            Self::Leaf(member) => *member,
            Self::Node(left, _) => left.leftmost(),
        }
    }

    /// The widths of the halves beside the sponsor's path, the joining member's first.
    pub(crate) fn insert(&mut self, member: u32) -> Vec<usize> {
        match self {
            Self::Leaf(own) => {
                *self = Self::Node(Box::new(Self::Leaf(*own)), Box::new(Self::Leaf(member)));
                vec![1]
            }
            Self::Node(left, right) => {
                let (way, beside) = match right.shallowest() <= left.shallowest() {
                    true => (right, left),
                    false => (left, right),
                };
                let mut halves = way.insert(member);
                halves.push(beside.width());
                halves
            }
        }
    }

    /// The width of the half that moves up, and those of the halves beside the way above it.
    pub(crate) fn remove(&mut self, member: u32) -> (usize, Vec<usize>) {
        let Self::Node(left, right) = self else { panic!("nobody is left") };
        let gone = |half: &Self| matches!(half, Self::Leaf(leaf) if *leaf == member);
        if gone(left) || gone(right) {
            let half = if gone(left) { right } else { left };
            *self = std::mem::replace(&mut **half, Self::Leaf(0));
            return (self.width(), Vec::new());
        }
        let (way, beside) = if left.has(member) { (left, right) } else { (right, left) };
        let (half, mut halves) = way.remove(member);
        halves.push(beside.width());
        (half, halves)
    }

    /// What is left of it, if anything is, and the widths of the halves that stay as they were.
    pub(crate) fn without(&self, apart: &[u32]) -> (Option<Self>, Vec<usize>) {
        let stay = self.leaves().iter().filter(|leaf| !apart.contains(leaf)).count();
        match self {
            _ if stay == 0 => (None, Vec::new()),
            _ if stay == self.width() => (Some(self.clone()), vec![self.width()]),
            Self::Leaf(_) => unreachable!("it stays or goes"),
            Self::Node(left, right) => {
                let ((left, mut halves), (right, more)) =
                    (left.without(apart), right.without(apart));
                halves.extend(more);
                let tree = match (left, right) {
                    (Some(left), Some(right)) => Some(Self::Node(Box::new(left), Box::new(right))),
                    (one, other) => one.or(other),
                };
                (tree, halves)
            }
        }
    }

    /// Both in one, and the widths of the halves that stay.
    pub(crate) fn merged(&self, guests: &Self, roots_anew: bool) -> (Self, Vec<usize>) {
        let room = self.room(guests.height(), self.height());
        let taken = guests.as_half(true, roots_anew);
        match (room, self) {
            (Some(0) | None, _) | (_, Self::Leaf(_)) => {
                let mut halves = self.as_half(true, roots_anew);
                halves.extend(taken);
                (Self::Node(Box::new(self.clone()), Box::new(guests.clone())), halves)
            }
            (Some(depth), _) => {
                let (tree, mut halves) = self.placed(guests, depth, self.height());
                halves.extend(taken);
                (tree, halves)
            }
        }
    }

    /// How deep the shallowest node is beside which a tree of this height does not exceed the room.
    fn room(&self, height: usize, room: usize) -> Option<usize> {
        if self.height().max(height) < room {
            return Some(0);
        }
        let Self::Node(left, right) = self else { return None };
        let below = |half: &Self| half.room(height, room.checked_sub(1)?);
        [below(left), below(right)].into_iter().flatten().min().map(|depth| depth + 1)
    }

    fn placed(&self, guests: &Self, depth: usize, room: usize) -> (Self, Vec<usize>) {
        let Self::Node(left, right) = self else { unreachable!("there is room below") };
        if depth == 0 {
            let tree = Self::Node(Box::new(self.clone()), Box::new(guests.clone()));
            return (tree, vec![self.width()]);
        }
        let fits = right.room(guests.height(), room - 1) == Some(depth - 1);
        let (way, beside) = if fits { (right, left) } else { (left, right) };
        let (way, mut halves) = if depth == 1 {
            let tree = Self::Node(way.clone(), Box::new(guests.clone()));
            (tree, vec![way.width()])
        } else {
            way.placed(guests, depth - 1, room - 1)
        };
        halves.push(beside.width());
        let (way, beside) = (Box::new(way), beside.clone());
        (if fits { Self::Node(beside, way) } else { Self::Node(way, beside) }, halves)
    }

    fn as_half(&self, is_root: bool, roots_anew: bool) -> Vec<usize> {
        match self {
            Self::Node(left, right) if is_root && roots_anew => vec![left.width(), right.width()],
            _ => vec![self.width()],
        }
    }

    pub(crate) fn leaves(&self) -> Vec<u32> {
        match self {
            Self::Leaf(own) => vec![*own],
            Self::Node(left, right) => [left.leaves(), right.leaves()].concat(),
        }
    }

    pub(crate) fn height(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::Node(left, right) => 1 + left.height().max(right.height()),
        }
    }
}
