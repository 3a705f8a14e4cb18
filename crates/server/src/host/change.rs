//! What a change of parameters (CONFIG SET) brings with it. What can be refused is tried before anything
//! changes: certificates, memory for notifications, descriptors, ports.

use crate::config::SetFailure;
use crate::config::table::position;
use crate::doors::open_ports;
use crate::limits::{BACKLOG_DEFAULT, JOURNAL_BYTES, JOURNAL_SLACK_BYTES};
use crate::listener::{Door, Listener};
use crate::mailbox::Mail;
use crate::process::{clients_within, raise_descriptors_for};
use crate::server::Server;
use crate::tls;
use std::sync::atomic::Ordering::Relaxed;

impl Server {
    /// What TLS listeners go on with, if a `tls-*` directive is named, be it with its old value: the
    /// file may be another. Connections keep what they began with.
    pub(super) fn read_secured(
        &self,
        pairs: &[(&str, &str)],
        values: &[String],
    ) -> Result<Option<tls::Current>, SetFailure> {
        let is_named = |(name, _): &&(&str, &str)| name.to_ascii_lowercase().starts_with("tls-");
        let Some((name, _)) = pairs.iter().find(is_named) else { return Ok(None) };
        if self.tls.is_none() || self.config.memcached.is_some() {
            return Ok(None);
        }
        tls::Current::read(tls::Settings::of(values)).map(Some).map_err(|reason| {
            tracing::warn!(reason, "CONFIG SET {name}");
            SetFailure::Refused { name: (*name).into(), reason }
        })
    }

    /// Takes the memory for keyspace notifications, if they are asked for. Refused where there is none
    /// and nothing may go for it: who is told that they are on is to get them.
    pub(super) fn ask_for_notifications(
        &self,
        pairs: &[(&str, &str)],
        values: &[String],
    ) -> Result<(), SetFailure> {
        let value = |name| position(name).map_or("", |at| values[at].as_str());
        let is_named = |name: &str| pairs.iter().any(|(named, _)| named.eq_ignore_ascii_case(name));
        let limit = self.memory_limit(value("maxmemory").parse().unwrap_or(0));
        let has_place = limit == 0 || limit > JOURNAL_BYTES + JOURNAL_SLACK_BYTES;
        // Where any key may go, housekeeping sees to it; with another limit it is another matter. Below what
        // they take, nothing that goes makes room for them: either there is room now, or there is none.
        let may_come = has_place
            && (value("maxmemory-policy").starts_with("allkeys") || is_named("maxmemory"));
        let name = "notify-keyspace-events";
        if !is_named(name) || may_come || self.notifier.can_follow(&self.engine, value(name)) {
            return Ok(());
        }
        let reason = match has_place {
            true => "there is no memory for them: they take 16 MiB of 'maxmemory'",
            false => {
                "'maxmemory' is too small for them: they take 16 MiB of it, and 2 MiB to make room"
            }
        };
        Err(SetFailure::Refused { name: name.into(), reason: reason.into() })
    }

    /// Raises the limit on descriptors for as many clients as there may be from now on. Refused where the
    /// system allows fewer: who came then would be neither served nor told why.
    pub(super) fn make_place_for_clients(&self, pairs: &[(&str, &str)]) -> Result<(), SetFailure> {
        let is_named = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("maxclients");
        let Some((name, wanted)) = pairs.iter().find(is_named) else { return Ok(()) };
        let wanted = wanted.parse().unwrap_or(0);
        let fits = clients_within(raise_descriptors_for(wanted, self.posts.len()));
        if fits >= wanted {
            return Ok(());
        }
        let reason = format!(
            "The operating system is not able to handle the specified number of clients, try with \
             {fits}"
        );
        Err(SetFailure::Refused { name: (*name).into(), reason })
    }

    /// Listens on another port for Redis clients, if the new values say so. Clients stay.
    pub(super) fn rebind(&self, values: &[String]) -> Result<(), SetFailure> {
        let value = |name| position(name).map_or("", |at| values[at].as_str());
        let port: u16 = value("port").parse().unwrap_or(0);
        if port == self.port.load(Relaxed) {
            return Ok(());
        }
        let threads = self.posts.len();
        let backlog = value("tcp-backlog").parse().unwrap_or(BACKLOG_DEFAULT as i32);
        let mut shares: Vec<Vec<Listener>> = (0..threads).map(|_| Vec::new()).collect();
        if port != 0 {
            let doors = open_ports(value("bind"), Door::Redis, "--port", port, threads, backlog)
                .map_err(|failure| {
                    tracing::warn!(%failure, "CONFIG SET port");
                    SetFailure::Refused {
                        name: "port".into(),
                        reason: "Unable to listen on this port. Check server logs.".into(),
                    }
                })?;
            for listeners in doors {
                for (share, listener) in shares.iter_mut().zip(listeners) {
                    share.push(listener);
                }
            }
        }
        for (post, listeners) in self.posts.iter().zip(shares) {
            post.post(Mail::Relisten { door: Door::Redis, listeners });
        }
        self.port.store(port, Relaxed);
        Ok(())
    }

    /// What a change of parameters brings with it.
    pub(super) fn after_config(&self, changed: &[&'static str]) {
        self.apply_config();
        self.warn_of_caveats(changed);
        if changed.contains(&"loglevel") {
            crate::logging::set_level(&self.config.get("loglevel"));
        }
        if changed.contains(&"slowlog-max-len") {
            self.slowlog.shorten(self.config.live.slowlog_max_len.load(Relaxed) as usize);
        }
        if changed.contains(&"dir") {
            self.config.store_dir();
        }
        tracing::info!(?changed, "configuration changed");
    }
}
