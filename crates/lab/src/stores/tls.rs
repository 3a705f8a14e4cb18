//! A store's TLS listener beside its plain one: a certificate that is made for the run, and how each
//! store is told of it.
//!
//! ```text
//! dolium, redis, valkey   --tls-port 4002 --tls-cert-file ... --tls-auth-clients no
//! memcached               -Z -o ssl_chain_cert=... -l notls:127.0.0.1:4001,127.0.0.1:4002
//! ```
//!
//! The plain listener stays: keys are loaded and figures asked for there, and one process can be
//! asked with TLS and without in turns.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::Store;
use crate::LabError;
use crate::generator::{Target, Tls, TlsOptions};

/// The name in the certificate; servers are asked for it wherever they listen.
const NAME: &str = "localhost";

/// A certificate and its key in files, and a client that believes this certificate alone.
#[derive(Debug)]
pub struct Certificate {
    pub chain: PathBuf,
    pub key: PathBuf,
    client: Tls,
}

impl Certificate {
    /// Makes it in `directory`.
    pub fn make(directory: &Path) -> Result<Self, LabError> {
        let failed =
            |why: String| LabError::Options(format!("could not make a certificate: {why}"));
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_string()])
            .map_err(|why| failed(why.to_string()))?;
        let (chain, key) = (directory.join("server.crt"), directory.join("server.key"));
        for (path, text) in [(&chain, cert.pem()), (&key, signing_key.serialize_pem())] {
            fs::write(path, text).map_err(|why| failed(format!("{}: {why}", path.display())))?;
        }
        let options = TlsOptions { authorities: Some(chain.clone()), ..TlsOptions::default() };
        let client = Tls::new(&options, NAME)?;
        Ok(Self { chain, key, client })
    }

    /// A server with this certificate at `address`.
    pub fn target(&self, address: SocketAddr) -> Target {
        Target::Tls(address, self.client.clone())
    }

    /// Tells a store of Redis' directives to listen with TLS at `port`, too.
    pub(super) fn tell_redis(&self, command: &mut Command, port: u16) {
        command.arg("--tls-port").arg(port.to_string());
        command.arg("--tls-cert-file").arg(&self.chain);
        command.arg("--tls-key-file").arg(&self.key);
        command.args(["--tls-auth-clients", "no"]);
    }

    /// Tells a store of Memcached's options to listen plain at `plain` and with TLS at `port`.
    pub(super) fn tell_memcached(&self, command: &mut Command, plain: SocketAddr, port: u16) {
        let secured = SocketAddr::new(plain.ip(), port);
        command.arg("-Z").arg("-l").arg(format!("notls:{plain},{secured}"));
        let (chain, key) = (self.chain.display(), self.key.display());
        command.arg("-o").arg(format!("ssl_chain_cert={chain},ssl_key={key}"));
    }
}

/// Whether `store`, which `program` serves, has TLS.
pub fn look(store: Store, program: &Path) -> Result<(), LabError> {
    // Each is started with a mistake, at which it ends at once: one that has TLS names the mistake,
    // one that has none names the option.
    let (words, refusal) = match store {
        Store::Redis | Store::Valkey => {
            (["--port", "0", "--tls-port", "none"].as_slice(), "Bad directive")
        }
        Store::Memcached => {
            (["-u", "root", "-Z", "-o", "ssl_chain_cert=/nowhere"].as_slice(), "not built with TLS")
        }
        Store::Dolium | Store::DoliumMemcached => return Ok(()),
        Store::Null | Store::NullUring => return Err(without("a server that parses nothing")),
        Store::External { .. } => {
            let why =
                "the lab knows neither its TLS port nor its authority; `lab load --tls` is told";
            return Err(LabError::Options(why.into()));
        }
    };
    let said = Command::new(program).args(words).stdin(Stdio::null()).output();
    let said =
        said.map_err(|error| LabError::system(format!("run {}", program.display()), error))?;
    let heard = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(refusal);
    if heard(&said.stdout) || heard(&said.stderr) {
        return Err(without(&program.display().to_string()));
    }
    Ok(())
}

fn without(program: &str) -> LabError {
    LabError::NoTls { program: program.into() }
}
