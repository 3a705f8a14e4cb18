//! The `tls-*` directives, together.

use super::Config;
use crate::tls::{Settings, Verify};

impl Config {
    pub fn tls_settings(&self) -> Settings {
        let protocols = self.get("tls-protocols");
        let has = |version: &str| protocols.split_whitespace().any(|word| word == version);
        let is_any = protocols.trim().is_empty();
        let caches = self.is_on("tls-session-caching");
        let authorities = ["tls-ca-cert-file", "tls-ca-cert-dir"].map(|name| self.get(name));
        Settings {
            chain: self.get("tls-cert-file").into(),
            key: self.get("tls-key-file").into(),
            authorities: authorities
                .into_iter()
                .filter(|path| !path.is_empty())
                .map(Into::into)
                .collect(),
            verify: match self.get("tls-auth-clients").as_str() {
                "no" => Verify::No,
                "optional" => Verify::Offered,
                _ => Verify::Required,
            },
            has_12: is_any || has("TLSv1.2"),
            has_13: is_any || has("TLSv1.3"),
            ciphers: self.get("tls-ciphers"),
            suites: self.get("tls-ciphersuites"),
            sessions: match caches {
                true => self.number("tls-session-cache-size").max(0) as usize,
                false => 0,
            },
            ..Settings::default()
        }
    }
}
