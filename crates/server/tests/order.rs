//! Who asks something after another client was answered does not overtake what that answer has said.

mod door;

use door::{Client, House};
use std::io::Write;
use std::net::Shutdown;

/// As many as it takes for clients to be on each of two threads, most likely.
const CLIENTS: usize = 4;
const ROUNDS: usize = 200;

fn bulks(head: &str, words: &[&str]) -> String {
    let mut text = format!("{head}{}\r\n", words.len());
    for word in words {
        text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    text
}

fn request(words: &str) -> String {
    bulks("*", &words.split(' ').collect::<Vec<_>>())
}

/// `subscribe n`, 1: the confirmation with that number of subscriptions.
fn confirmed(head: &str, word: &str, name: &str, count: usize) -> String {
    bulks(head, &[word, name]).replacen('2', "3", 1) + &format!(":{count}\r\n")
}

fn line(client: &mut Client) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.extend(client.take(1));
    }
    String::from_utf8_lossy(&line[..line.len() - 2]).into_owned()
}

fn id_of(client: &mut Client) -> String {
    client.send(request("CLIENT ID").as_bytes());
    line(client)[1..].to_owned()
}

/// A client that speaks RESP3.
fn of_version_3(house: &House) -> Client {
    let mut client = house.client();
    client.send(request("HELLO 3").as_bytes());
    while line(&mut client) != "modules" {}
    client.expect("*0\r\n");
    client
}

#[test]
fn a_message_comes_before_the_end_of_the_subscription_that_it_was_sent_by() {
    for threads in ["threads 1", "threads 2"] {
        let house = House::open(&[threads]);
        let mut speaker = house.client();
        let mut subscribers: Vec<_> = (0..CLIENTS).map(|_| house.client()).collect();
        for round in 0..ROUNDS {
            let subscriber = &mut subscribers[round % CLIENTS];
            let (enter, word, name, leave) = [
                ("subscribe", "message", "n", "unsubscribe n"),
                ("psubscribe", "pmessage", "n*", "punsubscribe n*"),
                ("subscribe", "message", "n", "unsubscribe"),
                ("subscribe", "message", "n", "reset"),
                ("subscribe", "message", "n", "quit"),
            ][round / CLIENTS % 5];
            let entered = confirmed("*", enter, name, 1);
            subscriber.ask(&request(&format!("{enter} {name}")), &entered);
            let message = format!("m{round}");
            speaker.ask(&request(&format!("publish n {message}")), ":1\r\n");
            subscriber.send(request(leave).as_bytes());
            subscriber.expect(&match word {
                "message" => bulks("*", &[word, "n", &message]),
                _ => bulks("*", &[word, name, "n", &message]),
            });
            match leave.split(' ').next() {
                Some("reset") => subscriber.expect("+RESET\r\n"),
                Some("quit") => {
                    let old = std::mem::replace(subscriber, house.client());
                    assert_eq!(old.take_all(), b"+OK\r\n");
                }
                word => {
                    subscriber.expect(&confirmed("*", word.unwrap_or_default(), name, 0));
                    subscriber.ask("PING\r\n", "+PONG\r\n");
                }
            }
        }
    }
}

#[test]
fn a_message_comes_before_the_reply_to_what_was_asked_after_it() {
    for threads in ["threads 1", "threads 2"] {
        let house = House::open(&[threads]);
        let mut speaker = house.client();
        let mut subscribers: Vec<_> = (0..CLIENTS).map(|_| of_version_3(&house)).collect();
        for one in &mut subscribers {
            one.ask("SUBSCRIBE n\r\n", &confirmed(">", "subscribe", "n", 1));
        }
        for round in 0..ROUNDS {
            let message = format!("m{round}");
            speaker.ask(&request(&format!("PUBLISH n {message}")), &format!(":{CLIENTS}\r\n"));
            for one in &mut subscribers {
                let request = if round % 2 == 0 { "PING\r\n" } else { "ECHO e\r\n" };
                one.send(request.as_bytes());
            }
            for one in &mut subscribers {
                one.expect(&bulks(">", &["message", "n", &message]));
                one.expect(if round % 2 == 0 { "+PONG\r\n" } else { "$1\r\ne\r\n" });
            }
        }
    }
}

/// They are announced by whoever wrote, but after its reply.
#[test]
fn a_notification_comes_before_what_was_asked_after_the_write() {
    let channel = "__keyspace@0__:k";
    for threads in ["threads 1", "threads 2"] {
        let house = House::open(&[threads, "notify-keyspace-events KEA"]);
        let mut writer = house.client();
        let mut speaker = house.client();
        let mut subscribers: Vec<_> = (0..CLIENTS).map(|_| of_version_3(&house)).collect();
        for round in 0..ROUNDS {
            let subscriber = &mut subscribers[round % CLIENTS];
            let subscribe = format!("SUBSCRIBE {channel}");
            subscriber.ask(&request(&subscribe), &confirmed(">", "subscribe", channel, 1));
            writer.ask("SET k v\r\n", "+OK\r\n");
            subscriber.send(b"PING\r\n");
            let told = bulks(">", &["message", channel, "set"]);
            subscriber.expect(&format!("{told}+PONG\r\n"));
            // Another message is no faster.
            writer.ask("SET k v\r\n", "+OK\r\n");
            speaker.ask(&request(&format!("PUBLISH {channel} m")), ":1\r\n");
            subscriber.expect(&told);
            subscriber.expect(&bulks(">", &["message", channel, "m"]));
            writer.ask("SET k v\r\n", "+OK\r\n");
            subscriber.send(b"UNSUBSCRIBE\r\n");
            subscriber.expect(&told);
            subscriber.expect(&confirmed(">", "unsubscribe", channel, 0));
        }
    }
}

/// The form of a message is the one in which its client was spoken to when it was sent.
#[test]
fn what_a_client_publishes_to_itself_comes_before_it_leaves() {
    let house = House::open(&["threads 1", "notify-keyspace-events KEA"]);
    let entered = confirmed(">", "subscribe", "n", 1);
    let message = bulks(">", &["message", "n", "m"]);
    let left = confirmed(">", "unsubscribe", "n", 0);
    let mut client = of_version_3(&house);
    let sent = "PING\r\nSUBSCRIBE n\r\nPUBLISH n m\r\nPING\r\nUNSUBSCRIBE n\r\nPING\r\n";
    client.ask(sent, &format!("+PONG\r\n{entered}:1\r\n+PONG\r\n{message}{left}+PONG\r\n"));
    let sent = "SUBSCRIBE n\r\nPUBLISH n m\r\nRESET\r\nPING\r\n";
    client.ask(sent, &format!("{entered}:1\r\n{message}+RESET\r\n+PONG\r\n"));
    let mut other = of_version_3(&house);
    let sent = "SUBSCRIBE n\r\nPUBLISH n m\r\nHELLO 2\r\nQUIT\r\n";
    other.ask(sent, &format!("{entered}:1\r\n{message}*14\r\n"));
    assert!(other.take_all().ends_with(b"+OK\r\n"));
    let mut client = of_version_3(&house);
    // A transaction is one reply, and what it publishes itself is not in the midst of it.
    let sent = "SUBSCRIBE n\r\nPUBLISH n m\r\nMULTI\r\nPUBLISH n m\r\nUNSUBSCRIBE n\r\nEXEC\r\n";
    let replies =
        format!(":1\r\n+OK\r\n+QUEUED\r\n{message}+QUEUED\r\n{message}*2\r\n:1\r\n{left}");
    client.ask(sent, &format!("{entered}{replies}"));
    let channel = "__keyspace@0__:k";
    let sent = format!("SUBSCRIBE {channel}\r\nSET k v\r\nUNSUBSCRIBE {channel}\r\nPING\r\n");
    let entered = confirmed(">", "subscribe", channel, 1);
    let told = bulks(">", &["message", channel, "set"]);
    let left = confirmed(">", "unsubscribe", channel, 0);
    client.ask(&sent, &format!("{entered}+OK\r\n{told}{left}+PONG\r\n"));
}

/// Many of them, to several channels that are left one after the other: none is lost, none comes twice.
#[test]
fn messages_keep_their_order_and_number_while_subscriptions_end() {
    const MESSAGES: usize = 300;
    let house = House::open(&["threads 2"]);
    let mut speakers: Vec<_> = (0..2).map(|_| house.client()).collect();
    let mut subscribers: Vec<_> = (0..CLIENTS).map(|_| of_version_3(&house)).collect();
    for one in &mut subscribers {
        for (count, name) in ["a", "b", "end"].iter().enumerate() {
            let entered = confirmed(">", "subscribe", name, count + 1);
            one.ask(&format!("SUBSCRIBE {name}\r\n"), &entered);
        }
    }
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let subscribers: Vec<_> = subscribers
            .iter_mut()
            .map(|one| {
                scope.spawn(move || {
                    // Until there is word from each speaker it asks things, then it leaves.
                    let (mut heard, mut next, mut pongs) = ([0; 2], [0; 2], 0);
                    while heard.contains(&0) || pongs < 50 {
                        one.send(b"PING\r\n");
                        loop {
                            let text = line(one);
                            if text == "+PONG" {
                                pongs += 1;
                                break;
                            }
                            assert_eq!(text, ">3");
                            note(one, &mut heard, &mut next);
                        }
                    }
                    one.send(b"UNSUBSCRIBE a b\r\n");
                    let mut left = 0;
                    while left < 2 {
                        assert_eq!(line(one), ">3");
                        left += usize::from(!note(one, &mut heard, &mut next));
                    }
                    heard[0] + heard[1]
                })
            })
            .collect();
        let speakers: Vec<_> = speakers
            .iter_mut()
            .zip(["a", "b"])
            .map(|(speaker, name)| {
                scope.spawn(move || {
                    let mut receivers = 0;
                    for n in 0..MESSAGES {
                        speaker.send(format!("PUBLISH {name} {n}\r\n").as_bytes());
                        receivers += line(speaker)[1..].parse::<usize>().unwrap();
                    }
                    receivers
                })
            })
            .collect();
        let told: usize = speakers.into_iter().map(|speaker| speaker.join().unwrap()).sum();
        let mut counts: Vec<_> =
            subscribers.into_iter().map(|subscriber| subscriber.join().unwrap()).collect();
        counts.push(told);
        counts
    });
    let (told, heard) = counts.split_last().unwrap();
    assert_eq!(heard.iter().sum::<usize>(), *told, "PUBLISH has said who hears of it");
}

/// One push whose first line has been read. False: the end of a subscription.
fn note(client: &mut Client, heard: &mut [usize; 2], next: &mut [usize; 2]) -> bool {
    let mut bulk = || {
        line(client);
        line(client)
    };
    let (word, name) = (bulk(), bulk());
    if word == "unsubscribe" {
        line(client);
        return false;
    }
    let speaker = usize::from(name == "b");
    let number: usize = bulk().parse().unwrap();
    assert_eq!((word.as_str(), number), ("message", next[speaker]), "{name}");
    next[speaker] += 1;
    heard[speaker] += 1;
    true
}

#[test]
fn a_killed_client_does_nothing_more() {
    for threads in ["threads 1", "threads 2"] {
        let house = House::open(&[threads]);
        let mut killer = house.client();
        for round in 0..ROUNDS {
            let mut client = house.client();
            let id = id_of(&mut client);
            let mut last = "INCR x\r\n";
            if round % 3 == 0 {
                client.ask("MULTI\r\nINCR x\r\n", "+OK\r\n+QUEUED\r\n");
                last = "EXEC\r\n";
            }
            killer.ask(&format!("CLIENT KILL ID {id}\r\n"), ":1\r\n");
            // It may be closed by now.
            let _ = client.socket.write_all(last.as_bytes());
            assert!(client.take_all().is_empty());
        }
        killer.ask("GET x\r\n", "$-1\r\n");
    }
}

#[test]
fn a_killed_client_is_gone_for_all_who_know_of_it() {
    let house = House::open(&["threads 2", "maxclients 3"]);
    let (mut killer, mut other) = (house.client(), house.client());
    for _ in 0..ROUNDS {
        // Its place is free, too.
        let mut client = house.client();
        let id = id_of(&mut client);
        client.ask("SUBSCRIBE n\r\nPSUBSCRIBE m*\r\n", &{
            confirmed("*", "subscribe", "n", 1) + &confirmed("*", "psubscribe", "m*", 2)
        });
        other.ask("PUBLISH n last\r\n", ":1\r\n");
        killer.ask(&format!("CLIENT KILL ID {id}\r\n"), ":1\r\n");
        other.ask(&format!("CLIENT LIST ID {id}\r\n"), "$0\r\n\r\n");
        other.ask(&format!("CLIENT KILL ID {id}\r\n"), ":0\r\n");
        other.ask("PUBLISH n m\r\nPUBLISH m m\r\n", ":0\r\n:0\r\n");
        other.ask("PUBSUB NUMSUB n\r\nPUBSUB NUMPAT\r\n", "*2\r\n$1\r\nn\r\n:0\r\n:0\r\n");
        // What came before is still for it.
        let rest = client.take_all();
        assert_eq!(String::from_utf8_lossy(&rest), bulks("*", &["message", "n", "last"]));
    }
}

/// Its side has ended, but it reads: the element was taken for it before.
#[test]
fn an_element_reaches_a_client_that_says_nothing_more() {
    for threads in ["threads 1", "threads 2"] {
        let house = House::open(&[threads]);
        let mut pusher = house.client();
        for round in 0..ROUNDS {
            let mut client = house.client();
            let behind = if round % 2 == 0 { "" } else { "PING\r\n" };
            client.ask("PING\r\n", "+PONG\r\n");
            client.send(format!("BLPOP k 0\r\n{behind}").as_bytes());
            while {
                pusher.send(b"CLIENT LIST TYPE normal\r\n");
                let len: usize = line(&mut pusher)[1..].parse().unwrap();
                let list = pusher.take(len + 2);
                !String::from_utf8_lossy(&list).contains("flags=b")
            } {}
            pusher.ask("RPUSH k v\r\n", ":1\r\n");
            client.socket.shutdown(Shutdown::Write).unwrap();
            let reply = String::from_utf8(client.take_all()).unwrap();
            let pong = if behind.is_empty() { "" } else { "+PONG\r\n" };
            assert_eq!(reply, format!("*2\r\n$1\r\nk\r\n$1\r\nv\r\n{pong}"));
            pusher.ask("LLEN k\r\n", ":0\r\n");
        }
    }
}
