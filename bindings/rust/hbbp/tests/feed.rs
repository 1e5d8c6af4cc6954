//! Tests feeds.

use hbbp::{
    BranchEntry, Cancel, Event, Feed, FeedEvent, FeedOptions, FeedOrder, FeedSample, FeedSource,
    IbsKind, IbsObjectKind, LogLevel, SourceKind, Status, Work, MIN_MEMORY,
};
use std::ffi::CString;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const PID: u32 = 4711;
const BASE: u64 = 0x7000_0000;
/// 0: dec eax; 2: jne 0; 4: ret
const CODE: [u8; 5] = [0xff, 0xc8, 0x75, 0xfc, 0xc3];

fn ebs(feed: &Feed) -> u32 {
    let source = FeedSource::of_samples(SourceKind::Ebs, Event::Instructions)
        .event_name("instructions:u")
        .period(1000);
    feed.add_source(&source).unwrap()
}

fn code<'a>() -> FeedEvent<'a> {
    FeedEvent::code(PID, BASE, &CODE)
}

#[test]
fn decoded_samples_become_counts() {
    let feed = FeedOptions::new()
        .command("a loop")
        .host("elsewhere")
        .order(FeedOrder::AsAdded)
        .slices(Duration::from_millis(1))
        .create()
        .unwrap();
    let source = ebs(&feed);
    let (function, thread_name) = (CString::new("hot").unwrap(), CString::new("main").unwrap());
    feed.add_events(&[
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
    feed.add_samples(source, &samples).unwrap();
    let profile = feed.snapshot().unwrap();
    let info = profile.info().unwrap();
    assert_eq!(
        (info.command.as_ref(), info.host.as_ref()),
        ("a loop", "elsewhere")
    );
    assert_eq!((info.samples, info.lost, info.throttled), (40, 3, 1));
    let analysis = profile.analyze().unwrap();
    assert_eq!(analysis.functions().unwrap()[0].name, "hot");
    assert_eq!(profile.threads().unwrap()[0].name, "main");
    assert_eq!(profile.sources().unwrap()[0].event_name, "instructions:u");
    let blocks = analysis.blocks().unwrap();
    assert_eq!(blocks.len(), 1);
    // There are forty samples of a thousand instructions, in blocks of two.
    assert_eq!(blocks[0].count, 20_000.0);
    assert!(profile.slices().unwrap().len() >= 4);
    assert_eq!(feed.info().unwrap().waiting, 0);
}

#[test]
fn a_process_is_as_proc_shows_it() {
    let feed = Feed::new().unwrap();
    feed.process(0).unwrap();
    let source = ebs(&feed);
    let pid = std::process::id();
    let address = a_process_is_as_proc_shows_it as fn() as usize as u64;
    let sample = FeedSample::new(pid, pid).ip(address).time_ns(1);
    feed.add_samples(source, &[sample]).unwrap();
    feed.flush().unwrap();
    let profile = feed.snapshot().unwrap();
    assert_eq!(profile.info().unwrap().samples, 1);
    assert_eq!(profile.info().unwrap().unmapped, 0);
    assert!(feed.process(u32::MAX).is_err());
}

#[test]
fn branch_stacks_become_counts() {
    let feed = Feed::new().unwrap();
    let lbr = FeedSource::of_samples(SourceKind::Lbr, Event::TakenBranches).period(100);
    let lbr = feed.add_source(&lbr).unwrap();
    let back = BranchEntry {
        from: BASE + 2,
        to: BASE,
        flags: 0,
    };
    let wrong = BranchEntry {
        flags: BranchEntry::WRONG_PATH,
        ..back
    };
    feed.add_events(&[code()]).unwrap();
    let stack = [back; 8];
    feed.add_samples(lbr, &[FeedSample::new(PID, PID).branches(&stack); 10])
        .unwrap();
    feed.add_samples(lbr, &[FeedSample::new(PID, PID).branches(&[wrong])])
        .unwrap();
    feed.flush().unwrap();
    let profile = feed.snapshot().unwrap();
    let analysis = profile.analyze().unwrap();
    let branches = analysis.branches().unwrap();
    assert_eq!((branches.len(), branches[0].samples), (1, 80));
    let blocks = analysis.blocks().unwrap();
    assert!(blocks[0].count > 0.0 && blocks[0].source == SourceKind::Lbr);
}

#[test]
fn what_waits_is_counted_by_rounds() {
    let feed = Feed::new().unwrap();
    let source = ebs(&feed);
    feed.add_events(&[code()]).unwrap();
    for time in 1..=4 {
        let sample = FeedSample::new(PID, PID).ip(BASE).time_ns(time);
        feed.add_samples(source, &[sample]).unwrap();
        feed.end_round().unwrap();
    }
    let waiting = feed.info().unwrap().waiting;
    assert!(waiting > 0, "{waiting}");
    assert_eq!(
        feed.snapshot().unwrap().info().unwrap().samples,
        4 - waiting
    );
    feed.flush_up_to(4).unwrap();
    assert_eq!(feed.snapshot().unwrap().info().unwrap().samples, 4);
}

#[test]
fn any_thread_adds() {
    let feed = Feed::new().unwrap();
    let source = ebs(&feed);
    feed.add_events(&[code()]).unwrap();
    thread::scope(|scope| {
        for tid in 1..=4 {
            let feed = &feed;
            scope.spawn(move || {
                for _ in 0..50 {
                    let sample = FeedSample::new(PID, tid).ip(BASE);
                    feed.add_samples(source, &[sample; 20]).unwrap();
                    feed.snapshot().unwrap();
                }
            });
        }
    });
    feed.flush().unwrap();
    let profile = feed.snapshot().unwrap();
    assert_eq!(profile.info().unwrap().samples, 4000);
    assert_eq!(profile.threads().unwrap().len(), 4);
}

#[test]
fn blocks_of_data_have_the_accesses_of_their_time() {
    const BLOCK: u64 = 0x10000;
    // IBS_OP_CTL, _RIP, _DATA, _DATA2, _DATA3 of a load with an address, _LINADDR, _PHYSADDR
    let registers = [1 << 18, BASE, 0, 0, 1 << 17 | 1, BLOCK + 8, 0];
    let feed = Feed::new().unwrap();
    let source = feed
        .add_source(
            &FeedSource::of_samples(SourceKind::Ibs, Event::Uops)
                .ibs(IbsKind::Op)
                .period(1000),
        )
        .unwrap();
    let (first, second) = (
        CString::new("first").unwrap(),
        CString::new("second").unwrap(),
    );
    let block = |time| FeedEvent::data(PID, BLOCK, 64).time_ns(time);
    feed.add_events(&[
        code(),
        block(10).name(&first),
        block(20).name(&second),
        block(30),
    ])
    .unwrap();
    let samples: Vec<_> = [15, 20, 25, 35]
        .iter()
        .map(|&time| {
            FeedSample::new(PID, PID)
                .ip(BASE)
                .time_ns(time)
                .ibs_registers(0, &registers)
        })
        .collect();
    feed.add_samples(source, &samples).unwrap();
    feed.flush().unwrap();
    let analysis = feed.snapshot().unwrap().analyze().unwrap();
    let objects: Vec<_> = analysis
        .ibs_objects()
        .unwrap()
        .iter()
        .map(|object| (object.kind, object.name.to_string(), object.loads))
        .collect();
    assert_eq!(
        objects,
        [
            (IbsObjectKind::Block, "first".to_string(), 1),
            (IbsObjectKind::Block, "second".to_string(), 2),
            (IbsObjectKind::Other, "[other memory]".to_string(), 1),
        ]
    );
}

#[test]
fn raw_records_are_found_wherever_they_lie() {
    const PERF_TYPE_SOFTWARE: u32 = 1;
    const PERF_RECORD_SAMPLE: u32 = 9;
    const SAMPLE_IP_AND_TID: u64 = 3;
    // This is the first version of struct perf_event_attr: type, size, config, period, sample_type,
    // ...
    let mut attr = Vec::new();
    attr.extend(PERF_TYPE_SOFTWARE.to_ne_bytes());
    attr.extend(64u32.to_ne_bytes());
    for word in [1u64, 5000, SAMPLE_IP_AND_TID, 0, 0, 0, 0] {
        attr.extend(word.to_ne_bytes());
    }
    let feed = Feed::new().unwrap();
    let error = feed.add_perf_records(&[0; 8]).unwrap_err();
    assert_eq!(error.status(), Status::InvalidState);
    feed.add_source(&FeedSource::of_perf_attr(&attr).perf_ids(&[77]))
        .unwrap();
    feed.add_perf_ids(0, &[78, 79]).unwrap();

    // One byte is in front, so that nothing is aligned.
    let mut records = vec![0u8];
    for _ in 0..3 {
        records.extend(PERF_RECORD_SAMPLE.to_ne_bytes());
        records.extend(2u16.to_ne_bytes());
        records.extend(24u16.to_ne_bytes());
        records.extend(BASE.to_ne_bytes());
        records.extend(PID.to_ne_bytes());
        records.extend(PID.to_ne_bytes());
    }
    // The last record is incomplete.
    let consumed = feed
        .add_perf_records(&records[1..records.len() - 5])
        .unwrap();
    assert_eq!(consumed, 48);
    feed.flush().unwrap();
    assert_eq!(feed.snapshot().unwrap().info().unwrap().samples, 2);
}

#[test]
fn mistakes_of_the_host_are_errors() {
    let feed = Feed::new().unwrap();
    let source = ebs(&feed);
    let stack = [BranchEntry::default()];
    let error = feed
        .add_samples(source, &[FeedSample::new(1, 1).branches(&stack)])
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = feed
        .add_samples(source + 1, &[FeedSample::new(1, 1)])
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = feed.add_events(&[FeedEvent::lost(99, 1)]).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let long = [0u8; 65];
    let error = feed
        .add_events(&[FeedEvent::mapping(1, 0x1000, 0x1000).build_id(&long)])
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let registers = [0u64; 33];
    let error = feed
        .add_samples(
            source,
            &[FeedSample::new(1, 1).ibs_registers(0, &registers)],
        )
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert_eq!(feed.snapshot().unwrap().info().unwrap().samples, 0);
}

const SAMPLES: u64 = 40_000;

/// Each sample has an address of its own.
fn many(options: FeedOptions) -> Feed {
    let feed = options.order(FeedOrder::AsAdded).create().unwrap();
    let source = ebs(&feed);
    let mapping = FeedEvent::mapping(PID, BASE, 1 << 28);
    feed.add_events(&[mapping]).unwrap();
    let samples: Vec<_> = (0..SAMPLES)
        .map(|i| FeedSample::new(PID, PID).ip(BASE + 16 * i))
        .collect();
    feed.add_samples(source, &samples).unwrap();
    feed
}

#[test]
fn what_finds_no_memory_is_dropped_and_logged() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&messages);
    let feed = many(
        FeedOptions::new()
            .max_memory(MIN_MEMORY)
            .log_level(LogLevel::Error)
            .log(move |level, message| kept.lock().unwrap().push((level, message.to_string()))),
    );
    let info = feed.info().unwrap();
    assert!(info.dropped > 0 && info.dropped < SAMPLES, "{info:?}");
    assert!(info.peak_memory_bytes <= MIN_MEMORY, "{info:?}");
    let profile = feed.snapshot().unwrap();
    assert_eq!(
        profile.info().unwrap().samples + info.dropped,
        SAMPLES,
        "{info:?}"
    );
    drop(feed);
    let messages = Arc::try_unwrap(messages).expect("the closure ended with its feed");
    let messages = messages.into_inner().unwrap();
    assert!(!messages.is_empty());
    assert!(messages
        .iter()
        .all(|(level, message)| *level == LogLevel::Error && message.contains("no memory")));
}

#[test]
fn a_snapshot_is_cancelled() {
    let feed = many(FeedOptions::new());
    let cancel = Cancel::new().unwrap();
    cancel.set(true);
    let error = feed.snapshot_with(Work::new().cancel(&cancel)).unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    cancel.set(false);
    let mut last = (0, None);
    let profile = feed
        .snapshot_with(
            Work::new()
                .cancel(&cancel)
                .progress(|done, all| last = (done, all)),
        )
        .unwrap();
    assert_eq!(Some(last.0), last.1);
    assert_eq!(profile.info().unwrap().samples, SAMPLES);
}
