//! `dolium memcached -e FILE`: who keeps the items of a cache that stops, and what can take them away.

mod cached;

use cached::Cached;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dolium-kept-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn start(file: &Path) -> Cached {
    Cached::start(&["-m", "512", "-e", file.to_str().expect("text")])
}

fn signal(server: &Cached, signal: Signal) {
    kill_process(Pid::from_child(&server.child), signal).expect("it runs");
}

/// What the server says to a request, up to a line that ends it.
fn ask(server: &Cached, request: &[u8], end: &str) -> String {
    let mut socket = TcpStream::connect(server.address).expect("a connection");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    socket.write_all(request).expect("a request");
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.ends_with(end) {
        let len = socket.read(&mut bytes).expect("a reply");
        assert_ne!(len, 0, "closed after {text:?}");
        text.push_str(&String::from_utf8_lossy(&bytes[..len]));
    }
    text
}

fn fill(server: &Cached, items: usize, text: &str) {
    let mut request = Vec::new();
    for number in 0..items {
        write!(request, "set k{number} 0 0 1000 noreply\r\n{text:<1000}\r\n").expect("memory");
    }
    request.extend(b"mn\r\n");
    ask(server, &request, "MN\r\n");
}

fn items(server: &Cached) -> usize {
    let stats = ask(server, b"stats\r\n", "END\r\n");
    let line = stats.lines().find_map(|line| line.strip_prefix("STAT curr_items "));
    line.and_then(|number| number.trim().parse().ok()).expect("a number")
}

/// Waits for something that a server does, and not for ever if it does not.
fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not come to that");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn must_end(server: &mut Cached) {
    assert!(server.child.wait().expect("our child").success());
}

/// `mc.1` and `mc.2` wrote to the same `mc.writing`, and each destroyed what the other kept.
#[test]
fn two_caches_that_stop_at_once_keep_each_its_own() {
    const ITEMS: usize = 20_000;
    let folder = folder("two");
    let files = [folder.join("mc.1"), folder.join("mc.2")];
    let mut servers = files.each_ref().map(|file| start(file));
    for (number, server) in servers.iter().enumerate() {
        fill(server, ITEMS, &format!("of {number}"));
    }
    servers.iter().for_each(|server| signal(server, Signal::USR1));
    servers.iter_mut().for_each(must_end);
    for (number, file) in files.iter().enumerate() {
        let server = start(file);
        assert_eq!(items(&server), ITEMS);
        assert!(ask(&server, b"get k7\r\n", "END\r\n").contains(&format!("of {number} ")));
    }
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// Every user of the machine could read all items.
#[test]
fn the_file_is_the_owners_alone_unless_it_was_not_before() {
    let folder = folder("mode");
    let file = folder.join("items");
    let mode = || std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
    for before in [None, Some(0o640)] {
        if let Some(before) = before {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(before)).expect("a file");
        }
        let mut server = start(&file);
        // It tells its ports before it looks for items of an earlier run.
        until(|| file.exists());
        assert_eq!(mode(), before.unwrap_or(0o600));
        fill(&server, 10, "secret");
        signal(&server, Signal::USR1);
        must_end(&mut server);
        assert_eq!(mode(), before.unwrap_or(0o600));
    }
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// On a full disk a `FILE.meta` without a byte was left, because of which no later start succeeded.
#[test]
fn what_could_not_be_kept_does_not_stop_the_next_start() {
    let folder = folder("full");
    let file = folder.join("items");
    let mut server = start(&file);
    fill(&server, 10, "lost");
    // In the way of what is written beside FILE.meta: as far as that, all went well.
    let in_the_way = folder.join("items.meta.writing");
    std::fs::create_dir(&in_the_way).expect("a folder");
    signal(&server, Signal::USR1);
    assert!(!server.child.wait().expect("our child").success());
    std::fs::remove_dir(in_the_way).expect("our folder");
    let names: Vec<_> = std::fs::read_dir(&folder).expect("a folder").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(items(&start(&file)), 0);
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// A stop that came before all items were back ended the process, and they were gone: `FILE.meta` is
/// taken away first. A second SIGUSR1 while items were written had the same end.
#[test]
fn signals_while_items_are_read_and_written_lose_none() {
    const ITEMS: usize = 100_000;
    let folder = folder("signals");
    let file = folder.join("items");
    let meta = folder.join("items.meta");
    let mut server = start(&file);
    fill(&server, ITEMS, "kept");
    signal(&server, Signal::USR1);
    until(|| folder.join("items.writing").exists() || meta.exists());
    let _ = kill_process(Pid::from_child(&server.child), Signal::USR1);
    must_end(&mut server);
    assert!(meta.exists());
    let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
    command.args(["memcached", "-u", "root", "-p", "-1", "-l", "127.0.0.1", "-m", "512", "-e"]);
    let mut child = command.arg(&file).env("XDG_RUNTIME_DIR", &folder).spawn().expect("it starts");
    until(|| !meta.exists());
    kill_process(Pid::from_child(&child), Signal::USR1).expect("it runs");
    assert!(child.wait().expect("our child").success());
    assert_eq!(items(&start(&file)), ITEMS);
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// The number in `VALUE key flags len number`.
fn unique(server: &Cached, key: &str) -> u64 {
    let said = ask(server, format!("gets {key}\r\n").as_bytes(), "END\r\n");
    let line = said.lines().next().expect("a line");
    line.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a number")
}

fn cas(server: &Cached, key: &str, unique: u64) -> String {
    ask(server, format!("cas {key} 0 0 3 {unique}\r\nnew\r\n").as_bytes(), "\r\n")
}

/// Numbers began anew: of 200 that clients had kept over a restart, three were those of other values, which
/// a client stored over without having seen them.
#[test]
fn numbers_from_before_a_restart_are_good_for_the_same_values_alone() {
    const KEYS: usize = 200;
    let folder = folder("uniques");
    let file = folder.join("items");
    let mut server = start(&file);
    fill(&server, KEYS, "old");
    let names: Vec<_> = (0..KEYS).map(|number| format!("k{number}")).collect();
    let before: Vec<_> = names.iter().map(|name| unique(&server, name)).collect();
    ask(&server, b"set stale 0 0 3\r\nold\r\n", "\r\n");
    ask(&server, b"md stale I\r\n", "\r\n");
    // Of an item that is there no more, and the highest of all.
    ask(&server, b"set gone 0 0 3\r\nold\r\n", "\r\n");
    let highest = unique(&server, "gone").max(*before.iter().max().expect("some"));
    let gone = unique(&server, "gone");
    ask(&server, b"delete gone\r\n", "\r\n");
    signal(&server, Signal::USR1);
    must_end(&mut server);
    // With another number of shards, of which each has a sequence of its own.
    let server = Cached::start(&["-m", "64", "-t", "1", "-e", file.to_str().expect("text")]);
    for (name, before) in names.iter().zip(&before) {
        assert_eq!(unique(&server, name), *before, "{name}");
    }
    assert_eq!(ask(&server, b"mg stale v\r\n", "old\r\n"), "VA 3 X W\r\nold\r\n");
    assert_eq!(cas(&server, "k0", before[0]), "STORED\r\n");
    ask(&server, b"set gone 0 0 3\r\nnew\r\n", "\r\n");
    for _ in 0..5 {
        fill(&server, KEYS, "other");
        for (name, before) in names.iter().zip(&before) {
            assert!(unique(&server, name) > highest, "{name}");
            assert_eq!(cas(&server, name, *before), "EXISTS\r\n", "{name}");
        }
        assert_eq!(cas(&server, "gone", gone), "EXISTS\r\n");
    }
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// Whoever replaces the program keeps the items that the one before has written. It did not write down
/// which numbers it had given out: new ones begin where it cannot have come to.
#[test]
fn items_of_an_earlier_version_come_back() {
    let folder = folder("earlier");
    let file = folder.join("items");
    let mut bytes = b"dolium\x00\x01".to_vec();
    bytes.extend([1, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(b"kold");
    std::fs::write(&file, &bytes).expect("a file");
    let meta = format!("dolium-items 1 1 {} 16\n", bytes.len());
    std::fs::write(folder.join("items.meta"), meta).expect("a file");
    let server = start(&file);
    assert_eq!(ask(&server, b"get k\r\n", "END\r\n"), "VALUE k 7 3\r\nold\r\nEND\r\n");
    assert!(unique(&server, "k") > 1 << 48);
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// A byte that had changed in the file was told to clients as part of a value, or made another key of one.
#[test]
fn of_a_file_that_is_damaged_nothing_is_served() {
    let folder = folder("damaged");
    let file = folder.join("items");
    let meta = folder.join("items.meta");
    let mut server = start(&file);
    fill(&server, 100, "kept");
    signal(&server, Signal::USR1);
    must_end(&mut server);
    let (bytes, line) =
        (std::fs::read(&file).expect("items"), std::fs::read(&meta).expect("a line"));
    let turned = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let longer = [&bytes[..], b"x"].concat();
    let damages = [
        ("a value", turned(&bytes, bytes.len() - 1), line.clone()),
        ("the first key's length", turned(&bytes, 8), line.clone()),
        ("a key", turned(&bytes, 8 + 29), line.clone()),
        ("the beginning", turned(&bytes, 0), line.clone()),
        ("the end is gone", bytes[..bytes.len() - 1].to_vec(), line.clone()),
        ("something behind the end", longer, line.clone()),
        ("a number of the description", bytes.clone(), turned(&line, "dolium-items 2 ".len())),
        ("the description's end is gone", bytes.clone(), line[..line.len() / 2].to_vec()),
        ("nothing", bytes.clone(), line.clone()),
    ];
    for (what, bytes, line) in damages {
        std::fs::write(&file, bytes).expect("our file");
        std::fs::write(&meta, line).expect("our file");
        let said = folder.join("said");
        let said_to = std::fs::File::create(&said).expect("a file");
        let server = Cached::start_saying(&["-e", file.to_str().expect("text")], said_to.into());
        let is_whole = what == "nothing";
        assert_eq!(items(&server), if is_whole { 100 } else { 0 }, "{what}");
        // Nor does it come to mind at the start after that.
        assert!(!meta.exists(), "{what}");
        let said = std::fs::read_to_string(&said).expect("text");
        assert_eq!(said.contains("the cache starts empty"), !is_whole, "{what}: {said}");
    }
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// A start with less memory said that all were back, or nothing.
#[test]
fn items_that_find_no_room_are_told_of() {
    const ITEMS: usize = 40_000;
    let folder = folder("less");
    let (file, said) = (folder.join("items"), folder.join("said"));
    let mut server = start(&file);
    fill(&server, ITEMS, "kept");
    ask(&server, b"set soon 0 1 1\r\nx\r\n", "\r\n");
    signal(&server, Signal::USR1);
    must_end(&mut server);
    std::thread::sleep(Duration::from_millis(1100));
    let path = file.to_str().expect("text");
    // How many items there are, and what is said of them.
    let start = |options: &[&str]| {
        let said_to = std::fs::File::create(&said).expect("a file");
        let server = Cached::start_saying(&[options, &["-e", path]].concat(), said_to.into());
        let kept = items(&server);
        let text = std::fs::read_to_string(&said).expect("text");
        let line = text.lines().find(|line| line.contains("the last run")).map(str::to_string);
        (server, kept, line.expect("a line"))
    };
    let (mut server, kept, line) = start(&["-m", "16"]);
    assert!(kept > 1_000 && kept < ITEMS / 2, "{kept}");
    let told = format!(" kept={kept} expired=1 no_room={} ", ITEMS - kept);
    assert!(line.contains("WARN not all items") && line.contains(&told), "{line}");
    signal(&server, Signal::USR1);
    must_end(&mut server);
    // Who asks hears it, too, when all is well.
    let (_server, back, line) = start(&["-m", "512", "-vv"]);
    assert_eq!(back, kept);
    let told = format!(" kept={kept} expired=0 ");
    assert!(line.contains("INFO the items of the last run are back"), "{line}");
    assert!(line.contains(&told), "{line}");
    std::fs::remove_dir_all(folder).expect("our folder");
}
