//! A member, or a peer of a group without a controller, by the file of `groupkey member`.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use groupkey::{Epoch, Error};
use groupkey_mqtt::config::{MemberConfig, Participation, hold};
use groupkey_mqtt::driver::{Handle, run};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::member::MembershipFile;
use groupkey_mqtt::peer::DecisionFile;
use groupkey_mqtt::{Member, MembershipError, Peer};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::{ENDED, Happening, Listener, answer, threads};
use crate::work::input_error;

/// A member that runs. It ends with [`LiveMember::close`], or when Python drops it.
#[pyclass(frozen, module = "groupkey._groupkey")]
pub(crate) struct LiveMember {
    handle: Mutex<Option<MemberHandle>>,
    room: Arc<Semaphore>,
    /// So that no other process runs with this identity.
    held: Mutex<Option<File>>,
}

/// How the runtime is called.
#[derive(Clone)]
enum MemberHandle {
    Member(Handle<Member>),
    Peer(Handle<Peer>),
}

impl MemberHandle {
    async fn say(&self, content: Vec<u8>) -> Option<Result<(), Error>> {
        match self {
            Self::Member(handle) => {
                handle.call(move |member, now, rng| member.say(&content, now, rng)).await
            }
            Self::Peer(handle) => {
                handle.call(move |peer, now, rng| peer.say(&content, now, rng)).await
            }
        }
    }

    async fn export(
        &self,
        label: String,
        context: Vec<u8>,
        length: usize,
    ) -> Option<Result<ExportedKey, Error>> {
        let mut output = Zeroizing::new(vec![0; length]);
        match self {
            Self::Member(handle) => {
                let call = handle.call(move |member, _, _| {
                    exported(member.export(&label, &context, &mut output), output)
                });
                call.await
            }
            Self::Peer(handle) => {
                let call = handle.call(move |peer, _, _| {
                    exported(peer.export(&label, &context, &mut output), output)
                });
                call.await
            }
        }
    }
}

/// An epoch, and a key that follows from its group key.
type ExportedKey = (u64, Zeroizing<Vec<u8>>);

fn exported(epoch: Result<Epoch, Error>, key: Zeroizing<Vec<u8>>) -> Result<ExportedKey, Error> {
    Ok((epoch?.0, key))
}

#[pymethods]
impl LiveMember {
    /// Starts the member of this file. `hear` is called with what happens.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, hear: Py<PyAny>) -> PyResult<Self> {
        let wrong = |problem: String| {
            input_error(py, problem, Some("groupkey member --print-config shows a file"))
        };
        let config = MemberConfig::read(&path).map_err(|error| wrong(error.to_string()))?;
        let MemberConfig { connection, identity_file, resumes, part } = config;
        let held = hold(&identity_file).map_err(|error| wrong(error.to_string()))?;
        let listener = Listener::new(hear);
        let room = Arc::clone(&listener.room);
        let threads = threads()?;
        let _entered = threads.enter();
        let handle = match part {
            Participation::Member(settings) => {
                let mut member = Member::new(settings).map_err(|error| wrong(error.to_string()))?;
                if resumes {
                    member = member.remembering(Box::new(MembershipFile::beside(&identity_file)));
                }
                let running = run(member, connection);
                let handle = MemberHandle::Member(running.handle.clone());
                threads.spawn(listener.listen(running, happening));
                handle
            }
            Participation::Peer(settings) => {
                let memory = Box::new(DecisionFile::beside(&identity_file));
                let peer =
                    Peer::open(settings, memory).map_err(|error| wrong(error.to_string()))?;
                let running = run(peer, connection);
                let handle = MemberHandle::Peer(running.handle.clone());
                threads.spawn(listener.listen(running, happening));
                handle
            }
        };
        Ok(Self { handle: Mutex::new(Some(handle)), room, held: Mutex::new(Some(held)) })
    }

    /// Makes room for as much as the program has taken.
    fn taken(&self, count: usize) {
        self.room.add_permits(count);
    }

    /// Encrypts and sends a message. Then calls `done` with `None` twice, or with `None` and the
    /// words of a refusal.
    fn say(&self, content: Vec<u8>, done: Py<PyAny>) -> PyResult<()> {
        let handle = self.handle();
        threads()?.spawn(async move {
            let said = match handle {
                Some(handle) => handle.say(content).await,
                None => None,
            };
            answer(done, in_words(said).map(|()| None::<u64>));
        });
        Ok(())
    }

    /// Derives a key for another protocol. Then calls `done` with the epoch and the key, and
    /// `None`.
    fn export(
        &self,
        label: String,
        context: Vec<u8>,
        length: usize,
        done: Py<PyAny>,
    ) -> PyResult<()> {
        let handle = self.handle();
        threads()?.spawn(async move {
            let exported = match handle {
                Some(handle) => handle.export(label, context, length).await,
                None => None,
            };
            let with_bytes = |(epoch, key): ExportedKey| {
                Python::try_attach(|py| (epoch, PyBytes::new(py, &key).unbind()))
            };
            answer(done, in_words(exported).map(with_bytes));
        });
        Ok(())
    }

    /// Waits until the broker has acknowledged all messages of a member, and then calls `done`
    /// with `None` twice.
    fn settle(&self, done: Py<PyAny>) -> PyResult<()> {
        let handle = self.handle();
        threads()?.spawn(async move {
            if let Some(MemberHandle::Member(handle)) = handle {
                while let Some(1..) = handle.call(|member, _, _| member.unacknowledged()).await {
                    sleep(PAUSE).await;
                }
            }
            answer(done, Ok(None::<u64>));
        });
        Ok(())
    }

    /// Disconnects.
    fn close(&self) {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl LiveMember {
    fn handle(&self) -> Option<MemberHandle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn happening(event: MemberEvent) -> Happening {
    let plain = Happening::default();
    let in_epoch =
        |what, epoch: Epoch| Happening { what, epoch: Some(epoch.0), ..Happening::default() };
    match event {
        MemberEvent::Activated(epoch) => in_epoch("active", epoch),
        MemberEvent::Behind(epoch) => in_epoch("behind", epoch),
        MemberEvent::Changed { scheme, .. } => {
            Happening { what: "changed", text: Some(scheme.to_owned()), ..plain }
        }
        MemberEvent::Evicted => Happening { what: "evicted", ..plain },
        MemberEvent::Heard(received) => Happening {
            what: "message",
            epoch: Some(received.epoch.0),
            member: Some(received.sender.0),
            content: Some(received.content),
            ..plain
        },
        MemberEvent::Joined { member, .. } => {
            Happening { what: "joined", member: Some(member.0), ..plain }
        }
        MemberEvent::JoinsAgain => Happening { what: "joins again", ..plain },
        MemberEvent::NotIn(hint) => {
            let text = MembershipError::NotAdmitted(hint).to_string();
            Happening { what: "outside", text: Some(text), ..plain }
        }
        MemberEvent::Proven => Happening { what: "proven", ..plain },
        MemberEvent::Rekeyed(epoch) => in_epoch("epoch", epoch),
        MemberEvent::Resumed { member, .. } => {
            Happening { what: "resumed", member: Some(member.0), ..plain }
        }
        MemberEvent::Unkept(error) => {
            Happening { what: "unkept", text: Some(error.to_string()), ..plain }
        }
        MemberEvent::Unproven => Happening { what: "unproven", ..plain },
    }
}

fn in_words<T>(done: Option<Result<T, Error>>) -> Result<T, String> {
    match done {
        Some(result) => result.map_err(|error| error.to_string()),
        None => Err(ENDED.to_owned()),
    }
}

/// How long to wait before asking again whether all messages are acknowledged.
const PAUSE: Duration = Duration::from_millis(5);
