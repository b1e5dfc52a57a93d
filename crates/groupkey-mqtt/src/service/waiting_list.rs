//! The devices that wait to be admitted, in the order in which they came. A request finds its device, and
//! who else waits with its token, without a look at each.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::admission::Applicant;

/// Devices that wait, one of each name.
#[derive(Default)]
pub(super) struct WaitingList {
    /// The first that came is first.
    applicants: Vec<Applicant>,
    /// The place of each name, and of each token, in that order.
    names: BTreeMap<String, usize>,
    tokens: BTreeMap<[u8; 32], usize>,
}

impl WaitingList {
    pub(super) const fn len(&self) -> usize {
        self.applicants.len()
    }

    pub(super) fn of(&self, name: &str) -> Option<&Applicant> {
        self.applicants.get(*self.names.get(name)?)
    }

    pub(super) fn with_token(&self, token: &[u8; 32]) -> Option<&Applicant> {
        self.applicants.get(*self.tokens.get(token)?)
    }

    /// Adds a device, or puts it in the place of the one of its name.
    pub(super) fn put(&mut self, applicant: Applicant) {
        let next = self.applicants.len();
        let place = *self.names.entry(applicant.name().to_owned()).or_insert(next);
        let token = applicant.token;
        match self.applicants.get_mut(place) {
            Some(before) => {
                if let Some(former) = core::mem::replace(before, applicant).token {
                    self.tokens.remove(&former);
                }
            }
            None => self.applicants.push(applicant),
        }
        self.tokens.extend(token.map(|token| (token, place)));
    }

    pub(super) fn remove(&mut self, name: &str) {
        if self.names.contains_key(name) {
            let mut others = self.take();
            others.retain(|applicant| applicant.name() != name);
            self.extend(others);
        }
    }

    /// Removes all.
    pub(super) fn take(&mut self) -> Vec<Applicant> {
        core::mem::take(self).applicants
    }

    /// Adds devices in this order.
    pub(super) fn extend(&mut self, applicants: impl IntoIterator<Item = Applicant>) {
        applicants.into_iter().for_each(|applicant| self.put(applicant));
    }
}

#[cfg(test)]
mod tests {
    use super::super::admission::tests::applicant;
    use super::*;

    fn with_token(name: &str, token: u8) -> Applicant {
        Applicant { token: Some([token; 32]), ..applicant(name) }
    }

    #[test]
    fn each_name_and_token_is_found_where_it_stands_now() {
        let mut list = WaitingList::default();
        list.extend([with_token("a", 1), with_token("b", 2), applicant("c")]);
        list.put(with_token("a", 4));
        let holder = |list: &WaitingList, token: u8| {
            list.with_token(&[token; 32]).map(|found| found.name().to_owned())
        };
        assert_eq!(
            [1, 2, 4].map(|token| holder(&list, token)),
            [None, Some("b".to_owned()), Some("a".to_owned())]
        );
        list.remove("a");
        list.remove("nobody");
        assert_eq!((list.len(), holder(&list, 4)), (2, None));
        assert_eq!(holder(&list, 2).as_deref(), Some("b"));
        assert!(list.of("a").is_none() && list.of("c").is_some_and(|found| found.name() == "c"));
        let names: Vec<_> = list.take().iter().map(|left| left.name().to_owned()).collect();
        assert_eq!(names, ["b", "c"]);
        assert_eq!((list.len(), list.of("b").is_none(), holder(&list, 2)), (0, true, None));
    }
}
