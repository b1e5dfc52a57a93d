//! The names under which a service answers. A page of another site can make a browser send requests
//! to this machine, under a name of its own that leads here (DNS rebinding). Such a request names
//! that site as its host.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::Response;

use super::problem::Problem;

/// The names that a request's Host may have. Addresses and `localhost` are always among them.
pub(super) type AllowedHosts = Arc<[String]>;

pub(super) async fn check(
    State(names): State<AllowedHosts>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let is_ours = |authority: &Authority| is_one_of(authority.host(), &names);
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_right = match (hosts.next(), hosts.next()) {
        (Some(host), None) => {
            let host = Authority::try_from(host.as_bytes());
            let host = host.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, NO_HOST))?;
            is_ours(&host) && request.uri().authority().is_none_or(is_ours)
        }
        // HTTP/1.0 has no such header. Browsers do not speak it.
        (None, _) if request.version() < Version::HTTP_11 => true,
        _ => return Err(Problem::new(StatusCode::BAD_REQUEST, NO_HOST)),
    };
    if !is_right {
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, OTHER_HOST));
    }
    Ok(next.run(request).await)
}

fn is_one_of(host: &str, names: &[String]) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.parse::<IpAddr>().is_ok()
        || host.eq_ignore_ascii_case("localhost")
        || names.iter().any(|name| host.eq_ignore_ascii_case(name))
}

const NO_HOST: &str = "send one header Host: the address or the name in the URL";
const OTHER_HOST: &str = "Host is neither an address nor localhost: add the name to hosts in [http] of the \
                          file";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_configured_names_are_ours() {
        let names = ["groups.example".to_owned()];
        for host in ["127.0.0.1", "[::1]", "192.0.2.7", "localhost", "LOCALHOST", "Groups.Example"]
        {
            assert!(is_one_of(host, &names), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "x"] {
            assert!(!is_one_of(host, &names), "{host}");
        }
    }
}
