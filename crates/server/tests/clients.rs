//! What one client does to others: messages, pauses, kills; and the server's end.

mod door;

use dolium_server::listener::Door;
use door::House;
use std::time::{Duration, Instant};

#[test]
fn messages_reach_subscribers_of_every_thread() {
    let house = House::open(&["threads 2"]);
    let mut subscribers: Vec<_> = (0..6).map(|_| house.client()).collect();
    for one in &mut subscribers {
        one.ask("SUBSCRIBE n\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nn\r\n:1\r\n");
    }
    let mut by_pattern = house.client();
    by_pattern.ask("PSUBSCRIBE *\r\n", "*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n");
    let mut speaker = house.client();
    for n in 0..50 {
        speaker.ask(&format!("PUBLISH n m{n:02}\r\n"), ":7\r\n");
    }
    for one in &mut subscribers {
        for n in 0..50 {
            one.expect(&format!("*3\r\n$7\r\nmessage\r\n$1\r\nn\r\n$3\r\nm{n:02}\r\n"));
        }
    }
    by_pattern.expect("*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nn\r\n$3\r\nm00\r\n");
}

/// A message that was sent before UNSUBSCRIBE came behind its confirmation, where a RESP2 client takes it for
/// the reply to its next command, and later not at all. CLIENT PAUSE has both requests run in one batch.
#[test]
fn no_message_comes_behind_the_end_of_a_subscription() {
    let house = House::open(&["threads 1"]);
    let (mut speaker, mut pauser) = (house.client(), house.client());
    let message = "$7\r\nmessage\r\n$1\r\nn\r\n$1\r\nm\r\n";
    for (enter, entered, leave, left) in [
        ("SUBSCRIBE n", "$9\r\nsubscribe\r\n$1\r\nn", "UNSUBSCRIBE n", Some("$11\r\nunsubscribe")),
        ("PSUBSCRIBE n", "$10\r\npsubscribe\r\n$1\r\nn", "RESET", None),
    ] {
        let mut subscriber = house.client();
        subscriber.ask(&format!("{enter}\r\n"), &format!("*3\r\n{entered}\r\n:1\r\n"));
        pauser.ask("CLIENT PAUSE 1000 ALL\r\n", "+OK\r\n");
        speaker.send(b"PUBLISH n m\r\n");
        subscriber.send(format!("{leave}\r\n").as_bytes());
        speaker.expect(":1\r\n");
        match left {
            Some(_) => subscriber.expect(&format!("*3\r\n{message}")),
            None => subscriber.expect(&format!(
                "*4\r\n$8\r\np{}$1\r\nn\r\n{}",
                &message[4..13],
                &message[13..]
            )),
        }
        match left {
            Some(left) => subscriber.expect(&format!("*3\r\n{left}\r\n$1\r\nn\r\n:0\r\n")),
            None => subscriber.expect("+RESET\r\n"),
        }
        subscriber.ask("PING\r\n", "+PONG\r\n");
        subscriber.ask("PING\r\n", "+PONG\r\n");
    }
}

#[test]
fn notifications_tell_of_writes_through_every_door_and_of_expiry() {
    let house = House::open(&["notify-keyspace-events KEA"]);
    let mut subscriber = house.client();
    subscriber.ask(
        "PSUBSCRIBE __keyevent@*\r\n",
        "*3\r\n$10\r\npsubscribe\r\n$12\r\n__keyevent@*\r\n:1\r\n",
    );
    let mut told = |event: &str, key: &str| {
        let channel = format!("__keyevent@0__:{event}");
        subscriber.expect(&format!(
            "*4\r\n$8\r\npmessage\r\n$12\r\n__keyevent@*\r\n${}\r\n{channel}\r\n${}\r\n{key}\r\n",
            channel.len(),
            key.len()
        ));
    };
    let mut redis = house.client();
    redis.ask("SET a 1 PX 50\r\n", "+OK\r\n");
    told("set", "a");
    told("expire", "a");
    told("expired", "a");
    let mut memcached = house.client_of(Door::Memcached);
    memcached.ask("set b 0 0 1\r\nx\r\n", "STORED\r\n");
    told("set", "b");
    redis.ask("DEL b\r\n", ":1\r\n");
    told("del", "b");
}

#[test]
fn a_pause_holds_writes_and_lets_them_go_in_order() {
    let house = House::open(&["threads 2"]);
    let mut admin = house.client();
    admin.ask("SET p 0\r\n", "+OK\r\n");
    // Longer than the reader has patience: an answer says that it was not held.
    admin.ask("CLIENT PAUSE 100000 WRITE\r\n", "+OK\r\n");
    let mut reader = house.client();
    reader.ask("GET p\r\n", "$1\r\n0\r\n");
    admin.ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
    // From before it is asked for: the pause begins later, however long this thread has to wait.
    let begun = Instant::now();
    admin.ask("CLIENT PAUSE 300 WRITE\r\n", "+OK\r\n");
    let mut writer = house.client();
    writer.send(b"INCR p\r\nGET p\r\nINCR p\r\nIN");
    writer.send(b"CR p\r\n");
    writer.expect(":1\r\n$1\r\n1\r\n:2\r\n:3\r\n");
    assert!(begun.elapsed() >= Duration::from_millis(290));
    admin.ask("CLIENT PAUSE 100000 WRITE\r\n", "+OK\r\n");
    writer.send(b"INCR p\r\n");
    std::thread::sleep(Duration::from_millis(50));
    admin.ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
    writer.expect(":4\r\n");
}

#[test]
fn a_client_sees_the_request_with_which_it_asks() {
    let house = House::open(&["threads 2"]);
    for request in ["*2\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n", "*2\r\n$6\r\nCLIENT\r\n$4\r\nINFO\r\n"]
    {
        let mut client = house.client();
        client.send(request.as_bytes());
        client.send(b"QUIT\r\n");
        let answer = String::from_utf8(client.take_all()).unwrap();
        assert!(answer.contains(&format!(" qbuf={} ", request.len())), "{answer}");
    }
}

#[test]
fn a_killed_client_is_closed_wherever_it_is() {
    let house = House::open(&["threads 2"]);
    let mut clients: Vec<_> = (0..4).map(|_| house.client()).collect();
    for (n, one) in clients.iter_mut().enumerate() {
        one.ask(&format!("CLIENT SETNAME c{n}\r\n"), "+OK\r\n");
    }
    let mut admin = house.client();
    admin.ask("CLIENT KILL TYPE normal\r\n", ":4\r\n");
    for one in clients {
        assert!(one.take_all().is_empty());
    }
    admin.ask("PING\r\n", "+PONG\r\n");
}

#[test]
fn the_end_sends_what_was_answered_and_takes_the_socket_away() {
    let path = std::env::temp_dir().join(format!("dolium-end-{}.sock", std::process::id()));
    let house = House::open(&["threads 2", &format!("unixsocket {}", path.display())]);
    let mut over_unix: Vec<_> =
        (0..4).map(|_| std::os::unix::net::UnixStream::connect(&path).unwrap()).collect();
    for one in &mut over_unix {
        use std::io::{Read, Write};
        one.write_all(b"PING\r\n").unwrap();
        let mut reply = [0; 7];
        one.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+PONG\r\n");
    }
    let mut client = house.client();
    client.send(b"SET a 1\r\nSHUTDOWN NOSAVE\r\n");
    assert_eq!(client.take_all(), b"+OK\r\n");
    drop(house);
    assert!(!path.exists());
}

#[test]
fn another_port_may_be_chosen_while_clients_stay() {
    let house = House::open(&["threads 2"]);
    let mut client = house.client();
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = busy.local_addr().unwrap().port();
    client.ask(
        &format!("CONFIG SET timeout 7 port {taken}\r\n"),
        "-ERR CONFIG SET failed (possibly related to argument 'port') - \
         Unable to listen on this port. Check server logs.\r\n",
    );
    client.ask("CONFIG GET timeout\r\n", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
    drop(busy);
    client.ask(&format!("CONFIG SET port {taken}\r\n"), "+OK\r\n");
    let begun = Instant::now();
    // Each thread opens its own socket when it reads its mail.
    while std::net::TcpStream::connect(("127.0.0.1", taken)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    client.ask("PING\r\n", "+PONG\r\n");
}

#[test]
fn what_config_get_shows_may_be_set_again() {
    let house = House::open(&[]);
    let mut client = house.client();
    let mut all = Vec::new();
    house.running.server.config.visit(&mut |name, value| all.push((name, value.to_owned())));
    for (name, value) in all {
        let is_fixed = dolium_server::config::table::position(name)
            .map(|at| &dolium_server::config::table::DIRECTIVES[at])
            .is_some_and(|d| !d.mutable);
        let is_protected = dolium_server::config::table::PROTECTED.contains(&name);
        if is_protected || is_fixed && !dolium_server::config::table::HERE_ONLY.contains(&name) {
            continue;
        }
        client.send(
            format!(
                "*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n${}\r\n{name}\r\n${}\r\n{value}\r\n",
                name.len(),
                value.len()
            )
            .as_bytes(),
        );
        let reply = client.take(5);
        assert_eq!(reply, b"+OK\r\n", "{name} {value}");
    }
}

#[test]
fn a_threshold_of_zero_logs_the_rest_of_the_same_pipeline() {
    let house = House::open(&[]);
    let mut client = house.client();
    client.send(b"CONFIG SET slowlog-log-slower-than 0\r\nSET k v\r\nGET k\r\nSLOWLOG LEN\r\n");
    // CONFIG SET itself ran under the old threshold, but ends under the new one.
    client.expect("+OK\r\n+OK\r\n$1\r\nv\r\n:3\r\n");
}

/// They stayed locked out, with no password that would have let them in.
#[test]
fn a_password_that_is_taken_back_locks_nobody_out() {
    let house = House::open(&["threads 2", "requirepass secret"]);
    let mut early: Vec<_> = (0..4).map(|_| house.client()).collect();
    for client in &mut early {
        client.ask("PING\r\n", "-NOAUTH Authentication required.\r\n");
    }
    let mut text = house.client_of(Door::Memcached);
    text.ask("get k\r\n", "CLIENT_ERROR unauthenticated\r\n");
    let mut chief = house.client();
    chief.ask("AUTH secret\r\nCONFIG SET requirepass \"\"\r\n", "+OK\r\n+OK\r\n");
    // Nor do the limits hold for what one without the password may send: ten words.
    let many = format!("*13\r\n$3\r\nDEL\r\n{}", "$1\r\nx\r\n".repeat(12));
    for client in &mut early {
        client.ask("PING\r\nSET k v\r\n", "+PONG\r\n+OK\r\n");
        client.ask(&many, ":0\r\n");
        client.ask("MULTI\r\nGET k\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n*1\r\n$1\r\nv\r\n");
    }
    text.ask("set k 0 0 1\r\nw\r\nget k\r\n", "STORED\r\nVALUE k 0 1\r\nw\r\nEND\r\n");
    // As in Redis: who has not given a password has not given the next one either.
    chief.ask("CONFIG SET requirepass other\r\nPING\r\n", "+OK\r\n+PONG\r\n");
    early[0].ask("PING\r\n", "-NOAUTH Authentication required.\r\n");
    early[0].ask("AUTH other\r\nPING\r\n", "+OK\r\n+PONG\r\n");
}
