//! A program that is profiled, and checks whether it can be profiled here.
#![allow(dead_code)]

use hbbp::{Analysis, Error, Event, Profile, Session, SessionOptions, SourceKind, Status};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Returns numbers without a pattern that a sort could use.
fn numbers(count: usize) -> Vec<u32> {
    let mut state = 12345u32;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..count).map(|_| next()).collect()
}

#[inline(never)]
pub fn insertion_sort(values: &mut [u32]) {
    for end in 1..values.len() {
        let mut at = end;
        while at > 0 && values[at - 1] > values[at] {
            values.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[inline(never)]
pub fn count_digits(values: &[u32]) -> HashMap<u32, usize> {
    let mut counts = HashMap::new();
    for value in values {
        *counts.entry(value % 10).or_default() += 1;
    }
    counts
}

/// Sorts and counts for some time; most of it is spent in `insertion_sort`.
pub fn work(time: Duration) -> usize {
    let start = Instant::now();
    let mut sum = 0;
    while start.elapsed() < time {
        let mut values = numbers(2000);
        insertion_sort(&mut values);
        sum += count_digits(&values).len();
    }
    sum
}

/// Decides whether an error is due to the machine, and not a failure of the library.
pub fn is_missing_here(error: &Error) -> bool {
    matches!(
        error.status(),
        Status::Permission | Status::Unsupported | Status::Busy
    )
}

/// Starts a session, if the machine allows it.
pub fn started(options: SessionOptions) -> Option<Session> {
    let mut session = options.create().unwrap();
    match session.start() {
        Ok(()) => Some(session),
        Err(error) if is_missing_here(&error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub fn profile_of<R>(options: SessionOptions, work: impl FnOnce() -> R) -> Option<Profile> {
    let mut session = started(options)?;
    work();
    session.stop().unwrap();
    Some(session.snapshot().unwrap())
}

/// Five samples per millisecond of CPU time, which all machines can count.
pub fn ebs() -> SessionOptions {
    SessionOptions::new()
        .source(SourceKind::Ebs)
        .event(Event::TaskClock)
        .period(200_000)
}

/// Makes an analysis of about two thousand samples of `work`.
pub fn usual_analysis() -> Option<Analysis> {
    Some(usual_profile()?.analyze().unwrap())
}

/// Makes a profile with about two thousand samples of `work`.
pub fn usual_profile() -> Option<Profile> {
    profile_of(ebs(), || work(Duration::from_millis(400)))
}

/// Returns the path of a recording. Recordings are not part of the project.
pub fn recording(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("HBBP_TEST_DATA")
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../../shared/data"
            ))
        });
    let file = directory.join(name);
    if !file.exists() {
        eprintln!("SKIPPED: no {}", file.display());
        return None;
    }
    Some(file)
}

/// Calls everything that any profile has, and its analysis.
pub fn read_all(profile: &Profile) -> hbbp::Result<usize> {
    let mut items = 1;
    profile.info()?;
    for index in 0..profile.sources()?.len() {
        items += profile.counters(index)?.len();
    }
    items += profile.threads()?.len() + profile.modules()?.len() + profile.slices()?.len();
    items += profile.ibs_buckets()?.len() + profile.ibs_lines()?.len();
    Ok(items + read_analysis(&profile.analyze()?)?)
}

pub fn read_analysis(analysis: &Analysis) -> hbbp::Result<usize> {
    let mut items = 1;
    analysis.info()?;
    let sources = analysis.sources()?;
    assert_eq!(sources.len(), analysis.profile().sources()?.len());
    for (index, source) in sources.iter().enumerate() {
        let reasons = analysis.unexplained_reasons(index)?;
        let sum: u64 = reasons.iter().map(|reason| reason.value).sum();
        assert_eq!(sum, source.unexplained);
        items += reasons.len();
    }
    assert_eq!(
        analysis.modules()?.len(),
        analysis.profile().modules()?.len()
    );
    let loops = analysis.loops()?;
    items += analysis.functions()?.len() + analysis.branches()?.len() + loops.len();
    let blocks = analysis.blocks()?;
    assert_eq!(loops.of_blocks().len(), blocks.len());
    assert_eq!(analysis.block_features()?.len(), blocks.len());
    for block in &blocks {
        for instruction in analysis.disassembly(block.module, block.start..block.end) {
            items += instruction?.text.len().min(1);
        }
    }
    items += analysis.ibs_sums()?.len() + analysis.ibs_latencies()?.len();
    items += analysis.ibs_objects()?.len();
    items += analysis
        .mix(hbbp::MixKeys::MNEMONIC | hbbp::MixKeys::FUNCTION)?
        .rows()
        .count();
    items += analysis.ratios(None, None)?.iter().count();
    let query = hbbp::PivotQuery::new()
        .rows("module,function")
        .columns("category");
    for row in analysis.pivot(&query)?.rows() {
        items += row.labels()?.len();
    }
    Ok(items + blocks.len())
}
