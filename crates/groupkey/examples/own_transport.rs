//! A member on a transport of your own: bytes in, bytes out, no async runtime.

use std::collections::VecDeque;

use groupkey::catalogue::{self, Profile};
use groupkey::device::{Device, DeviceOutput, Group, Keys};
use groupkey::{Command, Event, GroupId, Instance, MemberId, Suite};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

fn main() -> Result<(), groupkey::Error> {
    let lkh = catalogue::scheme("lkh-group").expect("it exists").configuration(Profile::Sound);
    let (suite, id, instance) = (Suite::Standard, GroupId(1), Instance([5; 16]));
    let group = Group { configuration: lkh, suite, id, instance };
    // From outside: a key that all devices share, 16 random bytes for each founding, and the time in ns.
    let keys = || Keys::mac([7; 32]);
    let rng = |seed: u32| ChaCha20Rng::from_seed([seed as u8; 32]);
    let (ids, now) = ([0, 1].map(MemberId), 0);
    let mut gateway = Device::controller(&group, keys(), rng(9)).expect("LKH has one");
    let member = |me: MemberId| Device::member(&group, me, keys(), rng(me.0));
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
                    DeviceOutput::Event(Event::Rekeyed(_)) => member.send(b"slippery road", now)?,
                    DeviceOutput::Message(message) => println!("{message:?}"),
                    DeviceOutput::Event(_) => {}
                }
            }
            up.extend(member.outgoing());
        }
    }
    assert_eq!(members[0].group_key(), gateway.group_key());
    Ok(())
}
