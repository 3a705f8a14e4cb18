//! Many commands at once: they go together, and their replies come together.
//!
//! ```text
//!   SET a 1 | SET b 2 | INCR n  -->          each answered in its order
//!                               <-- OK | OK | 3
//!   MULTI | SET a 1 | EXEC | GET a           in parts: MULTI, then SET and EXEC, then GET. Where a command
//!                                            runs must be known before it is sent (`standing.rs`)
//! ```
//! A part is no longer than [`BATCH_BYTES`] and a command, whatever the batch: that is what it takes here.

use crate::channel::Channel;
use crate::error::Error;
use crate::limits::BATCH_BYTES;
use crate::pairs::name_of_one_that_answers;
use crate::standing::decides;
use crate::store::Store;
use dolium_protocol::resp::Value;
use std::time::{Duration, Instant};

impl Store {
    /// Has the server execute many commands, and returns their replies in the same order. It is the
    /// faster way to write much: each is sent before those before it are answered.
    ///
    /// Each is as if it were given to [`Store::execute`] by itself: one that the server refuses has an error
    /// for its reply, and those behind it are executed all the same. It is no transaction; MULTI and EXEC
    /// among them make one. If there is a [time limit](Store::with_time_limit), it is of all together.
    ///
    /// # Errors
    /// A command that cannot be executed at all (see [`Error::NotARequest`]) is found before any is
    /// sent, except SELECT and those of another database's transaction, which are found when those
    /// before them have been executed. After any other error it is not known which have been.
    pub fn execute_many<'a>(
        &self,
        commands: &[impl AsRef<[&'a [u8]]>],
    ) -> Result<Vec<Value>, Error> {
        for command in commands {
            name_of_one_that_answers(command.as_ref())?;
        }
        self.channel()?.execute_many(self.number(), commands, self.time_limit())
    }
}

impl Channel {
    fn execute_many<'a>(
        &mut self,
        db: u16,
        commands: &[impl AsRef<[&'a [u8]]>],
        limit: Option<Duration>,
    ) -> Result<Vec<Value>, Error> {
        let deadline = self.begin(limit)?;
        let mut replies = Vec::with_capacity(commands.len());
        while let Some(rest) = commands.get(replies.len()..).filter(|rest| !rest.is_empty()) {
            replies.extend(self.execute_part(db, rest, deadline)?);
        }
        Ok(replies)
    }

    /// As many as go together.
    fn execute_part<'a>(
        &mut self,
        db: u16,
        commands: &[impl AsRef<[&'a [u8]]>],
        deadline: Option<Instant>,
    ) -> Result<Vec<Value>, Error> {
        self.select_for(db, name(commands, 0), deadline)?;
        let mut count = 0;
        for at in 0..commands.len() {
            // One that is refused here ends the part; it is the next one's first.
            if self.standing.needs_select(db, name(commands, at)).is_err() {
                break;
            }
            count += 1;
            if self.write(commands[at].as_ref()) >= BATCH_BYTES || decides(name(commands, at)) {
                break;
            }
        }
        let replies = self.answers(count, deadline)?;
        for (at, reply) in replies.iter().enumerate() {
            self.standing.note(db, name(commands, at), reply);
        }
        Ok(replies)
    }
}

fn name<'a>(commands: &[impl AsRef<[&'a [u8]]>], at: usize) -> &'a [u8] {
    commands[at].as_ref()[0]
}
