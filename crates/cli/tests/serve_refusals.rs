//! What `dolium serve` says where it does not start, and the tour: the cause, by the name of what was given, and what
//! to do about it.

use std::process::Command;

/// The last line on the standard error of a server that does not start.
fn refused(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().last().unwrap_or_default().to_owned()
}

fn serve(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
    command.args(["serve", "--port", "0", "--memcached-port", "0", "--http-port", "0"]);
    command.args(["--attach-socket", "", "--threads", "2"]).args(words);
    command
}

/// A smaller `maxmemory` was recommended, which needs as many addresses.
#[test]
fn too_few_addresses_are_said_to_be_those() {
    let program = env!("CARGO_BIN_EXE_dolium");
    let words = "--memcached-port 0 --http-port 0 --attach-socket '' --threads 1 --maxmemory 64mb";
    let line = format!("ulimit -v 8000000; exec {program} --port 0 --unixsocket no.sock {words}");
    let said = refused(Command::new("sh").current_dir(std::env::temp_dir()).args(["-c", &line]));
    assert!(said.contains("cannot reserve 37 GiB of address space"), "{said}");
    assert!(said.contains("ulimit -v") && said.contains("LimitAS="), "{said}");
}

#[test]
fn a_word_that_is_no_file_is_said_to_be_taken_for_one() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
    let said = refused(command.args(["serve", "frob"]));
    let start = "dolium: frob: this configuration file cannot be read: No such file";
    assert!(said.starts_with(start), "{said}");
    assert!(said.ends_with("directives begin with --, as in dolium --port 7000"), "{said}");
}

#[test]
fn a_certificate_that_is_not_there_is_one_of_its_directive() {
    let files = ["--tls-port", "1", "--tls-cert-file", "/nowhere", "--tls-key-file", "/nowhere"];
    let said = refused(&mut serve(&files));
    assert!(said.contains("/nowhere") && said.ends_with("(tls-cert-file)"), "{said}");
}

/// No usable cipher suites were said to be configured, unexpectedly.
#[test]
fn a_version_of_tls_that_is_not_spoken_is_told_which_are() {
    let files = ["--tls-port", "1", "--tls-cert-file", "/nowhere", "--tls-key-file", "/nowhere"];
    let said = refused(serve(&files).args(["--tls-protocols", "TLSv1.1"]));
    assert!(said.contains("TLSv1.2 and TLSv1.3 are what there is (tls-protocols)"), "{said}");
}

/// The file name was said to be too long, and not how long it may be, nor that TMPDIR is to blame.
#[test]
fn a_path_that_no_socket_can_have_is_one_of_its_directive() {
    let path = format!("/tmp/{}", "s".repeat(200));
    for directive in ["--unixsocket", "--attach-socket"] {
        let said = refused(serve(&[]).args([directive, &path]));
        let told =
            format!("({directive}): the path has 205 bytes, and a socket's may have 107 at most");
        assert!(said.contains(&told), "{said}");
    }
    let folder = std::env::temp_dir().join("t".repeat(100));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut tour = Command::new(env!("CARGO_BIN_EXE_dolium"));
    let said = refused(tour.arg("tour").env("TMPDIR", &folder));
    assert!(said.contains("107 at most; TMPDIR names another place"), "{said}");
    assert!(std::fs::read_dir(&folder).expect("it").next().is_none(), "something was left");
    std::fs::remove_dir(&folder).expect("the folder");
}

/// The server's own other port was called another program.
#[test]
fn two_doors_at_one_place_are_told_of_each_other() {
    let port = dolium_lab::stores::free_port().expect("a port").to_string();
    let said = refused(serve(&[]).args(["--port", &port, "--memcached-port", &port]));
    let told = format!("dolium: memcached-port: {port} is what port names as well");
    assert!(said.starts_with(&told), "{said}");
    assert!(said.ends_with("--port or --memcached-port, or none with 0"), "{said}");
    let said = refused(serve(&[]).args(["--unixsocket", "/tmp/x", "--attach-socket", "/tmp/x"]));
    assert!(said.starts_with("dolium: attach-socket: /tmp/x is what unixsocket names"), "{said}");
}

/// There was no such file, which would have been made.
#[test]
fn a_log_file_without_its_folder_is_said_to_lack_that() {
    let said = refused(serve(&[]).args(["--logfile", "/no/such/place/log"]));
    assert!(
        said.contains("/no/such/place/log: there is no folder /no/such/place: make it"),
        "{said}"
    );
}

/// No such file or directory, it said of a socket, which would have been made.
#[test]
fn a_socket_without_its_folder_is_said_to_lack_that() {
    for directive in ["--attach-socket", "--unixsocket"] {
        let said = refused(serve(&[]).args([directive, "/no/such/place/x"]));
        let told = format!(
            "/no/such/place/x ({directive}): there is no folder /no/such/place: make it, or name \
             another file"
        );
        assert!(said.ends_with(&told), "{said}");
    }
}

/// It was said that the directive in front of the file takes one value, and of a letter what to write instead.
#[test]
fn what_stands_in_a_wrong_place_is_told_where_it_belongs() {
    let dolium = || Command::new(env!("CARGO_BIN_EXE_dolium"));
    let said = refused(dolium().args(["serve", "--port", "7000", "my.conf"]));
    let told = "'port' takes one value, not 2; a configuration file stands first, as in dolium serve \
                my.conf --port 7000";
    assert!(said.ends_with(told), "{said}");
    let said = refused(dolium().args(["serve", "-p", "7000"]));
    assert!(
        said.contains("'-p' belongs to no directive: directives begin with --, as in"),
        "{said}"
    );
}
