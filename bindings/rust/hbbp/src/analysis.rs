//! Analyses: how often each basic block ran.

use crate::code::Disassembly;
use crate::error::{call, Error, Result, Status};
use crate::estimator::{block_feature_names, Estimator};
use crate::export;
use crate::handle::Handle;
use crate::host::{Cancel, Work};
use crate::import::MovedFiles;
use crate::kernel::KernelFiles;
use crate::lines::{self, DebugHost, DebugOptions, LineRange};
use crate::list::{copy, fill, read, read_of, CopyPart, Record};
use crate::loops::Loops;
use crate::mix::{Mix, MixKeys};
use crate::pivot::{Pivot, PivotQuery};
use crate::profile::Profile;
use crate::ratios::Ratios;
use crate::records::*;
use crate::sys;
use crate::taxonomy::Taxonomy;
use crate::text::{c_path, pointer, raw_index};
use crate::walk::Walk;
use std::ffi::CString;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::ptr;

values! {
    /// What the hottest blocks and functions have most of.
    Order: i32 {
        /// Executed instructions.
        Instructions = HBBP_ORDER_INSTRUCTIONS,
        /// Executions, of blocks only.
        Executions = HBBP_ORDER_EXECUTIONS,
        /// Samples.
        Samples = HBBP_ORDER_SAMPLES,
    }
}

/// Reads a part of the sorted list of blocks or functions.
type CopyHottest<Raw> = unsafe extern "C" fn(
    *const sys::hbbp_analysis,
    sys::hbbp_order,
    usize,
    usize,
    usize,
    *mut Raw,
    *mut usize,
    *mut sys::hbbp_error,
) -> sys::hbbp_status;

/// Options of the analysis of a profile. Everything has a default.
///
/// ```no_run
/// use hbbp::{AnalysisOptions, DebugOptions, Estimator, Profile};
/// let profile = Profile::load("program.hbbp")?;
/// let analysis = AnalysisOptions::new()
///     .estimator(Estimator::Flow)
///     .debug(DebugOptions::new().debug_root("/srv/debug"))
///     .analyze(&profile)?;
/// println!("{} blocks", analysis.blocks()?.len());
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct AnalysisOptions<'a> {
    estimator: Option<Estimator>,
    tree: Option<String>,
    event: Option<String>,
    root: Option<PathBuf>,
    moved_files: Vec<(PathBuf, PathBuf)>,
    kernel: Option<KernelFiles>,
    debug: DebugOptions,
    work: Work<'a>,
}

debug_without_closures!(AnalysisOptions<'a> { estimator, tree, event, root, moved_files, kernel, debug, work });

impl<'a> AnalysisOptions<'a> {
    /// Makes options with all defaults.
    pub fn new() -> Self {
        AnalysisOptions::default()
    }

    setters! {
        /// Selects the observations that count. Default: [`Estimator::Auto`].
        estimator(estimator: Estimator): estimator = Some(estimator);
        /// Sets the decision tree of [`Estimator::Tree`], as JSON in the format of
        /// `docs/internals/estimators.md`. Default: the published one.
        tree(json: impl Into<String>): tree = Some(json.into());
        /// Sets the event whose samples count, by its name with or without modifiers. Default: the
        /// best for counting.
        event(name: impl Into<String>): event = Some(name.into());
        /// Sets the directory that has the files of the recorded machine, at their paths or anywhere
        /// with their build IDs, for those that were not found yet.
        root(directory: impl Into<PathBuf>): root = Some(directory.into());
        /// Sets files of the profiled kernel. Default: those of this machine, if they belong to
        /// that kernel.
        kernel(files: KernelFiles): kernel = Some(files);
        /// Sets the location of debug information. Default: the usual one.
        debug(options: DebugOptions): debug = options;
    }

    /// Adds a file of the recorded machine, by its path there or the last part of that, and where it
    /// is here.
    pub fn moved_file(mut self, recorded: impl Into<PathBuf>, here: impl Into<PathBuf>) -> Self {
        self.moved_files.push((recorded.into(), here.into()));
        self
    }

    /// Sets a function that is called now and then while code is read and blocks are found. A panic
    /// in it continues after that.
    pub fn progress(mut self, progress: impl FnMut(u64, Option<u64>) + 'a) -> Self {
        self.work = self.work.progress(progress);
        self
    }

    /// Sets a flag that cancels the analysis.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.work = self.work.cancel(cancel);
        self
    }

    /// Finds the code of the modules, the blocks, and their counts. That takes some tens of
    /// milliseconds for a large program, and seconds for a recording of a very large one. Code that
    /// cannot be found is not an error: see [`ModuleResult::problem`].
    pub fn analyze(self, profile: &Profile) -> Result<Analysis> {
        let tree = self.tree.map(CString::new).transpose()?;
        let event = self.event.map(CString::new).transpose()?;
        let root = self.root.as_deref().map(c_path).transpose()?;
        let moved_files = MovedFiles::new(&self.moved_files)?;
        let moved_files = moved_files.as_slice();
        let kernel = self.kernel.as_ref().map(KernelFiles::to_c).transpose()?;
        let kernel = kernel.as_ref().map(|paths| (paths.raw(), paths));
        let debug = self.debug.into_c()?;
        let debug_raw = debug.raw();
        let raw = sys::hbbp_analysis_options {
            estimator: self
                .estimator
                .map_or(sys::HBBP_ESTIMATOR_AUTO, Estimator::raw),
            tree: tree.as_ref().map_or(ptr::null(), |tree| tree.as_ptr()),
            kernel: kernel.as_ref().map_or(ptr::null(), |(files, _)| files),
            debug: &debug_raw,
            event: event.as_ref().map_or(ptr::null(), |event| event.as_ptr()),
            root: pointer(&root),
            moved_files: moved_files.as_ptr(),
            moved_file_count: u32::try_from(moved_files.len())
                .map_err(|_| Error::new(Status::InvalidArgument, "too many moved files"))?,
            ..Default::default()
        };
        let handle = self
            .work
            .create(sys::hbbp_analysis_destroy, |work, analysis, error| {
                // SAFETY: everything that is pointed to lives during the call, and the data of
                // `debug` as long as the analysis.
                unsafe { sys::hbbp_analysis_create(profile.raw(), &raw, work, analysis, error) }
            })?;
        // SAFETY: that profile is a part of the analysis and lives as long.
        let profile = unsafe { Profile::lent(sys::hbbp_analysis_profile(handle.get()))? };
        Ok(Analysis {
            profile,
            handle,
            _debug: debug.into_host(),
        })
    }
}

/// The blocks of a profile and their counts, found by the code of its modules. [`Profile::analyze`]
/// and [`AnalysisOptions::analyze`] make it. It is immutable, and does not need the profile.
///
/// Addresses of modules are those of the ELF file, as objdump prints them. Indices of sources,
/// threads and modules are those of the profile.
///
/// Borrowed data of lists ends with the analysis:
///
/// ```compile_fail,E0505
/// let analysis = hbbp::Profile::load("program.hbbp")?.analyze()?;
/// let functions = analysis.functions()?;
/// drop(analysis);
/// println!("{}", functions[0].name);
/// # Ok::<(), hbbp::Error>(())
/// ```
pub struct Analysis {
    // Owned by the analysis, which destroys it.
    profile: Profile,
    handle: Handle<sys::hbbp_analysis>,
    // Reading debug information calls this, so it is dropped after the analysis.
    _debug: DebugHost,
}

// SAFETY: an analysis is immutable, and the ABI lets any number of threads use a const handle. The
// closure is Send and Sync.
unsafe impl Send for Analysis {}
unsafe impl Sync for Analysis {}

debug_without_closures!(Analysis { handle });

impl Analysis {
    pub(crate) fn raw(&self) -> *const sys::hbbp_analysis {
        self.handle.get()
    }

    /// Returns the analysed profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the estimator that was used, and the factor of the counts of each family.
    pub fn info(&self) -> Result<AnalysisInfo> {
        // SAFETY: the analysis is alive, and data that it lends lives as long as it is borrowed.
        unsafe {
            let raw = fill(|info, error| sys::hbbp_analysis_get_info(self.raw(), info, error))?;
            Ok(AnalysisInfo::from_raw(&raw))
        }
    }

    fn list<T: Record>(
        &self,
        count: unsafe extern "C" fn(*const sys::hbbp_analysis) -> usize,
        copy_part: CopyPart<sys::hbbp_analysis, T::Raw>,
    ) -> Result<Vec<T>> {
        // SAFETY: as above; each list is private to a method that declares for how long it borrows.
        unsafe { read(self.raw(), count, copy_part) }
    }

    /// Returns every block with a count, in order of module and address.
    pub fn blocks(&self) -> Result<Vec<Block>> {
        self.list(
            sys::hbbp_analysis_block_count,
            sys::hbbp_analysis_copy_blocks,
        )
    }

    /// Returns every function with a block that has a count, and those of a kernel that have
    /// samples, in order of module and address.
    pub fn functions(&self) -> Result<Vec<Function<'_>>> {
        self.list(
            sys::hbbp_analysis_function_count,
            sys::hbbp_analysis_copy_functions,
        )
    }

    /// Returns the hottest blocks first, at most `count`.
    pub fn hottest_blocks(&self, count: usize, order: Order) -> Result<Vec<Block>> {
        self.hottest(
            count,
            order,
            sys::hbbp_analysis_block_count,
            sys::hbbp_analysis_copy_hottest_blocks,
        )
    }

    /// Returns the hottest functions first, at most `count`, by instructions or samples.
    pub fn hottest_functions(&self, count: usize, order: Order) -> Result<Vec<Function<'_>>> {
        self.hottest(
            count,
            order,
            sys::hbbp_analysis_function_count,
            sys::hbbp_analysis_copy_hottest_functions,
        )
    }

    fn hottest<T: Record>(
        &self,
        wanted: usize,
        order: Order,
        count: unsafe extern "C" fn(*const sys::hbbp_analysis) -> usize,
        copy_part: CopyHottest<T::Raw>,
    ) -> Result<Vec<T>> {
        // SAFETY: as for `list`.
        unsafe {
            copy(
                wanted.min(count(self.raw())),
                |raw| T::from_raw(raw),
                |first, count, size, array, copied, error| {
                    copy_part(
                        self.raw(),
                        order.raw(),
                        first,
                        count,
                        size,
                        array,
                        copied,
                        error,
                    )
                },
            )
        }
    }

    /// Returns taken branches. Only SWBT and LBR observe them.
    pub fn branches(&self) -> Result<Vec<Branch>> {
        self.list(
            sys::hbbp_analysis_branch_count,
            sys::hbbp_analysis_copy_branches,
        )
    }

    /// Returns the modules of the profile in their order, with the state of their code.
    pub fn modules(&self) -> Result<Vec<ModuleResult<'_>>> {
        self.list(
            sys::hbbp_analysis_module_count,
            sys::hbbp_analysis_copy_modules,
        )
    }

    /// Returns the sources of the profile in their order, with the attribution of their samples.
    pub fn sources(&self) -> Result<Vec<SourceResult>> {
        self.list(
            sys::hbbp_analysis_source_count,
            sys::hbbp_analysis_copy_sources,
        )
    }

    /// Returns the unexplained samples of a source by reason; none if there is no such source.
    pub fn unexplained_reasons(&self, source: usize) -> Result<Vec<Counter<'_>>> {
        // SAFETY: as above.
        unsafe {
            read_of(
                self.raw(),
                source,
                sys::hbbp_analysis_unexplained_reason_count,
                sys::hbbp_analysis_copy_unexplained_reasons,
            )
        }
    }

    /// Returns where samples fell, by module, address and source, also of events that blocks are not
    /// counted by.
    pub fn ip_sums(&self) -> Result<Vec<IpSum>> {
        self.list(
            sys::hbbp_analysis_ip_sum_count,
            sys::hbbp_analysis_copy_ip_sums,
        )
    }

    /// Returns events of instructions that IBS of AMD reported, by module and address.
    pub fn ibs_sums(&self) -> Result<Vec<IbsSum<'_>>> {
        self.list(
            sys::hbbp_analysis_ibs_sum_count,
            sys::hbbp_analysis_copy_ibs_sums,
        )
    }

    /// Returns latencies of loads of instructions by level of memory, as IBS of AMD reported them,
    /// by module, address, level and cycles.
    pub fn ibs_latencies(&self) -> Result<Vec<IbsLatency<'_>>> {
        self.list(
            sys::hbbp_analysis_ibs_latency_count,
            sys::hbbp_analysis_copy_ibs_latencies,
        )
    }

    /// Returns accesses to data by object, as IBS of AMD reported them, by module and address; then
    /// come blocks that processes have named, and other memory.
    pub fn ibs_objects(&self) -> Result<Vec<IbsObject<'_>>> {
        self.list(
            sys::hbbp_analysis_ibs_object_count,
            sys::hbbp_analysis_copy_ibs_objects,
        )
    }

    pub(crate) fn block_count(&self) -> usize {
        // SAFETY: as above.
        unsafe { sys::hbbp_analysis_block_count(self.raw()) }
    }

    /// Returns the features of each block of [`blocks`](Analysis::blocks) that a decision tree may
    /// test: numbers in the order of [`block_feature_names`].
    pub fn block_features(&self) -> Result<Vec<Vec<f64>>> {
        let width = block_feature_names().len();
        let blocks = self.block_count();
        let mut values = vec![0.0; blocks.saturating_mul(width)];
        let mut copied = 0;
        // SAFETY: the array has room for all blocks.
        call(|error| unsafe {
            let array = values.as_mut_ptr();
            sys::hbbp_analysis_copy_block_features(self.raw(), 0, blocks, array, &mut copied, error)
        })?;
        Ok(values
            .chunks(width.max(1))
            .take(copied)
            .map(<[f64]>::to_vec)
            .collect())
    }

    /// Returns executed instructions by the keys.
    pub fn mix(&self, keys: MixKeys) -> Result<Mix> {
        self.mix_with(keys, Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn mix_with(&self, keys: MixKeys, work: Work<'_>) -> Result<Mix> {
        Mix::of(self, keys, work)
    }

    /// Sums what ran by any keys.
    pub fn pivot(&self, query: &PivotQuery<'_>) -> Result<Pivot> {
        self.pivot_with(query, Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn pivot_with(&self, query: &PivotQuery<'_>, work: Work<'_>) -> Result<Pivot> {
        Pivot::of(self, query, work)
    }

    /// Returns ratios of the whole mix, or of the instructions that match a condition.
    pub fn ratios(&self, filter: Option<&str>, taxonomy: Option<&Taxonomy>) -> Result<Ratios> {
        self.ratios_with(filter, taxonomy, Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn ratios_with(
        &self,
        filter: Option<&str>,
        taxonomy: Option<&Taxonomy>,
        work: Work<'_>,
    ) -> Result<Ratios> {
        Ratios::of(self, filter, taxonomy, work)
    }

    /// Returns the loops in which a block has a count.
    pub fn loops(&self) -> Result<Loops> {
        self.loops_with(Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn loops_with(&self, work: Work<'_>) -> Result<Loops> {
        Loops::of(self, work)
    }

    /// Writes a format of [`export_formats`](crate::export_formats): of all modules, or of the one
    /// of a path or file name. Returns what was left out, and why, in a line each.
    ///
    /// ```no_run
    /// let analysis = hbbp::Profile::load("program.hbbp")?.analyze()?;
    /// let mut file = std::fs::File::create("program.prof").unwrap();
    /// for note in analysis.export("llvm", None, &mut file)? {
    ///     eprintln!("{note}");
    /// }
    /// # Ok::<(), hbbp::Error>(())
    /// ```
    pub fn export(
        &self,
        format: &str,
        module: Option<&str>,
        writer: &mut dyn Write,
    ) -> Result<Vec<String>> {
        self.export_with(format, module, writer, Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn export_with(
        &self,
        format: &str,
        module: Option<&str>,
        writer: &mut dyn Write,
        work: Work<'_>,
    ) -> Result<Vec<String>> {
        export::export(self, format, module, writer, work)
    }

    fn at<T: Record>(
        &self,
        module: usize,
        address: u64,
        get: unsafe extern "C" fn(
            *const sys::hbbp_analysis,
            u32,
            u64,
            *mut T::Raw,
            *mut sys::hbbp_error,
        ) -> sys::hbbp_status,
    ) -> Result<T> {
        // SAFETY: the analysis is alive; data that these lend lives as long, or is static.
        unsafe {
            let raw = fill(|raw, error| get(self.raw(), raw_index(module), address, raw, error))?;
            Ok(T::from_raw(&raw))
        }
    }

    /// Returns the block around an address of a module, whether it has a count or not.
    pub fn find_block(&self, module: usize, address: u64) -> Result<Block> {
        self.at(module, address, sys::hbbp_analysis_find_block)
    }

    /// Returns the instruction at an address of a module.
    pub fn decode(&self, module: usize, address: u64) -> Result<Instruction> {
        self.at(module, address, sys::hbbp_analysis_decode)
    }

    /// Returns the text of the instruction at an address of a module.
    pub fn disassemble(&self, module: usize, address: u64) -> Result<Disassembly> {
        self.at(module, address, sys::hbbp_analysis_disassemble)
    }

    /// Iterates over instructions that begin in a range of addresses of a module. It ends with the
    /// first error.
    pub fn instructions(
        &self,
        module: usize,
        range: Range<u64>,
    ) -> impl Iterator<Item = Result<Instruction>> + '_ {
        Walk::new(range, move |address| {
            let found = self.decode(module, address)?;
            Ok((address.saturating_add(found.length.into()), found))
        })
    }

    /// Iterates over the text of the instructions.
    pub fn disassembly(
        &self,
        module: usize,
        range: Range<u64>,
    ) -> impl Iterator<Item = Result<Disassembly>> + '_ {
        Walk::new(range, move |address| {
            let found = self.disassemble(module, address)?;
            Ok((address.saturating_add(found.length.into()), found))
        })
    }

    /// Returns the lines of an address of a module, and the functions that were inlined there.
    pub fn find_lines(&self, module: usize, address: u64) -> Result<LineRange<'_>> {
        lines::find(self, module, address)
    }

    /// Iterates over the lines in a range of addresses of a module, one range after the other. It
    /// ends with the first error.
    pub fn line_ranges(
        &self,
        module: usize,
        range: Range<u64>,
    ) -> impl Iterator<Item = Result<LineRange<'_>>> + '_ {
        Walk::new(range, move |address| {
            let found = self.find_lines(module, address)?;
            Ok((found.end, found))
        })
    }

    /// Returns which debug information of a module was missing or damaged, as far as is known by
    /// now; "" if none was.
    pub fn debug_problem(&self, module: usize) -> Result<String> {
        lines::problem(self, module)
    }
}
