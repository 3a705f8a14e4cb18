//! LCS: the longest common subsequence of two strings.
//!
//! The textbook's table of lengths is filled row by row and only two rows are kept. What the walk
//! back needs of the rest is, for each pair of different bytes, which neighbour was longer: one
//! bit a cell, a thirty-second of what the table itself would take.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Kind;
use dolium_protocol::resp::{Args, RespWriter};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Options {
    len: bool,
    idx: bool,
    with_match_len: bool,
    /// Shorter matches are not listed.
    match_len_min: i64,
}

impl Options {
    fn parse(args: &Args<'_>) -> Result<Self, CommandError> {
        let mut options = Options::default();
        let mut i = 3;
        while i < args.len() {
            let word = args.arg(i);
            if word.eq_ignore_ascii_case(b"IDX") {
                options.idx = true;
            } else if word.eq_ignore_ascii_case(b"LEN") {
                options.len = true;
            } else if word.eq_ignore_ascii_case(b"WITHMATCHLEN") {
                options.with_match_len = true;
            } else if word.eq_ignore_ascii_case(b"MINMATCHLEN") && i + 1 < args.len() {
                i += 1;
                options.match_len_min = integer(args.arg(i))?.max(0);
            } else {
                return Err(CommandError::Syntax);
            }
            i += 1;
        }
        if options.len && options.idx {
            return Err(CommandError::Sentence(
                "If you want both the length and indexes, please just use IDX.",
            ));
        }
        Ok(options)
    }
}

pub fn lcs(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let keys = [call.key(), ctx.key(call.args.arg(2))];
    let (mut values, mut split) = (Vec::new(), 0);
    let mut are_strings = [true; 2];
    // Called for the second key when all of the first one's value is there.
    ctx.session.get_many(ctx.client.db, &keys, ctx.now, &mut values, |i, found, out| {
        are_strings[i] = found.is_none_or(|found| found.kind == Kind::String);
        if i == 1 {
            split = out.len();
        }
    });
    if are_strings.contains(&false) {
        return Err(CommandError::Sentence("The specified keys must contain string values"));
    }
    let options = Options::parse(&call.args)?;
    let (a, b) = values.split_at(split);
    let cells = (a.len() as u64 + 1).saturating_mul(b.len() as u64 + 1);
    // Of the textbook's table, as in Redis, although less is kept here.
    if cells.saturating_mul(size_of::<u32>() as u64) > ctx.host.string_bytes_max() as u64 {
        return Err(CommandError::Sentence(
            "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        ));
    }
    let table = Table::fill(a, b);
    if options.len {
        ctx.reply().int(i64::from(table.len));
        return Ok(());
    }
    let (common, matches) = table.walk_back(a, b);
    let mut reply = ctx.reply();
    if options.idx {
        reply_matches(&mut reply, &matches, options, table.len);
    } else {
        reply.bulk(&common);
    }
    Ok(())
}

/// Equal stretches, from the last to the first: where they begin in each string, and how long.
struct Match {
    a: usize,
    b: usize,
    len: usize,
}

fn reply_matches(reply: &mut RespWriter<'_>, matches: &[Match], options: Options, len: u32) {
    let listed = || matches.iter().filter(|m| m.len as i64 >= options.match_len_min);
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(listed().count());
    for found in listed() {
        reply.array(if options.with_match_len { 3 } else { 2 });
        for start in [found.a, found.b] {
            reply.array(2);
            reply.int(start as i64);
            reply.int((start + found.len - 1) as i64);
        }
        if options.with_match_len {
            reply.int(found.len as i64);
        }
    }
    reply.bulk(b"len");
    reply.int(i64::from(len));
}

/// Length of the subsequence, and for each cell whether the way back goes up (to a shorter `a`).
struct Table {
    len: u32,
    up: Vec<u64>,
}

impl Table {
    fn fill(a: &[u8], b: &[u8]) -> Table {
        let mut up = vec![0u64; (a.len() * b.len()).div_ceil(64)];
        let mut above = vec![0u32; b.len() + 1];
        let mut row = vec![0u32; b.len() + 1];
        for (i, from_a) in a.iter().enumerate() {
            for (j, from_b) in b.iter().enumerate() {
                row[j + 1] = if from_a == from_b {
                    above[j] + 1
                } else {
                    if above[j + 1] > row[j] {
                        let cell = i * b.len() + j;
                        up[cell / 64] |= 1 << (cell % 64);
                    }
                    above[j + 1].max(row[j])
                };
            }
            std::mem::swap(&mut above, &mut row);
        }
        Table { len: above[b.len()], up }
    }

    fn goes_up(&self, cell: usize) -> bool {
        self.up[cell / 64] >> (cell % 64) & 1 == 1
    }

    fn walk_back(&self, a: &[u8], b: &[u8]) -> (Vec<u8>, Vec<Match>) {
        let (mut common, mut matches) = (Vec::new(), Vec::<Match>::new());
        let (mut i, mut j) = (a.len(), b.len());
        while i > 0 && j > 0 {
            if a[i - 1] == b[j - 1] {
                common.push(a[i - 1]);
                match matches.last_mut() {
                    // Goes on to the left of the stretch that is being collected.
                    Some(last) if last.a == i && last.b == j => {
                        *last = Match { a: i - 1, b: j - 1, len: last.len + 1 };
                    }
                    _ => matches.push(Match { a: i - 1, b: j - 1, len: 1 }),
                }
                (i, j) = (i - 1, j - 1);
            } else if self.goes_up((i - 1) * b.len() + (j - 1)) {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        common.reverse();
        (common, matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(a: &str, b: &str) -> (String, Vec<(usize, usize, usize)>) {
        let table = Table::fill(a.as_bytes(), b.as_bytes());
        let (common, matches) = table.walk_back(a.as_bytes(), b.as_bytes());
        assert_eq!(common.len(), table.len as usize);
        let matches = matches.iter().map(|m| (m.a, m.b, m.len)).collect();
        (String::from_utf8(common).unwrap(), matches)
    }

    #[test]
    fn finds_what_redis_finds() {
        assert_eq!(solve("ohmytext", "mynewtext"), ("mytext".into(), vec![(4, 5, 4), (2, 0, 2)]));
        assert_eq!(solve("", "abc"), (String::new(), vec![]));
        assert_eq!(solve("abc", "xyz"), (String::new(), vec![]));
        assert_eq!(solve("aaa", "aa"), ("aa".into(), vec![(1, 0, 2)]));
    }
}
