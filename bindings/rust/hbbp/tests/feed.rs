//! Sessions that are fed.

use hbbp::{
    BranchEntry, Cancel, Event, FedSession, FeedEvent, FeedOptions, FeedOrder, FeedSample,
    FeedSource, LogLevel, Source, Status, Work, LEAST_MEMORY,
};
use std::ffi::CString;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const PID: u32 = 4711;
const BASE: u64 = 0x7000_0000;
/// 0: dec eax; 2: jne 0; 4: ret
const CODE: [u8; 5] = [0xff, 0xc8, 0x75, 0xfc, 0xc3];

fn ebs(session: &FedSession) -> u32 {
    let source = FeedSource::of_samples(Source::Ebs, Event::Instructions)
        .event_name("instructions:u")
        .period(1000);
    session.add_source(&source).unwrap()
}

fn code<'a>() -> FeedEvent<'a> {
    FeedEvent::code(PID, BASE, &CODE)
}

#[test]
fn decoded_samples_become_counts() {
    let session = FeedOptions::new()
        .command("a loop")
        .host("elsewhere")
        .order(FeedOrder::AsFed)
        .slices(Duration::from_millis(1))
        .create()
        .unwrap();
    let source = ebs(&session);
    let (function, thread_name) = (CString::new("hot").unwrap(), CString::new("main").unwrap());
    session
        .feed_events(&[
            code().name(&function),
            FeedEvent::thread_name(PID, PID, &thread_name),
            FeedEvent::lost(source, 3),
            FeedEvent::throttled(source),
        ])
        .unwrap();
    let samples: Vec<_> = (1..=40u64)
        .map(|i| {
            FeedSample::new(PID, PID)
                .ip(BASE + i % 2 * 2)
                .time_ns(i * 100_000)
        })
        .collect();
    session.feed_samples(source, &samples).unwrap();
    let profile = session.snapshot().unwrap();
    let info = profile.info().unwrap();
    assert_eq!(
        (info.command.as_ref(), info.host.as_ref()),
        ("a loop", "elsewhere")
    );
    assert_eq!((info.samples, info.lost, info.throttled), (40, 3, 1));
    assert_eq!(profile.functions().unwrap()[0].name, "hot");
    assert_eq!(profile.threads().unwrap()[0].name, "main");
    assert_eq!(profile.sources().unwrap()[0].event_name, "instructions:u");
    let blocks = profile.blocks().unwrap();
    assert_eq!(blocks.len(), 1);
    // Forty samples of a thousand instructions, two in a block.
    assert_eq!(blocks[0].count, 20_000.0);
    assert!(profile.slices().unwrap().len() >= 4);
    assert_eq!(session.info().unwrap().waiting, 0);
}

#[test]
fn branch_stacks_become_counts() {
    let session = FedSession::new().unwrap();
    let lbr = FeedSource::of_samples(Source::Lbr, Event::TakenBranches).period(100);
    let lbr = session.add_source(&lbr).unwrap();
    let back = BranchEntry {
        from: BASE + 2,
        to: BASE,
        flags: 0,
    };
    let wrong = BranchEntry {
        flags: BranchEntry::WRONG_PATH,
        ..back
    };
    session.feed_events(&[code()]).unwrap();
    let stack = [back; 8];
    session
        .feed_samples(lbr, &[FeedSample::new(PID, PID).branches(&stack); 10])
        .unwrap();
    session
        .feed_samples(lbr, &[FeedSample::new(PID, PID).branches(&[wrong])])
        .unwrap();
    session.flush().unwrap();
    let profile = session.snapshot().unwrap();
    let branches = profile.branches().unwrap();
    assert_eq!((branches.len(), branches[0].samples), (1, 80));
    let blocks = profile.blocks().unwrap();
    assert!(blocks[0].count > 0.0 && blocks[0].source == Source::Lbr);
}

#[test]
fn what_waits_is_counted_by_rounds() {
    let session = FedSession::new().unwrap();
    let source = ebs(&session);
    session.feed_events(&[code()]).unwrap();
    for time in 1..=4 {
        let sample = FeedSample::new(PID, PID).ip(BASE).time_ns(time);
        session.feed_samples(source, &[sample]).unwrap();
        session.finish_round().unwrap();
    }
    let waiting = session.info().unwrap().waiting;
    assert!(waiting > 0, "{waiting}");
    assert_eq!(
        session.snapshot().unwrap().info().unwrap().samples,
        4 - waiting
    );
    session.flush_up_to(4).unwrap();
    assert_eq!(session.snapshot().unwrap().info().unwrap().samples, 4);
}

#[test]
fn any_thread_feeds() {
    let session = FedSession::new().unwrap();
    let source = ebs(&session);
    session.feed_events(&[code()]).unwrap();
    thread::scope(|scope| {
        for tid in 1..=4 {
            let session = &session;
            scope.spawn(move || {
                for _ in 0..50 {
                    let sample = FeedSample::new(PID, tid).ip(BASE);
                    session.feed_samples(source, &[sample; 20]).unwrap();
                    session.snapshot().unwrap();
                }
            });
        }
    });
    session.flush().unwrap();
    let profile = session.snapshot().unwrap();
    assert_eq!(profile.info().unwrap().samples, 4000);
    assert_eq!(profile.threads().unwrap().len(), 4);
}

#[test]
fn raw_records_are_found_wherever_they_lie() {
    const PERF_TYPE_SOFTWARE: u32 = 1;
    const PERF_RECORD_SAMPLE: u32 = 9;
    const SAMPLE_IP_AND_TID: u64 = 3;
    // The first version of struct perf_event_attr: type, size, config, period, sample_type, ...
    let mut attr = Vec::new();
    attr.extend(PERF_TYPE_SOFTWARE.to_ne_bytes());
    attr.extend(64u32.to_ne_bytes());
    for word in [1u64, 5000, SAMPLE_IP_AND_TID, 0, 0, 0, 0] {
        attr.extend(word.to_ne_bytes());
    }
    let session = FedSession::new().unwrap();
    let error = session.feed_perf_records(&[0; 8]).unwrap_err();
    assert_eq!(error.status(), Status::InvalidState);
    session
        .add_source(&FeedSource::of_perf_attr(&attr).perf_ids(&[77]))
        .unwrap();
    session.add_ids(0, &[78, 79]).unwrap();

    // One byte further, so that nothing is aligned.
    let mut records = vec![0u8];
    for _ in 0..3 {
        records.extend(PERF_RECORD_SAMPLE.to_ne_bytes());
        records.extend(2u16.to_ne_bytes());
        records.extend(24u16.to_ne_bytes());
        records.extend(BASE.to_ne_bytes());
        records.extend(PID.to_ne_bytes());
        records.extend(PID.to_ne_bytes());
    }
    // The last record is not all there.
    let consumed = session
        .feed_perf_records(&records[1..records.len() - 5])
        .unwrap();
    assert_eq!(consumed, 48);
    session.flush().unwrap();
    assert_eq!(session.snapshot().unwrap().info().unwrap().samples, 2);
}

#[test]
fn mistakes_of_the_host_are_errors() {
    let session = FedSession::new().unwrap();
    let source = ebs(&session);
    let stack = [BranchEntry::default()];
    let error = session
        .feed_samples(source, &[FeedSample::new(1, 1).branches(&stack)])
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = session
        .feed_samples(source + 1, &[FeedSample::new(1, 1)])
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = session.feed_events(&[FeedEvent::lost(99, 1)]).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let long = [0u8; 65];
    let error = session
        .feed_events(&[FeedEvent::mapping(1, 0x1000, 0x1000).build_id(&long)])
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let registers = [0u64; 33];
    let error = session
        .feed_samples(
            source,
            &[FeedSample::new(1, 1).ibs_registers(0, &registers)],
        )
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert_eq!(session.snapshot().unwrap().info().unwrap().samples, 0);
}

const SAMPLES: u64 = 40_000;

/// Each sample has an address of its own.
fn many(options: FeedOptions) -> FedSession {
    let session = options.order(FeedOrder::AsFed).create().unwrap();
    let source = ebs(&session);
    let mapping = FeedEvent::mapping(PID, BASE, 1 << 28);
    session.feed_events(&[mapping]).unwrap();
    let samples: Vec<_> = (0..SAMPLES)
        .map(|i| FeedSample::new(PID, PID).ip(BASE + 16 * i))
        .collect();
    session.feed_samples(source, &samples).unwrap();
    session
}

#[test]
fn what_finds_no_memory_is_dropped_and_told() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&messages);
    let session = many(
        FeedOptions::new()
            .max_memory(LEAST_MEMORY)
            .log_level(LogLevel::Error)
            .log(move |level, message| kept.lock().unwrap().push((level, message.to_string()))),
    );
    let info = session.info().unwrap();
    assert!(info.dropped > 0 && info.dropped < SAMPLES, "{info:?}");
    assert!(info.peak_memory_bytes <= LEAST_MEMORY, "{info:?}");
    let profile = session.snapshot().unwrap();
    assert_eq!(
        profile.info().unwrap().samples + info.dropped,
        SAMPLES,
        "{info:?}"
    );
    drop(session);
    let messages = Arc::try_unwrap(messages).expect("the closure ended with its session");
    let messages = messages.into_inner().unwrap();
    assert!(!messages.is_empty());
    assert!(messages
        .iter()
        .all(|(level, message)| *level == LogLevel::Error && message.contains("no memory")));
}

#[test]
fn a_snapshot_is_called_off() {
    let session = many(FeedOptions::new());
    let cancel = Cancel::new().unwrap();
    cancel.set(true);
    let error = session
        .snapshot_with(Work::new().cancel(&cancel))
        .unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    cancel.set(false);
    let mut last = (0, None);
    let profile = session
        .snapshot_with(
            Work::new()
                .cancel(&cancel)
                .progress(|done, all| last = (done, all)),
        )
        .unwrap();
    assert_eq!(Some(last.0), last.1);
    assert_eq!(profile.info().unwrap().samples, SAMPLES);
}
