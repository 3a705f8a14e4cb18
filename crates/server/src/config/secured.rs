//! The `tls-*` directives, together.

use super::{Config, table};
use crate::tls::{Names, Settings, Verify};

const NAMES: Names = Names {
    chain: " (tls-cert-file)",
    key: " (tls-key-file)",
    authorities: " (tls-ca-cert-file, tls-ca-cert-dir)",
    versions: " (tls-protocols)",
};

impl Config {
    pub fn tls_settings(&self) -> Settings {
        Settings::of(&self.values())
    }
}

impl Settings {
    /// From the values of all directives.
    pub fn of(values: &[String]) -> Settings {
        let get = |name| values[table::position(name).expect("the name of a directive")].as_str();
        let protocols = get("tls-protocols");
        let has = |version: &str| protocols.split_whitespace().any(|word| word == version);
        let is_any = protocols.trim().is_empty();
        let caches = get("tls-session-caching") == "yes";
        let authorities = ["tls-ca-cert-file", "tls-ca-cert-dir"].map(get);
        Settings {
            chain: get("tls-cert-file").into(),
            key: get("tls-key-file").into(),
            authorities: authorities
                .into_iter()
                .filter(|path| !path.is_empty())
                .map(Into::into)
                .collect(),
            verify: match get("tls-auth-clients") {
                "no" => Verify::No,
                "optional" => Verify::Offered,
                _ => Verify::Required,
            },
            has_12: is_any || has("TLSv1.2"),
            has_13: is_any || has("TLSv1.3"),
            ciphers: get("tls-ciphers").into(),
            suites: get("tls-ciphersuites").into(),
            sessions: match caches {
                true => get("tls-session-cache-size").parse().unwrap_or(0),
                false => 0,
            },
            names: NAMES,
            ..Settings::default()
        }
    }
}
