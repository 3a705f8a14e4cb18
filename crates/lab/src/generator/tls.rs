//! TLS as a client speaks it: whom it believes, and what it shows. `disagreement.rs` says why it failed.
//!
//! ```text
//!   --cacert FILE   servers that an authority of the file has signed, and those whose very
//!                   certificate is in it
//!   --insecure      any server
//!   neither         servers that an authority of this machine has signed
//! ```
//!
//! Every handshake is a whole one: a client that resumed its sessions would measure another server
//! on its second connection than on its first.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use crate::LabError;

/// Where systems keep the authorities that they believe.
const SYSTEM_AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// What a user says of TLS.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// A file of authorities in place of the system's.
    pub authorities: Option<PathBuf>,
    /// Whether any server is believed.
    pub insecure: bool,
    /// The name to ask for and to find in the certificate, in place of the host's.
    pub name: Option<String>,
    /// What the client shows if it is asked, and its key; the key may be in the same file.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// TLS with one server, ready for any number of connections.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    unarmed: Arc<Unarmed>,
}

impl Tls {
    /// Reads the files. `host` is the server's name or address as the user gave it.
    pub fn new(options: &TlsOptions, host: &str) -> Result<Self, LabError> {
        let wrong = LabError::Options;
        let name = options.name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_string())
            .map_err(|_| wrong(format!("{name:?} is no name of a server: use --sni NAME")))?;
        let provider = Arc::new(ring::default_provider());
        let belief = Belief {
            any: options.insecure,
            named: match (&options.authorities, options.insecure) {
                (Some(file), false) => certificates(file)?,
                _ => Vec::new(),
            },
            signed: if options.insecure {
                None
            } else {
                let roots = Arc::new(roots(options.authorities.as_deref())?);
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
                Some(verifier.build().map_err(|why| wrong(format!("the authorities: {why}")))?)
            },
            algorithms: provider.signature_verification_algorithms,
        };
        let unarmed = Arc::new(Unarmed::default());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|why| wrong(format!("the versions of TLS: {why}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(belief));
        let mut config = match &options.certificate {
            None => builder.with_client_cert_resolver(unarmed.clone()),
            Some(file) => {
                let key = options.key.as_ref().unwrap_or(file);
                let read = PrivateKeyDer::from_pem_file(key)
                    .map_err(|why| wrong(format!("no private key in {}: {why}", key.display())))?;
                builder.with_client_auth_cert(certificates(file)?, read).map_err(|why| {
                    wrong(format!("{} is not the key of {}: {why}", key.display(), file.display()))
                })?
            }
        };
        config.resumption = Resumption::disabled();
        Ok(Self(Arc::new(Inner { config: Arc::new(config), name, unarmed })))
    }

    /// A connection that has said nothing yet.
    pub(super) fn session(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(self.0.config.clone(), self.0.name.clone())
    }

    /// Whether a server asked for a certificate and got none.
    pub(super) fn went_unarmed(&self) -> bool {
        self.0.unarmed.asked.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({:?})", self.0.name)
    }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tls {}

/// What a server that asks for a certificate without need is told: nothing. The one that insists
/// hangs up, after its handshake and without a word that would reach us for certain.
#[derive(Debug, Default)]
struct Unarmed {
    asked: AtomicBool,
}

impl ResolvesClientCert for Unarmed {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// Which servers are believed.
#[derive(Debug)]
struct Belief {
    any: bool,
    /// Certificates that are believed as they are: a server that has signed its own is no authority.
    named: Vec<CertificateDer<'static>>,
    signed: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Belief {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.signed {
            _ if self.any || self.named.iter().any(|named| named == shown) => {
                Ok(ServerCertVerified::assertion())
            }
            Some(signed) => signed.verify_server_cert(shown, between, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, LabError> {
    let system = || SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.is_file());
    let Some(file) = file.or_else(system) else {
        return Err(LabError::Options(
            "this machine has no file of authorities: name one with --cacert FILE, or believe any \
             server with --insecure"
                .into(),
        ));
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(file)?);
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, LabError> {
    let wrong = |why: String| {
        LabError::Options(format!("no certificate could be read from {}: {why}", file.display()))
    };
    let read = CertificateDer::pem_file_iter(file).map_err(|why| wrong(why.to_string()))?;
    let read: Vec<_> = read.collect::<Result<_, _>>().map_err(|why| wrong(why.to_string()))?;
    if read.is_empty() { Err(wrong("there is none in it".into())) } else { Ok(read) }
}
