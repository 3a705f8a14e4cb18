//! Many commands of an attached program at once: each is answered as if it had come alone.

mod served;

use dolium_attach::{Error, Store, Value};
use served::Served;

fn words(line: &str) -> Vec<&[u8]> {
    line.split(' ').map(str::as_bytes).collect()
}

fn many(store: &Store, lines: &[&str]) -> Result<Vec<Value>, Error> {
    let commands: Vec<Vec<&[u8]>> = lines.iter().map(|line| words(line)).collect();
    store.execute_many(&commands)
}

fn simple(text: &str) -> Value {
    Value::Simple(text.into())
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.into())
}

#[test]
fn each_is_answered_in_its_order_and_errors_stop_nothing() {
    let served = Served::start(&[]);
    let store = served.attach();
    let replies =
        many(&store, &["SET a 1", "INCR a", "LPUSH a x", "NOSUCH", "SET b v", "GET b"]).unwrap();
    assert_eq!(replies.len(), 6);
    assert_eq!(replies[..2], [simple("OK"), Value::Int(2)]);
    let error = |at: usize| replies[at].as_error().unwrap().to_vec();
    assert!(error(2).starts_with(b"WRONGTYPE"), "{}", error(2).escape_ascii());
    assert!(error(3).starts_with(b"ERR unknown command"), "{}", error(3).escape_ascii());
    assert_eq!(replies[4..], [simple("OK"), bulk("v")]);
    assert_eq!(store.get(b"b").unwrap().as_deref(), Some(&b"v"[..]));
    assert_eq!(many(&store, &[]).unwrap(), []);
    // Arrays and slices are commands as well.
    let pairs: [[&[u8]; 2]; 2] = [[b"GET", b"a"], [b"GET", b"b"]];
    assert_eq!(store.execute_many(&pairs).unwrap(), [bulk("2"), bulk("v")]);
}

#[test]
fn one_that_gets_no_reply_is_refused_before_any_is_sent() {
    let served = Served::start(&[]);
    let store = served.attach();
    let refused = many(&store, &["SET a 1", "SUBSCRIBE c", "SET b 1"]);
    assert!(matches!(refused, Err(Error::NotARequest("SUBSCRIBE"))), "{refused:?}");
    let nothing: [&[&[u8]]; 2] = [&[b"SET", b"a", b"1"], &[]];
    assert!(matches!(store.execute_many(&nothing), Err(Error::NoCommand)));
    assert_eq!(many(&store, &["DBSIZE"]).unwrap(), [Value::Int(0)]);
}

#[test]
fn transactions_among_them_are_those_of_the_handles_database() {
    let served = Served::start(&[]);
    let (zero, one) = (served.attach(), served.attach().db(1).unwrap());
    let lines = ["MULTI", "SET k one", "SELECT 2", "SET k two", "EXEC", "GET k", "SET l v"];
    let replies = many(&one, &lines).unwrap();
    let queued = simple("QUEUED");
    assert_eq!(replies[..4], [simple("OK"), queued.clone(), queued.clone(), queued]);
    assert_eq!(replies[4], Value::Array(vec![simple("OK"); 3]));
    // The transaction's SELECT was its own: what comes behind is in the handle's database again.
    assert_eq!(replies[5..], [bulk("one"), simple("OK")]);
    assert_eq!(many(&zero, &["EXISTS k l"]).unwrap(), [Value::Int(0)]);
    assert_eq!(one.db(2).unwrap().get(b"k").unwrap().as_deref(), Some(&b"two"[..]));

    // Those before it have been executed.
    let refused = many(&one, &["SET m v", "SELECT 3", "SET n v"]);
    assert!(matches!(refused, Err(Error::Selects)), "{refused:?}");
    assert_eq!(many(&one, &["EXISTS m", "EXISTS n"]).unwrap(), [Value::Int(1), Value::Int(0)]);

    // A transaction may be begun in one call and ended in another.
    assert_eq!(many(&one, &["MULTI", "INCR c"]).unwrap(), [simple("OK"), simple("QUEUED")]);
    let refused = many(&one.db(0).unwrap(), &["INCR c"]);
    assert!(matches!(refused, Err(Error::OtherTransaction { open: 1, asked: 0 })), "{refused:?}");
    assert_eq!(many(&one, &["EXEC"]).unwrap(), [Value::Array(vec![Value::Int(1)])]);
}

/// Far more of both than a ring holds.
#[test]
fn long_requests_and_long_replies_stream_through() {
    const COUNT: usize = 20_000;
    let served = Served::start(&[]);
    let store = served.attach();
    let keys: Vec<String> = (0..COUNT).map(|n| format!("key:{n}")).collect();
    let values: Vec<Vec<u8>> = (0..COUNT).map(|n| vec![b'a' + (n % 26) as u8; n % 700]).collect();
    let sets: Vec<[&[u8]; 3]> = keys
        .iter()
        .zip(&values)
        .map(|(key, value)| [b"SET", key.as_bytes(), value.as_slice()])
        .collect();
    assert!(store.execute_many(&sets).unwrap().iter().all(|reply| *reply == simple("OK")));
    let gets: Vec<[&[u8]; 2]> = keys.iter().map(|key| [b"GET", key.as_bytes()]).collect();
    let replies = store.execute_many(&gets).unwrap();
    assert_eq!(replies.len(), COUNT);
    for (reply, value) in replies.into_iter().zip(&values) {
        assert_eq!(reply, Value::Bulk(value.clone()));
    }
    // One command alone that is longer than a part may be.
    let large = vec![b'v'; 3 << 20];
    let commands: [[&[u8]; 3]; 3] =
        [[b"SET", b"a", &large], [b"SET", b"b", &large], [b"SET", b"c", b"v"]];
    assert_eq!(store.execute_many(&commands).unwrap(), [simple("OK"), simple("OK"), simple("OK")]);
    assert_eq!(store.get(b"b").unwrap().map(|value| value.len()), Some(large.len()));
}
