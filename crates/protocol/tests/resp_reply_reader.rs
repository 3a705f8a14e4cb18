//! The client side: where a reply ends, and what it says, in both versions and at any cut.

use dolium_protocol::Parse;
use dolium_protocol::resp::reply::{ReplyError, SkipState, decode, skip};
use dolium_protocol::resp::{RespWriter, Value, Version};
use proptest::prelude::*;

fn bulk(text: &str) -> Value {
    Value::Bulk(text.into())
}

#[test]
fn every_kind_is_read() {
    for (text, value) in [
        ("+OK\r\n", Value::Simple(b"OK".to_vec())),
        ("-ERR no\r\n", Value::Error(b"ERR no".to_vec())),
        (":-5\r\n", Value::Int(-5)),
        (":+5\r\n", Value::Int(5)),
        ("$3\r\na\nb\r\n", bulk("a\nb")),
        ("$0\r\n\r\n", bulk("")),
        ("$-1\r\n", Value::Null),
        ("*-1\r\n", Value::Null),
        ("_\r\n", Value::Null),
        ("*0\r\n", Value::Array(vec![])),
        (
            "*2\r\n:1\r\n*1\r\n$1\r\na\r\n",
            Value::Array(vec![Value::Int(1), Value::Array(vec![bulk("a")])]),
        ),
        ("%1\r\n+k\r\n:1\r\n", Value::Map(vec![(Value::Simple(b"k".to_vec()), Value::Int(1))])),
        ("~1\r\n:1\r\n", Value::Set(vec![Value::Int(1)])),
        (">1\r\n:1\r\n", Value::Push(vec![Value::Int(1)])),
        ("#t\r\n", Value::Bool(true)),
        ("#f\r\n", Value::Bool(false)),
        (",1.5\r\n", Value::Double(1.5)),
        (",-inf\r\n", Value::Double(f64::NEG_INFINITY)),
        ("(-12345678901234567890\r\n", Value::BigNumber(b"-12345678901234567890".to_vec())),
        ("=6\r\ntxt:hi\r\n", Value::Verbatim(*b"txt", b"hi".to_vec())),
        ("!5\r\nERR x\r\n", Value::Error(b"ERR x".to_vec())),
        (
            "|1\r\n+a\r\n:1\r\n:7\r\n",
            Value::Attributed(
                vec![(Value::Simple(b"a".to_vec()), Value::Int(1))],
                Box::new(Value::Int(7)),
            ),
        ),
    ] {
        let bytes = [text.as_bytes(), b":9\r\n"].concat();
        assert_eq!(decode(&bytes), Ok(Some((value, text.len()))), "{text:?}");
        let mut state = SkipState::default();
        for cut in 0..text.len() {
            let answer = skip(&bytes[..cut], &mut state);
            assert!(
                matches!(answer, Parse::Incomplete { need_at_least } if need_at_least > cut && need_at_least <= text.len()),
                "{text:?} at {cut}: {answer:?}"
            );
            assert_eq!(decode(&bytes[..cut]), Ok(None));
        }
        assert_eq!(skip(&bytes, &mut state), Parse::Complete { consumed: text.len() });
    }
}

#[test]
fn nonsense_is_named() {
    for (text, error) in [
        ("hello\r\n", ReplyError::UnknownKind(b'h')),
        ("\n", ReplyError::UnknownKind(b'\n')),
        (":x\r\n", ReplyError::Malformed(b':')),
        ("$-2\r\n", ReplyError::Malformed(b'$')),
        ("$?\r\n", ReplyError::Malformed(b'$')),
        ("*?\r\n", ReplyError::Malformed(b'*')),
        ("%-1\r\n", ReplyError::Malformed(b'%')),
        ("$9223372036854775807\r\n", ReplyError::Malformed(b'$')),
        ("#x\r\n", ReplyError::Malformed(b'#')),
        (",x\r\n", ReplyError::Malformed(b',')),
        ("(x\r\n", ReplyError::Malformed(b'(')),
        ("_x\r\n", ReplyError::Malformed(b'_')),
        ("+OK\n", ReplyError::Malformed(b'+')),
    ] {
        assert_eq!(decode(text.as_bytes()), Err(error), "{text:?}");
        let answer = skip(text.as_bytes(), &mut SkipState::default());
        assert_eq!(answer, Parse::Error(error), "{text:?}");
    }
    assert_eq!(decode(&b"*1\r\n".repeat(1000)), Err(ReplyError::TooDeep));
    let endless = [b"$".as_slice(), &[b'1'; 70_000]].concat();
    assert_eq!(decode(&endless), Err(ReplyError::LineTooLong));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::Int),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Value::Bulk),
        "[ -~]{0,9}".prop_map(|text| Value::Simple(text.into_bytes())),
        "[ -~]{0,9}".prop_map(|text| Value::Error(text.into_bytes())),
        any::<bool>().prop_map(Value::Bool),
        any::<f64>().prop_filter("comparable", |value| !value.is_nan()).prop_map(Value::Double),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Set),
            prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Value::Map),
        ]
    })
}

fn write(value: &Value, writer: &mut RespWriter<'_>) {
    match value {
        Value::Int(value) => writer.int(*value),
        Value::Bulk(bytes) => writer.bulk(bytes),
        Value::Simple(text) => writer.simple(std::str::from_utf8(text).unwrap()),
        Value::Error(text) => writer.error_bytes(text),
        Value::Bool(value) => writer.bool(*value),
        Value::Double(value) => writer.double(*value),
        Value::Array(values) => {
            writer.array(values.len());
            values.iter().for_each(|value| write(value, writer));
        }
        Value::Set(values) => {
            writer.set(values.len());
            values.iter().for_each(|value| write(value, writer));
        }
        Value::Map(pairs) => {
            writer.map(pairs.len());
            pairs.iter().for_each(|(key, value)| {
                write(key, writer);
                write(value, writer);
            });
        }
        _ => writer.null(),
    }
}

proptest! {
    /// What the writer writes in version 3, the reader reads, cut anywhere.
    #[test]
    fn replies_survive_writing_and_reading(value in value()) {
        let mut bytes = Vec::new();
        write(&value, &mut RespWriter::new(&mut bytes, Version::V3));
        prop_assert_eq!(decode(&bytes), Ok(Some((value, bytes.len()))));
        let mut state = SkipState::default();
        for cut in 0..bytes.len() {
            let incomplete = matches!(skip(&bytes[..cut], &mut state), Parse::Incomplete { .. });
            prop_assert!(incomplete);
        }
        prop_assert_eq!(skip(&bytes, &mut state), Parse::Complete { consumed: bytes.len() });
    }
}
