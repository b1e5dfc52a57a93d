//! A client of the interface: it asks a running service what it has seen.

use std::fmt;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::views::Observation;
use crate::Secret;

/// Why a service did not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// The address is not one of a service.
    Address(String),
    /// Nothing answers there: an explanation.
    Unreachable(String),
    /// The token is not the service's.
    Token,
    /// What answers is no service, or one of an earlier version.
    NoService(String),
    /// The service refuses to answer: its explanation.
    Refused(String),
}

/// Asks the service at this address, such as `http://127.0.0.1:8475`, what it has seen.
pub async fn ask(address: &str, token: &Secret) -> Result<Observation, AskError> {
    let place = Place::of(address)?;
    let asked = async {
        let groups: Groups = place.get("/api/v1/groups", token).await?;
        let Some(group) = groups.groups.first() else {
            return Err(AskError::NoService("it has no group".to_owned()));
        };
        place.get(&format!("/api/v1/groups/{}/observation", group.group), token).await
    };
    let late = || AskError::Unreachable(format!("no answer within {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, asked).await.map_err(|_| late())?
}

/// Checks that a service can be at this address, without asking it.
pub fn check_address(address: &str) -> Result<(), AskError> {
    Place::of(address).map(drop)
}

#[derive(Deserialize)]
struct Groups {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    group: String,
}

#[derive(Deserialize)]
struct Problem {
    detail: String,
}

/// Where a service listens.
struct Place {
    host: String,
    port: u16,
}

impl Place {
    fn of(address: &str) -> Result<Self, AskError> {
        let refuse = |problem: &str| AskError::Address(format!("{address}: {problem}"));
        let uri: Uri = address.parse().map_err(|_| refuse(EXPECTED))?;
        match uri.scheme_str() {
            Some("http") | None => {}
            Some("https") => return Err(refuse(TUNNEL)),
            Some(_) => return Err(refuse(EXPECTED)),
        }
        let is_bare = uri.path_and_query().is_none_or(|path| path.as_str() == "/");
        match (uri.host(), is_bare) {
            (Some(host), true) => Ok(Self {
                host: host.trim_matches(['[', ']']).to_owned(),
                port: uri.port_u16().unwrap_or(PORT),
            }),
            _ => Err(refuse(EXPECTED)),
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, token: &Secret) -> Result<T, AskError> {
        let unreachable = |error: &dyn fmt::Display| AskError::Unreachable(error.to_string());
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| unreachable(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(&error))?;
        let connection = tokio::spawn(connection);
        let request = Request::get(path)
            .header(header::HOST, format!("{}:{}", self.host, self.port))
            .header(header::AUTHORIZATION, format!("Bearer {}", *token.to_hex()))
            .body(Body::empty())
            .map_err(|error| unreachable(&error))?;
        let no_service = |error: &dyn fmt::Display| AskError::NoService(error.to_string());
        let answer = sender.send_request(request).await.map_err(|error| no_service(&error))?;
        let status = answer.status();
        let body = to_bytes(Body::new(answer.into_body()), LONGEST_ANSWER).await;
        connection.abort();
        let body = body.map_err(|error| no_service(&error))?;
        match status {
            StatusCode::OK => serde_json::from_slice(&body).map_err(|error| no_service(&error)),
            StatusCode::UNAUTHORIZED => Err(AskError::Token),
            StatusCode::NOT_FOUND => Err(AskError::NoService(format!("it has no {path}"))),
            _ => Err(match serde_json::from_slice(&body) {
                Ok(Problem { detail }) => AskError::Refused(detail),
                Err(_) => AskError::NoService(format!("it answers {status}")),
            }),
        }
    }
}

/// The port of a service, unless its file says another.
const PORT: u16 = 8_475;

/// How long a service has for all its answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = 1 << 20;

const EXPECTED: &str = "give it a service's address, as in http://127.0.0.1:8475";
const TUNNEL: &str = "this asks without TLS; make a tunnel, as in ssh -L 8475:127.0.0.1:8475 HOST, and \
                      ask http://127.0.0.1:8475";

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(problem) => f.write_str(problem),
            Self::Unreachable(problem) => write!(f, "no service answers: {problem}"),
            Self::Token => f.write_str("the service does not accept the token"),
            Self::NoService(problem) => {
                write!(f, "what answers is no service of this version of groupkey: {problem}")
            }
            Self::Refused(detail) => write!(f, "the service does not tell: {detail}"),
        }
    }
}

impl std::error::Error for AskError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_a_service_or_refused() {
        let place = |address: &str| Place::of(address).map(|place| (place.host, place.port));
        let local = |port| Ok(("127.0.0.1".to_owned(), port));
        assert_eq!(place("http://127.0.0.1:80"), local(80));
        assert_eq!(place("http://127.0.0.1/"), local(8_475));
        assert_eq!(place("127.0.0.1:8475"), local(8_475));
        assert_eq!(place("http://[::1]:9"), Ok(("::1".to_owned(), 9)));
        for wrong in ["", "http://", "ftp://a", "http://a/api", "/x", "http://a b"] {
            let refused = place(wrong).unwrap_err().to_string();
            assert!(refused.contains("http://127.0.0.1:8475"), "{refused}");
        }
        assert!(place("https://a").unwrap_err().to_string().contains("ssh -L"));
    }
}
