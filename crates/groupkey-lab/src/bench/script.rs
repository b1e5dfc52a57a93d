//! The script of a repetition: everything that the measured parties were given in a whole group.
//!
//! A group without a controller takes each of its members through a creation, of which a benchmark
//! prints two. So the whole group runs once, and each repetition gives its inputs again to new
//! parties in the places of those that are measured. They draw the same static variables, so they
//! send the same bytes and count the same as in the group.

use std::collections::BTreeSet;
use std::rc::Rc;

use groupkey::{Channel, Command, PartyId};
use groupkey_testkit::replay::RecordedCommand;

use super::group::{Checking, MeasuredGroup};
use super::state::{BenchState, PhaseRecord};
use super::{Activity, BenchError, Phase};

/// What happened in a group, in its order.
#[derive(Debug, Default)]
pub(crate) struct Script(Vec<Scene>);

/// A group's part of a script.
#[derive(Debug)]
enum Scene {
    /// From here on parties check the tags of messages.
    Checking,
    /// What the parties have done since the last episode belongs to none.
    Cut,
    End(Activity, Phase),
    Step(ScriptedStep),
}

#[derive(Debug)]
struct ScriptedStep {
    party: PartyId,
    /// How many bytes of static variables the group had drawn before.
    drawn: usize,
    given: Given,
}

#[derive(Debug)]
enum Given {
    Command(Box<RecordedCommand>),
    Message { from: PartyId, channel: Channel, bytes: Rc<[u8]> },
}

impl Script {
    /// Writes down that parties check the tags of messages from here on.
    pub(super) fn check(&mut self) {
        self.0.push(Scene::Checking);
    }

    /// Writes down that what was done since the last episode counts for nothing.
    pub(super) fn cut(&mut self) {
        self.0.push(Scene::Cut);
    }

    pub(super) fn end(&mut self, activity: Activity, phase: Phase) {
        self.0.push(Scene::End(activity, phase));
    }

    pub(super) fn command(&mut self, party: PartyId, drawn: usize, command: Command<'_>) {
        let given = Given::Command(Box::new(command.into()));
        self.0.push(Scene::Step(ScriptedStep { party, drawn, given }));
    }

    pub(super) fn message(
        &mut self,
        party: PartyId,
        drawn: usize,
        (from, channel, bytes): (PartyId, Channel, &Rc<[u8]>),
    ) {
        let given = Given::Message { from, channel, bytes: Rc::clone(bytes) };
        self.0.push(Scene::Step(ScriptedStep { party, drawn, given }));
    }

    /// Leaves only what these parties were given.
    pub(super) fn keep(&mut self, parties: &BTreeSet<PartyId>) {
        self.0.retain(|scene| match scene {
            Scene::Step(step) => parties.contains(&step.party),
            Scene::Checking | Scene::Cut | Scene::End(..) => true,
        });
        self.0.shrink_to_fit();
    }
}

impl BenchState {
    /// Gives new parties what those of the same names got in the script's group. Returns the
    /// episodes with their shares alone.
    pub(crate) fn replay(
        &mut self,
        script: &Script,
        parties: &BTreeSet<PartyId>,
    ) -> Result<Vec<PhaseRecord>, BenchError> {
        self.rewind();
        let mut group = MeasuredGroup::alone(self, parties);
        let mut episodes = Vec::new();
        for scene in &script.0 {
            match scene {
                Scene::Checking => group.check_from_now_on(Checking::Everybody),
                Scene::Cut => group.cut(),
                Scene::End(activity, phase) => episodes.push(group.end(*activity, *phase)),
                Scene::Step(ScriptedStep { party, drawn, given }) => {
                    group.draw_from(*drawn);
                    match given {
                        Given::Command(command) => {
                            if let Some(command) = command.command() {
                                group.command(*party, command)?;
                            }
                        }
                        Given::Message { from, channel, bytes } => {
                            group.deliver(*from, *party, *channel, bytes)?;
                        }
                    }
                }
            }
        }
        Ok(episodes)
    }
}
