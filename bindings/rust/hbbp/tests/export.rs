//! Tests what writes the formats of other tools.

use hbbp::{
    export_formats, Event, FeedEvent, FeedOptions, FeedOrder, FeedSample, FeedSource, SourceKind,
    Status,
};
use std::io::{Error, ErrorKind, Result, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};

const PID: u32 = 4711;
const BASE: u64 = 0x7000_0000;
/// 0: dec eax; 2: jne 0; 4: ret
const CODE: [u8; 5] = [0xff, 0xc8, 0x75, 0xfc, 0xc3];

fn analysis() -> hbbp::Analysis {
    let feed = FeedOptions::new()
        .order(FeedOrder::AsAdded)
        .create()
        .unwrap();
    let kind = FeedSource::of_samples(SourceKind::Ebs, Event::Instructions)
        .event_name("instructions:u")
        .period(1000);
    let source = feed.add_source(&kind).unwrap();
    feed.add_events(&[FeedEvent::code(PID, BASE, &CODE)])
        .unwrap();
    let samples: Vec<_> = (0..40)
        .map(|_| FeedSample::new(PID, PID).ip(BASE))
        .collect();
    feed.add_samples(source, &samples).unwrap();
    feed.snapshot().unwrap().analyze().unwrap()
}

#[test]
fn a_format_is_written_whole() {
    let formats = export_formats().unwrap();
    let profgen = formats
        .iter()
        .find(|format| format.name == "profgen")
        .unwrap();
    assert!(profgen.is_of_one_module && !profgen.summary.is_empty());
    let mut written = Vec::new();
    let notes = analysis().export("profgen", None, &mut written).unwrap();
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(
        String::from_utf8(written).unwrap(),
        format!("1\n{:x}-{:x}:20000\n0\n", BASE, BASE + 2)
    );
}

#[test]
fn mistakes_are_errors() {
    let mut written = Vec::new();
    let error = analysis().export("lvm", None, &mut written).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = analysis()
        .export("profgen", Some("libm"), &mut written)
        .unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    assert!(written.is_empty());
}

struct Failing;

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        Err(Error::new(ErrorKind::Other, "the disk is full"))
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

struct Panicking;

impl Write for Panicking {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        panic!("of a writer");
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn what_a_writer_says_arrives() {
    let error = analysis()
        .export("profgen", None, &mut Failing)
        .unwrap_err();
    assert_eq!(
        (error.status(), error.message()),
        (Status::Io, "the disk is full")
    );
    let panic = catch_unwind(AssertUnwindSafe(|| {
        analysis().export("profgen", None, &mut Panicking)
    }));
    assert_eq!(
        panic.unwrap_err().downcast_ref::<&str>(),
        Some(&"of a writer")
    );
}
