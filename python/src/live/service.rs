//! A service, by the file of `groupkey serve`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use groupkey_mqtt::Service;
use groupkey_mqtt::config::ServeConfig;
use groupkey_mqtt::driver::{Handle, fresh_rng, now, run};
use groupkey_mqtt::keyring::hex;
use groupkey_mqtt::service::{OperationError, ServiceEvent};
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use tokio::sync::Semaphore;

use super::{ENDED, Happening, Listener, answer, threads};
use crate::work::input_error;

/// A service that runs. It ends with [`LiveService::close`], or when Python drops it; its store
/// has everything.
#[pyclass(frozen, module = "groupkey._groupkey")]
pub(crate) struct LiveService {
    handle: Mutex<Option<Handle<Service>>>,
    room: Arc<Semaphore>,
    /// The service's public key: 64 hexadecimal digits.
    #[pyo3(get)]
    public_key: String,
}

#[pymethods]
impl LiveService {
    /// Starts the service of this file. `hear` is called with what happens.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, hear: Py<PyAny>) -> PyResult<Self> {
        let wrong = |problem: String| {
            input_error(py, problem, Some("groupkey serve --print-config shows a file"))
        };
        let config = ServeConfig::read(&path).map_err(|error| wrong(error.to_string()))?;
        if config.http.is_some() {
            return Err(wrong("[http] is for groupkey serve: leave it out here".to_owned()));
        }
        let store_path = config.store.path.display().to_string();
        let in_store = |problem: String| wrong(format!("{store_path}: {problem}"));
        let store = config.store.open().map_err(|error| in_store(error.to_string()))?;
        let mut rng = fresh_rng().map_err(|error| in_store(error.to_string()))?;
        let service = Service::open(config.policy, Box::new(store), now(), &mut rng);
        let service = service.map_err(|error| in_store(error.to_string()))?;
        let public_key = hex(&service.public());
        let listener = Listener::new(hear);
        let room = Arc::clone(&listener.room);
        let threads = threads()?;
        let _entered = threads.enter();
        let running = run(service, config.connection);
        let handle = Mutex::new(Some(running.handle.clone()));
        threads.spawn(listener.listen(running, happening));
        Ok(Self { handle, room, public_key })
    }

    /// Makes room for as much as the program has taken.
    fn taken(&self, count: usize) {
        self.room.add_permits(count);
    }

    /// Evicts the member of this name. Then calls `done` with the new epoch and `None`, or with
    /// `None` and the words of a refusal.
    fn evict(&self, name: String, done: Py<PyAny>) -> PyResult<()> {
        self.operate(done, move |service, now, rng| Ok(service.evict(&name, now, rng)?.0))
    }

    /// Lets an evicted device join again.
    fn readmit(&self, name: String, done: Py<PyAny>) -> PyResult<()> {
        self.operate(done, move |service, now, _| service.readmit(&name, now).map(|()| None::<u64>))
    }

    /// Changes the key.
    fn rekey(&self, done: Py<PyAny>) -> PyResult<()> {
        self.operate(done, |service, now, rng| Ok(service.rekey(now, rng)?.0))
    }

    /// Asks for the members: their names and numbers.
    fn members(&self, done: Py<PyAny>) -> PyResult<()> {
        self.operate(done, |service, _, _| {
            let members = service.members().into_iter();
            Ok(members.map(|(name, number)| (name, number.0)).collect::<Vec<_>>())
        })
    }

    /// Writes the last state, and disconnects.
    fn close(&self) -> PyResult<()> {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handle) = handle {
            threads()?.spawn(async move {
                let _ = handle.call(|service, now, _| service.stop(now)).await;
            });
        }
        Ok(())
    }
}

impl LiveService {
    fn operate<T>(
        &self,
        done: Py<PyAny>,
        operation: impl Fn(&mut Service, u64, &mut ChaCha20Rng) -> Result<T, OperationError>
        + Clone
        + Send
        + 'static,
    ) -> PyResult<()>
    where
        T: for<'py> IntoPyObject<'py> + Send + 'static,
    {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone();
        threads()?.spawn(async move {
            let result = match handle {
                Some(handle) => handle.operate(operation).await,
                None => None,
            };
            answer(
                done,
                match result {
                    Some(result) => result.map_err(|error| error.to_string()),
                    None => Err(ENDED.to_owned()),
                },
            );
        });
        Ok(())
    }
}

fn happening(event: ServiceEvent) -> Happening {
    let plain = Happening::default();
    let of = |what, name: String, member: Option<groupkey::MemberId>| Happening {
        what,
        member: member.map(|member| member.0),
        text: Some(name),
        ..Happening::default()
    };
    match event {
        ServiceEvent::Activated { epoch } => {
            Happening { what: "active", epoch: Some(epoch.0), ..plain }
        }
        ServiceEvent::Admitted { name, member } => of("admitted", name, Some(member)),
        ServiceEvent::ChangeBegun { scheme } => of("change begun", scheme.to_string(), None),
        ServiceEvent::ChangeFailed { scheme, why } => {
            of("change failed", format!("{scheme}: {why}"), None)
        }
        ServiceEvent::Changed { scheme, .. } => of("changed", scheme.to_string(), None),
        ServiceEvent::Founding { .. } => Happening { what: "founding", ..plain },
        ServiceEvent::Left { name, member } => of("left", name, Some(member)),
        ServiceEvent::Refused { name, .. } => of("refused", name, None),
        ServiceEvent::Rekeyed { epoch, .. } => {
            Happening { what: "epoch", epoch: Some(epoch.0), ..plain }
        }
        ServiceEvent::Resumed { name, member } => of("resumed", name, Some(member)),
        ServiceEvent::Silent { name, member } => of("silent", name, Some(member)),
        ServiceEvent::Unconfirmed => Happening { what: "unconfirmed", ..plain },
        ServiceEvent::Waits { name, .. } => of("waits", name, None),
    }
}
