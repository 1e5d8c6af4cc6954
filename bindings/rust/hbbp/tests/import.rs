//! Tests recordings of perf.

mod common;

use common::{read_all, recording};
use hbbp::{Event, ImportOptions, Profile, SourceKind, Status};
use std::time::Duration;

#[test]
fn branch_stacks_give_counts_and_loops() {
    let (file, binary) = match (
        recording("autofdo/hierarchical_discriminator_test.x86_64.perf.data"),
        recording("autofdo/hierarchical_discriminator_test.x86_64"),
    ) {
        (Some(file), Some(binary)) => (file, binary),
        _ => return,
    };
    let profile = ImportOptions::new()
        .moved_file("hierarchical_discriminator_test", &binary)
        .slices(Duration::from_millis(10))
        .import(&file)
        .unwrap();
    let sources = profile.sources().unwrap();
    let lbr = sources
        .iter()
        .find(|source| source.kind == SourceKind::Lbr)
        .expect("it has stacks");
    assert_eq!(lbr.event, Event::Cycles);
    let modules = profile.modules().unwrap();
    let module = modules
        .iter()
        .position(|module| module.build_id.starts_with(&[0xa0, 0x5d, 0xe3, 0x86]))
        .unwrap();
    // Everything is named by where it was recorded.
    assert!(modules[module]
        .path
        .ends_with("hierarchical_discriminator_test"));
    let analysis = profile.analyze().unwrap();
    assert_eq!(analysis.modules().unwrap()[module].problem, "");
    let blocks = analysis.blocks().unwrap();
    let count_at = |address| {
        let block = analysis.find_block(module, address).unwrap();
        let listed = blocks
            .iter()
            .find(|listed| listed.start == block.start)
            .unwrap();
        assert_eq!(*listed, block);
        block.count
    };
    // It ran 8 times as often; cycles as the trigger reduce that.
    assert!(count_at(0x401240) > 2.0 * count_at(0x4011c8));
    assert!(analysis
        .loops()
        .unwrap()
        .iter()
        .any(|found| found.trip_count > 1.0));
    assert!(!analysis.branches().unwrap().is_empty());
    assert!(!profile.slices().unwrap().is_empty());
    let range = analysis.find_lines(module, 0x401240).unwrap();
    assert!(range.start <= 0x401240 && 0x401240 < range.end);
    assert!(range.frames[0].line.is_some(), "{range:?}");
    assert!(read_all(&profile).unwrap() > 50);
}

#[test]
fn ibs_has_latencies_and_lines() {
    let file = match recording("ibs/zen4_genoa.ibs.perf.data") {
        Some(file) => file,
        None => return,
    };
    let profile = Profile::import(&file).unwrap();
    assert!(profile
        .sources()
        .unwrap()
        .iter()
        .any(|source| source.kind == SourceKind::Ibs));
    assert!(profile
        .analyze()
        .unwrap()
        .ibs_sums()
        .unwrap()
        .iter()
        .all(|sum| sum.sum > 0 && !sum.event.is_empty()));
    let buckets = profile.ibs_buckets().unwrap();
    assert!(!buckets.is_empty());
    assert!(buckets
        .iter()
        .all(|bucket| bucket.first_cycles < bucket.end_cycles));
    read_all(&profile).unwrap();
}

#[test]
fn what_is_no_recording_says_so() {
    let missing = Profile::import("/nowhere/perf.data").unwrap_err();
    assert_eq!(missing.status(), Status::NotFound);
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let error = Profile::import(text).unwrap_err();
    assert_eq!(error.status(), Status::BadFormat);
    assert!(error.message().contains("Cargo.toml"), "{error}");
    let zero = Profile::import("a\0b").unwrap_err();
    assert_eq!(zero.status(), Status::InvalidArgument);
}

/// Reads files that fuzzing found, damaged and whole.
#[test]
fn damaged_profiles_are_errors_or_can_be_read() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fuzz/corpus");
    let scratch = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("damaged_{}", std::process::id()));
    let mut read = 0;
    for kind in ["profile_file", "perf_data", "perf_script"] {
        for entry in std::fs::read_dir(format!("{corpus}/{kind}")).unwrap() {
            let whole = std::fs::read(entry.unwrap().path()).unwrap();
            for part in [1, 3, 7, 8] {
                let mut bytes = whole[..whole.len() * part / 8].to_vec();
                if part == 3 {
                    bytes.iter_mut().step_by(13).for_each(|byte| *byte ^= 0xff);
                }
                std::fs::write(&scratch, &bytes).unwrap();
                let opened = match kind {
                    "profile_file" => Profile::load(&scratch),
                    _ => Profile::import(&scratch),
                };
                match opened {
                    Ok(profile) => read += read_all(&profile).unwrap(),
                    Err(error) => assert_ne!(error.status(), Status::Internal, "{error}"),
                }
            }
        }
    }
    std::fs::remove_file(&scratch).unwrap();
    assert!(read > 0);
}
