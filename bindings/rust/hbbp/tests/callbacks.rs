//! Closures that libhbbp calls, and what happens when they panic.

mod common;

use common::{recording, usual_profile};
use hbbp::{Cancel, ImportOptions, SourceOptions, Status};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const RECORDING: &str = "autofdo/propeller_sample.perfdata";

#[test]
fn an_import_tells_how_far_it_is() {
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
    // Nothing of it is left.
    assert!(ImportOptions::new().import(&file).is_ok());
}

#[test]
fn reading_debug_information_tells_how_far_it_is() {
    let mut profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let options =
        SourceOptions::new()
            .memory_limit(1 << 28)
            .progress(move |module, done, total| {
                assert!(module.is_absolute() && done <= total);
                counted.fetch_add(1, Ordering::Relaxed);
            });
    profile.set_source_options(options).unwrap();
    let (module, address) = {
        let function = &profile.functions().unwrap()[0];
        (function.module, function.start)
    };
    let found = profile.find_source(module, address);
    assert!(calls.load(Ordering::Relaxed) > 0, "{found:?}");
    // What was selected does not call it, and so may outlive it.
    let tid = profile.threads().unwrap()[0].tid;
    let selected = profile.select_thread(tid).unwrap();
    drop(profile);
    assert_eq!(Arc::strong_count(&calls), 1);
    let before = calls.load(Ordering::Relaxed);
    let found = selected.find_source(module, address);
    assert_eq!(calls.load(Ordering::Relaxed), before, "{found:?}");
}

#[test]
fn reading_debug_information_is_called_off() {
    let mut profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let cancel = Cancel::new().unwrap();
    profile
        .set_source_options(SourceOptions::new().cancel(&cancel))
        .unwrap();
    let (module, address) = {
        let function = &profile.functions().unwrap()[0];
        (function.module, function.start)
    };
    cancel.set(true);
    for _ in 0..2 {
        let error = profile.find_source(module, address).unwrap_err();
        assert_eq!(error.status(), Status::Cancelled);
    }
    cancel.set(false);
    // The profile keeps the flag.
    drop(cancel);
    let found = profile.find_source(module, address);
    assert!(
        !matches!(&found, Err(error) if error.status() == Status::Cancelled),
        "{found:?}"
    );
}

#[test]
fn a_panic_while_reading_debug_information_goes_on_in_the_call_that_asked() {
    let mut profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let options = SourceOptions::new().progress(|_, _, _| panic!("while reading"));
    profile.set_source_options(options).unwrap();
    let (module, address) = {
        let function = &profile.functions().unwrap()[0];
        (function.module, function.start)
    };
    let panic = catch_unwind(AssertUnwindSafe(|| {
        profile.find_source(module, address).is_ok()
    }));
    assert_eq!(
        panic.unwrap_err().downcast_ref::<&str>(),
        Some(&"while reading")
    );
    assert!(profile.info().is_ok());
}
