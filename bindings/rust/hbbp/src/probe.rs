//! Productions: rules on the single executed instructions of whole bursts.

use crate::analysis::Analysis;
use crate::code::Flow;
use crate::error::{call, call_without_resuming, Result};
use crate::handle::Handle;
use crate::host::Work;
use crate::list::{fill, read, read_of, Record};
use crate::session::Session;
use crate::sys;
use crate::taxonomy::Taxonomy;
use crate::text::{address, index, path, static_text, text};
use std::any::Any;
use std::borrow::Cow;
use std::ffi::CString;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::time::Duration;
use std::{ptr, slice, thread};

values! {
    /// What an action does.
    ProbeTableKind: i32 {
        /// `count`: the table has rows.
        Counts = HBBP_PROBE_COUNTS,
        /// `trace`: it has streams.
        Trace = HBBP_PROBE_TRACE,
        /// `call`: it has neither.
        Calls = HBBP_PROBE_CALLS,
    }
}

values! {
    /// The meaning of the number in a field.
    ProbeFieldKind: i32 {
        /// Just a number.
        Number = HBBP_PROBE_NUMBER,
        /// An address of code, which [`Probe::locate`] explains; 0 is an unknown function.
        Code = HBBP_PROBE_CODE,
        /// An `i64`: strides and divisors.
        Signed = HBBP_PROBE_SIGNED,
        /// The outcomes of conditional branches, the first one highest, 1 for taken, behind a
        /// leading 1.
        Path = HBBP_PROBE_PATH,
        /// Cache lines; `u64::MAX` is the first access.
        Reuse = HBBP_PROBE_REUSE,
    }
}

records! {
    /// Totals of all runs of a probe.
    ProbeInfo(raw: hbbp_probe_info) {
        /// Bursts are seen to their ends.
        is_exhaustive: bool = raw.is_exhaustive != 0,
        /// Boundaries from the end of a burst to the start of the next one.
        sample_freq: u64 = raw.sample_freq,
        /// Boundaries in a burst.
        burst_length: u64 = raw.burst_length,
        /// Bursts of the profiles that were run.
        bursts: u64 = raw.bursts,
        /// Bursts that productions began: each time that `sample_flag` was set.
        begun_bursts: u64 = raw.begun_bursts,
        /// Instructions in the bursts.
        instructions: u64 = raw.instructions,
        /// Streams of instructions between two taken branches, including those that were skipped.
        streams: u64 = raw.streams,
        /// Streams that the code does not explain.
        skipped_streams: u64 = raw.skipped_streams,
        /// Those of them whose code is missing.
        streams_without_code: u64 = raw.streams_without_code,
        /// Bursts that were left out, because blocks are counted by another event.
        other_bursts: u64 = raw.other_bursts,
        /// Bursts for which the profile of the last run had no room.
        not_kept: u64 = raw.not_kept,
        /// Estimates are numbers of executions; else they are proportional to these.
        counts_executions: bool = raw.counts_executions != 0,
    }

    /// A production.
    ProbeProduction<'p>(raw: hbbp_probe_production) {
        /// Its name.
        name: Cow<'p, str> = text(raw.name),
        /// How often it fired.
        firings: u64 = raw.firings,
    }

    /// What actions of productions write to.
    ProbeTable<'p>(raw: hbbp_probe_table) {
        /// What they do.
        kind: ProbeTableKind = ProbeTableKind::from_raw(raw.kind),
        /// Its name.
        name: Cow<'p, str> = text(raw.name),
        /// What was counted, appended, or called.
        records: u64 = raw.records,
        /// Those of them for which the table had no room.
        dropped: u64 = raw.dropped,
        /// Others, of which a field was unknown: not recorded, but called all the same.
        unknown: u64 = raw.unknown,
        /// The estimate of all records, dropped ones too.
        estimate: f64 = raw.estimate,
    }

    /// A field of a table.
    ProbeField(raw: hbbp_probe_field) {
        /// The meaning of its numbers.
        kind: ProbeFieldKind = ProbeFieldKind::from_raw(raw.kind),
        /// Its name.
        name: &'static str = static_text(raw.name),
    }

    /// A row of a table of counts.
    ProbeRow(raw: hbbp_probe_row) {
        /// The numbers of the fields, in their order; then 0.
        values: [u64; 4] = raw.values,
        /// Executions in the whole run that was profiled.
        estimate: f64 = raw.estimate,
        /// The share of the estimate of all records, dropped ones too.
        share: f64 = raw.share,
        /// How many were recorded for it.
        records: u64 = raw.records,
    }

    /// What a code number stands for.
    ProbeLocation<'p>(raw: hbbp_probe_location) {
        /// Index of the module in the profile of the last run, if it is in that.
        module: Option<usize> = index(raw.module),
        /// Path of the module.
        path: &'p Path = path(raw.path),
        /// Address in the module.
        address: u64 = raw.address,
        /// Start of the function.
        function: Option<u64> = address(raw.function),
        /// Name of the function, as in the symbol table; empty if it is unknown.
        name: Cow<'p, str> = text(raw.name),
    }
}

/// A hot stream: a sequence that makes up much of a trace.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProbeStream<'p> {
    values: &'p [u64],
    field_count: usize,
    /// How often the bursts have it, apart from longer hot streams around it.
    pub frequency: u64,
    /// The share of the elements of the trace.
    pub share: f64,
}

impl<'p> ProbeStream<'p> {
    /// Returns its elements, each with the fields of the table.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = &'p [u64]> {
        self.values.chunks(self.field_count.max(1))
    }
}

impl Record for ProbeStream<'_> {
    type Raw = sys::hbbp_probe_stream;

    unsafe fn from_raw(raw: &Self::Raw) -> Self {
        let size = (raw.length as usize).saturating_mul(raw.field_count as usize);
        ProbeStream {
            values: match raw.values.is_null() {
                true => &[],
                false => slice::from_raw_parts(raw.values, size),
            },
            field_count: raw.field_count as usize,
            frequency: raw.frequency,
            share: raw.share,
        }
    }
}

/// An execution of an instruction for which a production with the action `call` fired. Code numbers
/// are explained by [`locate`](ProbeCall::locate); 0 is unknown.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProbeCall<'c> {
    probe: *const sys::hbbp_probe,
    raw: &'c sys::hbbp_probe_call,
    /// Index of the production.
    pub production: usize,
    /// Index of the table of the action.
    pub table: usize,
    /// Index of the thread in the profile.
    pub thread: usize,
    /// Code number of the instruction.
    pub pc: u64,
    /// Code number of where a branch goes, also if it is conditional and not taken.
    pub target: u64,
    /// Code number of what was executed next.
    pub next: u64,
    /// What kind of branch it is.
    pub flow: Flow,
    /// It is a branch that went to its target.
    pub is_taken: bool,
    /// Number of the burst in the profile.
    pub burst: u64,
    /// When the burst began.
    pub time_ns: u64,
    /// How many executions in the run that was profiled one in this burst stands for, if all of the
    /// burst is seen.
    pub weight: f64,
}

impl<'c> ProbeCall<'c> {
    /// # Safety
    /// The probe is alive, and inside of its run.
    unsafe fn new(probe: *const sys::hbbp_probe, raw: &'c sys::hbbp_probe_call) -> Self {
        ProbeCall {
            probe,
            raw,
            production: raw.production as usize,
            table: raw.table as usize,
            thread: raw.thread as usize,
            pc: raw.pc,
            target: raw.target,
            next: raw.next,
            flow: Flow::from_raw(raw.flow),
            is_taken: raw.taken != 0,
            burst: raw.burst,
            time_ns: raw.time_ns,
            weight: raw.weight,
        }
    }

    /// Returns the fields of the action, in their order; `None` are those that the burst does not
    /// know.
    pub fn values(&self) -> impl Iterator<Item = Option<u64>> + 'c {
        let raw = self.raw;
        raw.values
            .iter()
            .take(raw.value_count as usize)
            .enumerate()
            .map(move |(i, &value)| (raw.unknown >> i & 1 == 0).then_some(value))
    }

    /// Returns what a code number stands for.
    pub fn locate(&self, code: u64) -> Result<ProbeLocation<'c>> {
        // SAFETY: the probe is alive and allows this; the texts live as long as the probe.
        unsafe { locate(self.probe, code) }
    }
}

/// # Safety
/// The probe is alive for `'p`.
unsafe fn locate<'p>(probe: *const sys::hbbp_probe, code: u64) -> Result<ProbeLocation<'p>> {
    let raw = fill(|raw, error| sys::hbbp_probe_locate(probe, code, raw, error))?;
    Ok(ProbeLocation::from_raw(&raw))
}

type Handler = Box<dyn FnMut(&ProbeCall<'_>) -> bool + Send>;

/// What C passes to a handler.
struct Called {
    probe: *const sys::hbbp_probe,
    handler: Handler,
    /// A panic of the handler, in whatever thread that was. It is not called any more then.
    panic: Option<Box<dyn Any + Send>>,
}

/// Owns a `Called`, which C has the address of.
struct OwnedCalled(*mut Called);

impl Drop for OwnedCalled {
    fn drop(&mut self) {
        // SAFETY: it is from a box, and its probe was destroyed before.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// # Safety
/// `user_data` is a `Called` that no one else uses, whose probe is inside of its run.
unsafe extern "C" fn pass_on(
    call: *const sys::hbbp_probe_call,
    user_data: *mut c_void,
) -> sys::hbbp_probe_answer {
    let called = &mut *user_data.cast::<Called>();
    if called.panic.is_some() {
        return sys::HBBP_PROBE_GO_ON;
    }
    // No one sees the state of the closure before the panic continues.
    let seen = ProbeCall::new(called.probe, &*call);
    match catch_unwind(AssertUnwindSafe(|| (called.handler)(&seen))) {
        Ok(true) => sys::HBBP_PROBE_STOP_BURST,
        Ok(false) => sys::HBBP_PROBE_GO_ON,
        Err(panic) => {
            called.panic = Some(panic);
            sys::HBBP_PROBE_GO_ON
        }
    }
}

/// Options of a [`Probe`].
#[must_use]
pub struct ProbeOptions<'t> {
    productions: String,
    taxonomy: Option<&'t Taxonomy>,
    raw: sys::hbbp_probe_options,
    handler: Option<Handler>,
}

// SAFETY: the pointers in `raw` are NULL, and the closure is `Send` and not called.
unsafe impl Send for ProbeOptions<'_> {}
unsafe impl Sync for ProbeOptions<'_> {}

debug_without_closures!(ProbeOptions<'t> { productions, taxonomy, raw });

impl<'t> ProbeOptions<'t> {
    /// Takes the text of productions (`docs/guide/productions.md`), such as "use call-pairs".
    pub fn new(productions: impl Into<String>) -> Self {
        ProbeOptions {
            productions: productions.into(),
            taxonomy: None,
            raw: sys::hbbp_probe_options::default(),
            handler: None,
        }
    }

    setters! {
        /// Sets groups that conditions may name, instead of those of the library.
        taxonomy(taxonomy: &'t Taxonomy): taxonomy = Some(taxonomy);
        /// Has bursts seen to their ends.
        is_exhaustive(is_exhaustive: bool): raw.is_exhaustive = is_exhaustive.into();
        /// Sets the boundaries between bursts, instead of those of the text.
        sample_freq(boundaries: u64): raw.sample_freq = boundaries;
        /// Sets the boundaries in a burst, instead of those of the text.
        burst_length(boundaries: u64): raw.burst_length = boundaries;
        /// Sets how many rows a table of counts may have.
        max_rows(rows: u64): raw.max_rows = rows;
        /// Sets how many combinations and elements a trace may have.
        max_symbols(symbols: u64): raw.max_symbols = symbols;
        /// Sets the length of the shortest hot stream.
        min_stream_length(elements: u64): raw.min_stream_length = elements;
        /// Sets the length of the longest hot stream.
        max_stream_length(elements: u64): raw.max_stream_length = elements;
        /// Sets the share of a trace that a hot stream has at least.
        min_stream_heat(share: f64): raw.min_stream_heat = share;
        /// Sets the function that is called for the action `call`, in the thread that is in
        /// [`Probe::run`], or in the worker of [`Probe::follow`]; it returns whether the burst
        /// stops. A panic in it continues after the run.
        handler(handler: impl FnMut(&ProbeCall<'_>) -> bool + Send + 'static):
            handler = Some(Box::new(handler));
    }

    /// Parses the productions; an error has line and column.
    pub fn create(self) -> Result<Probe> {
        let productions = CString::new(self.productions)?;
        let called = self.handler.map(|handler| {
            OwnedCalled(Box::into_raw(Box::new(Called {
                probe: ptr::null(),
                handler,
                panic: None,
            })))
        });
        let mut raw = sys::hbbp_probe_options {
            productions: productions.as_ptr(),
            taxonomy: self.taxonomy.map_or(ptr::null(), Taxonomy::raw),
            ..self.raw
        };
        if let Some(called) = &called {
            raw.handler = Some(pass_on);
            raw.user_data = called.0.cast();
        }
        let handle = Handle::create(sys::hbbp_probe_destroy, |probe, error| {
            // SAFETY: the options live during the call, and the closure as long as the probe.
            unsafe { sys::hbbp_probe_create(&raw, probe, error) }
        })?;
        if let Some(called) = &called {
            // SAFETY: no run uses it yet.
            unsafe { (*called.0).probe = handle.get() };
        }
        Ok(Probe {
            handle,
            next_burst: 0,
            called,
        })
    }
}

/// Productions, and what they record of the bursts that they were run on.
///
/// ```no_run
/// # fn work() {}
/// let mut session = hbbp::SessionOptions::new()
///     .source(hbbp::SourceKind::Swbt)
///     .kept_burst_bytes(64 << 20)
///     .create()?;
/// session.start()?;
/// work();
/// let mut probe = hbbp::Probe::new("use call-pairs")?;
/// probe.run(&session.snapshot()?.analyze()?, 0)?;
/// for row in probe.rows(0)?.iter().take(10) {
///     println!("{} {:.1} %", probe.locate(row.values[1])?.name, 100.0 * row.share);
/// }
/// # Ok::<(), hbbp::Error>(())
/// ```
pub struct Probe {
    handle: Handle<sys::hbbp_probe>,
    next_burst: u64,
    called: Option<OwnedCalled>, // dropped after the probe
}

// SAFETY: the ABI lets any number of threads use a const handle, and one thread at a time run it.
// Only the run, which has the probe for itself, calls the closure, which is `Send`.
unsafe impl Send for Probe {}
unsafe impl Sync for Probe {}

debug_without_closures!(Probe { handle, next_burst });

impl Probe {
    /// Parses productions; an error has line and column.
    pub fn new(productions: &str) -> Result<Probe> {
        ProbeOptions::new(productions).create()
    }

    /// Returns the names that "use NAME" knows in productions.
    pub fn builtins() -> Vec<&'static str> {
        // SAFETY: the names have static storage.
        unsafe {
            (0..sys::hbbp_probe_builtin_count())
                .map(|index| static_text(sys::hbbp_probe_builtin_name(index)))
                .collect()
        }
    }

    /// Runs the productions on the bursts of a profile from number `first_burst` on, and adds what
    /// they record to what is there. Returns [`next_burst`](Probe::next_burst).
    pub fn run(&mut self, analysis: &Analysis, first_burst: u64) -> Result<u64> {
        self.run_with(analysis, first_burst, Work::new())
    }

    /// Does the same with progress, in bursts, or a flag. When it is cancelled, what it has done
    /// stays.
    pub fn run_with(
        &mut self,
        analysis: &Analysis,
        first_burst: u64,
        work: Work<'_>,
    ) -> Result<u64> {
        let probe = self.handle.get_mut();
        let next = &mut self.next_burst;
        // SAFETY: both objects are alive, and no one else uses the probe.
        let ran = work.call(|work, error| unsafe {
            sys::hbbp_probe_run(probe, analysis.raw(), first_burst, work, next, error)
        });
        self.resume_panic();
        ran?;
        Ok(self.next_burst)
    }

    /// Runs the productions on the bursts of a session while `work` runs, in a worker: a thread of
    /// the library that looks for new ones each `interval` (of milliseconds), and once more at the
    /// end. It is an error if there were none.
    pub fn follow<R>(
        &mut self,
        session: &Session,
        interval: Duration,
        work: impl FnOnce() -> R,
    ) -> Result<R> {
        /// Ends the worker also if `work` panics.
        struct Worker(*mut sys::hbbp_probe);
        impl Worker {
            fn stop(&mut self) -> Result<()> {
                let probe = std::mem::replace(&mut self.0, ptr::null_mut());
                // SAFETY: the probe is alive, and only its worker uses it.
                call(|error| unsafe { sys::hbbp_probe_stop(probe, error) })
            }
        }
        impl Drop for Worker {
            fn drop(&mut self) {
                if !self.0.is_null() {
                    let _ = self.stop();
                }
            }
        }
        let probe = self.handle.get_mut();
        let milliseconds = u32::try_from(interval.as_millis().max(1)).unwrap_or(u32::MAX);
        // SAFETY: both are alive until the worker ends, which is before this returns. A panic that
        // waits for a call must not leave the worker without its guard.
        call_without_resuming(|error| unsafe {
            sys::hbbp_probe_start(probe, session.raw(), milliseconds, error)
        })?;
        let mut worker = Worker(probe);
        let result = work();
        let stopped = worker.stop();
        self.resume_panic();
        stopped.map(|()| result)
    }

    /// Continues with a panic of the handler.
    fn resume_panic(&mut self) {
        // Two panics at once would abort, so this one waits for a later run.
        if thread::panicking() {
            return;
        }
        if let Some(called) = &self.called {
            // SAFETY: no run uses it now.
            if let Some(panic) = unsafe { (*called.0).panic.take() } {
                resume_unwind(panic);
            }
        }
    }

    /// Returns the number of the first burst that the last run did not take: the `first_burst` for a
    /// later snapshot of the same session.
    pub fn next_burst(&self) -> u64 {
        self.next_burst
    }

    /// Returns totals of all runs.
    pub fn info(&self) -> Result<ProbeInfo> {
        // SAFETY: the probe is alive.
        unsafe {
            let raw = fill(|raw, error| sys::hbbp_probe_get_info(self.raw(), raw, error))?;
            Ok(ProbeInfo::from_raw(&raw))
        }
    }

    /// Returns the productions, in the order of the text.
    pub fn productions(&self) -> Result<Vec<ProbeProduction<'_>>> {
        // SAFETY: the probe is alive, and the texts live as long.
        unsafe {
            read(
                self.raw(),
                sys::hbbp_probe_production_count,
                sys::hbbp_probe_copy_productions,
            )
        }
    }

    /// Returns the tables, in the order in which the text names them first.
    pub fn tables(&self) -> Result<Vec<ProbeTable<'_>>> {
        // SAFETY: as above.
        unsafe {
            read(
                self.raw(),
                sys::hbbp_probe_table_count,
                sys::hbbp_probe_copy_tables,
            )
        }
    }

    /// Returns the fields of the table at an index; none if there is no such table.
    pub fn fields(&self, table: usize) -> Result<Vec<ProbeField>> {
        // SAFETY: the probe is alive, and names of fields have static storage.
        unsafe {
            read_of(
                self.raw(),
                table,
                sys::hbbp_probe_field_count,
                sys::hbbp_probe_copy_fields,
            )
        }
    }

    /// Returns the rows of a table of counts, by falling estimates; none of other tables.
    pub fn rows(&self, table: usize) -> Result<Vec<ProbeRow>> {
        // SAFETY: the probe is alive, and rows point to nothing.
        unsafe {
            read_of(
                self.raw(),
                table,
                sys::hbbp_probe_row_count,
                sys::hbbp_probe_copy_rows,
            )
        }
    }

    /// Returns the hot streams of a trace, by falling shares; none of other tables.
    pub fn streams(&self, table: usize) -> Result<Vec<ProbeStream<'_>>> {
        // SAFETY: the probe is alive, and its streams live until the next run, which needs it alone.
        unsafe {
            read_of(
                self.raw(),
                table,
                sys::hbbp_probe_stream_count,
                sys::hbbp_probe_copy_streams,
            )
        }
    }

    /// Returns what a code number stands for: that of a field such as `pc`. It means the same in all
    /// runs.
    pub fn locate(&self, code: u64) -> Result<ProbeLocation<'_>> {
        // SAFETY: the probe is alive, and the texts live as long.
        unsafe { locate(self.raw(), code) }
    }

    fn raw(&self) -> *const sys::hbbp_probe {
        self.handle.get()
    }
}
