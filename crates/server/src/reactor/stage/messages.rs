//! Messages to a subscriber whose requests run.
//!
//! ```text
//!   P: PUBLISH c m -> :1     S: PING           message, +PONG
//!                            S: UNSUBSCRIBE c  message, confirmation
//! ```
//! S asks only when P has been answered: for S the message is older than its request. But it lies in the mailbox of
//! S' thread, which may have begun its round before. So it is looked for before the requests of a subscriber
//! run, and once more around each that ends subscriptions or changes the form of messages, for the client itself may
//! have published just before. Keyspace notifications are announced by whoever wrote, after its reply; here
//! that is not waited for.
//!
//! Who has no subscriptions pays nothing for this.

use super::Stage;
use crate::connection::Connection;
use crate::mailbox::take_messages;
use dolium_protocol::resp::Version;

impl Stage<'_> {
    /// What has been sent to the connection so far goes before what it is answered next.
    #[cold]
    pub fn take_messages(&mut self, connection: &mut Connection) {
        if !connection.hears_others() {
            return;
        }
        self.server.announce_changes();
        self.post.take(self.mail);
        let version = connection.client.resp;
        let out = &mut *self.out;
        take_messages(self.mail, connection.token, |_| true, |message| message.write(version, out));
        if self.is_much(connection) {
            self.send_early(connection);
        }
    }

    /// A command whose reply begins at `start` may have ended subscriptions. From then on nothing comes by them: what
    /// has come since it began goes before its reply, in the form that was in force.
    #[cold]
    pub fn take_last_messages(
        &mut self,
        connection: &mut Connection,
        start: usize,
        version: Version,
    ) {
        self.post.take(self.mail);
        let mut last = Vec::new();
        let client = &connection.client;
        take_messages(
            self.mail,
            connection.token,
            |message| !message.is_for(client),
            |message| message.write(version, &mut last),
        );
        self.out.splice(start..start, last);
    }
}
