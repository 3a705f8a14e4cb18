//! Lists and sets through whole commands, held against the standard library's, and without memory.

mod conversation;
mod host;

use conversation::Conversation;
use std::collections::{BTreeSet, VecDeque};

pub const NOW: u64 = 1_700_000_000_000;

/// A small generator: the same choices every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

/// The bulk strings of a reply, in order.
fn elements(reply: &str) -> Vec<String> {
    let mut lines = reply.split("\r\n");
    let mut elements = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with('$') && line != "$-1" {
            elements.extend(lines.next().map(str::to_owned));
        }
    }
    elements
}

#[test]
fn lists_agree_with_deques() {
    let mut client = Conversation::begin();
    let mut random = Random(1);
    let mut models: Vec<VecDeque<String>> = vec![VecDeque::new(); 3];
    for step in 0..6_000 {
        let at = random.below(3);
        let (model, key) = (&mut models[at], format!("l{at}"));
        let element = format!("{step}{}", "x".repeat([0, 0, 20, 260][random.below(4)]));
        let some = random.below(model.len().max(1));
        match random.below(10) {
            0 | 1 => {
                model.push_back(element.clone());
                let len = model.len();
                assert_eq!(client.ask(&format!("RPUSH {key} {element}")), format!(":{len}\r\n"));
            }
            2 | 3 => {
                model.push_front(element.clone());
                let len = model.len();
                assert_eq!(client.ask(&format!("LPUSH {key} {element}")), format!(":{len}\r\n"));
            }
            4 => {
                let popped: Vec<_> = (0..2).map_while(|_| model.pop_front()).collect();
                assert_eq!(elements(&client.ask(&format!("LPOP {key} 2"))), popped);
            }
            5 => {
                let popped: Vec<_> = model.pop_back().into_iter().collect();
                assert_eq!(elements(&client.ask(&format!("RPOP {key}"))), popped);
            }
            6 if !model.is_empty() => {
                model[some] = element.clone();
                assert_eq!(client.ask(&format!("LSET {key} {some} {element}")), "+OK\r\n");
            }
            7 if !model.is_empty() => {
                let pivot = model[some].clone();
                model.insert(some + 1, element.clone());
                client.ask(&format!("LINSERT {key} AFTER {pivot} {element}"));
            }
            8 if !model.is_empty() => {
                let gone = model.remove(some).unwrap();
                assert_eq!(client.ask(&format!("LREM {key} 1 {gone}")), ":1\r\n");
            }
            _ => {
                let other = random.below(3);
                let moved = models[at].pop_back();
                if let Some(moved) = moved.clone() {
                    models[other].push_front(moved);
                }
                let reply = client.ask(&format!("RPOPLPUSH {key} l{other}"));
                assert_eq!(elements(&reply), moved.into_iter().collect::<Vec<_>>());
            }
        }
        let key = format!("l{at}");
        let all = elements(&client.ask(&format!("LRANGE {key} 0 -1")));
        assert_eq!(all, Vec::from(models[at].clone()));
        let there = format!(":{}\r\n", usize::from(!models[at].is_empty()));
        assert_eq!(client.ask(&format!("EXISTS {key}")), there);
    }
    client.engine().verify().unwrap();
}

#[test]
fn sets_agree_with_sets() {
    let mut client = Conversation::begin();
    let mut random = Random(2);
    let mut models: Vec<BTreeSet<String>> = vec![BTreeSet::new(); 3];
    for _ in 0..6_000 {
        let at = random.below(3);
        let universe = [12, 60, 900][at];
        let member = |random: &mut Random| format!("m{}", random.below(universe));
        let (model, key) = (&mut models[at], format!("s{at}"));
        let members: Vec<String> = (0..=random.below(4)).map(|_| member(&mut random)).collect();
        match random.below(6) {
            0..=2 => {
                let new = members.iter().filter(|m| model.insert((*m).clone())).count();
                let reply = client.ask(&format!("SADD {key} {}", members.join(" ")));
                assert_eq!(reply, format!(":{new}\r\n"));
            }
            3 => {
                let gone = members.iter().filter(|m| model.remove(*m)).count();
                let reply = client.ask(&format!("SREM {key} {}", members.join(" ")));
                assert_eq!(reply, format!(":{gone}\r\n"));
            }
            4 => {
                let popped = elements(&client.ask(&format!("SPOP {key} 2")));
                assert_eq!(popped.len(), model.len().min(2));
                assert!(popped.iter().all(|member| model.remove(member)));
            }
            _ => {
                let target = random.below(3);
                let moved = models[at].remove(&members[0]);
                if moved {
                    models[target].insert(members[0].clone());
                }
                let reply = client.ask(&format!("SMOVE {key} s{target} {}", members[0]));
                assert_eq!(reply, format!(":{}\r\n", u8::from(moved)));
            }
        }
        let all: BTreeSet<_> =
            elements(&client.ask(&format!("SMEMBERS {key}"))).into_iter().collect();
        assert_eq!(all, models[at]);
        let probe = member(&mut random);
        let expected = format!(":{}\r\n", u8::from(models[at].contains(&probe)));
        assert_eq!(client.ask(&format!("SISMEMBER {key} {probe}")), expected);
    }
    let union: BTreeSet<_> = models.iter().flatten().cloned().collect();
    let found: BTreeSet<_> = elements(&client.ask("SUNION s0 s1 s2")).into_iter().collect();
    assert_eq!(found, union);
    client.engine().verify().unwrap();
}

/// Without memory nothing grows, and everything can shrink.
#[test]
fn what_makes_room_needs_none() {
    let mut client = Conversation::begin();
    let text = "x".repeat(1000);
    let mut lists = 0;
    for n in 0.. {
        let fills = [format!("RPUSH l{n} {text} a {text} b"), format!("SADD s{n} {text} a b c")];
        for one in 0..6 {
            let more = format!("SADD s{n} {one}{text}");
            client.ask(&more);
        }
        if fills.iter().any(|fill| client.ask(fill).starts_with("-OOM")) {
            break;
        }
        lists = n + 1;
    }
    assert!(lists > 1_000, "{lists}");
    while !client.ask(&format!("SET filler{lists} {text}")).starts_with("-OOM") {
        lists += 1;
    }
    // Small items may still find a block; then these shrink by moving, which must work as well.
    for (request, reply) in [
        ("LREM l0 0 a", ":1\r\n"),
        ("LPOP l1", "$1000\r\n"),
        ("RPOP l2", "$1\r\nb\r\n"),
        ("LTRIM l3 1 1", "+OK\r\n"),
        ("SREM s4 a b", ":2\r\n"),
        ("SPOP s5", "$"),
        ("SPOP s6 3", "*3\r\n"),
        ("DEL l7", ":1\r\n"),
    ] {
        let got = client.ask(request);
        assert!(got.starts_with(reply), "{request}: {}", &got[..got.len().min(60)]);
    }
    assert_eq!(elements(&client.ask("LRANGE l0 0 -1")).len(), 3);
    assert_eq!(elements(&client.ask("LRANGE l3 0 -1")), ["a"]);
    client.engine().verify().unwrap();
}
