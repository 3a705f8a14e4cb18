//! What a writer does, and who reads meanwhile: of each kind of change a scene.

use super::history::Step::*;
use super::scene::{Scene, crowd, halves, last, middle};
use dolium_engine::Db;

pub const A: Db = Db(0);
pub const B: Db = Db(1);

pub fn replace() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40), Put(A, "two", 20)],
        // Blocks of one size, freed and at once filled again, for the same key and for another.
        steps: vec![
            Put(A, "one", 40),
            Put(A, "one", 40),
            Put(A, "two", 20),
            Put(A, "one", 41),
            Put(A, "two", 20),
        ],
        readers: vec![(A, &["one"]), (A, &["two"])],
        turns: 3,
    }
}

pub fn patched() -> Scene {
    Scene {
        before: vec![Packed(A, "set", 40), Put(A, "stays", 40)],
        steps: vec![
            Packed(A, "set", 40),
            Packed(A, "set", 40),
            Put(A, "stays", 40),
            Remove(A, "set"),
            Packed(A, "set", 40),
            Packed(A, "set", 40),
        ],
        readers: vec![(A, &["set"]), (A, &["set"]), (A, &["stays"])],
        turns: 3,
    }
}

/// Strings that stay where they are and change: of the commonest form (`one`), of a longer one (`wide`), one that
/// becomes longer, and a block that goes from hand to hand in between.
pub fn parts() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40), Put(A, "wide", 300), Put(A, "stays", 40)],
        steps: vec![
            Part(A, "one", 40),
            Part(A, "wide", 300),
            Part(A, "one", 41),
            Put(A, "stays", 40),
            Part(A, "wide", 302),
            Remove(A, "one"),
            Put(A, "one", 41),
            Part(A, "one", 41),
        ],
        readers: vec![(A, &["one"]), (A, &["wide"]), (A, &["wide", "one"])],
        turns: 3,
    }
}

pub fn insert_and_delete() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40), Put(A, "stays", 40)],
        steps: vec![
            Remove(A, "one"),
            Put(A, "two", 20),
            Put(A, "one", 40),
            Remove(A, "two"),
            Put(A, "six", 40),
            Remove(A, "one"),
            Put(A, "one", 38),
        ],
        readers: vec![(A, &["one"]), (A, &["stays"]), (A, &["two"])],
        turns: 3,
    }
}

/// A full home line and a full stash line: the next insert splits, and doubles the directory.
pub fn split() -> Scene {
    let crowd = crowd();
    Scene {
        before: crowd[..20].iter().map(|key| Put(A, key, 20)).collect(),
        steps: vec![
            Put(A, crowd[20], 20),
            Put(A, crowd[0], 20),
            Put(A, crowd[19], 20),
            Put(A, crowd[0], 20),
            Remove(A, crowd[1]),
            Put(A, crowd[1], 20),
        ],
        readers: vec![(A, &crowd[..1]), (A, &crowd[19..20]), (A, &crowd[1..2])],
        turns: 4,
    }
}

pub fn stash() -> Scene {
    let crowd = crowd();
    Scene {
        before: crowd[..10].iter().map(|key| Put(A, key, 20)).collect(),
        steps: vec![
            Put(A, crowd[10], 20),
            Put(A, crowd[10], 20),
            Put(A, crowd[11], 20),
            Remove(A, crowd[3]),
            Put(A, crowd[12], 20),
            Remove(A, crowd[10]),
            Put(A, crowd[13], 20),
        ],
        readers: vec![(A, &crowd[10..11]), (A, &crowd[11..12]), (A, &crowd[2..3])],
        turns: 3,
    }
}

pub fn flush() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40), Put(A, "two", 20), Put(B, "one", 40)],
        steps: vec![Flush(A), Put(A, "one", 40), Put(A, "one", 40), Flush(A), Put(A, "two", 20)],
        readers: vec![(A, &["one"]), (A, &["two"]), (B, &["one"])],
        turns: 3,
    }
}

pub fn swap() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40), Put(B, "one", 40), Put(B, "two", 20)],
        steps: vec![
            Swap(A, B),
            Put(A, "one", 40),
            Put(A, "one", 40),
            Swap(A, B),
            Put(A, "one", 40),
        ],
        readers: vec![(A, &["one"]), (B, &["one"]), (A, &["two"])],
        turns: 3,
    }
}

pub fn several() -> Scene {
    Scene {
        before: vec![PutAll(A, &["one", "two", "six"], 30), Put(A, "stays", 40)],
        steps: vec![
            PutAll(A, &["one", "two", "six"], 30),
            PutAll(A, &["one", "two"], 30),
            Remove(A, "six"),
            PutAll(A, &["two", "six"], 31),
            Put(A, "one", 30),
        ],
        readers: vec![(A, &["one", "two", "six"]), (A, &["two", "one"])],
        turns: 2,
    }
}

/// A value goes from key to key, which differ in more than one word, and from database to database, into places that
/// are empty and such that are not; and what comes to where it was has a block of its size.
pub fn carried() -> Scene {
    let (one, two) = ("one after one", "two after two");
    Scene {
        before: vec![Put(A, one, 40), Put(A, "stays", 40)],
        steps: vec![
            Carry((A, one), (A, two)),
            Put(A, one, 40),
            Carry((A, one), (A, two)),
            Carry((A, two), (B, two)),
            Put(A, two, 40),
            Carry((B, two), (B, one)),
            Carry((B, one), (A, one)),
            Carry((A, two), (A, one)),
        ],
        // In the order in which a change shows, were it not hidden.
        readers: vec![
            (A, &["two after two", "one after one"]),
            (A, &["one after one"]),
            (A, &["two after two"]),
        ],
        turns: 2,
    }
}

/// The same in lines that are full, of which the new key's place splits one.
pub fn carried_and_split() -> Scene {
    let crowd = crowd();
    Scene {
        before: crowd[..20].iter().map(|key| Put(A, key, 20)).collect(),
        steps: vec![
            Carry((A, crowd[0]), (A, crowd[20])),
            Put(A, crowd[0], 20),
            Carry((A, crowd[20]), (A, crowd[1])),
        ],
        readers: vec![(A, &crowd[..1]), (A, &crowd[20..21]), (A, &crowd[1..2])],
        turns: 2,
    }
}

/// Keys of which the ones of `low` fill a segment whose entries are the lower half of a directory that has been
/// doubled three times for the others: the next of them splits it twice, one split behind the other, and the
/// block that the first one frees is a child of the second.
pub fn split_twice() -> Scene {
    let (low, high) = halves();
    let fill = |keys: &'static [&'static str]| keys.iter().map(|key| Put(A, key, 20));
    Scene {
        before: fill(&high[..21]).chain(fill(&low[..20])).collect(),
        steps: vec![Put(A, low[20], 20)],
        // One of them lies where the block comes back to, the other beside it.
        readers: vec![(A, &low[..1]), (A, &low[11..12])],
        turns: 1,
    }
}

/// The same, but that the keys of both halves fill it: it is split once, and the directory stays as it is.
pub fn split_once() -> Scene {
    let ((low, high), middle) = (halves(), middle());
    let fill = |keys: &'static [&'static str]| keys.iter().map(|key| Put(A, key, 20));
    Scene {
        before: fill(&high[..21]).chain(fill(&low[..10])).chain(fill(&middle[..10])).collect(),
        steps: vec![Put(A, middle[10], 20)],
        readers: vec![(A, &low[..1]), (A, &middle[..1])],
        turns: 1,
    }
}

/// `split_twice`, beside keys of the last home line: where an iteration leaves a segment for the one behind it.
pub fn split_twice_below() -> Scene {
    let scene = split_twice();
    let more = last().iter().map(|key| Put(A, key, 20));
    Scene {
        before: scene.before.into_iter().chain(more).collect(),
        readers: vec![(A, last()), (A, &halves().0[..20])],
        ..scene
    }
}

/// Keys that a write of several takes away and brings back at once, and that are stored by a database's other
/// name while it has one.
pub fn several_and_swap() -> Scene {
    Scene {
        before: vec![PutAll(A, &["one", "two", "six"], 30), Put(B, "one", 40), Put(B, "two", 40)],
        steps: vec![
            Swap(A, B),
            Remove(B, "two"),
            Put(B, "two", 30),
            Swap(A, B),
            PutAll(A, &["one", "two"], 31),
            Swap(A, B),
            Flush(B),
        ],
        readers: vec![(A, &["one", "two"])],
        turns: 2,
    }
}

/// A database is exchanged for one to which nobody has ever written.
pub fn swap_with_none() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40)],
        steps: vec![Swap(A, B), Swap(B, A)],
        readers: vec![(A, &["one"]), (B, &["one"])],
        turns: 1,
    }
}
