//! The generator's ring against the same servers as its poller: it counts right, notices wrong
//! answers, and says so when a server goes away. These tests need a kernel of 6.15 or younger that
//! lets them have an io_uring, and say that they are skipped where there is none; the generator itself
//! does without one there.

mod servers;

use std::collections::HashMap;
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dolium_lab::LabError;
use dolium_lab::generator::{self, LoadSpec, Pace, Side, Target, take_turns};
use dolium_lab::limits::RING_CONNECTIONS;
use dolium_lab::workload::{Mix, Protocol, RequestPool, Workload};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use servers::{Answer, ask, corrupting, memcached, refusing, resp, server, workload};

/// Whether the machine lets a process have a ring as the generator wants it. The kernel is asked, not
/// the generator: one that has forgotten its ring must fail here.
fn is_there() -> bool {
    static IS_THERE: LazyLock<bool> = LazyLock::new(|| {
        let mut ring = io_uring::IoUring::builder();
        let ring: std::io::Result<io_uring::IoUring> =
            ring.setup_single_issuer().setup_defer_taskrun().build(8);
        ring.is_ok_and(|ring| ring.params().is_feature_no_iowait())
    });
    if !*IS_THERE {
        // Not by a macro, whose output is shown of failed tests only.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: this kernel is older than 6.15 or lets the test have no io_uring"
        );
    }
    *IS_THERE
}

/// So many connections that the latencies of few are kept, asked for long enough.
fn spec(target: &Target) -> LoadSpec {
    LoadSpec {
        connections: 50,
        warm_up: Duration::from_millis(20),
        window: Duration::from_millis(250),
        ..LoadSpec::plain(target.clone())
    }
}

#[test]
fn every_value_is_found_and_right_over_a_ring() {
    if !is_there() {
        return;
    }
    for (protocol, answer) in
        [(Protocol::Resp, resp as Answer), (Protocol::Memcached, memcached as Answer)]
    {
        let target = server(answer, None);
        generator::preload(&target, &workload(protocol, Mix::Set), |_| {}).unwrap();
        for mix in [Mix::Get, Mix::Set] {
            for (pipeline, threads, verify, spins) in
                [(1, 1, false, false), (7, 2, true, false), (20, 1, false, true)]
            {
                let how = LoadSpec { pipeline, threads, verify, spins, ..spec(&target) };
                let report = ask(&how, &workload(protocol, mix.clone())).unwrap();
                assert!(report.by_ring, "{protocol:?} {mix:?} {pipeline}");
                assert!(report.operations > 100, "{protocol:?}: {}", report.operations);
                assert_eq!(report.misses, 0);
                assert!(!report.latency.is_empty());
            }
        }
    }
}

/// A server that sleeps for 200 of 250 ms is asked for more meanwhile than its sockets take: what a
/// send has left over must go out before the next one, or the bytes of two requests are mixed.
#[test]
fn an_open_loop_over_a_ring_mixes_nothing_while_sockets_are_full() {
    if !is_there() {
        return;
    }
    const PERIOD: Duration = Duration::from_millis(250);
    const ASLEEP: Duration = Duration::from_millis(200);
    let target = server(resp, Some((PERIOD, ASLEEP)));
    let sets = Workload { value_bytes: 3_900.into(), ..workload(Protocol::Resp, Mix::Set) };
    let rate = 40_000.0;
    let pace = Pace::Open { rate };
    let how = LoadSpec {
        connections: 2,
        window: Duration::from_millis(500),
        pace,
        verify: true,
        ..spec(&target)
    };
    let report = ask(&how, &sets).unwrap();
    assert!(report.by_ring && report.unanswered == 0, "{report:?}");
    assert!((report.latency.len() as f64 - rate * 0.5).abs() <= 1.0, "{}", report.latency.len());
    assert!(report.latency_us(0.99) > 100_000.0, "a nap was not seen: {report:?}");
    // What a connection held went out late.
    assert!(report.lag.max() > 50_000_000, "{} ns", report.lag.max());
    // What was sent is what was kept.
    let gets = Workload { value_bytes: 3_900.into(), ..workload(Protocol::Resp, Mix::Get) };
    let how = LoadSpec { pace: Pace::Open { rate: 1_000.0 }, ..how };
    let report = ask(&how, &gets).unwrap();
    assert!(report.by_ring && report.misses == 0 && report.unanswered == 0, "{report:?}");
}

/// What was due when the run gave up is counted, also where no connection had it yet.
#[test]
fn requests_that_a_ring_never_sent_are_unanswered_at_their_age() {
    if !is_there() {
        return;
    }
    let asleep = Duration::from_secs(20);
    let target = server(resp, Some((asleep, asleep)));
    let mix = Mix::GetPerMille(500);
    let mixed = Workload { value_bytes: 3_900.into(), ..workload(Protocol::Resp, mix) };
    let pace = Pace::Open { rate: 40_000.0 };
    let how = LoadSpec { connections: 2, pipeline: 1, pace, ..spec(&target) };
    let report = ask(&how, &mixed).unwrap();
    assert!(report.by_ring);
    assert!(report.unanswered.abs_diff(10_000) <= 1, "{}", report.unanswered);
    assert_eq!(report.unanswered, report.latency.len());
    let by_kind: Vec<u64> = report.kinds.iter().map(|(_, latency)| latency.len()).collect();
    assert_eq!(by_kind.iter().sum::<u64>(), report.unanswered, "{by_kind:?}");
    assert!(by_kind[0].abs_diff(by_kind[1]) < report.unanswered / 10, "{by_kind:?}");
    assert!(report.latency_us(0.5) > 3e6, "{report:?}");
}

/// As many as there may be: both ends of the connections are here, and shells allow some thousand.
fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

#[test]
fn what_a_ring_does_not_serve_is_asked_with_calls() {
    if !is_there() {
        return;
    }
    let target = server(resp, None);
    let gets = workload(Protocol::Resp, Mix::Get);
    let by_ring = |how: LoadSpec, asked: &Workload| ask(&how, asked).unwrap().by_ring;
    assert!(by_ring(spec(&target), &gets));
    let large = Workload { value_bytes: 5_000.into(), ..gets.clone() };
    assert!(!by_ring(spec(&target), &large), "large replies");
    let few = LoadSpec { connections: 20, ..spec(&target) };
    assert!(!by_ring(few, &gets), "every latency is kept");
    allow_descriptors();
    let many = LoadSpec { connections: 500, ..spec(&target) };
    assert!(by_ring(many.clone(), &gets));
    let too_many = LoadSpec { connections: RING_CONNECTIONS + 1, ..many };
    assert!(!by_ring(too_many, &gets), "more connections than buffers");
    let turn = LoadSpec { window: Duration::from_millis(20), ..spec(&target) };
    assert!(!by_ring(turn, &gets), "a short turn");
}

#[test]
fn a_ring_counts_misses_notices_a_wrong_byte_and_repeats_a_refusal() {
    if !is_there() {
        return;
    }
    let gets = workload(Protocol::Resp, Mix::Get);
    let empty = ask(&spec(&server(resp, None)), &gets).unwrap();
    assert!(empty.by_ring && empty.operations > 100, "{}", empty.operations);
    // The three are read one after the other while requests go on.
    assert!(empty.reads.abs_diff(empty.operations) < empty.operations / 10, "{}", empty.reads);
    assert!(empty.misses.abs_diff(empty.reads) < empty.reads / 10, "{}", empty.misses);
    let target = server(corrupting, None);
    generator::preload(&target, &workload(Protocol::Resp, Mix::Set), |_| {}).unwrap();
    let outcome = ask(&LoadSpec { verify: true, ..spec(&target) }, &gets);
    assert!(matches!(outcome, Err(LabError::WrongValue { .. })), "{outcome:?}");
    let outcome = ask(&spec(&server(refusing, None)), &gets);
    assert!(matches!(&outcome, Err(LabError::Refused { reply }) if reply.contains("OOM no room")));
}

/// As `resp`, until it has answered a thousand times: then the thread that talks ends.
fn dying(input: &[u8], store: &mut HashMap<Vec<u8>, Vec<u8>>, output: &mut Vec<u8>) -> usize {
    static ANSWERED: AtomicU32 = AtomicU32::new(0);
    assert!(ANSWERED.fetch_add(1, Ordering::Relaxed) < 1_000, "a server dies, as it was told");
    resp(input, store, output)
}

#[test]
fn a_server_that_hangs_up_ends_a_ring_with_its_sentence() {
    if !is_there() {
        return;
    }
    let outcome = ask(&spec(&server(dying, None)), &workload(Protocol::Resp, Mix::Get));
    assert!(matches!(outcome, Err(LabError::Closed)), "{outcome:?}");
}

/// The warm-up goes by a ring and the turns by epoll, over the same connections.
#[test]
fn connections_of_a_ring_are_asked_with_calls_afterwards() {
    if !is_there() {
        return;
    }
    let target = server(resp, None);
    let gets = workload(Protocol::Resp, Mix::Get);
    generator::preload(&target, &workload(Protocol::Resp, Mix::Set), |_| {}).unwrap();
    let pool = RequestPool::build(&gets).unwrap();
    let how = LoadSpec {
        verify: true,
        warm_up: Duration::from_millis(250),
        window: Duration::from_millis(100),
        ..spec(&target)
    };
    let mut sides = Side::all([(how, &pool)]).unwrap();
    let turns = take_turns(&mut sides, 0, |_, _| {}).unwrap();
    assert!(turns[0].len() > 1, "one turn only");
    for turn in &turns[0] {
        assert!(!turn.by_ring && turn.operations > 0 && turn.misses == 0, "{turn:?}");
    }
}
