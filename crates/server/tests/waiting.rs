//! Clients that wait for elements of lists: each element goes to one of them, and to nobody who left.

mod door;

use door::{Client, House};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// A line up to its end.
fn line(client: &mut Client) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.extend(client.take(1));
    }
    String::from_utf8_lossy(&line[..line.len() - 2]).into_owned()
}

/// What stands behind `name` in INFO.
fn info(client: &mut Client, name: &str) -> u64 {
    client.send(b"INFO clients\r\n");
    let len: usize = line(client)[1..].parse().unwrap();
    let text = String::from_utf8(client.take(len + 2)).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    value.unwrap().parse().unwrap()
}

/// Waits until so many clients wait.
fn until_waiting(client: &mut Client, count: u64) {
    let since = Instant::now();
    while info(client, "blocked_clients") != count {
        assert!(since.elapsed() < Duration::from_secs(10), "nobody waits");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_wait_ends_in_its_time_and_requests_behind_it_go_on() {
    let house = House::open(&["threads 2"]);
    let mut client = house.client();
    let since = Instant::now();
    client
        .ask("BLPOP k 0.15\r\nPING\r\nBRPOP k 0.1\r\nPING\r\n", "*-1\r\n+PONG\r\n*-1\r\n+PONG\r\n");
    let time = since.elapsed();
    assert!(time >= Duration::from_millis(250) && time < Duration::from_secs(3), "{time:?}");
    assert_eq!(info(&mut client, "blocked_clients"), 0);
}

#[test]
fn who_left_takes_nothing() {
    let house = House::open(&["threads 2"]);
    let mut pusher = house.client();
    for _ in 0..20 {
        let mut gone = house.client();
        gone.send(b"BLPOP k 0\r\n");
        until_waiting(&mut pusher, 1);
        drop(gone);
        until_waiting(&mut pusher, 0);
        pusher.ask("RPUSH k v\r\n", ":1\r\n");
        pusher.ask("LPOP k\r\n", "$1\r\nv\r\n");
    }
}

#[test]
fn who_is_killed_or_unblocked_takes_nothing() {
    let house = House::open(&["threads 2"]);
    let mut pusher = house.client();
    let mut client = house.client();
    client.send(b"CLIENT ID\r\n");
    let id = line(&mut client)[1..].to_owned();
    client.send(b"BLPOP k 0\r\nPING\r\n");
    until_waiting(&mut pusher, 1);
    pusher.ask(&format!("CLIENT UNBLOCK {id}\r\n"), ":1\r\n");
    client.expect("*-1\r\n+PONG\r\n");
    client.send(b"BLMOVE k m LEFT LEFT 0\r\n");
    until_waiting(&mut pusher, 1);
    pusher.ask(&format!("CLIENT UNBLOCK {id} ERROR\r\n"), ":1\r\n");
    client.expect("-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
    pusher.ask(&format!("CLIENT UNBLOCK {id}\r\n"), ":0\r\n");
    client.send(b"BLPOP a b k 0\r\n");
    until_waiting(&mut pusher, 1);
    pusher.ask(&format!("CLIENT KILL ID {id}\r\n"), ":1\r\n");
    until_waiting(&mut pusher, 0);
    pusher.ask("RPUSH k v\r\n", ":1\r\n");
    pusher.ask("LLEN k\r\n", ":1\r\n");
    assert!(client.take_all().is_empty());
}

/// The thread of a client that was killed closes it when it gets to that. Until then it stood in the table,
/// and the next element that was pushed was taken for it and lost.
#[test]
fn what_is_pushed_behind_a_kill_is_not_for_the_killed() {
    let house = House::open(&["threads 2"]);
    let mut pusher = house.client();
    let push = "RPUSH k v\r\n";
    for (before, behind, replies) in [
        ("", "", ":1\r\n:1\r\n"),
        ("MULTI\r\n", "EXEC\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n"),
    ] {
        for _ in 0..20 {
            let mut client = house.client();
            client.send(b"CLIENT ID\r\n");
            let id = line(&mut client)[1..].to_owned();
            client.send(b"BLPOP k 0\r\n");
            until_waiting(&mut pusher, 1);
            let request = format!("{before}CLIENT KILL ID {id}\r\n{push}{behind}LPOP k\r\n");
            pusher.ask(&request, &format!("{replies}$1\r\nv\r\n"));
            assert!(client.take_all().is_empty());
        }
    }
}

/// Who waits is served when the transaction is over, and the killed is not there then.
#[test]
fn what_is_pushed_in_the_transaction_of_a_kill_is_not_for_the_killed() {
    let house = House::open(&["threads 2"]);
    let mut pusher = house.client();
    for round in 0..40 {
        let mut client = house.client();
        client.send(b"CLIENT ID\r\n");
        let id = line(&mut client)[1..].to_owned();
        client.send(b"BLPOP k 0\r\n");
        until_waiting(&mut pusher, 1);
        let mut other = house.client();
        if round % 2 == 1 {
            other.send(b"BLPOP k 0\r\n");
            until_waiting(&mut pusher, 2);
        }
        let transaction = format!("MULTI\r\nRPUSH k v\r\nCLIENT KILL ID {id}\r\n");
        let queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n";
        if round % 4 < 2 {
            pusher.ask(&format!("{transaction}EXEC\r\n"), &format!("{queued}*2\r\n:1\r\n:1\r\n"));
        } else {
            let request = format!("{transaction}CLIENT UNBLOCK {id}\r\nEXEC\r\n");
            let replies = format!("{queued}+QUEUED\r\n*3\r\n:1\r\n:1\r\n:0\r\n");
            pusher.ask(&request, &replies);
        }
        if round % 2 == 1 {
            // It is for the next who waits.
            other.expect("*2\r\n$1\r\nk\r\n$1\r\nv\r\n");
            pusher.ask("LLEN k\r\n", ":0\r\n");
        } else {
            pusher.ask("LPOP k\r\n", "$1\r\nv\r\n");
        }
        assert!(client.take_all().is_empty());
        until_waiting(&mut pusher, 0);
    }
}

/// Each element that a push has handed over is received, whoever is killed meanwhile.
#[test]
fn nothing_is_lost_between_pushes_and_kills() {
    const ELEMENTS: usize = 600;
    let house = House::open(&["threads 2"]);
    let mut killer = house.client();
    let mut pushers: Vec<_> = (0..2).map(|_| house.client()).collect();
    let until = Instant::now() + Duration::from_secs(60);
    let taken: Vec<String> = std::thread::scope(|scope| {
        for (number, pusher) in pushers.iter_mut().enumerate() {
            scope.spawn(move || {
                for n in 0..ELEMENTS / 2 {
                    let push = format!("RPUSH k {number}:{n}\r\n");
                    let request = match n % 2 {
                        0 => push,
                        _ => format!("MULTI\r\n{push}EXEC\r\n"),
                    };
                    pusher.send(format!("{request}ECHO done\r\n").as_bytes());
                    while line(pusher) != "done" {}
                }
            });
        }
        let mut taken = Vec::new();
        while taken.len() < ELEMENTS && Instant::now() < until {
            let mut client = house.client();
            client.send(b"CLIENT ID\r\n");
            let id = line(&mut client)[1..].to_owned();
            client.send(b"BLPOP k 0\r\n");
            match taken.len() % 3 {
                0 => killer.send(format!("CLIENT KILL ID {id}\r\n").as_bytes()),
                1 => killer.send(format!("MULTI\r\nCLIENT KILL ID {id}\r\nEXEC\r\n").as_bytes()),
                _ => {
                    let list = "RPUSH other x\r\nLPOP other\r\n";
                    let kill = format!("MULTI\r\n{list}CLIENT KILL ID {id}\r\nEXEC\r\n");
                    killer.send(kill.as_bytes());
                }
            }
            killer.send(b"ECHO done\r\n");
            while line(&mut killer) != "done" {}
            // Nothing, if it was killed in time.
            let reply = String::from_utf8(client.take_all()).unwrap();
            taken.extend(reply.lines().nth(4).map(String::from));
            if reply.is_empty() && taken.len() < ELEMENTS {
                killer.send(b"LPOP k\r\n");
                if line(&mut killer) != "$-1" {
                    taken.push(line(&mut killer));
                }
            }
        }
        taken
    });
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), ELEMENTS);
    killer.ask("EXISTS k\r\n", ":0\r\n");
}

/// CLIENT REPLY SKIP is about the next command, also where its reply comes later.
#[test]
fn the_reply_that_was_to_be_skipped_is_skipped_when_it_comes() {
    let house = House::open(&["threads 2"]);
    let mut pusher = house.client();
    let mut client = house.client();
    client.send(b"CLIENT REPLY SKIP\r\nBLPOP k 0\r\nPING\r\n");
    until_waiting(&mut pusher, 1);
    pusher.ask("RPUSH k v\r\n", ":1\r\n");
    client.expect("+PONG\r\n");
    client.ask("CLIENT REPLY SKIP\r\nBLPOP k 0.05\r\nPING\r\n", "+PONG\r\n");
    client.ask("BLPOP k 0.05\r\n", "*-1\r\n");
}

/// What a transaction does to clients that wait is done when it has let go of its locks: else it and
/// who serves at the same moment would wait for each other.
#[test]
fn transactions_and_waits_do_not_wait_for_each_other() {
    let house = House::open(&["threads 2", "databases 4"]);
    let until = Instant::now() + Duration::from_millis(700);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (mut client, mut id) = (house.client(), String::new());
            client.send(b"CLIENT ID\r\n");
            id.push_str(&line(&mut client)[1..]);
            scope.spawn(move || {
                while Instant::now() < until {
                    client.send(b"BLMOVE k m LEFT LEFT 0.001\r\nBLPOP j k 0.001\r\nPING\r\n");
                    while line(&mut client) != "+PONG" {}
                }
            });
            let mut other = house.client();
            scope.spawn(move || {
                while Instant::now() < until {
                    let queue = format!(
                        "MULTI\r\nRPUSH k a\r\nLPOP k\r\nSWAPDB 0 1\r\nSWAPDB 0 1\r\n\
                         CLIENT UNBLOCK {id}\r\nEXEC\r\nPING\r\n"
                    );
                    other.send(queue.as_bytes());
                    while line(&mut other) != "+PONG" {}
                }
            });
        }
    });
}

#[test]
fn every_element_goes_to_one_of_many() {
    const ELEMENTS: usize = 4_000;
    const TAKERS: usize = 6;
    let house = House::open(&["threads 2"]);
    let until = Instant::now() + Duration::from_secs(60);
    let taken: Vec<Vec<String>> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..TAKERS)
            .map(|taker| {
                let mut client = house.client();
                scope.spawn(move || {
                    let mut taken = Vec::new();
                    loop {
                        // Waits that end all the time, so that ends and pushes meet.
                        client.send(format!("BLPOP a b 0.00{}\r\n", taker % 3 + 1).as_bytes());
                        if line(&mut client) == "*-1" {
                            assert!(Instant::now() < until, "an element that was pushed is lost");
                            continue;
                        }
                        let _ = (line(&mut client), line(&mut client), line(&mut client));
                        let element = line(&mut client);
                        if element == "end" {
                            return taken;
                        }
                        taken.push(element);
                    }
                })
            })
            .collect();
        let pushers: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|key| {
                let mut client = house.client();
                scope.spawn(move || {
                    for n in 0..ELEMENTS / 2 {
                        client.send(format!("RPUSH {key} {key}{n}\r\n").as_bytes());
                        line(&mut client);
                        if n % 50 == 0 {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                    }
                })
            })
            .collect();
        // The takers are told whatever became of the pushers: the scope waits for them.
        let pushed: Vec<_> = pushers.into_iter().map(|pusher| pusher.join()).collect();
        let mut client = house.client();
        for _ in 0..TAKERS {
            client.send(b"RPUSH b end\r\n");
            line(&mut client);
        }
        assert!(pushed.iter().all(Result::is_ok), "a pusher has failed");
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    let all: Vec<&String> = taken.iter().flatten().collect();
    assert_eq!(all.len(), ELEMENTS);
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), ELEMENTS);
    let mut client = house.client();
    client.ask("EXISTS a b\r\n", ":0\r\n");
    assert_eq!(info(&mut client, "blocked_clients"), 0);
}
