//! The closed loop over epoll: who was answered asks again.

use std::hint::black_box;

use super::connection::Connection;
use super::idle;
use super::worker::Worker;
use crate::LabError;
use crate::limits::{DRAIN, READ_BEFORE_ASKING, SILENCE};
use crate::workload::RequestPool;

/// Brings what the connections ask next near, all together: the pool is larger than the caches, and
/// in the sends, one after the other, each request would be waited for by itself.
#[inline]
pub(super) fn fetch_next(connections: &[Connection], answered: &[usize], pool: &RequestPool) {
    let mut ends = 0;
    for &index in answered {
        ends ^= connections[index].next_ends(pool);
    }
    // That the bytes were loaded is what matters, and nobody may find out that it is all.
    black_box(ends);
}

impl Worker<'_> {
    pub fn closed(&mut self, connections: &mut [Connection]) -> Result<(), LabError> {
        for (index, connection) in connections.iter_mut().enumerate() {
            if connection.exhausted() {
                continue;
            }
            let now = self.shared.clock.now();
            let blocked = connection.ask(self.shared.pool, now, now)?;
            self.poller.want_write(connection, index, false, blocked)?;
            self.turns_outstanding += 1;
        }
        let mut stop_at = u64::MAX;
        let mut answered = Vec::with_capacity(READ_BEFORE_ASKING);
        while self.turns_outstanding > 0 {
            let (clock, gauge, poller) = (&self.shared.clock, self.gauge, &mut self.poller);
            let events = match self.shared.spec.spins {
                true => idle::spin(clock, gauge, || poller.look())?,
                false => poller.wait(SILENCE.as_secs())?,
            };
            let is_stopping = self.shared.is_stopping();
            if is_stopping && stop_at == u64::MAX {
                stop_at = self.shared.clock.now() + DRAIN.as_nanos() as u64;
            }
            if events == 0 {
                return Err(LabError::Silent { seconds: SILENCE.as_secs() });
            }
            for event in 0..events {
                let (index, readable, writable) = self.poller.event(event);
                let connection = &mut connections[index];
                if writable && !connection.flush(self.shared.pool)? {
                    self.poller.want_write(connection, index, true, false)?;
                }
                if readable && self.receive_closed(connection)? {
                    if is_stopping || connection.exhausted() {
                        self.turns_outstanding -= 1;
                    } else {
                        answered.push(index);
                    }
                }
                if answered.len() == READ_BEFORE_ASKING || event + 1 == events {
                    fetch_next(connections, &answered, self.shared.pool);
                    for index in answered.drain(..) {
                        let connection = &mut connections[index];
                        let now = if connection.timed { self.shared.clock.now() } else { 0 };
                        if connection.ask(self.shared.pool, now, now)? {
                            self.poller.want_write(connection, index, false, true)?;
                        }
                    }
                }
            }
            if stop_at != u64::MAX && self.shared.clock.now() > stop_at {
                self.give_up(connections);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads what has come; returns whether all requests of the connection are answered now.
    #[inline]
    fn receive_closed(&mut self, connection: &mut Connection) -> Result<bool, LabError> {
        let mut done = None;
        loop {
            let got = connection.receive(
                self.shared.pool,
                &mut self.arrivals,
                &mut self.buffer,
                self.shared.spec.verify,
                |turn, at| done = Some((turn, at)),
            )?;
            self.note(&got);
            if !got.more {
                break;
            }
        }
        let Some((turn, at)) = done else { return Ok(false) };
        self.keep(connection.timed, turn, at);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use crate::generator::{LoadSpec, Target, run};
    use crate::workload::{Distribution, Mix, Protocol, RequestPool, Workload};

    const WINDOW: Duration = Duration::from_millis(250);
    const STANDING: Duration = Duration::from_millis(400);

    /// Answers that nothing was found, on each connection for the first time after so long.
    fn answer(mut stream: TcpStream) {
        let mut chunk = [0; 4096];
        let mut pause = STANDING;
        while let Ok(1..) = stream.read(&mut chunk) {
            thread::sleep(pause);
            pause = Duration::ZERO;
            if stream.write_all(b"$-1\r\n").is_err() {
                return;
            }
        }
    }

    /// A store that stands still at the end of a turn answers after it: by when replies come, none of
    /// the longest waits would be seen. Over calls, and over a ring where the kernel has one.
    #[test]
    fn what_was_asked_in_the_window_is_timed_also_when_the_reply_comes_after_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                thread::spawn(move || answer(stream.unwrap()));
            }
        });
        let gets = Workload {
            protocol: Protocol::Resp,
            mix: Mix::Get,
            keys: 100,
            key_bytes: 16.into(),
            value_bytes: 64.into(),
            distribution: Distribution::Uniform,
            ttl: 0,
            seed: 1,
        };
        let pool = RequestPool::build(&gets).unwrap();
        for (connections, timed) in [(3, 3), (50, 5)] {
            let spec = LoadSpec { connections, window: WINDOW, ..LoadSpec::plain(target.clone()) };
            let report = run(&spec, &pool).unwrap();
            assert_eq!(report.latency.len(), timed, "of {connections} connections");
            assert!(report.latency.min() >= 390_000_000, "{} ns", report.latency.min());
            // What came after the window is none of its operations and none of its misses.
            assert_eq!((report.operations, report.reads, report.misses), (0, 0, 0));
            assert_eq!((report.all_operations, report.unanswered), (connections as u64, 0));
        }
    }
}
