//! LPOS: where a list has an element.

use crate::context::Context;
use crate::packed::list::List;
use crate::redis::collection::read;
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Kind;
use dolium_protocol::resp::{Args, RespWriter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Options {
    /// Matches to pass over, plus one.
    rank: u64,
    from_back: bool,
    /// Redis 7.0 negates the least of all ranks, which stays what it is: no match is passed over, and
    /// however many are found, they are not yet as many as were asked for.
    is_least: bool,
    /// How many to answer with, 0 for all; `None`: one, not in an array.
    count: Option<usize>,
    /// Elements to compare, 0 for all.
    max_len: usize,
}

impl Options {
    fn parse(args: &Args<'_>) -> Result<Self, CommandError> {
        let (from_back, is_least) = (false, false);
        let mut options = Options { rank: 1, from_back, is_least, count: None, max_len: 0 };
        let mut i = 3;
        while i < args.len() {
            let (word, value) = (args.arg(i), args.get(i + 1).ok_or(CommandError::Syntax)?);
            let positive = |sentence| {
                let refused = CommandError::Sentence(sentence);
                usize::try_from(integer(value).map_err(|_| refused.clone())?).map_err(|_| refused)
            };
            if word.eq_ignore_ascii_case(b"RANK") {
                let rank = integer(value)?;
                if rank == 0 {
                    return Err(CommandError::Sentence(
                        "RANK can't be zero: use 1 to start from the first match, 2 from the \
                         second ... or use negative to start from the end of the list",
                    ));
                }
                (options.rank, options.from_back) = (rank.unsigned_abs(), rank < 0);
                options.is_least = rank == i64::MIN;
            } else if word.eq_ignore_ascii_case(b"COUNT") {
                options.count = Some(positive("COUNT can't be negative")?);
            } else if word.eq_ignore_ascii_case(b"MAXLEN") {
                options.max_len = positive("MAXLEN can't be negative")?;
            } else {
                return Err(CommandError::Syntax);
            }
            i += 2;
        }
        Ok(options)
    }
}

pub fn lpos(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let options = Options::parse(&call.args)?;
    let (version, element) = (ctx.client.resp, call.args.arg(2));
    read(ctx, &call.key(), Kind::List, |packed, out| {
        let mut positions = Vec::new();
        if let Some(packed) = &packed {
            let list = List::open(packed);
            let most = if options.max_len == 0 { usize::MAX } else { options.max_len };
            let wanted = match options.count {
                None => 1,
                Some(0) => usize::MAX,
                Some(_) if options.is_least => usize::MAX,
                Some(count) => count,
            };
            let passed_over = if options.is_least { 0 } else { options.rank - 1 };
            let rank = usize::try_from(passed_over).unwrap_or(usize::MAX);
            if options.from_back {
                let equal = list.iter_back().take(most).enumerate();
                let equal = equal.filter(|(_, span)| span.is(packed, element));
                let last = list.len().saturating_sub(1);
                let found = equal.skip(rank).take(wanted).map(|(i, _)| last.saturating_sub(i));
                positions.extend(found);
            } else {
                let equal = list.iter().take(most).enumerate();
                let equal = equal.filter(|(_, span)| span.is(packed, element));
                positions.extend(equal.skip(rank).take(wanted).map(|(i, _)| i));
            }
        }
        let mut reply = RespWriter::new(out, version);
        match options.count {
            None => match positions.first() {
                Some(position) => reply.int(*position as i64),
                None => reply.null(),
            },
            Some(_) => {
                reply.array(positions.len());
                positions.iter().for_each(|position| reply.int(*position as i64));
            }
        }
    })?;
    Ok(())
}
