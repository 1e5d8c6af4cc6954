//! Tests the interface of the host in sessions and in long work.

mod common;

use common::{ebs, is_missing_here, recording, started, usual_profile, work};
use hbbp::{
    AnalysisOptions, Cancel, Event, ImportOptions, LogLevel, Session, SessionOptions, SourceKind,
    Status, MIN_MEMORY,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn messages_come_until_the_session_ends() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&messages);
    let options = ebs().log_level(LogLevel::Debug).log(move |level, message| {
        kept.lock().unwrap().push((level, message.to_string()));
    });
    let mut session = match started(options) {
        Some(session) => session,
        None => return,
    };
    session.stop().unwrap();
    drop(session);
    let messages = Arc::try_unwrap(messages).expect("the closure ended with its session");
    let messages = messages.into_inner().unwrap();
    assert!(!messages.is_empty());
    assert!(messages.iter().all(|(level, message)| {
        !matches!(level, LogLevel::Unknown(_)) && !message.is_empty() && !message.contains('\n')
    }));
}

#[test]
fn a_panic_of_a_log_goes_on_in_a_call_or_ends_with_the_session() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let options = ebs().log_level(LogLevel::Debug).log(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("of a log");
    });
    let mut session = options.create().unwrap();
    match catch_unwind(AssertUnwindSafe(|| session.start())) {
        Ok(Err(error)) if is_missing_here(&error) => return,
        Ok(result) => result.unwrap(),
        Err(panic) => assert_eq!(panic.downcast_ref::<&str>(), Some(&"of a log")),
    }
    drop(session);
    assert!(calls.load(Ordering::Relaxed) > 0);
    // Nothing of it affects later calls.
    assert!(hbbp::Session::new().unwrap().info().is_ok());
}

#[test]
fn the_host_drains_a_session_without_a_thread() {
    let mut session = match started(ebs().drained_by_host(true)) {
        Some(session) => session,
        None => return,
    };
    for _ in 0..3 {
        work(Duration::from_millis(50));
        let next = session.drain().unwrap();
        assert!((1..=1000).contains(&next.as_millis()), "{next:?}");
    }
    session.stop().unwrap();
    assert!(session.info().unwrap().samples > 0);
    assert_eq!(session.drain().unwrap_err().status(), Status::InvalidState);
}

#[test]
fn samples_that_wait_for_an_exec_are_of_another_process() {
    let error = ebs().enable_on_exec(true).create().unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.to_string().contains("enable_on_exec"), "{error}");
}

/// Samples a clock, so that the worker reports longer periods.
fn with_messages_of_the_worker() -> SessionOptions {
    SessionOptions::new()
        .source(SourceKind::Ebs)
        .event(Event::TaskClock)
        .period(20_000)
        .max_overhead(0.0001)
}

type Slot = Arc<Mutex<Option<Session>>>;

#[test]
fn a_log_cannot_stop_its_session() {
    let slot: Slot = Default::default();
    let (seen, refused) = (Arc::clone(&slot), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&refused);
    let options = with_messages_of_the_worker().log(move |_, _| {
        if let Ok(mut slot) = seen.try_lock() {
            if let Some(session) = slot.as_mut() {
                for result in [session.start(), session.stop()] {
                    assert_eq!(result.unwrap_err().status(), Status::InvalidState);
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    let session = match started(options) {
        Some(session) => session,
        None => return,
    };
    *slot.lock().unwrap() = Some(session);
    while refused.load(Ordering::Relaxed) == 0 {
        work(Duration::from_millis(10));
    }
    let session = slot.lock().unwrap().take();
    session.unwrap().stop().unwrap();
}

#[test]
fn a_log_drops_its_session() {
    let slot: Slot = Default::default();
    let kept = Arc::new("of the log".to_string());
    let (bytes, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, alive) = (Arc::clone(&slot), Arc::clone(&kept));
    let memory = Counting {
        bytes: Arc::clone(&bytes),
        all: Arc::clone(&all),
    };
    let options = with_messages_of_the_worker()
        .allocator(memory)
        .log(move |_, _| {
            let session = seen.try_lock().ok().and_then(|mut slot| slot.take());
            drop(session);
            assert_eq!(alive.as_str(), "of the log");
        });
    let session = match started(options) {
        Some(session) => session,
        None => return,
    };
    *slot.lock().unwrap() = Some(session);
    while slot.lock().unwrap().is_some() {
        work(Duration::from_millis(10));
    }
    // It ends a moment later, and releases the data of the host.
    while Arc::strong_count(&kept) > 1 {
        work(Duration::from_millis(10));
    }
    assert_eq!(bytes.load(Ordering::Relaxed), 0);
    assert!(all.load(Ordering::Relaxed) > 0);
}

struct Counting {
    bytes: Arc<AtomicUsize>,
    all: Arc<AtomicUsize>,
}

// SAFETY: the memory is that of the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.bytes.fetch_add(layout.size(), Ordering::Relaxed);
        self.all.fetch_add(layout.size(), Ordering::Relaxed);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        self.bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        System.dealloc(start, layout)
    }
}

#[test]
fn memory_is_of_the_host_and_within_its_budget() {
    let (bytes, all) = (Arc::default(), Arc::default());
    let memory = Counting {
        bytes: Arc::clone(&bytes),
        all: Arc::clone(&all),
    };
    let options = ebs()
        .allocator(memory)
        .max_memory(2 * MIN_MEMORY)
        .max_overhead(0.05);
    let mut session = match started(options) {
        Some(session) => session,
        None => return,
    };
    work(Duration::from_millis(200));
    session.stop().unwrap();
    let info = session.info().unwrap();
    assert!(info.samples > 0 && info.cpu_ns > 0, "{info:?}");
    assert!(info.peak_memory_bytes <= 2 * MIN_MEMORY, "{info:?}");
    assert!(info.period_factor >= 1.0, "{info:?}");
    let profile = session.snapshot().unwrap();
    assert!(all.load(Ordering::Relaxed) > 0);
    drop(session);
    assert_eq!(bytes.load(Ordering::Relaxed), 0);
    // Profiles have memory of their own.
    assert!(!profile.analyze().unwrap().blocks().unwrap().is_empty());

    let error = SessionOptions::new()
        .max_memory(MIN_MEMORY - 1)
        .create()
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = SessionOptions::new()
        .max_overhead(f64::NAN)
        .create()
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
}

#[test]
fn an_import_has_log_and_memory_of_the_host() {
    let error = ImportOptions::new()
        .max_memory(MIN_MEMORY - 1)
        .import("none")
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let file = match recording("autofdo/propeller_sample.perfdata") {
        Some(file) => file,
        None => return,
    };
    let (bytes, all) = (Arc::default(), Arc::default());
    let memory = Counting {
        bytes: Arc::clone(&bytes),
        all: Arc::clone(&all),
    };
    let messages = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&messages);
    let profile = ImportOptions::new()
        .allocator(memory)
        .log(move |level, message| kept.lock().unwrap().push((level, message.to_string())))
        .import(&file)
        .unwrap();
    assert!(all.load(Ordering::Relaxed) > 0);
    assert_eq!(bytes.load(Ordering::Relaxed), 0);
    assert!(profile.info().unwrap().samples > 0);
    let messages = messages.lock().unwrap();
    assert!(messages
        .iter()
        .any(|(level, message)| *level == LogLevel::Info && message.starts_with("samples of ")));
}

#[test]
fn threads_are_chosen() {
    let main = std::process::id();
    let mut session = match started(ebs().threads([main])) {
        Some(session) => session,
        None => return,
    };
    work(Duration::from_millis(50));
    session.stop().unwrap();
    let profile = session.snapshot().unwrap();
    assert!(profile
        .threads()
        .unwrap()
        .iter()
        .all(|thread| thread.tid == main));
}

#[test]
fn long_work_is_cancelled() {
    let file = match recording("autofdo/propeller_sample.perfdata") {
        Some(file) => file,
        None => return,
    };
    let cancel = Cancel::new().unwrap();
    assert!(!cancel.is_set());
    let from_within = cancel.clone();
    let error = ImportOptions::new()
        .cancel(&cancel)
        .progress(move |_, _| from_within.set(true))
        .import(&file)
        .unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    assert!(cancel.is_set());
    cancel.set(false);
    assert!(ImportOptions::new().cancel(&cancel).import(&file).is_ok());
}

#[test]
fn blocks_are_found_with_progress_or_not_at_all() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let cancel = Cancel::new().unwrap();
    cancel.set(true);
    let error = AnalysisOptions::new()
        .cancel(&cancel)
        .analyze(&profile)
        .unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    for options in [
        AnalysisOptions::new().event("nonsense"),
        AnalysisOptions::new().root("/nonexistent"),
        AnalysisOptions::new().moved_file("none", "/bin/true"),
    ] {
        assert_eq!(
            options.analyze(&profile).unwrap_err().status(),
            Status::NotFound
        );
    }
    let mut calls = 0;
    let analysis = AnalysisOptions::new()
        .progress(|_, _| calls += 1)
        .analyze(&profile)
        .unwrap();
    assert!(calls > 0);
    assert!(!analysis.blocks().unwrap().is_empty());
}
