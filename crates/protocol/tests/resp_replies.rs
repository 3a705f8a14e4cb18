//! The reply writer: every kind of reply, in both versions.

use dolium_protocol::resp::{RespWriter, Version, bulk_header};

fn written(version: Version, write: impl FnOnce(&mut RespWriter<'_>)) -> String {
    let mut out = Vec::new();
    write(&mut RespWriter::new(&mut out, version));
    out.escape_ascii().to_string()
}

#[test]
fn each_reply_has_its_form_in_each_version() {
    type Write = fn(&mut RespWriter<'_>);
    let cases: [(Write, &str, &str); 20] = [
        (|w| w.ok(), r"+OK\r\n", r"+OK\r\n"),
        (|w| w.simple("PONG"), r"+PONG\r\n", r"+PONG\r\n"),
        (|w| w.error("ERR a\r\nb"), r"-ERR a  b\r\n", r"-ERR a  b\r\n"),
        (|w| w.int(7), r":7\r\n", r":7\r\n"),
        (|w| w.int(-7), r":-7\r\n", r":-7\r\n"),
        (|w| w.int(i64::MIN), r":-9223372036854775808\r\n", r":-9223372036854775808\r\n"),
        (|w| w.bulk(b"a\0b"), r"$3\r\na\x00b\r\n", r"$3\r\na\x00b\r\n"),
        (|w| w.bulk_int(-12), r"$3\r\n-12\r\n", r"$3\r\n-12\r\n"),
        (|w| w.null(), r"$-1\r\n", r"_\r\n"),
        (|w| w.null_array(), r"*-1\r\n", r"_\r\n"),
        (|w| w.array(2), r"*2\r\n", r"*2\r\n"),
        (|w| w.map(2), r"*4\r\n", r"%2\r\n"),
        (|w| w.set(2), r"*2\r\n", r"~2\r\n"),
        (|w| w.push(3), r"*3\r\n", r">3\r\n"),
        (|w| w.bool(true), r":1\r\n", r"#t\r\n"),
        (|w| w.bool(false), r":0\r\n", r"#f\r\n"),
        (|w| w.double(1.5), r"$3\r\n1.5\r\n", r",1.5\r\n"),
        (|w| w.double(f64::NEG_INFINITY), r"$4\r\n-inf\r\n", r",-inf\r\n"),
        (|w| w.big_number("123"), r"$3\r\n123\r\n", r"(123\r\n"),
        (|w| w.verbatim(b"txt", b"hi"), r"$2\r\nhi\r\n", r"=6\r\ntxt:hi\r\n"),
    ];
    for (write, version_2, version_3) in cases {
        assert_eq!(written(Version::V2, write), version_2);
        assert_eq!(written(Version::V3, write), version_3);
    }
    assert_eq!(written(Version::V2, |w| assert!(!w.attribute(1))), "");
    assert_eq!(written(Version::V3, |w| assert!(w.attribute(1))), r"|1\r\n");
}

#[test]
fn headers_from_the_table_equal_headers_from_digits() {
    for len in (0..3000).chain([9_999, 10_000, 99_999, 1 << 20, 512 << 20]) {
        let text = format!(r"*{len}\r\n:{len}\r\n${len}\r\n");
        let all = written(Version::V2, |w| {
            w.array(len);
            w.int(len as i64);
            w.bulk_header(len);
        });
        assert_eq!(all, text);
    }
}

#[test]
fn a_value_may_be_appended_by_its_holder() {
    let text = written(Version::V2, |w| {
        w.bulk_header(5);
        w.out().extend_from_slice(b"value");
        w.bulk_end();
    });
    assert_eq!(text, r"$5\r\nvalue\r\n");
}

#[test]
fn an_open_array_gets_its_length_when_closed() {
    let text = written(Version::V2, |w| {
        w.int(0);
        let outer = w.open_array();
        let inner = w.open_array();
        (0..12).for_each(|number| w.int(number));
        w.close_array(inner, 12);
        w.ok();
        w.close_array(outer, 2);
    });
    let numbers: String = (0..12).map(|number| format!(r":{number}\r\n")).collect();
    assert_eq!(text, format!(r":0\r\n*2\r\n*12\r\n{numbers}+OK\r\n"));
}

#[test]
fn a_bulk_header_alone_is_the_one_that_is_written() {
    for len in 0..10_000 {
        let (bytes, count) = bulk_header(len);
        let header = bytes[..count].escape_ascii().to_string();
        assert_eq!(written(Version::V2, |w| w.bulk_header(len)), header);
        assert_eq!(written(Version::V3, |w| w.bulk_header(len)), header);
    }
}
