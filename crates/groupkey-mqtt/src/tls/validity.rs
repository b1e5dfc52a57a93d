//! What is in a certificate: until when it is valid, and whether it can be used.

use std::sync::Arc;
use std::time::Duration;

use rustls::CertificateError;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;

use super::Tls;
use super::explanation::{Holder, of_a_certificate};

/// What is in a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateView {
    /// The first second in which it is valid, s since 1970.
    pub not_before: u64,
    /// The last second in which it is valid, s since 1970.
    pub not_after: u64,
    /// Why a broker with the authorities of `ca` would refuse it, and the remedy. Only of the
    /// client's certificate.
    pub problem: Option<String>,
}

impl Tls {
    /// Returns what is in the client's certificate, if there is one. `now` is in s since 1970.
    pub fn own_certificate(&self, now: u64) -> Option<CertificateView> {
        let (own, intermediates) = self.own.split_first()?;
        let problem = self.verify(own, intermediates, now);
        let problem = problem.map(|problem| of_a_certificate(&problem, Holder::Client));
        Some(CertificateView { problem, ..self.view(own) })
    }

    /// Returns what is in the certificates of the trusted authorities.
    pub fn authorities(&self) -> Vec<CertificateView> {
        self.authorities.iter().map(|certificate| self.view(certificate)).collect()
    }

    /// A certificate is checked for its dates before anything else, so the reason why it is refused
    /// at the beginning and at the end of time has them.
    fn view(&self, certificate: &CertificateDer<'_>) -> CertificateView {
        let not_before = match self.verify(certificate, &[], 0) {
            Some(CertificateError::NotValidYetContext { not_before, .. }) => not_before.as_secs(),
            _ => 0,
        };
        let not_after = match self.verify(certificate, &[], u64::MAX) {
            Some(CertificateError::ExpiredContext { not_after, .. }) => not_after.as_secs(),
            _ => u64::MAX,
        };
        CertificateView { not_before, not_after, problem: None }
    }

    /// Returns why a client's certificate would be refused at this time.
    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        seconds: u64,
    ) -> Option<CertificateError> {
        let (roots, provider) = (Arc::clone(&self.roots), Arc::new(ring::default_provider()));
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build().ok()?;
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        match verifier.verify_client_cert(certificate, intermediates, time) {
            Err(rustls::Error::InvalidCertificate(problem)) => Some(problem),
            Err(_) | Ok(_) => None,
        }
    }
}

/// Returns a time in s since 1970 as a date, in UTC. (H. Hinnant, chrono-compatible low-level date
/// algorithms, 2013.)
pub fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), date);
        }
    }
}
