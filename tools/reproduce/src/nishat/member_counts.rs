//! Facts from a small group of real parties: the lengths of their messages, and what a member
//! computes.

use groupkey::author::Reader;
use groupkey::catalogue::Profile;
use groupkey::crypto::meter::{Meter, Primitive, Probe};
use groupkey::protection::{Guard, Protection};
use groupkey::{
    Channel, Context, GroupId, MemberId, Outbox, Party, PartyId, Recipient, Setting, Suite,
};
use groupkey_lab::registry;
use groupkey_testkit::rig::{Rig, RigError, SentMessage, Settings};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Lengths (bits) and counted primitives of a member.
pub(crate) struct MemberCounts {
    pub(crate) public_key_bits: f64,
    pub(crate) ciphertext_bits: f64,
    /// s1 to s6 and the prime r, of which only the significant bits count.
    pub(crate) secret_key_bits: f64,
    pub(crate) encryption: Meter,
    pub(crate) decryption: Meter,
    /// A join, without its decryption.
    pub(crate) update: Meter,
}

impl MemberCounts {
    /// Runs the group of S004 and collects the facts.
    pub(crate) fn find() -> Result<Self, RigError> {
        Self::of(Profile::Published, Suite::Published)
    }

    /// Runs the group in another profile and suite. Lengths are those of S004's messages, and no
    /// number where the messages have another form.
    pub(crate) fn of(profile: Profile, suite: Suite) -> Result<Self, RigError> {
        let scheme = registry::schemes().find(|scheme| scheme.id == "nishat");
        let settings = Settings { profile, suite, protection: Guard::None, ..Settings::default() };
        let mut rig = Rig::new(scheme.expect("the catalogue has it"), settings);
        let created = rig.create(MEMBERS)?;
        let enrolled = created.deployment.iter().filter(|message| {
            message.channel == Channel::Confidential && message.to == Recipient::Member(WATCHED)
        });
        // Of the two enrolments the longer one has the secret key: s1 to s6, h, and the prime.
        let longest = enrolled.max_by_key(|message| message.body_bytes);
        let secret = longest.map(|message| items(&rig, message)).unwrap_or_default();
        let secret_key_bits = match &secret[..] {
            [elements, _, prime] => bits(elements.len()) + significant_bits(prime),
            _ => f64::NAN,
        };

        let added = rig.add(MEMBERS)?;
        let broadcast = added.messages.iter().find(|message| message.to == Recipient::Group);
        let sent = broadcast.map(|message| items(&rig, message)).unwrap_or_default();
        let length = |place: usize| sent.get(place).map_or(f64::NAN, |item| bits(item.len()));

        let (ciphertext, encryption) =
            counted(&rig, suite, |cx, party| party.messages().encryption()?.encapsulate(cx));
        let refused = |error| RigError::Refused(WATCHED.into(), error);
        let (_, ciphertext) = ciphertext.map_err(refused)?;
        let (key, decryption) = counted(&rig, suite, |cx, party| {
            party.messages().encryption()?.decapsulate(cx, &ciphertext)
        });
        key.map_err(refused)?;
        Ok(Self {
            public_key_bits: length(1),
            ciphertext_bits: bits(ciphertext.len()),
            secret_key_bits,
            encryption,
            decryption,
            update: without(&added.meter(WATCHED.into()), &decryption),
        })
    }
}

const MEMBERS: u32 = 4;
const WATCHED: MemberId = MemberId(1);

/// Returns the items of a message's body; none if the body is not made of byte strings.
fn items(rig: &Rig, message: &SentMessage) -> Vec<Vec<u8>> {
    let forger = rig.forger();
    let Some((_, body)) = forger.read(&message.bytes) else { return Vec::new() };
    let mut reader = Reader::new(body);
    std::iter::from_fn(|| reader.bytes().ok().map(<[u8]>::to_vec)).collect()
}

/// Runs an action of a member and counts its primitives.
fn counted<T>(
    rig: &Rig,
    suite: Suite,
    what: impl FnOnce(&mut Context<'_>, &dyn Party) -> T,
) -> (T, Meter) {
    let id = PartyId::from(WATCHED);
    let setting = Setting::new(GroupId(0), suite);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (mut outbox, mut meter) = (Outbox::new(), Meter::new());
    let mut cx = Context::new(setting, id, Protection::None, &mut rng, 0, &mut outbox, &mut meter);
    let done = what(&mut cx, rig.party(id));
    (done, meter)
}

/// Returns the first meter less the second.
fn without(all: &Meter, part: &Meter) -> Meter {
    let mut rest = Meter::new();
    for primitive in Primitive::ALL {
        let (all, part) = (all.tally(primitive), part.tally(primitive));
        let calls = all.calls.saturating_sub(part.calls);
        let mut amount = all.amount.saturating_sub(part.amount) as usize;
        for _ in 0..calls {
            rest.record(primitive, amount);
            amount = 0;
        }
    }
    rest
}

fn bits(bytes: usize) -> f64 {
    8.0 * bytes as f64
}

fn significant_bits(number: &[u8]) -> f64 {
    match number.iter().position(|byte| *byte != 0) {
        Some(first) => bits(number.len() - first) - f64::from(number[first].leading_zeros()),
        None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sizes_come_out() {
        let facts = MemberCounts::find().expect("the group runs");
        assert_eq!((facts.public_key_bits, facts.ciphertext_bits), (2_048.0, 3_072.0));
        assert!((6_300.0..=6_304.0).contains(&facts.secret_key_bits), "{}", facts.secret_key_bits);
    }

    #[test]
    fn what_is_left_of_a_join_is_three_powers() {
        let update = MemberCounts::find().expect("the group runs").update;
        assert_eq!(update.tally(Primitive::ExponentiateG1).calls, 3);
        assert_eq!(update.tally(Primitive::MillerLoop).calls, 0);
    }

    #[test]
    fn leading_zeros_are_no_bits_of_a_number() {
        assert_eq!(significant_bits(&[0, 0b0101_0000, 1]), 15.0);
        assert_eq!(significant_bits(&[0, 0]), 0.0);
    }
}
