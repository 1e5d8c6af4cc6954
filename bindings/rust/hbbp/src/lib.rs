//! Counts how often each basic block of a program executes, and from that which instructions ran:
//! the safe interface of libhbbp.
//!
//! A program that profiles itself:
//!
//! ```no_run
//! # fn work() {}
//! let mut session = hbbp::Session::new()?;
//! session.start()?;
//! work();
//! session.stop()?;
//! for row in session.snapshot()?.analyze()?.mix(hbbp::MixKeys::MNEMONIC)?.rows() {
//!     println!("{:10} {:5.1} %", row.mnemonic, 100.0 * row.share);
//! }
//! # Ok::<(), hbbp::Error>(())
//! ```
//!
//! * [`Session`] observes the calling process or another one, with [`SessionOptions`]; [`Feed`]
//! takes what the host observes itself; [`Profile::import`] reads recordings of perf,
//! [`Profile::load`] files of libhbbp.
//! * [`Profile`] has what was counted, as data: [sources](Profile::sources),
//! [threads](Profile::threads), [modules](Profile::modules), [slices of time](Profile::slices).
//! * [`Analysis`], made by [`Profile::analyze`] or [`AnalysisOptions`], has what follows from it and
//!   from the code: [blocks](Analysis::blocks), [functions](Analysis::functions), source lines
//!   ([`find_lines`](Analysis::find_lines)); and makes sums: [`Analysis::mix`], [`Analysis::pivot`],
//!   [`Analysis::ratios`], [`Analysis::loops`].
//! * [`Probe`] runs rules on the single executed instructions of its bursts.
//! * Every failure is an [`Error`] with a [`Status`] and a message that says what to do next.
//! Nothing here panics, whatever the data; a panic of a closure that libhbbp called continues in
//! the call that it came from, and does not unwind through C.
//! * Everything is `Send` and `Sync`. Profiles, analyses and results do not change.
//! * Structs and enums are `#[non_exhaustive]`: libhbbp gets new fields and values.
//!
//! Names and concepts are those of the C headers, which the crate `hbbp-sys` declares; its
//! documentation describes how the library is found.
#![deny(missing_docs, missing_debug_implementations)]
#![warn(rust_2018_idioms)]
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

#[macro_use]
mod values;

mod analysis;
mod callback;
mod capabilities;
mod code;
mod data;
mod error;
mod estimator;
mod export;
mod feed;
mod handle;
mod host;
mod import;
mod jit;
mod kernel;
mod lines;
mod list;
mod loops;
mod mix;
mod pivot;
mod probe;
mod profile;
mod ratios;
mod records;
mod samples;
mod session;
mod source;
mod taxonomy;
mod text;
mod version;
mod walk;

use hbbp_sys as sys;

pub use analysis::{Analysis, AnalysisOptions, Order};
pub use capabilities::{Capabilities, Capability, CapabilityState, EventCode};
pub use code::{demangle, Disassembly, Flow};
pub use data::DataRegion;
pub use error::{Error, Result, Status};
pub use estimator::{block_feature_names, count_interval, Estimator};
pub use export::{export_formats, ExportFormat};
pub use feed::{
    BranchEntry, Feed, FeedEvent, FeedInfo, FeedOptions, FeedOrder, FeedSample, FeedSource,
    IbsKind, KERNEL_PID,
};
pub use host::{Cancel, LogLevel, Work};
pub use import::ImportOptions;
pub use jit::CodeRegion;
pub use kernel::KernelFiles;
pub use lines::{DebugOptions, LineFrame, LineRange};
pub use loops::Loops;
pub use mix::{Mix, MixKeys, MixRow};
pub use pivot::{LabelKind, Pivot, PivotCell, PivotLabel, PivotLine, PivotQuery};
pub use probe::{
    Probe, ProbeCall, ProbeField, ProbeFieldKind, ProbeInfo, ProbeLocation, ProbeOptions,
    ProbeProduction, ProbeRow, ProbeStream, ProbeTable, ProbeTableKind,
};
pub use profile::{Profile, Selection};
pub use ratios::{Ratio, Ratios};
pub use records::{
    AnalysisInfo, Block, Branch, CodeState, Counter, Function, IbsBucket, IbsLatency, IbsLine,
    IbsObject, IbsObjectKind, IbsSum, Instruction, IpSum, Loop, Module, ModuleKind, ModuleResult,
    ProfileInfo, Slice, SourceInfo, SourceResult, Thread, TripBasis,
};
pub use samples::{EbsMethod, Event, PeriodMode, SourceKind, TraceMode, Unit};
pub use session::{profile_call, BurstValue, Session, SessionInfo, SessionOptions, MIN_MEMORY};
pub use source::Source;
pub use taxonomy::Taxonomy;
pub use version::{abi_version, feature, version, version_number};

/// Implements what threads may share, by the rules of `hbbp/api.h`.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Analysis>();
    is_send_and_sync::<Cancel>();
    is_send_and_sync::<Capabilities>();
    is_send_and_sync::<CodeRegion<'static>>();
    is_send_and_sync::<DataRegion>();
    is_send_and_sync::<DebugOptions>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<EventCode>();
    is_send_and_sync::<Feed>();
    is_send_and_sync::<FeedEvent<'static>>();
    is_send_and_sync::<FeedSample<'static>>();
    is_send_and_sync::<FeedSource<'static>>();
    is_send_and_sync::<Loops>();
    is_send_and_sync::<Mix>();
    is_send_and_sync::<Pivot>();
    is_send_and_sync::<PivotQuery<'static>>();
    is_send_and_sync::<Probe>();
    is_send_and_sync::<ProbeOptions<'static>>();
    is_send_and_sync::<Profile>();
    is_send_and_sync::<Ratios>();
    is_send_and_sync::<Selection>();
    is_send_and_sync::<Session>();
    is_send_and_sync::<SessionOptions>();
    is_send_and_sync::<Taxonomy>();
};

/// Tests the snippets of the README and of `docs/guide/rust.md`.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../../docs/guide/rust.md")]
    struct Guide;
}
