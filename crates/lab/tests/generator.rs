//! The generator against servers that answer as they are told: it counts right, notices wrong
//! answers, and its open loop does not look away while a server sleeps.

mod servers;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dolium_lab::LabError;
use dolium_lab::generator::{self, Between, LoadSpec, Pace, Side, Target, take_turns};
use dolium_lab::limits::TURN;
use dolium_lab::workload::{Mix, Protocol, RequestPool, Sizes, Workload};

use servers::{Answer, ask, corrupting, memcached, refusing, resp, server, workload};

fn spec(target: &Target) -> LoadSpec {
    LoadSpec {
        target: target.clone(),
        more: Vec::new(),
        connections: 6,
        pipeline: 7,
        threads: 2,
        cores: Vec::new(),
        warm_up: Duration::from_millis(20),
        window: Duration::from_millis(200),
        turn: TURN,
        pace: Pace::Closed,
        verify: false,
        servers: Vec::new(),
        interval: None,
        fill: None,
        spins: false,
        between: None,
    }
}

#[test]
fn every_value_is_found_and_right_in_both_protocols() {
    for (protocol, answer) in
        [(Protocol::Resp, resp as Answer), (Protocol::Memcached, memcached as Answer)]
    {
        let target = server(answer, None);
        let mixed = workload(protocol, Mix::GetPerMille(800));
        generator::preload(&target, &mixed, |_| {}).unwrap();
        for (verify, spins) in [(false, false), (true, false), (false, true)] {
            let report = ask(&LoadSpec { verify, spins, ..spec(&target) }, &mixed).unwrap();
            assert!(report.operations > 100, "{protocol:?}: {}", report.operations);
            assert_eq!(report.misses, 0);
            assert!(!report.latency.is_empty());
            // The servers take the cores from who looks on, and what it then was idle is more than it ran.
            assert!(spins || report.client_cpu_ns > 0);
        }
    }
}

/// A server that is away for 200 of every 250 ms leaves the generator idle for as long, asleep or not.
#[test]
fn what_a_generator_looks_for_in_vain_is_none_of_its_work() {
    let nap = Some((Duration::from_millis(250), Duration::from_millis(200)));
    let target = server(resp, nap);
    let gets = workload(Protocol::Resp, Mix::Get);
    generator::preload(&target, &gets, |_| {}).unwrap();
    for connections in [4, 50] {
        let window = Duration::from_secs(1);
        let spins = LoadSpec { connections, threads: 1, window, spins: true, ..spec(&target) };
        let report = ask(&spins, &gets).unwrap();
        let share = report.client_cpu_ns as f64 / 1e9 / report.seconds;
        assert!(report.operations > 100 && share < 0.5, "{share} of a core");
    }
}

#[test]
fn misses_are_counted_and_do_not_derail_the_count() {
    for (protocol, answer) in
        [(Protocol::Resp, resp as Answer), (Protocol::Memcached, memcached as Answer)]
    {
        let target = server(answer, None);
        let half = Workload { keys: 1_000, ..workload(protocol, Mix::Get) };
        generator::preload(&target, &half, |_| {}).unwrap();
        let report = ask(&spec(&target), &workload(protocol, Mix::Get)).unwrap();
        let share = report.misses_percent();
        assert!((40.0..60.0).contains(&share), "{protocol:?}: {share}");
    }
}

#[test]
fn verify_notices_one_wrong_byte() {
    let target = server(corrupting, None);
    let gets = workload(Protocol::Resp, Mix::Get);
    generator::preload(&target, &gets, |_| {}).unwrap();
    let outcome = ask(&LoadSpec { verify: true, ..spec(&target) }, &gets);
    assert!(matches!(outcome, Err(LabError::WrongValue { .. })), "{outcome:?}");
}

#[test]
fn a_refusal_ends_the_run_with_the_stores_own_words() {
    let target = server(refusing, None);
    let outcome = ask(&spec(&target), &workload(Protocol::Resp, Mix::Get));
    assert!(matches!(&outcome, Err(LabError::Refused { reply }) if reply.contains("OOM no room")));
}

#[test]
fn an_open_loop_tells_of_the_nap_that_a_closed_loop_hides() {
    let nap = Some((Duration::from_secs(1), Duration::from_millis(200)));
    let target = server(resp, nap);
    let gets = workload(Protocol::Resp, Mix::Get);
    generator::preload(&target, &gets, |_| {}).unwrap();
    let slow = LoadSpec {
        connections: 4,
        pipeline: 1,
        threads: 1,
        window: Duration::from_secs(2),
        ..spec(&target)
    };
    let rate = 2_000.0;
    let open = ask(&LoadSpec { pace: Pace::Open { rate }, ..slow.clone() }, &gets).unwrap();
    let open_p99 = open.latency_us(0.99);
    assert!(open_p99 >= 150_000.0, "open loop p99 {open_p99} us");
    // A machine that is busy with other tests may delay every request of a closed loop by more
    // than the nap's share: it is given several chances, of which a quiet one is enough.
    let hidden = (0..8).any(|_| ask(&slow, &gets).unwrap().latency_us(0.99) < 20_000.0);
    assert!(hidden, "no closed loop hid the nap");
    assert_eq!(open.unanswered, 0);
    // Every request that was due in the window is in the histogram, answered late or not.
    assert!((open.latency.len() as f64 - rate * 2.0).abs() <= 2.0, "{}", open.latency.len());
}

/// The percentiles of reads and of writes lacked exactly those that waited longest.
#[test]
fn what_is_never_answered_is_among_the_latencies_of_its_kind() {
    let asleep = Duration::from_secs(20);
    let target = server(resp, Some((asleep, asleep)));
    let open = LoadSpec {
        connections: 2,
        pipeline: 1,
        threads: 1,
        warm_up: Duration::ZERO,
        window: Duration::from_millis(100),
        pace: Pace::Open { rate: 1_000.0 },
        ..spec(&target)
    };
    let report = ask(&open, &workload(Protocol::Resp, Mix::GetPerMille(500))).unwrap();
    assert!(report.unanswered >= 99, "{}", report.unanswered);
    let by_kind: Vec<u64> = report.kinds.iter().map(|(_, latency)| latency.len()).collect();
    assert_eq!(by_kind.iter().sum::<u64>(), report.unanswered, "{by_kind:?}");
}

#[test]
fn intervals_hold_every_operation_and_a_ramp_grows() {
    let target = server(resp, None);
    let gets = workload(Protocol::Resp, Mix::Get);
    generator::preload(&target, &gets, |_| {}).unwrap();
    let ramp = LoadSpec {
        pipeline: 1,
        threads: 1,
        warm_up: Duration::ZERO,
        window: Duration::from_millis(1_000),
        pace: Pace::Ramp { from: 200.0, to: 3_800.0 },
        interval: Some(Duration::from_millis(100)),
        ..spec(&target)
    };
    let report = ask(&ramp, &gets).unwrap();
    let counts: Vec<u64> = report.series.iter().map(|interval| interval.operations).collect();
    let total: u64 = counts.iter().sum();
    assert!((1_990..=2_001).contains(&total), "{total} of 2000: {counts:?}");
    // The mean rates of the two halves are 1 100 and 2 900 a second; a busy machine delays replies.
    let (first, second) = counts.split_at(5);
    assert!(2 * first.iter().sum::<u64>() < second.iter().sum(), "{counts:?}");
}

#[test]
fn turns_last_as_long_as_they_are_told_to() {
    let target = server(resp, None);
    let gets = workload(Protocol::Resp, Mix::Get);
    generator::preload(&target, &workload(Protocol::Resp, Mix::Set), |_| {}).unwrap();
    let pool = RequestPool::build(&gets).unwrap();
    for (turn_ms, count) in [(50, 4), (100, 2), (1000, 1)] {
        // One request at a time: no turn has to last longer for all to be answered often enough.
        let turn = Duration::from_millis(turn_ms);
        let one = LoadSpec { connections: 1, pipeline: 1, threads: 1, ..spec(&target) };
        let how = LoadSpec { turn, ..one };
        let mut sides = Side::all([(how.clone(), &pool), (how, &pool)]).unwrap();
        let turns = take_turns(&mut sides, 0, |_, _| {}).unwrap();
        assert_eq!([turns[0].len(), turns[1].len()], [count; 2], "turns of {turn_ms} ms");
    }
}

#[test]
fn a_fill_stores_every_key_once_and_ends() {
    let target = server(resp, None);
    let sets =
        Workload { value_bytes: Sizes::Range(10, 300), ..workload(Protocol::Resp, Mix::Set) };
    let fill = LoadSpec {
        pipeline: 1,
        warm_up: Duration::ZERO,
        window: Duration::from_secs(30),
        interval: Some(Duration::from_millis(10)),
        fill: Some(2_000),
        ..spec(&target)
    };
    let report = ask(&fill, &sets).unwrap();
    assert_eq!(report.series.iter().map(|interval| interval.operations).sum::<u64>(), 2_000);
    let gets = Workload { mix: Mix::Get, ..sets };
    let check = LoadSpec { verify: true, ..spec(&target) };
    assert_eq!(ask(&check, &gets).unwrap().misses, 0);
    // The same without comparing: replies of many lengths are walked through.
    assert_eq!(ask(&spec(&target), &gets).unwrap().misses, 0);
}

/// Counts how often it was given time.
#[derive(Debug, Default)]
struct Counted(u64);

impl Between for Counted {
    fn act(&mut self) {
        self.0 += 1;
    }
}

#[test]
fn an_open_loop_gives_the_time_between_its_requests_away() {
    let target = server(resp, None);
    let counted = Arc::new(Mutex::new(Counted::default()));
    let mut open = LoadSpec { pace: Pace::Open { rate: 1_000.0 }, ..spec(&target) };
    open.between = Some(counted.clone());
    let gets = workload(Protocol::Resp, Mix::Get);
    assert!(ask(&open, &gets).unwrap().operations > 0);
    let given = counted.lock().unwrap().0;
    assert!(given > 1_000, "{given} times");
    // A closed loop has none, and says so.
    let closed = LoadSpec { pace: Pace::Closed, ..open };
    assert!(ask(&closed, &gets).is_err());
}
