//! What TLS listeners are told by the configuration, and reading the files that it names.

use super::ciphers;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{Error, InconsistentKeys, RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is put behind a complaint of a file to say who names it. Nothing for Memcached, whose words
/// these are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names {
    pub chain: &'static str,
    pub key: &'static str,
    pub authorities: &'static str,
    pub versions: &'static str,
}

/// Whether clients must show a certificate that one of the authorities has signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    #[default]
    No,
    /// Who shows one must show a good one.
    Offered,
    Required,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub chain: PathBuf,
    /// The private key; empty: it is in the chain's file.
    pub key: PathBuf,
    pub key_is_der: bool,
    /// A file of authorities for clients, or a folder of such files.
    pub authorities: Vec<PathBuf>,
    pub verify: Verify,
    pub has_12: bool,
    pub has_13: bool,
    /// OpenSSL's lists for TLS 1.2 and 1.3; empty: all.
    pub ciphers: String,
    pub suites: String,
    /// Sessions that are remembered for being resumed.
    pub sessions: usize,
    /// Encrypted bytes that wait for a slow peer, at most.
    pub buffer_bytes: usize,
    pub names: Names,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            chain: PathBuf::new(),
            key: PathBuf::new(),
            key_is_der: false,
            authorities: Vec::new(),
            verify: Verify::No,
            has_12: true,
            has_13: true,
            ciphers: String::new(),
            suites: String::new(),
            sessions: 0,
            buffer_bytes: crate::limits::TLS_BUFFER_BYTES,
            names: Names::default(),
        }
    }
}

impl Settings {
    /// Reads the files.
    pub(super) fn load(&self) -> Result<Arc<ServerConfig>, String> {
        let mut versions = Vec::new();
        versions.extend(self.has_13.then_some(&TLS13));
        versions.extend(self.has_12.then_some(&TLS12));
        if versions.is_empty() {
            return Err(format!(
                "no version of TLS is left to speak: TLSv1.2 and TLSv1.3 are what there is{}",
                self.names.versions
            ));
        }
        let mut provider = ring::default_provider();
        ciphers::choose(&mut provider, &self.ciphers, &self.suites)?;
        let provider = Arc::new(provider);
        let key = self.certified_key(&provider)?;
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(|why| format!("the versions of TLS: {why}"))?;
        let builder = match self.verify {
            Verify::No => builder.with_no_client_auth(),
            verify => {
                let roots = Arc::new(self.roots()?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                let verifier = match verify {
                    Verify::Offered => verifier.allow_unauthenticated(),
                    _ => verifier,
                };
                builder.with_client_cert_verifier(
                    verifier.build().map_err(|why| format!("the authorities: {why}"))?,
                )
            }
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        match self.sessions {
            0 => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            most => config.session_storage = ServerSessionMemoryCache::new(most),
        }
        Ok(Arc::new(config))
    }

    fn certified_key(
        &self,
        provider: &rustls::crypto::CryptoProvider,
    ) -> Result<CertifiedKey, String> {
        if self.chain.as_os_str().is_empty() {
            return Err(
                "TLS needs a certificate and its key: --tls-cert-file FILE --tls-key-file FILE \
                        (of dolium memcached: -o ssl_chain_cert=FILE,ssl_key=FILE)"
                    .into(),
            );
        }
        let chain = certificates(&self.chain).map_err(|why| {
            format!("Error loading the certificate chain: {why}{}", self.names.chain)
        })?;
        let path = if self.key.as_os_str().is_empty() { &self.chain } else { &self.key };
        let failed = |why: String| {
            let name = self.names.key;
            format!("Error loading the key: {} : {why}{name}", path.display())
        };
        // What kind of key it is, its bytes tell better than a PEM file's first line, which OpenSSL
        // does not insist upon either.
        let bytes = match self.key_is_der {
            true => std::fs::read(path).map_err(|why| failed(why.to_string()))?,
            false => PrivateKeyDer::from_pem_file(path)
                .map_err(|why| failed(why.to_string()))?
                .secret_der()
                .to_vec(),
        };
        let key = PrivateKeyDer::try_from(bytes).map_err(|why| failed(why.to_string()))?;
        let key =
            provider.key_provider.load_private_key(key).map_err(|why| failed(why.to_string()))?;
        let certified = CertifiedKey::new(chain, key);
        // A certificate too old to be looked into is served all the same, as by OpenSSL.
        match certified.keys_match() {
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                Err("Error validating the certificate: the key is that of another".into())
            }
            _ => Ok(certified),
        }
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for path in &self.authorities {
            let failed = |why: String| {
                format!("Error loading the CA certificate: {why}{}", self.names.authorities)
            };
            for file in files(path).map_err(|why| failed(format!("{} : {why}", path.display())))? {
                let found = certificates(&file).map_err(failed)?;
                roots.add_parsable_certificates(found);
            }
        }
        if roots.is_empty() {
            return Err(
                "clients' certificates are to be looked at, but no authority is named that \
                        could have signed them: --tls-ca-cert-file FILE, or --tls-auth-clients no to \
                        look at none (of dolium memcached: -o ssl_ca_cert=FILE or ssl_verify_mode=0)"
                    .into(),
            );
        }
        Ok(roots)
    }
}

/// The file itself, or a folder's files.
fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.into()]);
    }
    let entries = std::fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |why: String| format!("{} : {why}", path.display());
    let found = CertificateDer::pem_file_iter(path).map_err(|why| failed(why.to_string()))?;
    let found: Result<Vec<_>, _> = found.collect();
    match found.map_err(|why| failed(why.to_string()))? {
        none if none.is_empty() => Err(failed("there is no certificate in it".into())),
        found => Ok(found),
    }
}
