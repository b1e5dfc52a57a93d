//! What an error of TLS means, and the remedy, in one sentence.

use std::error::Error;
use std::io;

use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError};

use super::validity::utc;

/// Whose certificate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Broker,
    Client,
}

/// Returns what an error means if TLS caused it, and the remedy. The error is that of a connection
/// to a broker.
pub(crate) fn explained(error: &(dyn Error + 'static)) -> Option<String> {
    Some(match cause::<rustls::Error>(error)? {
        rustls::Error::InvalidCertificate(problem) => of_a_certificate(problem, Holder::Broker),
        rustls::Error::AlertReceived(alert) => of_an_alert(*alert),
        rustls::Error::InvalidMessage(_) => {
            "what answers there does not speak TLS: is this the broker's port for TLS?".to_owned()
        }
        rustls::Error::PeerIncompatible(reason) => {
            format!(
                "the broker supports neither TLS 1.2 nor 1.3 as needed here ({reason:?}): update it"
            )
        }
        other => format!("TLS: {other}"),
    })
}

pub(crate) fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}

pub(super) fn of_a_certificate(problem: &CertificateError, holder: Holder) -> String {
    let (whose, purpose) = match holder {
        Holder::Broker => ("the broker's certificate", "serverAuth"),
        Holder::Client => ("the certificate", "clientAuth"),
    };
    match problem {
        CertificateError::ExpiredContext { time, not_after } => {
            let (now, until) = (date(*time), date(*not_after));
            format!("{whose} expired at {until}, and it is {now} here: sign a new one, or set the clock")
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let (now, from) = (date(*time), date(*not_before));
            format!("{whose} is valid from {from} on, and it is {now} here: set the clock")
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            other_name(whose, expected, presented)
        }
        CertificateError::UnknownIssuer if holder == Holder::Broker => {
            "no authority in tls.ca signed the broker's certificate: name the one that did, and let the \
             broker send the intermediate certificates after its own"
                .to_owned()
        }
        CertificateError::UnknownIssuer => {
            "no authority in tls.ca signed the certificate: put the intermediate certificates after it, \
             unless the broker knows its authority from elsewhere"
                .to_owned()
        }
        CertificateError::BadSignature => format!(
            "another key signed {whose} than that of the authority of this name in tls.ca: give the \
             broker and its clients certificates of one authority"
        ),
        CertificateError::InvalidPurposeContext { .. } | CertificateError::InvalidPurpose => format!(
            "{whose} is for another use: sign it with extendedKeyUsage = {purpose}, or without this \
             extension"
        ),
        CertificateError::BadEncoding => format!("{whose} is damaged: copy it once more"),
        CertificateError::Other(other) => match other.to_string().as_str() {
            "UnsupportedCertVersion" => format!(
                "{whose} is of X.509 version 1, and version 3 is needed: sign it with extensions \
                 (openssl x509 -req -extfile FILE; docs/run.md has the lines)"
            ),
            "CaUsedAsEndEntity" => format!(
                "{whose} is that of an authority (CA:TRUE): sign another one with basicConstraints = \
                 CA:FALSE"
            ),
            other => format!("{whose} cannot be used: {other}"),
        },
        other => format!("{whose} cannot be used: {other}"),
    }
}

fn other_name(whose: &str, expected: &ServerName<'_>, presented: &[String]) -> String {
    let kind = match expected {
        ServerName::IpAddress(_) => "IP",
        _ => "DNS",
    };
    let host = expected.to_str();
    let sign = format!("sign one with subjectAltName = {kind}:{host}");
    if presented.is_empty() {
        return format!("{whose} names no host (it has no subjectAltName): {sign}");
    }
    // As webpki writes them: DnsName("broker.example").
    let plain = |name: &String| match name.split_once("(\"").or_else(|| name.split_once('(')) {
        Some((_, rest)) => rest.trim_end_matches(['"', ')']).to_owned(),
        None => name.clone(),
    };
    let names = presented.iter().map(plain).collect::<Vec<_>>().join(", ");
    format!(
        "{whose} is for {names}, not for {host}: set broker.host to a name that it has, or {sign}"
    )
}

/// What the broker says of the client's certificate, or of TLS.
fn of_an_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "the broker requires a certificate of its clients: set tls.certificate and tls.key"
        }
        AlertDescription::UnknownCA => {
            "the broker does not know the authority of our certificate: put that authority into its \
             cafile, and the intermediate certificates after our own"
        }
        AlertDescription::CertificateExpired => {
            "the broker says that our certificate has expired: sign a new one, or set the clocks"
        }
        AlertDescription::CertificateRevoked => "the broker says that our certificate is revoked",
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate => {
            "the broker refuses our certificate: it must be valid now, have CA:FALSE, and clientAuth or \
             no extendedKeyUsage"
        }
        AlertDescription::HandshakeFailure => {
            "the broker ended the handshake: it may require a certificate (tls.certificate, tls.key), or \
             other ciphers"
        }
        AlertDescription::ProtocolVersion => {
            "the broker supports neither TLS 1.2 nor TLS 1.3: configure it"
        }
        other => return format!("the broker ended TLS ({other:?}): its log says why"),
    }
    .to_owned()
}

fn date(time: UnixTime) -> String {
    utc(time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_tls_is_found_below_others() {
        let alert = rustls::Error::AlertReceived(AlertDescription::CertificateRequired);
        let wrapped = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, alert));
        assert!(explained(&wrapped).unwrap().contains("tls.certificate and tls.key"));
        assert_eq!(explained(&io::Error::other("reset")), None);
    }
}
