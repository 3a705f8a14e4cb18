//! What a cut has of a store that changes while the cut goes over it: what it read by itself, and what
//! writers kept for it of items that it had not come to.

use dolium_engine::{CutItem, CutSink, CutStep, Engine};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<CutItem>>);

impl CutSink for Kept {
    fn preserve(&self, item: CutItem) {
        self.0.lock().expect("no holder panics").push(item);
    }
}

/// All items of a cut that begins at once, with `change` called before each of its steps.
pub fn cut_beside(engine: &Arc<Engine>, mut change: impl FnMut()) -> Vec<CutItem> {
    let kept = Arc::new(Kept::default());
    let mut cut = engine.begin_cut(kept.clone()).expect("no other runs");
    let mut items = Vec::new();
    loop {
        change();
        if cut.step(&mut items) == CutStep::Done {
            break;
        }
    }
    drop(cut);
    items.append(&mut kept.0.lock().expect("no holder panics"));
    items
}
