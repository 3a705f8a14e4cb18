//! COMMAND LIST with its filters: the names of all commands, their subcommands among them.

use crate::context::Context;
use crate::redis::bits::category;
use crate::redis::error::CommandError;
use crate::redis::glob::{self, Case};
use crate::redis::row::{Call, Outcome, Row};
use crate::redis::table;
use dolium_protocol::resp::Args;

enum Filter<'a> {
    Everything,
    /// No module, no command of one.
    Nothing,
    Category(u32),
    Pattern(&'a [u8]),
}

impl<'a> Filter<'a> {
    fn parse(args: &Args<'a>) -> Result<Self, CommandError> {
        if args.len() == 2 {
            return Ok(Filter::Everything);
        }
        if args.len() != 5 || !args.arg(2).eq_ignore_ascii_case(b"FILTERBY") {
            return Err(CommandError::Syntax);
        }
        let value = args.arg(4);
        match args.arg(3).to_ascii_uppercase().as_slice() {
            b"MODULE" => Ok(Filter::Nothing),
            b"PATTERN" => Ok(Filter::Pattern(value)),
            b"ACLCAT" => {
                let known = |name: &str| value.eq_ignore_ascii_case(name.as_bytes());
                let found = category::NAMES.iter().find(|(_, name)| known(name));
                Ok(found.map_or(Filter::Nothing, |(bit, _)| Filter::Category(*bit)))
            }
            _ => Err(CommandError::Syntax),
        }
    }

    fn holds(&self, row: &Row) -> bool {
        match self {
            Filter::Everything => true,
            Filter::Nothing => false,
            Filter::Category(bit) => row.categories & bit != 0,
            Filter::Pattern(pattern) => glob::matches(pattern, row.name.as_bytes(), Case::Ignored),
        }
    }
}

pub fn list(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let filter = Filter::parse(&call.args)?;
    let chosen: Vec<&Row> = table::ROWS.iter().filter(|row| filter.holds(row)).collect();
    let mut reply = ctx.reply();
    reply.array(chosen.len());
    chosen.iter().for_each(|row| reply.bulk(row.name.as_bytes()));
    Ok(())
}
