//! Running one case: an empty server, fresh connections, step after step.

use super::case::{Case, Door, Step};
use super::connection::Connection;
use crate::Result;
use crate::servers::Server;
use std::collections::BTreeMap;

pub fn run(case: &Case, folder: &str, server: &Server) -> Result<()> {
    empty(server)?;
    let mut connections: BTreeMap<Door, Connection> = BTreeMap::new();
    for step in &case.steps {
        match step {
            Step::Sleep(time) => std::thread::sleep(*time),
            Step::Exchange { line, door, send, expect } => {
                let mut door = door.clone();
                if door.protocol.is_empty() {
                    door.protocol = folder.to_string();
                }
                exchange(&mut connections, server, &door, send, expect)
                    .map_err(|why| format!("line {line}: {why}"))?;
            }
        }
    }
    for (door, connection) in &mut connections {
        connection
            .finish(&door.protocol)
            .map_err(|why| format!("connection {door:?} got more than was expected: {why}"))?;
    }
    Ok(())
}

fn exchange(
    connections: &mut BTreeMap<Door, Connection>,
    server: &Server,
    door: &Door,
    send: &[String],
    expect: &[String],
) -> Result<()> {
    if !connections.contains_key(door) {
        let port = match door.protocol.as_str() {
            "redis" => server.redis_port,
            "memcache" => server.memcached_port,
            "http" => server.http_port,
            other => return Err(format!("{other} is no protocol")),
        };
        connections.insert(door.clone(), Connection::open(port)?);
    }
    let connection = connections.get_mut(door).ok_or("no connection")?;
    match door.protocol.as_str() {
        "redis" => connection.redis(send, expect),
        "memcache" => connection.memcache(send, expect),
        _ => connection.http(send, expect),
    }
}

/// Every case starts from an empty server.
fn empty(server: &Server) -> Result<()> {
    let one = |text: &str| vec![text.to_string()];
    if server.redis_port != 0 {
        Connection::open(server.redis_port)?.redis(&one("FLUSHALL"), &one("+OK"))
    } else {
        Connection::open(server.memcached_port)?.memcache(&one("flush_all"), &one("OK"))
    }
}
