//! OpenSSL's names of cipher suites, as configuration files have them, and rustls' suites.
//!
//! ```text
//!   ECDHE-RSA-AES128-GCM-SHA256   TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256     up to TLS 1.2
//!   TLS_AES_128_GCM_SHA256        TLS13_AES_128_GCM_SHA256                  TLS 1.3
//! ```

use rustls::crypto::CryptoProvider;
use rustls::{CipherSuite, SupportedCipherSuite};

const OPENSSL: [(&str, CipherSuite); 6] = [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];
const OPENSSL_13: [(&str, CipherSuite); 3] = [
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
];
/// Words of OpenSSL's lists that stand for many suites: for all that are sound, which are these.
const GROUPS: [&str; 4] = ["ALL", "DEFAULT", "HIGH", "ECDHE"];

/// Keeps those of the provider's suites that the lists name, in the lists' order. `old` is about TLS
/// 1.2 and `new` about 1.3, as in OpenSSL; an empty list leaves its version's suites alone.
pub(super) fn choose(provider: &mut CryptoProvider, old: &str, new: &str) -> Result<(), String> {
    let (of_13, of_12): (Vec<_>, Vec<_>) =
        provider.cipher_suites.iter().copied().partition(|suite| suite.tls13().is_some());
    provider.cipher_suites = named(new, &OPENSSL_13, of_13)?;
    provider.cipher_suites.extend(named(old, &OPENSSL, of_12)?);
    Ok(())
}

fn named(
    list: &str,
    names: &[(&str, CipherSuite)],
    all: Vec<SupportedCipherSuite>,
) -> Result<Vec<SupportedCipherSuite>, String> {
    let words: Vec<&str> = list.split([':', ',', ' ']).filter(|word| !word.is_empty()).collect();
    if words.is_empty() || words.iter().any(|word| GROUPS.contains(word)) {
        return Ok(all);
    }
    let wanted = words.iter().filter_map(|word| names.iter().find(|(name, _)| name == word));
    let chosen: Vec<SupportedCipherSuite> = wanted
        .filter_map(|(_, suite)| all.iter().find(|known| known.suite() == *suite).copied())
        .collect();
    if chosen.is_empty() {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        return Err(format!("none of the ciphers '{list}' is here; there are {}", known.join(":")));
    }
    Ok(chosen)
}
