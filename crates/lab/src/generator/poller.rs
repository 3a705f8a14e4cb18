//! What a generator's thread waits with: an epoll over its connections.

use std::os::fd::OwnedFd;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::connection::Connection;
use crate::LabError;
use crate::limits::EVENTS_PER_WAIT;

/// What every connection is watched for.
const READS: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::ET);

/// Edge-triggered epoll over the connections of one thread: the kernel looks at a connection when
/// something came, and not once more to find that all of it was read.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    pub(super) fn new(connections: &[Connection]) -> Result<Self, LabError> {
        let failed = |error| LabError::system("watch the connections", error);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        for (index, connection) in connections.iter().enumerate() {
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&epoll, connection.link.socket(), data, READS).map_err(failed)?;
        }
        let none =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        Ok(Self { epoll, events: vec![none; EVENTS_PER_WAIT] })
    }

    /// Waits at most `seconds`; returns how many events came.
    #[inline]
    pub(super) fn wait(&mut self, seconds: u64) -> Result<usize, LabError> {
        let timeout = Timespec { tv_sec: seconds as i64, tv_nsec: 0 };
        loop {
            match epoll::wait(&self.epoll, &mut self.events[..], Some(&timeout)) {
                Ok(count) => return Ok(count),
                // Stopped and continued, or traced: that is not the store's silence.
                Err(Errno::INTR) => {}
                Err(error) => return Err(LabError::system("wait for replies", error)),
            }
        }
    }

    /// Returns how many events have come, without waiting for any.
    #[inline]
    pub(super) fn look(&mut self) -> Result<usize, LabError> {
        self.wait(0)
    }

    /// Connection number of an event, and what it allows.
    #[inline]
    pub(super) fn event(&self, number: usize) -> (usize, bool, bool) {
        let event = self.events[number];
        let flags = event.flags;
        // An error or a hang-up shows itself to the read.
        let readable = flags
            .intersects(epoll::EventFlags::IN | epoll::EventFlags::ERR | epoll::EventFlags::HUP);
        (event.data.u64() as usize, readable, flags.contains(epoll::EventFlags::OUT))
    }

    /// Asks to be told when a full socket takes bytes again, or no longer.
    #[inline]
    pub(super) fn want_write(
        &self,
        connection: &Connection,
        index: usize,
        was: bool,
        is: bool,
    ) -> Result<(), LabError> {
        if was == is {
            return Ok(());
        }
        let flags = if is { READS | epoll::EventFlags::OUT } else { READS };
        let data = epoll::EventData::new_u64(index as u64);
        epoll::modify(&self.epoll, connection.link.socket(), data, flags)
            .map_err(|error| LabError::system("watch a connection", error))
    }
}
