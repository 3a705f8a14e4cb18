//! An authority, a server's and a client's certificate, made anew for each test.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Certificates {
    pub folder: PathBuf,
    authority: CertificateDer<'static>,
    client: (String, String),
}

impl Certificates {
    pub fn new() -> Certificates {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("dolium-tls-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut made = Certificates {
            folder,
            authority: CertificateDer::from(vec![]),
            client: Default::default(),
        };
        made.renew();
        made
    }

    /// A new authority and all that it signs, in the same files.
    pub fn renew(&mut self) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let sign = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_string()]).unwrap();
            let signed = params.signed_by(&key, &issuer).unwrap();
            (signed.pem(), key.serialize_pem())
        };
        let write = |name: &str, text: &str| std::fs::write(self.folder.join(name), text).unwrap();
        let server = sign("localhost");
        write("authority.crt", &authority.pem());
        write("server.crt", &server.0);
        write("server.key", &server.1);
        self.authority = authority.der().clone();
        self.client = sign("a client");
    }

    /// A client that believes the authority, and shows a certificate or not.
    pub fn client(&self, shows: bool) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        if !shows {
            return builder.with_no_client_auth();
        }
        let chain = vec![CertificateDer::from_pem_slice(self.client.0.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.client.1.as_bytes()).unwrap();
        builder.with_client_auth_cert(chain, key).unwrap()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
