//! A client of a running service's HTTP interface.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use groupkey_mqtt::Secret;
use groupkey_mqtt::config::read_public;
use groupkey_mqtt::http::GroupsView;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use ureq::http::{Response, StatusCode, Uri, header};
use ureq::{Agent, Body};

use crate::failure::Failure;

/// A service, and the token with which it answers.
#[derive(Debug)]
pub(crate) struct ServiceClient {
    agent: Agent,
    /// `http://HOST:PORT`.
    address: String,
    token: Secret,
    token_file: PathBuf,
}

impl ServiceClient {
    /// Takes the service's address, such as `http://127.0.0.1:8475`, and the file with its token.
    /// Asks nothing yet.
    pub(crate) fn new(address: &str, token_file: &Path) -> Result<Self, Failure> {
        let address = normal(address).map_err(Failure::input)?;
        let token = token(token_file)?;
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The token goes to the service and to nobody between.
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .build()
            .new_agent();
        Ok(Self { agent, address, token, token_file: token_file.to_owned() })
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let group = self.group()?;
        self.fetch(&format!("{GROUPS}/{group}{path}"))
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let url = format!("{}{GROUPS}/{}{path}", self.address, self.group()?);
        let request = self.agent.post(url).header(header::AUTHORIZATION, self.authorization());
        self.read(request.send_json(body), path)
    }

    fn group(&self) -> Result<String, Failure> {
        let groups: GroupsView = self.fetch(GROUPS)?;
        let group = groups.groups.into_iter().next();
        group.map(|group| group.group).ok_or_else(|| self.no_service(&"it has no group"))
    }

    fn fetch<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let url = format!("{}{path}", self.address);
        let request = self.agent.get(url).header(header::AUTHORIZATION, self.authorization());
        self.read(request.call(), path)
    }

    fn authorization(&self) -> String {
        format!("Bearer {}", *self.token.to_hex())
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: Result<Response<Body>, ureq::Error>,
        path: &str,
    ) -> Result<T, Failure> {
        let mut answer = answer.map_err(|error| self.unanswered(&error))?;
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(LONGEST_ANSWER);
        match status {
            StatusCode::OK => body.read_json().map_err(|error| self.no_service(&error)),
            StatusCode::UNAUTHORIZED => Err(self.token_refused()),
            _ => Err(match body.read_json() {
                Ok(Problem { detail }) => self.fails(&format_args!("not done: {detail}")),
                Err(_) => self.no_service(&format_args!("it answers {status} to {path}")),
            }),
        }
    }

    fn unanswered(&self, error: &ureq::Error) -> Failure {
        if let ureq::Error::Protocol(_) = error {
            return self.no_service(error);
        }
        self.fails(&format_args!("no service answers: {error}")).with_help(
            "start groupkey serve with listen = \"127.0.0.1:8475\" in [http], and look at what it prints",
        )
    }

    fn token_refused(&self) -> Failure {
        let file = self.token_file.display();
        self.fails(&"the service does not accept the token").with_help(format!(
            "{file} has another one: --token-file FILE names the file of token_file in [http]"
        ))
    }

    fn no_service(&self, problem: &dyn Display) -> Failure {
        self.fails(&format_args!(
            "what answers is no service of this version of groupkey: {problem}"
        ))
    }

    fn fails(&self, problem: &dyn Display) -> Failure {
        Failure::running(format!("{}: {problem}", self.address))
    }
}

/// RFC 9457, as far as it is read.
#[derive(Deserialize)]
struct Problem {
    detail: String,
}

/// Returns `http://HOST:PORT` for an address of a service.
fn normal(address: &str) -> Result<String, String> {
    let refuse = |problem: &str| format!("{address}: {problem}");
    let uri: Uri = address.parse().map_err(|_| refuse(EXPECTED))?;
    match uri.scheme_str() {
        Some("http") | None => {}
        Some("https") => return Err(refuse(TUNNEL)),
        Some(_) => return Err(refuse(EXPECTED)),
    }
    let is_bare = uri.path_and_query().is_none_or(|path| path.as_str() == "/");
    match (uri.host(), is_bare) {
        (Some(host), true) => Ok(format!("http://{host}:{}", uri.port_u16().unwrap_or(PORT))),
        _ => Err(refuse(EXPECTED)),
    }
}

fn token(path: &Path) -> Result<Secret, Failure> {
    let refuse = |problem: &str| {
        Failure::input(problem).with_help(
            "--token-file FILE names the file of the service's token: token_file in [http]",
        )
    };
    let bytes = read_public(path).map_err(|error| refuse(&error.to_string()))?;
    let text = str::from_utf8(&bytes).unwrap_or_default();
    Secret::from_hex(text.trim()).ok_or_else(|| refuse(&format!("{}: {DIGITS}", path.display())))
}

const GROUPS: &str = "/api/v1/groups";

/// The port of a service, unless its file says another.
const PORT: u16 = 8_475;

/// How long a service has for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 1 << 20;

const DIGITS: &str = "64 hexadecimal digits are needed";
const EXPECTED: &str = "give a service's address, as in http://127.0.0.1:8475";
const TUNNEL: &str = "this asks without TLS; make a tunnel, as in ssh -L 8475:127.0.0.1:8475 HOST, and \
                      ask http://127.0.0.1:8475";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_a_service_or_refused() {
        for (address, expected) in [
            ("http://127.0.0.1:80", "http://127.0.0.1:80"),
            ("http://127.0.0.1/", "http://127.0.0.1:8475"),
            ("127.0.0.1:8475", "http://127.0.0.1:8475"),
            ("http://[::1]:9", "http://[::1]:9"),
        ] {
            assert_eq!(normal(address).as_deref(), Ok(expected));
        }
        for wrong in ["", "http://", "ftp://a", "http://a/api", "/x", "http://a b"] {
            let refused = normal(wrong).unwrap_err();
            assert!(refused.contains("http://127.0.0.1:8475"), "{refused}");
        }
        assert!(normal("https://a").unwrap_err().contains("ssh -L"));
    }
}
