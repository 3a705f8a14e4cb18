//! Why a client and a server did not agree on TLS, as sentences that a user can act on.

use rustls::{AlertDescription, CertificateError, Error};

/// What a user can do about `error`.
pub(super) fn why(error: &Error) -> String {
    use CertificateError::{
        BadSignature, NotValidForName, NotValidForNameContext, Other, UnknownIssuer,
    };
    match error {
        Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            "no authority that is believed has signed the server's certificate; name its authority \
             with --cacert FILE, or believe any server with --insecure"
                .into()
        }
        Error::InvalidCertificate(NotValidForNameContext { presented, .. }) => format!(
            "the server's certificate is for {}; say so with --sni NAME, or believe any server \
             with --insecure",
            presented.join(", ")
        ),
        Error::InvalidCertificate(NotValidForName) => {
            "the server's certificate is for another name; say which with --sni NAME".into()
        }
        Error::InvalidCertificate(Other(other)) if other.to_string() == CA_AS_SERVER => {
            "the server's certificate is signed by itself, or is an authority's own: name that very \
             certificate with --cacert FILE, or believe any server with --insecure"
                .into()
        }
        Error::InvalidCertificate(other) => {
            format!(
                "the server's certificate is not good ({other}); --insecure believes any server"
            )
        }
        Error::InvalidMessage(_) => {
            "the server answers, but not in TLS; ask at its TLS port, or without --tls".into()
        }
        Error::PeerIncompatible(other) => {
            format!("the server has no version or cipher of TLS 1.2 and 1.3 in common ({other:?})")
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => CERTIFICATE_WANTED.into(),
        Error::AlertReceived(other) => format!("the server refused with the alert {other:?}"),
        other => other.to_string(),
    }
}

/// What the library's own checker says of a server that shows the certificate of an authority, as those are
/// that `openssl req -x509` makes. It hands that on as a word only.
const CA_AS_SERVER: &str = "CaUsedAsEndEntity";

/// Said of a server that wants to see a certificate.
pub(super) const CERTIFICATE_WANTED: &str =
    "the server wants to see a certificate; show one with --cert FILE and --cert-key FILE";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, KeyPair};
    use rustls::crypto::ring;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject;
    use rustls::{ServerConfig, ServerConnection};

    use super::*;
    use crate::generator::{Tls, TlsOptions};

    /// A certificate that has signed itself, as `openssl req -x509` makes it: an authority.
    fn authority() -> (Certificate, KeyPair) {
        let mut params = CertificateParams::new(["localhost".to_string()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap(), key)
    }

    /// A client that believes what is in `file`, and a server with this certificate, without a socket between them.
    fn agree(file: &Path, shown: &Certificate, key: &KeyPair) -> Result<(), Error> {
        let options = TlsOptions { authorities: Some(file.into()), ..TlsOptions::default() };
        let mut client = Tls::new(&options, "localhost").unwrap().session()?;
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![shown.der().clone()], key)?;
        let mut server = ServerConnection::new(Arc::new(config))?;
        while client.is_handshaking() {
            let mut bytes = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut bytes).unwrap();
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                server.read_tls(&mut rest).unwrap();
                server.process_new_packets()?;
            }
            bytes.clear();
            while server.wants_write() {
                server.write_tls(&mut bytes).unwrap();
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                client.read_tls(&mut rest).unwrap();
                client.process_new_packets()?;
            }
        }
        Ok(())
    }

    /// The checker's own word for it was shown in place of a sentence.
    #[test]
    fn a_server_that_signed_its_own_certificate_is_told_from_others_and_can_be_named() {
        let folder = std::env::temp_dir().join(format!("dolium-signed-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (theirs, key) = authority();
        let (another, _) = authority();
        let believed = |certificate: &Certificate| {
            let file = folder.join("believed.crt");
            fs::write(&file, certificate.pem()).unwrap();
            agree(&file, &theirs, &key)
        };
        let said = why(&believed(&another).unwrap_err());
        assert!(said.contains("signed by itself"), "{said}");
        assert!(said.contains("--cacert FILE") && said.contains("--insecure"), "{said}");
        assert!(!said.contains("CaUsed") && !said.contains("Other"), "{said}");
        believed(&theirs).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
