//! Tests productions on bursts: of a feed, whose instructions are known, and of this program.

mod common;

use common::is_missing_here;
use hbbp::{
    Analysis, BranchEntry, Cancel, Event, Feed, FeedEvent, FeedOptions, FeedOrder, FeedSample,
    FeedSource, Flow, Probe, ProbeFieldKind, ProbeOptions, ProbeTableKind, Session, SessionOptions,
    SourceKind, Status, Taxonomy, Work,
};
use std::ffi::CString;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PID: u32 = 4711;
const CALLER: u64 = 0x7000;
const CALLEE: u64 = 0x7010;
/// call CALLEE; jmp CALLER
const CALLER_CODE: [u8; 7] = [0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xf9];
/// nop; ret
const CALLEE_CODE: [u8; 2] = [0x90, 0xc3];

fn branch(from: u64, to: u64) -> BranchEntry {
    BranchEntry { from, to, flags: 0 }
}

fn feed() -> (Feed, u32) {
    let feed = FeedOptions::new()
        .order(FeedOrder::AsAdded)
        .kept_burst_bytes(1 << 16)
        .create()
        .unwrap();
    let (caller, callee) = (
        CString::new("caller").unwrap(),
        CString::new("callee").unwrap(),
    );
    feed.add_events(&[
        FeedEvent::code(PID, CALLER, &CALLER_CODE).name(&caller),
        FeedEvent::code(PID, CALLEE, &CALLEE_CODE).name(&callee),
    ])
    .unwrap();
    let source = FeedSource::of_samples(SourceKind::Swbt, Event::Instructions).period(1000);
    let source = feed.add_source(&source).unwrap();
    (feed, source)
}

/// Adds a burst of rounds of four instructions, each of whose streams weighs 1000 / `extent`.
fn add_burst(feed: &Feed, source: u32, rounds: usize, extent: u64) {
    let back = branch(CALLER + 5, CALLER);
    let mut branches = vec![back];
    for _ in 0..rounds {
        branches.push(branch(CALLER, CALLEE));
        branches.push(branch(CALLEE + 1, CALLER + 5));
        branches.push(back);
    }
    let burst = FeedSample::new(PID, PID).extent(extent).branches(&branches);
    feed.add_samples(source, &[burst]).unwrap();
}

/// Returns an analysis with one burst, and a later one with another burst as well.
fn analyses() -> (Analysis, Analysis) {
    let (feed, source) = feed();
    let analyze = || feed.snapshot().unwrap().analyze().unwrap();
    add_burst(&feed, source, 3, 10);
    let first = analyze();
    add_burst(&feed, source, 2, 20);
    (first, analyze())
}

#[test]
fn later_profiles_add_their_new_bursts() {
    let (first, both) = analyses();
    let mut probe = Probe::new("pairs: proc_call => count(function, target), null").unwrap();
    assert_eq!(probe.run(&first, 0), Ok(1));
    assert_eq!(probe.rows(0).unwrap()[0].estimate, 300.0);
    assert_eq!(probe.run(&both, 1), Ok(2));
    assert_eq!(probe.run(&both, probe.next_burst()), Ok(2));
    let rows = probe.rows(0).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].records, rows[0].estimate, rows[0].share),
        (5, 400.0, 1.0)
    );
    let [caller, callee, ..] = rows[0].values;
    let location = probe.locate(callee).unwrap();
    assert_eq!(
        (location.address, location.function),
        (CALLEE, Some(CALLEE))
    );
    assert_eq!(location.name, "callee");
    assert_eq!(probe.locate(caller).unwrap().name, "caller");
    assert_eq!(probe.locate(0).unwrap_err().status(), Status::NotFound);
    assert_eq!(
        probe.run(&both, 3).unwrap_err().status(),
        Status::InvalidArgument
    );

    let info = probe.info().unwrap();
    assert_eq!(
        (info.bursts, info.instructions, info.skipped_streams),
        (2, 20, 0)
    );
    assert!(info.counts_executions && !info.is_exhaustive);
    let tables = probe.tables().unwrap();
    assert_eq!(tables[0].kind, ProbeTableKind::Counts);
    assert_eq!((tables[0].name.as_ref(), tables[0].records), ("pairs", 5));
    let fields = probe.fields(0).unwrap();
    assert_eq!(
        (fields[1].name, fields[1].kind),
        ("target", ProbeFieldKind::Code)
    );
    assert_eq!(probe.productions().unwrap()[0].firings, 5);
    assert_eq!(probe.rows(1), Ok(Vec::new()));
}

#[test]
fn traces_have_hot_streams() {
    let (feed, source) = feed();
    add_burst(&feed, source, 20, 10);
    let analysis = feed.snapshot().unwrap().analyze().unwrap();
    let mut probe = ProbeOptions::new("all: branch || return => trace(pc, size), null")
        .min_stream_length(2)
        .create()
        .unwrap();
    probe.run(&analysis, 0).unwrap();
    let streams = probe.streams(0).unwrap();
    assert!(streams.iter().map(|stream| stream.share).sum::<f64>() > 0.7);
    for stream in &streams {
        assert!(stream.elements().len() >= 2 && stream.frequency >= 1);
        for element in stream.elements() {
            assert_eq!(element.len(), 2);
            let address = probe.locate(element[0]).unwrap().address;
            assert!([CALLEE + 1, CALLER + 5].contains(&address));
        }
    }
    assert!(probe.rows(0).unwrap().is_empty());
}

#[test]
fn a_handler_sees_executions() {
    let (_, both) = analyses();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let kept = calls.clone();
    let mut probe = ProbeOptions::new("p: proc_call => call(target, caller), null")
        .handler(move |call| {
            assert_eq!((call.production, call.table, call.thread), (0, 0, 0));
            assert_eq!((call.flow, call.is_taken), (Flow::Call, true));
            assert_eq!(call.values().collect::<Vec<_>>(), [Some(call.target), None]);
            assert_eq!(call.next, call.target);
            assert_eq!(call.locate(call.pc).unwrap().address, CALLER);
            let name = call.locate(call.target).unwrap().name.into_owned();
            kept.lock().unwrap().push((name, call.burst, call.weight));
            false
        })
        .create()
        .unwrap();
    probe.run(&both, 0).unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), 5);
    assert_eq!(calls[0], ("callee".to_string(), 0, 100.0));
    assert_eq!(calls[4], ("callee".to_string(), 1, 50.0));
    assert_eq!(probe.tables().unwrap()[0].unknown, 5);
}

#[test]
fn a_handler_stops_bursts() {
    let (_, both) = analyses();
    let mut probe = ProbeOptions::new(
        "use framework\np: proc_call && sample_flag && !burst_flag => call, null",
    )
    .handler(|_| true)
    .create()
    .unwrap();
    probe.run(&both, 0).unwrap();
    assert_eq!(probe.tables().unwrap()[0].records, 2);
}

#[test]
fn a_panic_of_a_handler_goes_on_after_the_run() {
    let (_, both) = analyses();
    let mut times = 0;
    let mut probe = ProbeOptions::new("p: proc_call => call, null")
        .handler(move |_| {
            times += 1;
            assert!(times != 1, "of the handler");
            false
        })
        .create()
        .unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| probe.run(&both, 0))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the handler"));
    assert_eq!(probe.next_burst(), 2);
    assert_eq!(probe.run(&both, 0), Ok(2));
}

#[test]
fn a_run_goes_on_where_it_was_cancelled() {
    let (_, both) = analyses();
    let cancel = Cancel::new().unwrap();
    let of_handler = cancel.clone();
    let mut probe = ProbeOptions::new("p: proc_call => call, null")
        .handler(move |_| {
            of_handler.set(true);
            false
        })
        .create()
        .unwrap();
    let mut reported = None;
    let work = Work::new()
        .cancel(&cancel)
        .progress(|_, all| reported = all);
    let error = probe.run_with(&both, 0, work).unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    assert_eq!((probe.next_burst(), reported), (1, Some(2)));
    assert_eq!(probe.run(&both, probe.next_burst()), Ok(2));
    assert_eq!(probe.tables().unwrap()[0].records, 5);
}

#[test]
fn options_are_checked() {
    let error = Probe::new("p: proc_cal => null, null").unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("line 1, column 4"), "{error}");
    let (_, both) = analyses();
    let own = Taxonomy::new("[own]\ncalls: category = call\n").unwrap();
    let mut probe = ProbeOptions::new("p: own = calls => count(pc), null")
        .taxonomy(&own)
        .is_exhaustive(true)
        .create()
        .unwrap();
    drop(own);
    probe.run(&both, 0).unwrap();
    assert_eq!(probe.rows(0).unwrap()[0].records, 5);
    assert!(probe.info().unwrap().is_exhaustive);
    assert!(ProbeOptions::new("use edges")
        .min_stream_heat(2.0)
        .create()
        .is_err());
    for name in Probe::builtins() {
        Probe::new(&format!("use {name}")).unwrap();
    }
}

/// A process has one session at a time that traces branches.
static TRACING: Mutex<()> = Mutex::new(());

/// Starts a session that traces branches, if that is possible here.
fn tracing_session() -> Option<Session> {
    let mut session = SessionOptions::new()
        .source(SourceKind::Swbt)
        .event(Event::TaskClock)
        .period(1_000_000)
        .kept_burst_bytes(1 << 20)
        .create()
        .unwrap();
    match session.start() {
        Err(error) if is_missing_here(&error) => None,
        started => started.map(|()| Some(session)).unwrap(),
    }
}

#[test]
fn a_program_probes_itself() {
    let _turn = TRACING.lock().unwrap_or_else(|held| held.into_inner());
    let session = match tracing_session() {
        None => return,
        Some(session) => session,
    };
    let mut probe = Probe::new("use hot-methods").unwrap();
    for _ in 0..100 {
        common::work(Duration::from_millis(50));
        let profile = session.snapshot().unwrap();
        if profile.info().unwrap().kept_bursts > 0 {
            let first = probe.next_burst();
            probe.run(&profile.analyze().unwrap(), first).unwrap();
        }
        if probe.next_burst() >= 5 {
            break;
        }
    }
    assert!(probe.next_burst() >= 5);
    let hottest = &probe.rows(0).unwrap()[0];
    assert!(probe.locate(hottest.values[0]).is_ok());
}

#[test]
fn a_worker_follows_a_session() {
    let _turn = TRACING.lock().unwrap_or_else(|held| held.into_inner());
    let session = match tracing_session() {
        None => return,
        Some(session) => session,
    };
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let host = std::thread::current().id();
    let mut probe = ProbeOptions::new("use hot-methods\nc: proc_call => call, null")
        .handler(move |_| {
            assert_ne!(std::thread::current().id(), host);
            counted.fetch_add(1, Ordering::Relaxed);
            false
        })
        .create()
        .unwrap();
    let interval = Duration::from_millis(20);
    let worked = probe.follow(&session, interval, || {
        for _ in 0..500 {
            common::work(Duration::from_millis(10));
            if calls.load(Ordering::Relaxed) > 100 {
                break;
            }
        }
        session.info().unwrap().samples
    });
    assert!(worked.unwrap() > 0);
    assert!(calls.load(Ordering::Relaxed) > 100);
    assert!(!probe.rows(0).unwrap().is_empty());
    let mut failing = ProbeOptions::new("c: proc_call => call, null")
        .handler(|_| panic!("of the worker"))
        .create()
        .unwrap();
    let follow = AssertUnwindSafe(|| failing.follow(&session, interval, || ()));
    let panic = catch_unwind(follow).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the worker"));
    let none = SessionOptions::new()
        .source(SourceKind::External)
        .create()
        .unwrap();
    let error = probe.follow(&none, interval, || ()).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
}
