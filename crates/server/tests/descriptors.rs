//! CONFIG SET maxclients beyond what the system lets this process open. Alone in its file: the limit is
//! of the whole process, and is not raised again.

#[allow(dead_code)]
mod door;

use door::House;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn limit(current: u64, maximum: u64) {
    let limit = Rlimit { current: Some(current), maximum: Some(maximum) };
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// It was answered OK, and who came when all descriptors were taken heard nothing at all.
#[test]
fn as_many_clients_may_be_chosen_as_there_are_descriptors_for() {
    limit(256, 512);
    let house = House::open(&["maxclients 50"]);
    let mut client = house.client();
    client.ask("CONFIG SET maxclients 400\r\n", "+OK\r\n");
    assert!(getrlimit(Resource::Nofile).current >= Some(400 + 64), "the limit goes up with it");
    client.ask(
        "CONFIG SET timeout 7 MaxClients 2000\r\n",
        "-ERR CONFIG SET failed (possibly related to argument 'MaxClients') - The operating system \
         is not able to handle the specified number of clients, try with 448\r\n",
    );
    client.ask("CONFIG GET maxclients\r\n", "*2\r\n$10\r\nmaxclients\r\n$3\r\n400\r\n");
    client.ask("CONFIG GET timeout\r\n", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
    client.ask("CONFIG SET maxclients 448\r\n", "+OK\r\n");
}
