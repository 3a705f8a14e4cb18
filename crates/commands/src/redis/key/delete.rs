//! DEL and UNLINK.

use crate::context::Context;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Event;

pub fn del(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let db = ctx.db();
    let mut removed = 0;
    if call.args.len() == 2 {
        let key = call.key();
        removed += i64::from(ctx.session.write(db, &key, ctx.now).remove(db, &key, Event::Del));
    } else {
        let keys: Vec<_> = call.args.from(1).iter().map(|bytes| ctx.key(bytes)).collect();
        let places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
        let mut guard = ctx.session.write_many(&places, ctx.now);
        for key in &keys {
            removed += i64::from(guard.remove(db, key, Event::Del));
        }
    }
    ctx.reply().int(removed);
    Ok(())
}
