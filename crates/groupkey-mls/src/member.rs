//! A member: the contract's commands and messages on one side, an MLS library on the other.

use core::fmt;

use groupkey::author::sponsored::{
    GroupStanding, SponsoredPart, require_part, require_welcome, sorted,
};
use groupkey::author::{CatchUpRequest, Message};
use groupkey::catalogue::Configuration;
use groupkey::error::{Error, Misbehaviour, Misuse};
use groupkey::{
    Command, Context, Epoch, Event as Notice, Footprint, Input, Key, MemberId, Operation, Party,
    Recipient,
};

use crate::arrival::UnusedArrivals;
use crate::event::MlsEvent;
use crate::library::{Expected, Library};
use crate::resources::Resources;

pub(crate) struct MlsMember<L: Library> {
    me: MemberId,
    configuration: Configuration,
    resources: Resources,
    /// Its identity in MLS, from its first command on.
    library: Option<L>,
    group: Option<Group<L>>,
    event: Option<MlsEvent>,
    arrival: UnusedArrivals,
    request: CatchUpRequest,
    /// How often it has asked for what it missed: each time it asks another member.
    asked: usize,
    /// Whether it entered by a commit of its own, which nobody has confirmed.
    is_alone: bool,
}

impl<L: Library> MlsMember<L> {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            me,
            configuration: configuration.clone(),
            resources: Resources::default(),
            library: None,
            group: None,
            event: None,
            arrival: UnusedArrivals::default(),
            request: CatchUpRequest::default(),
            asked: 0,
            is_alone: false,
        }
    }

    fn epoch(&self) -> Epoch {
        self.group.as_ref().map_or_else(|| self.configuration.epoch_before(), |group| group.epoch)
    }

    fn command(&mut self, cx: &mut Context<'_>, command: Command<'_>) -> Result<(), Error> {
        if command == Command::CatchUp {
            return self.ask(cx);
        }
        let standing = GroupStanding {
            me: self.me,
            configuration: &self.configuration,
            group: self.group.as_ref().map(|group| (group.epoch, &group.members[..])),
            is_busy: self.event.is_some(),
        };
        let mut event = MlsEvent::of(&standing, command)?;
        if let SponsoredPart::Joins { founder, .. } = event.part {
            self.announce(cx, &event, founder)?;
            self.event = Some(event);
        } else if self.proceed(cx, &mut event)? {
            self.settled();
        } else {
            self.event = Some(event);
        }
        Ok(())
    }

    fn message(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        match (header.operation, header.kind) {
            (Operation::CatchUp, REQUEST) => self.answer(cx, message),
            (Operation::CatchUp, GROUP_INFO) => self.enter(cx, message),
            (Operation::Rekey, RETURN) => self.receive_return(cx, message),
            (Operation::CatchUp, _) => Err(Misbehaviour::UnexpectedMessage.into()),
            (_, KEY_PACKAGE) => self.receive_key_package(cx, message),
            (_, COMMIT) => self.receive_commit(cx, message),
            (_, WELCOME) => self.receive_welcome(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Sends this member's key package.
    fn announce(
        &mut self,
        cx: &mut Context<'_>,
        event: &MlsEvent,
        founder: Option<MemberId>,
    ) -> Result<(), Error> {
        self.resources.begin(cx);
        let key_package = self.library()?.key_package()?;
        let to = founder.map_or(Recipient::Group, Recipient::Member);
        // Who does not know the members does not know their epoch.
        let epoch = match &event.part {
            SponsoredPart::Joins { told, .. } if told.is_empty() => self.epoch(),
            _ => event.epoch,
        };
        cx.draft(to, epoch, event.operation, KEY_PACKAGE).bytes(&key_package).send();
        let fellows = event.joining.members();
        self.arrival = match founder {
            Some(_) => UnusedArrivals::default(),
            None => UnusedArrivals::expecting(
                fellows.filter(|&fellow| fellow != self.me).collect(),
                true,
            ),
        };
        Ok(())
    }

    /// Does what can be done. Returns whether the event is over.
    fn proceed(&mut self, cx: &mut Context<'_>, event: &mut MlsEvent) -> Result<bool, Error> {
        if !event.joining.are_complete() {
            return Ok(false);
        }
        match (&event.part, event.commit.take()) {
            (SponsoredPart::Sponsors, _) => self.commit(cx, event).map(|()| true),
            (&SponsoredPart::Stays { sponsor }, Some(commit)) => {
                let removed = event.leaving.clone();
                let expected = Expected::Change { sponsor, added: event.identities(), removed };
                self.process(cx, event.epoch, &commit, &expected)?;
                self.group.iter_mut().for_each(|group| group.change(event));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn commit(&mut self, cx: &mut Context<'_>, event: &MlsEvent) -> Result<(), Error> {
        self.resources.begin(cx);
        if event.operation == Operation::Create {
            let group_id = *cx.group_context().as_bytes();
            let mut founded = self.library()?.found(&group_id)?;
            let made = self.library()?.commit(&mut founded, &event.key_packages(), &[])?;
            self.group = Some(self.entered(founded, event.epoch)?);
            let welcome = made.welcome.ok_or(Misbehaviour::Malformed)?;
            draft(cx, Recipient::Group, event, WELCOME, &welcome);
        } else {
            let library = self.library.as_mut().ok_or(Misuse::NotCreated)?;
            let group = self.group.as_mut().ok_or(Misuse::NotCreated)?;
            let made = library.commit(&mut group.state, &event.key_packages(), &event.leaving)?;
            group.advance(library, event.epoch)?;
            group.change(event);
            draft(cx, Recipient::Group, event, COMMIT, &made.commit);
            for member in event.joining.members() {
                let welcome = made.welcome.as_ref().ok_or(Misbehaviour::Malformed)?;
                draft(cx, Recipient::Member(member), event, WELCOME, welcome);
            }
        }
        cx.event(Notice::Rekeyed(event.epoch));
        Ok(())
    }

    fn process(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        commit: &[u8],
        expected: &Expected,
    ) -> Result<(), Error> {
        let library = self.library.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        let group = self.group.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        library.process(&mut group.state, commit, expected)?;
        group.advance(library, epoch)?;
        cx.event(Notice::Rekeyed(epoch));
        Ok(())
    }

    fn receive_key_package(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let sender = message.from_member()?;
        let key_package = body(message)?;
        let Some(mut event) = self.event.take_if(|event| !event.part.joins()) else {
            let is_expected = self.arrival.hear_announcement(sender);
            return if is_expected { Ok(()) } else { Err(Misbehaviour::UnexpectedMessage.into()) };
        };
        let held = event.commit.clone();
        let result = Self::note(&mut event, message, sender, key_package)
            .and_then(|()| self.proceed(cx, &mut event));
        match result {
            Ok(true) => self.settled(),
            Ok(false) => {
                event.commit = held;
                self.event = Some(event);
            }
            Err(error) => {
                event.commit = held;
                if !matches!(error, Error::Misbehaved(Misbehaviour::Replayed)) {
                    event.joining.forget(sender);
                }
                self.event = Some(event);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes note of a joining member's key package.
    fn note(
        event: &mut MlsEvent,
        message: &Message<'_>,
        sender: MemberId,
        key_package: &[u8],
    ) -> Result<(), Error> {
        event.joining.note(message, event.operation, || {
            let identity = L::identity(key_package)?;
            if identity.member != sender {
                return Err(Misbehaviour::UnexpectedSender.into());
            }
            Ok((key_package.to_vec(), identity))
        })
    }

    fn receive_commit(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        let (epoch, current) = (message.header().epoch, self.epoch());
        let commit = body(message)?;
        let Some(mut event) = self.event.take_if(|event| !event.part.joins()) else {
            if self.arrival.hear_commit(epoch) {
                return Ok(());
            }
            // Whoever entered alone, and hears another commit to the same epoch, was not heard.
            if self.is_alone && epoch == current {
                return Err(Misbehaviour::SkippedEpoch { got: epoch, current }.into());
            }
            if self.group.is_some() {
                message.require_next_epoch(current)?;
            }
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let result =
            require_part(message, (event.operation, event.epoch), current).and_then(|()| {
                if !matches!(event.part, SponsoredPart::Stays { sponsor } if sponsor == sender) {
                    return Err(Misbehaviour::UnexpectedSender.into());
                }
                if event.commit.is_some() {
                    return Err(Misbehaviour::Replayed.into());
                }
                Ok(())
            });
        if let Err(error) = result {
            self.event = Some(event);
            return Err(error);
        }
        event.commit = Some(commit.to_vec());
        if !event.joining.are_complete() {
            self.event = Some(event);
            return Ok(());
        }
        match self.proceed(cx, &mut event) {
            Ok(_) => self.settled(),
            Err(error) => {
                self.event = Some(event);
                return Err(error);
            }
        }
        Ok(())
    }

    fn receive_welcome(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let sender = message.from_member()?;
        let (epoch, before) = (message.header().epoch, self.epoch());
        let Some(MlsEvent {
            operation,
            epoch: awaited,
            part: SponsoredPart::Joins { founder, told },
            ..
        }) = &self.event
        else {
            if self.group.is_some() {
                message.require_next_epoch(before)?;
            }
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        require_welcome(message, (*operation, *awaited), (*founder, &told[..]), before)?;
        let welcome = body(message)?;
        let (me, group_id) = (self.me, *cx.group_context().as_bytes());
        let (told, configuration) = (sorted(told), self.configuration.clone());
        let are_right = |found: &[MemberId]| {
            found.contains(&me)
                && found.contains(&sender)
                && (told.is_empty() || told == sorted(found))
                && configuration.expects(found.iter().copied())
        };
        let state = self.library()?.join(&group_id, welcome, are_right)?;
        self.group = Some(self.entered(state, epoch)?);
        self.arrival.enter(epoch);
        self.settled();
        cx.event(Notice::Rekeyed(epoch));
        Ok(())
    }

    /// Asks another member for what it takes to enter again: the next one in the order of the ids.
    fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let group = self.group.as_ref().ok_or(Misuse::NotCreated)?;
        let others: Vec<_> = group.members.iter().filter(|&&member| member != self.me).collect();
        let place = group.members.iter().position(|&member| member == self.me).unwrap_or(0);
        let to = *others[(place + self.asked) % others.len()];
        self.asked += 1;
        // What was under way went on without this member.
        self.event = None;
        self.request.request(cx, Recipient::Member(to), group.epoch, REQUEST).send();
        Ok(())
    }

    fn answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.body().finish()?;
        let sender = message.from_member()?;
        let group = self.group.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        if sender == self.me || !group.members.contains(&sender) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        // An event that is under way leads to another epoch.
        if self.event.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let library = self.library.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        let info = library.group_info(&group.state)?;
        let (to, epoch) = (Recipient::Member(sender), group.epoch);
        cx.draft(to, epoch, Operation::CatchUp, GROUP_INFO).bytes(&info).send();
        Ok(())
    }

    fn enter(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.request.require_fresh(message)?;
        let sender = message.from_member()?;
        let (got, current) = (message.header().epoch, self.epoch());
        if self.group.is_none() || got < current {
            return Err(Misbehaviour::StaleEpoch { got, current }.into());
        }
        let (info, group_id) = (body(message)?, *cx.group_context().as_bytes());
        self.resources.begin(cx);
        let (state, commit) = self.library()?.enter(&group_id, info)?;
        let group = self.entered(state, got.next())?;
        if !group.members.contains(&sender) || !group.members.contains(&self.me) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let epoch = group.epoch;
        self.group = Some(group);
        self.request.settle(cx);
        self.settled();
        self.is_alone = true;
        cx.draft(Recipient::Group, epoch, Operation::Rekey, RETURN).bytes(&commit).send();
        cx.event(Notice::Rekeyed(epoch));
        Ok(())
    }

    fn receive_return(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        let group = self.group.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        message.require_next_epoch(group.epoch)?;
        if !group.members.contains(&sender) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        if self.event.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let epoch = message.header().epoch;
        self.process(cx, epoch, body(message)?, &Expected::Return(sender))?;
        self.settled();
        Ok(())
    }

    /// The member's side of the library, which its first command makes.
    fn library(&mut self) -> Result<&mut L, Error> {
        if self.library.is_none() {
            self.library = Some(L::new(self.me, &self.resources)?);
        }
        self.library.as_mut().ok_or_else(|| Misuse::NotCreated.into())
    }

    fn entered(&self, state: L::Group, epoch: Epoch) -> Result<Group<L>, Error> {
        let library = self.library.as_ref().ok_or(Misuse::NotCreated)?;
        let members = sorted(&L::members(&state)?);
        let mut group = Group { state, epoch, members, key: Key::default() };
        group.advance(library, epoch)?;
        Ok(group)
    }

    /// Nothing is under way any more.
    fn settled(&mut self) {
        self.event = None;
        self.is_alone = false;
        self.asked = 0;
    }
}

impl<L: Library> Party for MlsMember<L> {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        let result = match input {
            Input::Command(command) => self.command(cx, command),
            Input::Message(message) => self.message(cx, &message),
        };
        self.resources.end(cx);
        result
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group.as_ref().map(|group| (group.epoch, &group.key))
    }

    fn footprint(&self) -> Footprint {
        let members = self.group.as_ref().map_or(0, |group| group.members.len());
        let path = members.max(1).next_power_of_two().trailing_zeros() as usize;
        let permanent = match (&self.library, &self.group) {
            (None, _) => 0,
            // The signature key, the keys of a leaf and of a key package.
            (Some(_), None) => 3 * SECRET,
            (Some(_), Some(_)) => (2 + path + SECRETS_OF_AN_EPOCH) * SECRET + Key::BYTES,
        };
        Footprint { permanent, temporary: 0 }
    }
}

impl<L: Library> fmt::Debug for MlsMember<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("me", &self.me)
            .field("epoch", &self.epoch())
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

/// A group as a member sees it.
struct Group<L: Library> {
    state: L::Group,
    epoch: Epoch,
    members: Vec<MemberId>,
    key: Key,
}

impl<L: Library> Group<L> {
    /// The library is in this epoch now: what follows from it.
    fn advance(&mut self, library: &L, epoch: Epoch) -> Result<(), Error> {
        self.key = library.export(&self.state, "groupkey", &epoch.0.to_be_bytes())?;
        self.epoch = epoch;
        Ok(())
    }

    /// The library made this change, and no other one. To read the tree again would take a large group
    /// longer than the change itself.
    fn change(&mut self, event: &MlsEvent) {
        self.members.retain(|member| !event.leaving.contains(member));
        self.members.extend(event.joining.members());
        self.members.sort_unstable();
    }
}

fn draft(cx: &mut Context<'_>, to: Recipient, event: &MlsEvent, kind: u8, mls_message: &[u8]) {
    cx.draft(to, event.epoch, event.operation, kind).bytes(mls_message).send();
}

fn body<'m>(message: &Message<'m>) -> Result<&'m [u8], Error> {
    let mut body = message.body();
    let mls_message = body.bytes()?;
    body.finish()?;
    Ok(mls_message)
}

const KEY_PACKAGE: u8 = 0;
const COMMIT: u8 = 1;
const WELCOME: u8 = 2;
const REQUEST: u8 = 3;
const GROUP_INFO: u8 = 4;
const RETURN: u8 = 5;

/// The length of a secret and of a private key in cipher suite 1.
const SECRET: usize = 32;

/// RFC 9420, section 8: sender data, encryption, exporter, external, confirmation, membership, resumption,
/// authenticator, init.
const SECRETS_OF_AN_EPOCH: usize = 9;
