//! Tests closures that libhbbp calls, and their panics.

mod common;

use common::{recording, usual_profile};
use hbbp::{AnalysisOptions, Cancel, DebugOptions, ImportOptions, Profile, Status};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const RECORDING: &str = "autofdo/propeller_sample.perfdata";

#[test]
fn an_import_reports_how_far_it_is() {
    let file = match recording(RECORDING) {
        Some(file) => file,
        None => return,
    };
    let size = std::fs::metadata(&file).unwrap().len();
    let mut seen = Vec::new();
    ImportOptions::new()
        .progress(|done, all| seen.push((done, all)))
        .import(&file)
        .unwrap();
    assert!(!seen.is_empty());
    assert!(seen
        .windows(2)
        .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 == pair[1].1));
    let (done, all) = seen[seen.len() - 1];
    assert!(all == Some(done) && 0 < done && done <= size, "{seen:?}");
}

#[test]
fn a_panic_while_importing_goes_on_after_it() {
    let file = match recording(RECORDING) {
        Some(file) => file,
        None => return,
    };
    let mut calls = 0;
    let panic = catch_unwind(AssertUnwindSafe(|| {
        ImportOptions::new()
            .progress(|_, _| {
                calls += 1;
                panic!("while importing");
            })
            .import(&file)
    }));
    let panic = panic.expect_err("the panic goes on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"while importing"));
    assert_eq!(calls, 1);
    // Nothing of it remains.
    assert!(ImportOptions::new().import(&file).is_ok());
}

/// Analyzes with these options, and returns a function of the analysis, too.
fn analyzed(profile: &Profile, options: DebugOptions) -> (hbbp::Analysis, usize, u64) {
    let analysis = AnalysisOptions::new()
        .debug(options)
        .analyze(profile)
        .unwrap();
    let (module, address) = {
        let function = &analysis.functions().unwrap()[0];
        (function.module, function.start)
    };
    (analysis, module, address)
}

#[test]
fn reading_debug_information_reports_how_far_it_is() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let options = DebugOptions::new()
        .memory_limit(1 << 28)
        .progress(move |module, done, total| {
            assert!(module.is_absolute() && done <= total);
            counted.fetch_add(1, Ordering::Relaxed);
        });
    let (analysis, module, address) = analyzed(&profile, options);
    drop(profile);
    let found = analysis.find_lines(module, address);
    assert!(calls.load(Ordering::Relaxed) > 0, "{found:?}");
    drop(found);
    drop(analysis);
    assert_eq!(Arc::strong_count(&calls), 1);
}

#[test]
fn reading_debug_information_is_cancelled() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let cancel = Cancel::new().unwrap();
    let (analysis, module, address) = analyzed(&profile, DebugOptions::new().cancel(&cancel));
    cancel.set(true);
    for _ in 0..2 {
        let error = analysis.find_lines(module, address).unwrap_err();
        assert_eq!(error.status(), Status::Cancelled);
    }
    cancel.set(false);
    // The analysis keeps the flag.
    drop(cancel);
    let found = analysis.find_lines(module, address);
    assert!(
        !matches!(&found, Err(error) if error.status() == Status::Cancelled),
        "{found:?}"
    );
}

#[test]
fn a_panic_while_reading_debug_information_goes_on_in_the_call_that_asked() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let options = DebugOptions::new().progress(|_, _, _| panic!("while reading"));
    let (analysis, module, address) = analyzed(&profile, options);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        analysis.find_lines(module, address).is_ok()
    }));
    assert_eq!(
        panic.unwrap_err().downcast_ref::<&str>(),
        Some(&"while reading")
    );
    assert!(analysis.info().is_ok());
}

#[test]
fn a_panic_while_analyzing_goes_on_after_it() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let panic = catch_unwind(AssertUnwindSafe(|| {
        AnalysisOptions::new()
            .progress(|_, _| panic!("while analyzing"))
            .analyze(&profile)
            .is_ok()
    }));
    assert_eq!(
        panic.unwrap_err().downcast_ref::<&str>(),
        Some(&"while analyzing")
    );
    assert!(profile.analyze().is_ok());
}
