//! A member on a transport of your own: bytes in, bytes out, no async runtime.

use std::collections::VecDeque;

use groupkey::catalogue::{self, Profile};
use groupkey::device::{Device, Happened, Keys};
use groupkey::{Command, Event, GroupId, Instance, MemberId};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

fn main() -> Result<(), groupkey::Error> {
    let lkh = catalogue::scheme("lkh-group").expect("it exists").configuration(Profile::Sound);
    // From outside: a key that all devices share, 16 random bytes for each founding, and the time in ns.
    let keys = || Keys::mac([7; 32]);
    let rng = |seed: u32| ChaCha20Rng::from_seed([seed as u8; 32]);
    let (group, founding, ids, now) = (GroupId(1), Instance([5; 16]), [0, 1].map(MemberId), 0);
    let gateway = Device::controller(&lkh, group, founding, keys(), rng(9));
    let mut gateway = gateway.expect("LKH has one");
    let member = |me: MemberId| Device::member(&lkh, group, founding, me, keys(), rng(me.0));
    let mut members = ids.map(|me| member(me).with_messages(Default::default()));
    // Deployment, over a cable: each member gets an individual key.
    gateway.command(Command::Enroll(&ids), now)?;
    for (member, (_, bytes)) in members.iter_mut().zip(gateway.confidential()) {
        member.receive_confidential(&bytes, now)?;
    }
    // Operation, over a radio: these two queues stand for it. The gateway repeats what comes up.
    gateway.command(Command::Create(&ids), now)?;
    let (mut down, mut up) = (gateway.outgoing().collect::<VecDeque<_>>(), VecDeque::new());
    while let Some((to, bytes)) = down.pop_front().or_else(|| up.pop_front()) {
        for member in members.iter_mut().filter(|member| to.includes(member.me(), |_| true)) {
            for happened in member.receive(&bytes, now)? {
                match happened {
                    Happened::Event(Event::Rekeyed(_)) => member.send(b"slippery road", now)?,
                    Happened::Message(message) => println!("{message:?}"),
                    Happened::Event(_) => {}
                }
            }
            up.extend(member.outgoing());
        }
    }
    assert_eq!(members[0].group_key(), gateway.group_key());
    Ok(())
}
