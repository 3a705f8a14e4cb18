//! The lines of CLIENT LIST, from the cards.

use crate::clients::{Card, NO_COMMAND};
use crate::clock;
use crate::server::Server;
use dolium_commands::connection::{ClientState, gate};
use dolium_commands::host::{ClientKind, ClientView};
use dolium_commands::redis::table::ROWS;
use std::sync::atomic::Ordering::Relaxed;

impl Server {
    pub(super) fn visit_clients(&self, me: &ClientState, visit: &mut dyn FnMut(&ClientView)) {
        let now = clock::unix_ms();
        for card in self.clients.all() {
            if card.id == me.id {
                // One's own card is as old as one's last turn.
                card.describe(me);
                card.touch(me, now);
            }
            show(&card, now, me.gate & gate::MULTI != 0 && card.id == me.id, visit);
        }
    }
}

fn show(card: &Card, now: u64, is_in_multi: bool, visit: &mut dyn FnMut(&ClientView)) {
    let names = card.names().clone();
    let multi = card.multi.load(Relaxed);
    let is_subscribed = card.is_subscribed();
    let mut flags = String::new();
    for (is_so, letter) in [
        (is_subscribed, 'P'),
        (multi >= 0 || is_in_multi, 'x'),
        (card.held.load(Relaxed), 'b'),
        (card.is_dirty(), 'd'),
        (card.no_evict.load(Relaxed), 'e'),
        (card.addr.starts_with('/'), 'U'),
    ] {
        if is_so {
            flags.push(letter);
        }
    }
    if flags.is_empty() {
        flags.push('N');
    }
    let command = card.command.load(Relaxed);
    let output = card.output_bytes.load(Relaxed) as usize;
    visit(&ClientView {
        id: card.id,
        addr: &card.addr,
        laddr: &card.laddr,
        fd: card.fd,
        name: &names.name,
        lib_name: &names.lib_name,
        lib_ver: &names.lib_ver,
        user: b"default",
        age_s: now.saturating_sub(card.since_ms) / 1000,
        idle_s: now.saturating_sub(card.last_ms.load(Relaxed)) / 1000,
        flags: &flags,
        db: card.db.load(Relaxed),
        channels: card.channels.load(Relaxed) as usize,
        patterns: card.patterns.load(Relaxed) as usize,
        multi,
        watch: card.watched.load(Relaxed) as usize,
        query_buffer_bytes: card.query_bytes.load(Relaxed) as usize,
        query_buffer_free: card.query_free.load(Relaxed) as usize,
        argument_bytes: 0,
        multi_bytes: card.multi_bytes.load(Relaxed) as usize,
        reply_buffer_bytes: 0,
        reply_buffer_peak: 0,
        output_buffer_bytes: 0,
        output_list_len: usize::from(output > 0),
        output_list_bytes: output,
        total_bytes: card.buffer_bytes.load(Relaxed) as usize + std::mem::size_of::<Card>(),
        events: if output > 0 { "rw" } else { "r" },
        command: match command {
            NO_COMMAND => "NULL",
            id => ROWS.get(usize::from(id)).map_or("NULL", |row| row.name),
        },
        resp: card.resp.load(Relaxed),
        kind: if is_subscribed { ClientKind::PubSub } else { ClientKind::Normal },
    });
}
