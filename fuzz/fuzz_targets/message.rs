//! Forged messages, given without any protection to any party of any scheme in any state. The party
//! does not panic. A refused message changes nothing, then or later.

#![no_main]

// The laws need more of it.
#[expect(dead_code)]
#[path = "../../crates/groupkey/tests/laws/hostile_bytes/recorded_group.rs"]
mod recorded_group;

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Result, Unstructured};
use groupkey::Suite;
use groupkey::catalogue::{Assumption, Profile, SCHEMES, Scheme};
use libfuzzer_sys::fuzz_target;
use recorded_group::{Body, Forgery, Item, Transcript};

fuzz_target!(|input: Input| {
    let Input { transcript, party, step, offers } = input;
    let mut replay = TRANSCRIPTS[transcript % TRANSCRIPTS.len()].replay(party, step);
    for offer in &offers {
        // Nothing protects the message, so the party may also accept it.
        let _ = match offer {
            Offer::Bytes(bytes) => replay.offer(bytes),
            Offer::Cut(message, length) => replay.cut(*message, *length),
            Offer::Forgery(forgery) => replay.forge(forgery),
            Offer::Splice(message, at, with) => replay.splice(*message, *at, with),
        };
    }
    replay.finish();
});

static TRANSCRIPTS: LazyLock<Vec<Transcript>> = LazyLock::new(|| {
    let kinds = [(Profile::Sound, Suite::Standard), (Profile::Published, Suite::Published)];
    let pairs = SCHEMES.iter().flat_map(|scheme| kinds.map(|kind| (scheme, kind)));
    // Whatever encapsulates keys parses something else in the post-quantum suite. The others do not.
    let encapsulates = |scheme: &&Scheme| scheme.assumption == Assumption::Encapsulation;
    let hybrid = SCHEMES.iter().filter(encapsulates);
    let pairs = pairs.chain(hybrid.map(|scheme| (scheme, (Profile::Sound, Suite::Pq))));
    pairs.map(|(scheme, (profile, suite))| Transcript::record(scheme, profile, suite)).collect()
});

#[derive(Debug)]
struct Input {
    transcript: usize,
    party: usize,
    step: usize,
    offers: Vec<Offer>,
}

#[derive(Debug)]
enum Offer {
    Bytes(Vec<u8>),
    Cut(usize, usize),
    Forgery(Forgery),
    Splice(usize, usize, Vec<u8>),
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let [transcript, party, step] = <[u8; 3]>::arbitrary(u)?.map(usize::from);
        let mut offers = Vec::new();
        while offers.len() < 8 && !u.is_empty() {
            offers.push(offer(u)?);
        }
        Ok(Self { transcript, party, step, offers })
    }
}

fn offer(u: &mut Unstructured<'_>) -> Result<Offer> {
    Ok(match u.int_in_range(0..=7)? {
        0 => Offer::Bytes(u.arbitrary()?),
        1 => Offer::Cut(number(u)?, number(u)?),
        2 => Offer::Splice(number(u)?, number(u)?, u.arbitrary()?),
        _ => Offer::Forgery(Forgery {
            message: number(u)?,
            readdress: u.arbitrary()?,
            epoch: u.arbitrary()?,
            operation: u.arbitrary()?,
            kind: u.arbitrary()?,
            sender: u.arbitrary()?,
            body: match u.int_in_range(0..=3)? {
                0 => Body::Bytes(u.arbitrary()?),
                1 => Body::Changed(number(u)?, u.arbitrary()?),
                2 => Body::Genuine,
                _ => Body::Items(items(u)?),
            },
        }),
    })
}

fn items(u: &mut Unstructured<'_>) -> Result<Vec<Item>> {
    let count = u.int_in_range(0..=6)?;
    let item = |_| {
        Ok(match u.int_in_range(0..=2)? {
            0 => Item::Array(u.arbitrary()?),
            1 => Item::Bytes(u.arbitrary()?),
            _ => Item::Number(u.arbitrary()?),
        })
    };
    (0..count).map(item).collect()
}

fn number(u: &mut Unstructured<'_>) -> Result<usize> {
    u.arbitrary::<u16>().map(usize::from)
}
