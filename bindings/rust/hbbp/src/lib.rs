//! How often each basic block of a program executes, and from that which instructions ran: the safe
//! side of libhbbp.
//!
//! A program that profiles itself:
//!
//! ```no_run
//! # fn work() {}
//! let mut session = hbbp::Session::new()?;
//! session.start()?;
//! work();
//! session.stop()?;
//! for row in session.snapshot()?.mix(hbbp::MixKeys::MNEMONIC)?.rows() {
//!     println!("{:10} {:5.1} %", row.mnemonic, 100.0 * row.share);
//! }
//! # Ok::<(), hbbp::Error>(())
//! ```
//!
//! * [`Session`] observes the calling process or another one, [`SessionOptions`] how;
//!   [`FedSession`] takes what the host observes itself; [`Profile::import`] reads recordings of
//!   perf, [`Profile::load`] files of libhbbp.
//! * [`Profile`] has the lists: [blocks](Profile::blocks), [functions](Profile::functions),
//!   [loops](Profile::loops), [slices of time](Profile::slices), source lines
//!   ([`find_source`](Profile::find_source)); and makes sums: [`Profile::mix`], [`Profile::pivot`],
//!   [`Profile::ratios`].
//! * Every failure is an [`Error`] with a [`Status`] and a message that says what to do next. Nothing
//!   here panics, whatever the data; a panic of a closure that libhbbp called goes on in the call
//!   that it came from, and does not unwind through C.
//! * Everything is `Send` and `Sync`. What a profile changes takes `&mut self`.
//! * Structs and enums are `#[non_exhaustive]`: libhbbp gets new fields and values.
//!
//! Names and concepts are those of the C headers, which the crate `hbbp-sys` declares; its
//! documentation says how the library is found.
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

mod callback;
mod capabilities;
mod error;
mod estimator;
mod feed;
mod handle;
mod host;
mod import;
mod jit;
mod kernel;
mod list;
mod mix;
mod pivot;
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

pub use capabilities::{Capabilities, Capability, CapabilityState, EventCode};
pub use error::{Error, Result, Status};
pub use estimator::{feature_names, Estimator, EstimatorInfo};
pub use feed::{
    BranchEntry, FedSession, FeedEvent, FeedOptions, FeedOrder, FeedSample, FeedSource, IbsKind,
    KERNEL_PID,
};
pub use host::{Cancel, LogLevel, Work};
pub use import::ImportOptions;
pub use jit::CodeRegion;
pub use kernel::KernelFiles;
pub use mix::{Mix, MixKeys, MixRow};
pub use pivot::{LabelKind, Pivot, PivotCell, PivotLabel, PivotLine, PivotQuery};
pub use profile::Profile;
pub use ratios::{Ratio, Ratios};
pub use records::{
    Block, Branch, Counter, Function, IbsBucket, IbsLine, IbsSum, Instruction, Loop, Module,
    ModuleCode, ModuleKind, ProfileInfo, Slice, SourceInfo, Thread, TripBasis,
};
pub use samples::{EbsMethod, Event, PeriodMode, Source, TraceMode, Unit};
pub use session::{Session, SessionInfo, SessionOptions, LEAST_MEMORY};
pub use source::{demangle, Disassembly, Flow, SourceFrame, SourceOptions, SourcePlace};
pub use taxonomy::Taxonomy;
pub use version::{abi_version, version, version_number};

/// What threads may share, by the rules of `hbbp/api.h`.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Cancel>();
    is_send_and_sync::<Capabilities>();
    is_send_and_sync::<CodeRegion<'static>>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<EventCode>();
    is_send_and_sync::<FedSession>();
    is_send_and_sync::<FeedEvent<'static>>();
    is_send_and_sync::<FeedSample<'static>>();
    is_send_and_sync::<FeedSource<'static>>();
    is_send_and_sync::<Mix>();
    is_send_and_sync::<Pivot>();
    is_send_and_sync::<PivotQuery<'static>>();
    is_send_and_sync::<Profile>();
    is_send_and_sync::<Ratios>();
    is_send_and_sync::<Session>();
    is_send_and_sync::<SessionOptions>();
    is_send_and_sync::<SourceOptions>();
    is_send_and_sync::<Taxonomy>();
};

/// The snippets of the README and of `docs/guide/rust.md`.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../../docs/guide/rust.md")]
    struct Guide;
}
