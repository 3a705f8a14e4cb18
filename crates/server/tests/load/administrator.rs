//! Commands about memory, one after the other, and what they answer; and the server's numbers.

use super::Random;
use super::pipe::Pipe;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// One command about memory after the other.
pub struct Administrator {
    pipe: Pipe,
    random: Random,
    /// What `-m` said, in megabytes.
    megabytes: u64,
    pub commands: u64,
    pub dumped: u64,
}

impl Administrator {
    pub fn new(address: SocketAddr, seed: u64, megabytes: u64) -> Administrator {
        let random = Random::new(seed, 3000);
        Administrator { pipe: Pipe::open(address), random, megabytes, commands: 0, dumped: 0 }
    }

    pub fn step(&mut self) {
        self.commands += 1;
        let class = |random: &mut Random| random.below(40) as i64 - 1;
        match self.random.below(16) {
            0 | 1 => {
                let (from, to) = (class(&mut self.random), class(&mut self.random));
                drop(self.ask(&format!("slabs reassign {from} {to}")));
            }
            2 => {
                let level = self.random.below(3);
                drop(self.ask(&format!("slabs automove {level}")));
            }
            3 => drop(self.ask("lru_crawler crawl all")),
            4 => self.dump("lru_crawler metadump all"),
            5 => self.dump("lru_crawler mgdump all"),
            6..9 => {
                let share = 25 + self.random.below(76);
                let megabytes = (self.megabytes * share / 100).max(2);
                drop(self.ask(&format!("cache_memlimit {megabytes}")));
            }
            9 => drop(self.ask("lru tune 20 30 0.2 2.0")),
            10 => drop(self.ask("lru mode segmented")),
            11 if self.random.one_in(30) => drop(self.ask("flush_all")),
            12 => drop(self.ask("lru temp_ttl 61")),
            13 => drop(self.ask("lru temp_ttl -1")),
            _ => {
                let kind = *self.random.choose(&["", " items", " slabs", " sizes", " conns"]);
                drop(self.numbers(&format!("stats{kind}")));
            }
        }
    }

    /// As it was set up, so that what follows can be measured.
    pub fn restore(&mut self) {
        let megabytes = self.megabytes;
        drop(self.ask(&format!("cache_memlimit {megabytes}")));
        self.ask("lru temp_ttl -1");
    }

    /// A command with an answer of one line.
    pub fn ask(&mut self, command: &str) -> String {
        self.pipe.out.extend(format!("{command}\r\n").bytes());
        let line = self.pipe.line();
        assert!(line != "ERROR" && !line.is_empty(), "{command} is answered {line}");
        line
    }

    fn dump(&mut self, command: &str) {
        self.pipe.out.extend(format!("{command}\r\n").bytes());
        loop {
            // Lines of metadump end with a line feed alone, but for the last.
            let lines = self.pipe.line();
            self.dumped += lines.matches("\nkey=").count() as u64;
            match lines.rsplit('\n').next().unwrap_or(&lines) {
                "END" | "EN" => return,
                _ if lines.starts_with("BUSY") => return,
                _ if lines.starts_with("mg ") => self.dumped += 1,
                _ => panic!("{command} shows {lines}"),
            }
        }
    }

    /// `STAT name value` lines.
    pub fn numbers(&mut self, command: &str) -> Vec<(String, String)> {
        self.pipe.out.extend(format!("{command}\r\n").bytes());
        let mut numbers = Vec::new();
        loop {
            let line = self.pipe.line();
            if line == "END" {
                return numbers;
            }
            let mut words = line.splitn(3, ' ');
            assert_eq!(words.next(), Some("STAT"), "{command} shows {line}");
            let (name, value) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            numbers.push((name.into(), value.into()));
        }
    }

    /// What others have left behind is cleared away a moment later.
    pub fn wait_for_number(&mut self, name: &str, wanted: u64) {
        let limit = Instant::now() + Duration::from_secs(30);
        while self.number(name) != wanted {
            assert!(Instant::now() < limit, "{name} stays {}", self.number(name));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn number(&mut self, name: &str) -> u64 {
        let numbers = self.numbers("stats");
        let found = numbers.iter().find(|(known, _)| known == name);
        let (_, value) = found.unwrap_or_else(|| panic!("stats has no {name}"));
        value.parse().unwrap_or_else(|_| panic!("{name} {value}"))
    }
}
