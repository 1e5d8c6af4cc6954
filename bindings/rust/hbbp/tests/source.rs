//! Tests sources of the host as parts of a session.

use hbbp::{
    Event, Feed, FeedEvent, FeedSample, FeedSource, Session, SessionOptions, Source, SourceKind,
    Status,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BASE: u64 = 0x7000_0000;
/// 0: dec eax; 2: jne 0; 4: ret
const CODE: [u8; 5] = [0xff, 0xc8, 0x75, 0xfc, 0xc3];

#[derive(Default)]
struct Calls {
    names: Mutex<Vec<&'static str>>,
    drained: AtomicUsize,
    dropped: AtomicUsize,
}

impl Calls {
    fn names(&self) -> Vec<&'static str> {
        self.names.lock().unwrap().clone()
    }
}

struct Device {
    calls: Arc<Calls>,
    source: Option<u32>,
    fails: &'static str,
    panics: &'static str,
}

fn device(calls: &Arc<Calls>) -> Device {
    Device {
        calls: Arc::clone(calls),
        source: None,
        fails: "",
        panics: "",
    }
}

impl Device {
    fn called(&self, name: &'static str) -> hbbp::Result<()> {
        self.calls.names.lock().unwrap().push(name);
        assert_ne!(self.panics, name, "as requested");
        if self.fails == name {
            hbbp::Profile::load("/no/such/device")?;
        }
        Ok(())
    }

    fn add(&self, feed: &Feed, count: usize) -> hbbp::Result<()> {
        let sample = FeedSample::new(std::process::id(), 1).ip(BASE);
        feed.add_samples(self.source.unwrap(), &vec![sample; count])
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.calls.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Source for Device {
    fn start(&mut self, feed: &Feed) -> hbbp::Result<()> {
        self.called("start")?;
        assert_eq!(feed.snapshot().unwrap_err().status(), Status::InvalidState);
        assert_eq!(feed.info().unwrap_err().status(), Status::InvalidState);
        let source = FeedSource::of_samples(SourceKind::Ebs, Event::Instructions).period(1000);
        self.source = Some(feed.add_source(&source)?);
        feed.add_events(&[FeedEvent::code(std::process::id(), BASE, &CODE)])
    }

    fn drain(&mut self, feed: &Feed) -> hbbp::Result<bool> {
        self.called("drain")?;
        self.add(feed, 5)?;
        self.calls.drained.fetch_add(1, Ordering::SeqCst);
        Ok(true)
    }

    fn stop(&mut self, feed: &Feed) -> hbbp::Result<()> {
        self.called("stop")?;
        self.add(feed, 2)
    }
}

fn external() -> Session {
    SessionOptions::new()
        .source(SourceKind::External)
        .create()
        .unwrap()
}

fn wait_for(reached: impl Fn() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn samples_come_from_the_source() {
    let calls = Arc::new(Calls::default());
    let mut session = external();
    session.add_source("device", device(&calls)).unwrap();
    for round in 1..=2 {
        session.start().unwrap();
        wait_for(|| calls.drained.load(Ordering::SeqCst) == round);
        session.stop().unwrap();
    }
    assert_eq!(
        calls.names(),
        ["start", "drain", "stop", "start", "drain", "stop"]
    );
    let profile = session.snapshot().unwrap();
    let sources = profile.sources().unwrap();
    assert_eq!(sources.len(), 1);
    assert_eq!((sources[0].kind, sources[0].samples), (SourceKind::Ebs, 14));
    let blocks = profile.analyze().unwrap().blocks().unwrap();
    assert_eq!((blocks.len(), blocks[0].count), (1, 7000.0));
    assert_eq!(calls.dropped.load(Ordering::SeqCst), 0);
    drop(session);
    assert_eq!(calls.dropped.load(Ordering::SeqCst), 1);
}

/// Ends the session that it is a part of.
struct Ending {
    device: Device,
    session: Arc<Mutex<Option<Session>>>,
}

impl Source for Ending {
    fn start(&mut self, feed: &Feed) -> hbbp::Result<()> {
        self.device.start(feed)
    }

    fn drain(&mut self, feed: &Feed) -> hbbp::Result<bool> {
        // It is locked until the session runs.
        let session = self.session.lock().unwrap().take();
        drop(session);
        self.device.drain(feed)
    }

    fn stop(&mut self, feed: &Feed) -> hbbp::Result<()> {
        self.device.stop(feed)
    }
}

#[test]
fn a_session_is_dropped_by_its_own_source() {
    let calls = Arc::new(Calls::default());
    let shared = Arc::new(Mutex::new(None));
    let mut session = external();
    let source = Ending {
        device: device(&calls),
        session: Arc::clone(&shared),
    };
    session.add_source("device", source).unwrap();
    {
        let mut locked = shared.lock().unwrap();
        session.start().unwrap();
        *locked = Some(session);
    }
    wait_for(|| calls.dropped.load(Ordering::SeqCst) == 1);
    assert_eq!(calls.names(), ["start", "drain", "stop"]);
}

#[test]
fn failures_are_those_of_the_session() {
    let calls = Arc::new(Calls::default());
    let mut session = external();
    let mut failing = device(&calls);
    failing.fails = "start";
    session.add_source("device", failing).unwrap();
    let error = session.start().unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    assert!(error.message().contains("device"), "{error}");
    assert!(error.message().contains("/no/such/device"), "{error}");
    assert!(!session.info().unwrap().is_running);
    assert_eq!(calls.names(), ["start"]);
}

#[test]
fn a_panic_is_a_failure() {
    let calls = Arc::new(Calls::default());
    let mut session = external();
    let mut panicking = device(&calls);
    panicking.panics = "stop";
    session.add_source("device", panicking).unwrap();
    session.start().unwrap();
    wait_for(|| calls.drained.load(Ordering::SeqCst) == 1);
    let failure = session.stop().unwrap_err();
    assert!(failure.to_string().contains("panicked"), "{failure}");
    assert!(!session.info().unwrap().is_running);
    let profile = session.snapshot().unwrap();
    assert_eq!(profile.info().unwrap().samples, 5);
    let note = &profile.sources().unwrap()[0].note;
    assert!(note.contains("panicked"), "{note}");
}

#[test]
fn wrong_times_are_errors() {
    let calls = Arc::new(Calls::default());
    let mut session = external();
    session.add_source("device", device(&calls)).unwrap();
    session.start().unwrap();
    let late = session.add_source("late", device(&calls)).unwrap_err();
    assert_eq!(late.status(), Status::InvalidState);
    assert_eq!(calls.dropped.load(Ordering::SeqCst), 1);
    let zero = session.add_source("a\0b", device(&calls)).unwrap_err();
    assert_eq!(zero.status(), Status::InvalidArgument);
    drop(session);
    assert_eq!(calls.names().last(), Some(&"stop"));
    assert_eq!(calls.dropped.load(Ordering::SeqCst), 3);
}
