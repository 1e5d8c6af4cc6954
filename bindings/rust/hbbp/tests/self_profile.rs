//! The test profiles itself while it sorts and counts.

mod common;

use common::{
    ebs, insertion_sort, profile_of, read_all, read_analysis, started, usual_analysis,
    usual_profile, work,
};
use hbbp::{
    demangle, AnalysisOptions, Block, Cancel, Estimator, KernelFiles, LabelKind, MixKeys, Order,
    PivotQuery, Profile, Selection, SessionOptions, SourceKind, Status, Taxonomy, TripBasis, Unit,
    Work,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

#[test]
fn mix_and_functions_are_of_what_ran() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let analysis = profile.analyze().unwrap();
    let source = &profile.sources().unwrap()[0];
    assert_eq!(source.kind, SourceKind::Ebs);
    assert!(matches!(
        source.unit,
        Unit::Nanoseconds | Unit::Instructions
    ));
    assert!(source.samples > 300, "{}", source.samples);
    assert_eq!(profile.info().unwrap().pid, std::process::id());

    let mix = analysis.mix(MixKeys::MNEMONIC).unwrap();
    let shares: f64 = mix.rows().map(|row| row.share).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    let counts: Vec<f64> = mix.rows().map(|row| row.instructions).collect();
    assert!(counts.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(mix.rows().any(|row| row.mnemonic == "mov"));
    assert_eq!(
        mix.rows().rev().next().map(|row| row.instructions),
        counts.last().copied()
    );

    let functions = analysis.functions().unwrap();
    let all: f64 = functions.iter().map(|function| function.instructions).sum();
    let of_sort: f64 = functions
        .iter()
        .filter(|function| demangle(&function.name).contains("common::insertion_sort"))
        .map(|function| function.instructions)
        .sum();
    assert!(of_sort > 0.01 * all, "{of_sort} of {all}");
    assert!(read_all(&profile).unwrap() > 100);
}

#[test]
fn hottest_come_first() {
    let analysis = match usual_analysis() {
        Some(analysis) => analysis,
        None => return,
    };
    let heat = |block: &Block| block.count * f64::from(block.instruction_count);
    let all = analysis.blocks().unwrap();
    let sorted = analysis
        .hottest_blocks(usize::MAX, Order::Instructions)
        .unwrap();
    assert_eq!(sorted.len(), all.len());
    assert!(sorted
        .windows(2)
        .all(|pair| heat(&pair[0]) >= heat(&pair[1])));
    let first = analysis.hottest_blocks(3, Order::Samples).unwrap();
    assert_eq!(first.len(), 3.min(all.len()));
    assert!(all.iter().all(|block| block.samples <= first[0].samples));

    let functions = analysis
        .hottest_functions(usize::MAX, Order::Samples)
        .unwrap();
    assert!(functions
        .windows(2)
        .all(|pair| pair[0].samples >= pair[1].samples));
    for function in &functions {
        assert_eq!(function.demangled_name, demangle(&function.name));
    }
    let refusal = analysis.hottest_functions(1, Order::Executions);
    assert_eq!(refusal.unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn a_call_is_profiled() {
    if let Ok((result, profile)) = hbbp::profile_call(|| 3) {
        assert_eq!(result, 3);
        assert_eq!(profile.info().unwrap().pid, std::process::id());
    }
}

#[test]
fn source_lines_are_those_of_the_function() {
    let analysis = match usual_analysis() {
        Some(analysis) => analysis,
        None => return,
    };
    let functions = analysis.functions().unwrap();
    let sort = functions
        .iter()
        .find(|function| demangle(&function.name).ends_with("common::insertion_sort"))
        .expect("insertion_sort ran");
    let ranges: Vec<_> = analysis
        .line_ranges(sort.module, sort.start..sort.end)
        .collect::<hbbp::Result<_>>()
        .unwrap();
    assert!(ranges.len() > 5);
    for range in &ranges {
        let outermost = range.frames.last().expect("all of it is of some line");
        assert!(
            outermost.file.ends_with("tests/common/mod.rs"),
            "{outermost:?}"
        );
        assert!(demangle(&outermost.function).ends_with("common::insertion_sort"));
    }
    let instructions: Vec<_> = analysis
        .instructions(sort.module, sort.start..sort.end)
        .collect::<hbbp::Result<_>>()
        .unwrap();
    let bytes: u64 = instructions
        .iter()
        .map(|instruction| u64::from(instruction.length))
        .sum();
    assert_eq!(bytes, sort.end - sort.start);
    assert_eq!(analysis.debug_problem(sort.module).unwrap(), "");
}

#[test]
fn pivots_have_the_sums_of_the_mix() {
    let analysis = match usual_analysis() {
        Some(analysis) => analysis,
        None => return,
    };
    let mix = analysis.mix(MixKeys::MNEMONIC).unwrap();
    let query = PivotQuery::new().rows("function").columns("memory").top(3);
    let pivot = analysis.pivot(&query).unwrap();
    assert_eq!(pivot.rows().len(), 3);
    assert!(pivot.row_count_in_all() > 3);
    let total = pivot.cell(None, None, 0).unwrap();
    assert!((total.value - mix.total()).abs() < 1e-6 * mix.total());
    assert!((total.share - 1.0).abs() < 1e-9);
    for row in pivot.rows() {
        let sum: f64 = pivot
            .columns()
            .map(|column| row.cell(column.index(), 0).unwrap().value)
            .sum();
        let all = row.total(0).unwrap().value;
        assert!((sum - all).abs() <= 1e-6 * all);
        let label = row.label(0).unwrap();
        assert_eq!(label.kind, LabelKind::Text);
        let function = &analysis.functions().unwrap()[label.index.expect("of a function")];
        assert_eq!(function.name, label.text);
    }
    assert_eq!(
        pivot.cell(Some(3), None, 0).unwrap_err().status(),
        Status::NotFound
    );
    assert_eq!(
        pivot.rows().next().unwrap().label(1).unwrap_err().status(),
        Status::NotFound
    );

    let only = PivotQuery::new()
        .rows("mnemonic")
        .filter("mnemonic = mov")
        .values("executions");
    let names: Vec<_> = match analysis.pivot(&only) {
        Ok(pivot) => pivot
            .rows()
            .map(|row| row.label(0).unwrap().text.into_owned())
            .collect(),
        Err(error) => panic!(
            "{error}; there are {:?}",
            PivotQuery::value_names().collect::<Vec<_>>()
        ),
    };
    assert_eq!(names, ["mov"]);
}

#[test]
fn groups_of_ones_own_are_keys() {
    let analysis = match usual_analysis() {
        Some(analysis) => analysis,
        None => return,
    };
    let taxonomy =
        Taxonomy::new("[kinds]\nbranches: category = conditional-branch, jump\n").unwrap();
    let pivot = {
        let query = PivotQuery::new().rows("kinds").taxonomy(&taxonomy);
        analysis.pivot(&query).unwrap()
    };
    drop(taxonomy);
    drop(analysis);
    let mut labels: Vec<_> = pivot
        .rows()
        .map(|row| row.label(0).unwrap().text.into_owned())
        .collect();
    labels.sort();
    assert_eq!(labels, ["branches", "other"]);

    assert!(Taxonomy::of_library()
        .unwrap()
        .names()
        .contains(&"groups".to_string()));
    let error = Taxonomy::new("[kinds]\nodd: categorie = jump\n")
        .err()
        .unwrap();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("category"), "{error}");
}

#[test]
fn unknown_keys_are_named_with_the_nearest() {
    let analysis = match usual_analysis() {
        Some(analysis) => analysis,
        None => return,
    };
    let error = analysis
        .pivot(&PivotQuery::new().rows("funktion"))
        .err()
        .unwrap();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("function"), "{error}");
    assert!(PivotQuery::key_names().any(|name| name == "function"));
    let ratios = analysis.ratios(Some("memory != none"), None).unwrap();
    assert!(ratios
        .iter()
        .all(|ratio| !ratio.name.is_empty() && !ratio.unit.is_empty()));
    assert!(ratios.get("no such ratio").is_none());
    assert!(analysis.ratios(Some("memory !="), None).is_err());
}

#[test]
fn slices_add_up() {
    let options = ebs().slices(Duration::from_millis(50));
    let profile = match profile_of(options, || work(Duration::from_millis(400))) {
        Some(profile) => profile,
        None => return,
    };
    let slices = profile.slices().unwrap();
    assert!(slices.len() > 3, "{}", slices.len());
    let samples: u64 = slices.iter().map(|slice| slice.samples).sum();
    assert_eq!(samples, profile.info().unwrap().samples);
    let busiest = (0..slices.len())
        .max_by_key(|&index| slices[index].samples)
        .unwrap();
    let selected = profile.select_slice(busiest).unwrap();
    assert_eq!(selected.info().unwrap().samples, slices[busiest].samples);
    let thread = profile.threads().unwrap()[0].tid;
    let both = Selection::new().slice(busiest).thread(thread);
    assert!(profile.select(&both).unwrap().info().unwrap().samples <= slices[busiest].samples);
    assert_eq!(
        profile.select(&Selection::new()).unwrap_err().status(),
        Status::InvalidArgument
    );
    let rows = profile.analyze().unwrap().mix(MixKeys::SLICE).unwrap();
    assert!(rows
        .rows()
        .filter_map(|row| row.slice)
        .all(|slice| slice < slices.len()));
    assert_eq!(
        profile.select_slice(slices.len()).unwrap_err().status(),
        Status::NotFound
    );
}

#[test]
fn profiles_are_saved_loaded_and_merged() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = directory.join(format!("self_profile_{}", std::process::id()));
    profile.save(&file).unwrap();
    let loaded = Profile::load(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        loaded.info().unwrap().samples,
        profile.info().unwrap().samples
    );
    assert_eq!(
        loaded.analyze().unwrap().blocks().unwrap(),
        profile.analyze().unwrap().blocks().unwrap()
    );

    let merged = Profile::merge([&profile, &loaded]).unwrap();
    assert_eq!(
        merged.info().unwrap().samples,
        2 * profile.info().unwrap().samples
    );
    assert_eq!(
        Profile::merge([]).unwrap_err().status(),
        Status::InvalidArgument
    );
    let nowhere = profile.save("/nowhere/profile").unwrap_err();
    assert_eq!(nowhere.status(), Status::NotFound);
}

#[test]
fn an_estimator_is_chosen() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let usual = profile.analyze().unwrap();
    assert_eq!(usual.info().unwrap().estimator, Estimator::Ebs);
    let options = AnalysisOptions::new().estimator(Estimator::Flow);
    let by_flow = options.analyze(&profile).unwrap();
    assert_eq!(by_flow.info().unwrap().estimator, Estimator::Flow);
    assert!(!by_flow.blocks().unwrap().is_empty());
    let error = AnalysisOptions::new()
        .estimator(Estimator::Tree)
        .tree("{\"no\": \"tree\"}")
        .analyze(&profile)
        .unwrap_err();
    assert_eq!(error.status(), Status::BadFormat);
    let error = AnalysisOptions::new()
        .kernel(KernelFiles::new().vmlinux("/nowhere/vmlinux"))
        .analyze(&profile)
        .unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    let names = hbbp::block_feature_names();
    assert_eq!(usual.block_features().unwrap()[0].len(), names.len());
}

#[test]
fn an_analysis_needs_no_profile() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let analysis = profile.analyze().unwrap();
    let samples = profile.info().unwrap().samples;
    let before = read_analysis(&analysis).unwrap();
    drop(profile);
    assert_eq!(read_analysis(&analysis).unwrap(), before);
    assert_eq!(analysis.profile().info().unwrap().samples, samples);
    // The profile of an analysis is like any other.
    let again = analysis.profile().analyze().unwrap();
    drop(analysis);
    assert_eq!(again.profile().info().unwrap().samples, samples);
}

#[test]
fn everything_long_is_cancelled() {
    let profile = match usual_profile() {
        Some(profile) => profile,
        None => return,
    };
    let analysis = profile.analyze().unwrap();
    let cancel = Cancel::new().unwrap();
    cancel.set(true);
    let work = || Work::new().cancel(&cancel);
    let errors = [
        analysis.mix_with(MixKeys::MNEMONIC, work()).err(),
        analysis.pivot_with(&PivotQuery::new(), work()).err(),
        analysis.ratios_with(None, None, work()).err(),
        analysis.loops_with(work()).err(),
        Profile::merge_with([&profile], work()).err(),
        profile.save_with("/nowhere/profile", work()).err(),
    ];
    for error in errors.iter().take(5) {
        assert_eq!(error.as_ref().unwrap().status(), Status::Cancelled);
    }
    assert!(errors[5].is_some());
}

#[test]
fn threads_take_snapshots_of_a_running_session() {
    let mut session = match started(ebs()) {
        Some(session) => session,
        None => return,
    };
    assert_eq!(session.start().unwrap_err().status(), Status::InvalidState);
    work(Duration::from_millis(100));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut before = 0;
                for _ in 0..20 {
                    assert!(session.info().unwrap().is_running);
                    let samples = session.snapshot().unwrap().info().unwrap().samples;
                    assert!(samples >= before);
                    before = samples;
                }
            });
        }
    });
    session.stop().unwrap();
    assert_eq!(session.stop().unwrap_err().status(), Status::InvalidState);
    assert!(!session.info().unwrap().is_running);
}

#[test]
fn an_analysis_is_read_by_many_threads() {
    let analysis = match usual_analysis() {
        Some(analysis) => Arc::new(analysis),
        None => return,
    };
    let (sender, counts) = std::sync::mpsc::channel();
    for _ in 0..4 {
        let (analysis, sender) = (Arc::clone(&analysis), sender.clone());
        thread::spawn(move || sender.send(read_analysis(&analysis).unwrap()).unwrap());
    }
    drop(sender);
    let counts: Vec<_> = counts.iter().collect();
    assert_eq!(counts.len(), 4);
    assert!(
        counts.windows(2).all(|pair| pair[0] == pair[1]),
        "{counts:?}"
    );
}

#[test]
fn threads_are_distinguished() {
    let mut session = match started(ebs()) {
        Some(session) => session,
        None => return,
    };
    let builder = thread::Builder::new().name("sorter".into());
    let sorter = builder.spawn(|| work(Duration::from_millis(300))).unwrap();
    sorter.join().unwrap();
    session.stop().unwrap();
    let profile = session.snapshot().unwrap();
    let threads = profile.threads().unwrap();
    let sorter = threads
        .iter()
        .find(|thread| thread.name == "sorter")
        .expect("it ran");
    let selected = profile.select_thread(sorter.tid).unwrap();
    assert_eq!(selected.info().unwrap().samples, sorter.samples);
    assert_eq!(
        profile.select_thread(0).unwrap_err().status(),
        Status::NotFound
    );
}

#[test]
fn traced_branches_say_how_often_loops_iterate() {
    #[inline(never)]
    fn rounds(times: usize) -> u64 {
        let mut sum = 0u64;
        for outer in 0..times {
            let mut left = 50u64;
            while left > 0 {
                sum = sum.wrapping_mul(31).wrapping_add(left ^ outer as u64);
                left -= 1;
            }
        }
        sum
    }
    let options = SessionOptions::new()
        .source(SourceKind::Swbt)
        .period(1_000_000);
    let profile = match profile_of(options, || {
        assert_ne!(rounds(2_000_000), 1);
    }) {
        Some(profile) => profile,
        None => return,
    };
    let analysis = profile.analyze().unwrap();
    let functions = analysis.functions().unwrap();
    let loops = analysis.loops().unwrap();
    let inner = loops
        .iter()
        .filter(|found| demangle(&functions[found.function].name).ends_with("::rounds"))
        .max_by_key(|found| found.depth)
        .expect("the inner loop ran");
    // The header runs once more than the body.
    assert_eq!(inner.trip_basis, TripBasis::Branches);
    assert!(
        (inner.trip_count - 51.0).abs() < 5.0 * inner.trip_count_error,
        "{inner:?}"
    );
    assert!(inner.trip_count_error < 20.0, "{inner:?}");
    let blocks = analysis.blocks().unwrap();
    assert!(blocks
        .iter()
        .zip(loops.of_blocks())
        .any(|(block, of_block)| {
            block.start == inner.header && of_block.map_or(false, |index| loops[index] == *inner)
        }));
    assert!(analysis
        .branches()
        .unwrap()
        .iter()
        .any(|branch| branch.to == Some(inner.header)));
}

#[test]
fn sessions_come_and_go() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut before = 0;
    for round in 0..60 {
        let mut session = match started(ebs()) {
            Some(session) => session,
            None => return,
        };
        insertion_sort(&mut [3, 1, 2]);
        // Every second one ends without being stopped.
        if round % 2 == 0 {
            session.stop().unwrap();
        }
        drop(session);
        if round == 10 {
            before = descriptors();
        }
    }
    // Other tests run at the same time.
    let after = descriptors();
    assert!(after < before + 40, "{before} descriptors, then {after}");
}

#[test]
fn a_panic_of_the_work_stops_the_session() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let result = std::panic::catch_unwind(|| {
        ebs().profile(|| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            panic!("of the work");
        })
    });
    match result {
        Err(panic) => assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the work")),
        Ok(Err(error)) if common::is_missing_here(&error) => return,
        Ok(other) => panic!("{:?}", other.map(|_: ((), Profile)| ())),
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    let (sum, profile) = ebs().profile(|| work(Duration::from_millis(50))).unwrap();
    assert!(sum > 0 && profile.info().unwrap().duration_ns > 40_000_000);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let error = SessionOptions::new()
        .period(1)
        .frequency_hz(1)
        .create()
        .err()
        .unwrap();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(
        error.message().contains("period or frequency_hz"),
        "{error}"
    );
    let endless = SessionOptions::new()
        .slices(Duration::MAX)
        .create()
        .err()
        .unwrap();
    assert_eq!(endless.status(), Status::InvalidArgument);
    let truth = SessionOptions::new()
        .source(SourceKind::Truth)
        .create()
        .err()
        .unwrap();
    assert!(truth.to_string().contains("source"), "{truth}");
}
