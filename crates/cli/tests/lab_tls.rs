//! The lab's generator over TLS: every protocol, every byte checked, and what a user is told when
//! the two sides do not agree.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dolium_lab::generator::{self, LoadSpec, Pace, Target};
use dolium_lab::stores::free_port;
use dolium_lab::stores::tls::Certificate;
use dolium_lab::workload::{Distribution, Mix, Protocol, RequestPool, Sizes, Workload};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");

/// A server with a plain port and one with TLS, and a folder with its certificate.
struct Server {
    child: Child,
    folder: PathBuf,
    certificate: Certificate,
    plain: u16,
    secured: u16,
}

fn folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder =
        std::env::temp_dir().join(format!("dolium-lab-tls-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)
}

impl Server {
    fn start(directives: &[&str]) -> Self {
        Self::spawn(|command, certificate, plain, secured| {
            command
                .args(["serve", "--memcached-port", "0", "--http-port", "0", "--threads", "2"])
                .args(["--pin-threads", "no", "--maxmemory", "256mb", "--attach-socket", ""])
                .args(["--port", &plain.to_string(), "--tls-port", &secured.to_string()])
                .arg("--tls-cert-file")
                .arg(&certificate.chain)
                .arg("--tls-key-file")
                .arg(&certificate.key)
                .arg("--tls-ca-cert-file")
                .arg(&certificate.chain)
                .args(directives);
        })
    }

    fn memcached() -> Self {
        Self::spawn(|command, certificate, plain, secured| {
            let (chain, key) = (certificate.chain.display(), certificate.key.display());
            command
                .args(["memcached", "-Z", "-U", "0", "-t", "2", "-m", "256", "-u", "root"])
                .args(["-o", &format!("ssl_chain_cert={chain},ssl_key={key}")])
                .args(["-l", &format!("notls:127.0.0.1:{plain},127.0.0.1:{secured}")]);
        })
    }

    fn spawn(tell: impl Fn(&mut Command, &Certificate, u16, u16)) -> Self {
        let folder = folder();
        let certificate = Certificate::make(&folder).unwrap();
        let (plain, secured) = (free_port().unwrap(), free_port().unwrap());
        let mut command = Command::new(DOLIUM);
        tell(&mut command, &certificate, plain, secured);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { child, folder, certificate, plain, secured };
        let begun = Instant::now();
        while TcpStream::connect(at(plain)).is_err() || TcpStream::connect(at(secured)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the server does not come up");
            thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn target(&self) -> Target {
        self.certificate.target(at(self.secured))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn workload(protocol: Protocol, value_bytes: Sizes) -> Workload {
    Workload {
        protocol,
        mix: Mix::GetPerMille(800),
        keys: 500,
        key_bytes: 16.into(),
        value_bytes,
        distribution: Distribution::Uniform,
        ttl: 0,
        seed: 3,
    }
}

/// `dolium lab load --tls` for a moment.
fn load(port: u16, more: &[&str]) -> Output {
    Command::new(DOLIUM)
        .args(["lab", "load", "--tls", "--port", &port.to_string(), "--conns", "4"])
        .args(["--keys", "500", "--seconds", "0.1", "--warm-up", "0"])
        .args(more)
        .output()
        .unwrap()
}

/// What it says when it fails.
fn told(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    text
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn every_protocol_brings_every_byte_in_both_loops() {
    let (redis, memcached) = (Server::start(&["--tls-auth-clients", "no"]), Server::memcached());
    for protocol in Protocol::ALL {
        // Words such as `set` mean what the port is named for.
        let server = if protocol == Protocol::Memcached { &memcached } else { &redis };
        // The long ones take several records, and fill the socket when many are asked for at once.
        for (value_bytes, pipeline) in
            [(Sizes::Constant(64), 1), (Sizes::Constant(64), 32), (Sizes::Range(1, 60_000), 8)]
        {
            let workload = workload(protocol, value_bytes);
            generator::preload(&server.target(), &workload, |_| {}).unwrap();
            let pool = RequestPool::build(&workload).unwrap();
            for pace in [Pace::Closed, Pace::Open { rate: 1_000.0 }] {
                for verify in [true, false] {
                    let spec = LoadSpec {
                        connections: 5,
                        pipeline,
                        threads: 2,
                        window: Duration::from_millis(100),
                        pace,
                        verify,
                        ..LoadSpec::plain(server.target())
                    };
                    let case = format!("{protocol:?} {pipeline} {pace:?} {verify}");
                    let report = generator::run(&spec, &pool);
                    let report = report.unwrap_or_else(|why| panic!("{case}: {why}"));
                    // On a busy machine the window may pass before the first answer: it comes after.
                    assert!(report.all_operations > 0, "{case}");
                    assert_eq!((report.misses, report.unanswered), (0, 0), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_server_is_believed_by_its_authority_or_not_at_all() {
    let server = Server::start(&["--tls-auth-clients", "no"]);
    let good = load(server.secured, &["--cacert", text(&server.certificate.chain), "--verify"]);
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    let elsewhere = folder();
    let other = Certificate::make(&elsewhere).unwrap();
    let told_of_other = told(&load(server.secured, &["--cacert", text(&other.chain)]));
    assert!(told_of_other.contains("no authority that is believed has signed"), "{told_of_other}");
    let any = load(server.secured, &["--insecure"]);
    assert!(any.status.success(), "{}", String::from_utf8_lossy(&any.stderr));
    let nothing = elsewhere.join("nothing.crt");
    let told_of_nothing = told(&load(server.secured, &["--cacert", text(&nothing)]));
    assert!(told_of_nothing.contains("nothing.crt"), "{told_of_nothing}");
    std::fs::remove_dir_all(&elsewhere).unwrap();
}

#[test]
fn a_plain_server_is_told_from_one_that_hangs() {
    let server = Server::start(&["--tls-auth-clients", "no"]);
    let begun = Instant::now();
    let told = told(&load(server.plain, &["--insecure"]));
    assert!(told.contains("ask at its TLS port, or without --tls"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn a_server_that_wants_a_certificate_is_shown_one_or_named_as_such() {
    let server = Server::start(&[]);
    let (chain, key) = (text(&server.certificate.chain), text(&server.certificate.key));
    let told = told(&load(server.secured, &["--cacert", chain]));
    assert!(told.contains("show one with --cert FILE"), "{told}");
    let shown =
        load(server.secured, &["--cacert", chain, "--cert", chain, "--cert-key", key, "--verify"]);
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
}
