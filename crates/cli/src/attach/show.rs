//! A reply as people know it from redis-cli.

use dolium_attach::Value;

/// The reply's text, without a line end.
pub fn reply(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text
}

fn write(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Simple(bytes) | Value::BigNumber(bytes) => push(bytes, text),
        Value::Error(bytes) => {
            text.push_str("(error) ");
            push(bytes, text);
        }
        Value::Int(n) => text.push_str(&format!("(integer) {n}")),
        Value::Double(n) => text.push_str(&format!("(double) {n}")),
        Value::Bool(truth) => text.push_str(if *truth { "(true)" } else { "(false)" }),
        Value::Bulk(bytes) => {
            text.push('"');
            text.push_str(&bytes.escape_ascii().to_string().replace("\\'", "'"));
            text.push('"');
        }
        // Text that is meant to be shown as it is. In RESP2 it is a `Bulk`, see `texts`.
        Value::Verbatim(_, bytes) => push(bytes, text),
        Value::Null => text.push_str("(nil)"),
        Value::Array(values) | Value::Set(values) | Value::Push(values) => {
            list(values.iter(), indent, text);
        }
        Value::Map(pairs) => {
            list(pairs.iter().flat_map(|(key, value)| [key, value]), indent, text);
        }
        Value::Attributed(_, value) => write(value, indent, text),
    }
}

fn push(bytes: &[u8], text: &mut String) {
    text.push_str(&String::from_utf8_lossy(bytes));
}

fn list<'a>(values: impl Iterator<Item = &'a Value>, indent: usize, text: &mut String) {
    let values: Vec<&Value> = values.collect();
    if values.is_empty() {
        return text.push_str("(empty array)");
    }
    let width = values.len().to_string().len();
    for (n, value) in values.iter().enumerate() {
        if n > 0 {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
        }
        text.push_str(&format!("{:>width$}) ", n + 1));
        write(value, indent + width + 2, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_lists_are_indented_and_bytes_are_escaped() {
        let inner = Value::Array(vec![Value::Int(1), Value::Null]);
        let value = Value::Array(vec![Value::Bulk(b"it's\n\xff".to_vec()), inner]);
        assert_eq!(reply(&value), "1) \"it's\\n\\xff\"\n2) 1) (integer) 1\n   2) (nil)");
        assert_eq!(reply(&Value::Array(vec![])), "(empty array)");
        assert_eq!(reply(&Value::Error(b"ERR no".to_vec())), "(error) ERR no");
    }
}
