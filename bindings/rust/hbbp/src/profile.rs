//! How often each basic block ran.

use crate::callback::resume_panic;
use crate::error::{call, Result};
use crate::estimator::{feature_names, Estimator, EstimatorInfo};
use crate::handle::Handle;
use crate::host::Work;
use crate::import::ImportOptions;
use crate::kernel::KernelFiles;
use crate::list::{copy, fill, read, Record};
use crate::mix::{Mix, MixKeys};
use crate::pivot::{Pivot, PivotQuery};
use crate::ratios::Ratios;
use crate::records::*;
use crate::source::{self, Disassembly, SourceHost, SourceOptions, SourcePlace};
use crate::sys;
use crate::taxonomy::Taxonomy;
use crate::text::{c_path, raw_index};
use crate::walk::Walk;
use std::ffi::CString;
use std::ops::Range;
use std::path::Path;

/// What was counted. A profile does not change, except for how its blocks are counted
/// ([`set_estimator`](Profile::set_estimator)) and where code and source lines are looked for.
///
/// Lists have a `Vec` each; what is called an index somewhere is one of these. Addresses of modules
/// are those of the ELF file, as objdump prints them. Blocks, functions, branches and loops need the
/// code of the modules: the first call that asks for one of them reads it, and what fails there is
/// told by module ([`Module::problem`]).
///
/// What lists say is borrowed from the profile, and gone when it counts anew:
///
/// ```compile_fail,E0502
/// let mut profile = hbbp::Profile::load("program.hbbp")?;
/// let functions = profile.functions()?;
/// profile.set_estimator(hbbp::Estimator::Flow)?;
/// println!("{}", functions[0].name);
/// # Ok::<(), hbbp::Error>(())
/// ```
pub struct Profile {
    handle: Handle<sys::hbbp_profile>,
    // What the source options use, and so ends after it.
    source_host: Option<SourceHost>,
}

// SAFETY: the ABI lets any number of threads use a const handle (`&self`); what changes a profile
// takes `&mut self`. The closure is Send and Sync.
unsafe impl Send for Profile {}
unsafe impl Sync for Profile {}

debug_without_closures!(Profile { handle });

type Count = unsafe extern "C" fn(*const sys::hbbp_profile) -> usize;
type At<Raw> = unsafe extern "C" fn(
    *const sys::hbbp_profile,
    usize,
    *mut Raw,
    *mut sys::hbbp_error,
) -> sys::hbbp_status;
type AtOf<Raw> = unsafe extern "C" fn(
    *const sys::hbbp_profile,
    usize,
    usize,
    *mut Raw,
    *mut sys::hbbp_error,
) -> sys::hbbp_status;
type Copy<Raw> = unsafe extern "C" fn(
    *const sys::hbbp_profile,
    usize,
    usize,
    usize,
    *mut Raw,
    *mut usize,
    *mut sys::hbbp_error,
) -> sys::hbbp_status;

impl Profile {
    pub(crate) fn create(
        create: impl FnOnce(*mut *mut sys::hbbp_profile, *mut sys::hbbp_error) -> sys::hbbp_status,
    ) -> Result<Profile> {
        let handle = Handle::create(sys::hbbp_profile_destroy, create)?;
        Ok(Profile {
            handle,
            source_host: None,
        })
    }

    pub(crate) fn raw(&self) -> *const sys::hbbp_profile {
        self.handle.get()
    }

    /// Reads a profile file.
    pub fn load(path: impl AsRef<Path>) -> Result<Profile> {
        let path = c_path(path.as_ref())?;
        Profile::create(|profile, error| {
            // SAFETY: the path is there during the call.
            unsafe { sys::hbbp_profile_load(path.as_ptr(), profile, error) }
        })
    }

    /// Reads a recording of perf; [`ImportOptions`] has more.
    pub fn import(path: impl AsRef<Path>) -> Result<Profile> {
        ImportOptions::new().import(path)
    }

    /// The sum of one or more profiles.
    pub fn merge<'p>(profiles: impl IntoIterator<Item = &'p Profile>) -> Result<Profile> {
        let profiles: Vec<_> = profiles.into_iter().map(Profile::raw).collect();
        Profile::create(|merged, error| {
            // SAFETY: the profiles are borrowed.
            unsafe { sys::hbbp_profile_merge(profiles.as_ptr(), profiles.len(), merged, error) }
        })
    }

    /// Replaces a file atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: profile and path are there.
        call(|error| unsafe { sys::hbbp_profile_save(self.raw(), path.as_ptr(), error) })
    }

    /// What thread `tid` did. What was set of this profile (estimator, files of the kernel, debug
    /// information) is set of it, too, but neither the progress closure nor the flag of
    /// [`SourceOptions`].
    pub fn select_thread(&self, tid: u32) -> Result<Profile> {
        Profile::create(|selected, error| {
            // SAFETY: the profile is there.
            unsafe { sys::hbbp_profile_select_thread(self.raw(), tid, selected, error) }
        })
    }

    /// What was counted in the slice at `index`, with what was set as in
    /// [`select_thread`](Profile::select_thread).
    pub fn select_slice(&self, index: usize) -> Result<Profile> {
        Profile::create(|selected, error| {
            // SAFETY: the profile is there.
            unsafe { sys::hbbp_profile_select_slice(self.raw(), index, selected, error) }
        })
    }

    /// Names files of the kernel that was profiled, before anything that needs code.
    pub fn set_kernel(&mut self, files: &KernelFiles) -> Result<()> {
        files.apply(self.handle.get_mut())
    }

    /// Counts the blocks by another estimator from now on.
    pub fn set_estimator(&mut self, estimator: Estimator) -> Result<()> {
        self.set_estimator_options(sys::hbbp_estimator_options {
            estimator: estimator.raw(),
            ..Default::default()
        })
    }

    /// Counts the blocks by a decision tree of your own, JSON as `docs/internals/estimators.md` has it.
    pub fn set_estimator_tree(&mut self, tree: &str) -> Result<()> {
        let tree = CString::new(tree)?;
        self.set_estimator_options(sys::hbbp_estimator_options {
            estimator: sys::HBBP_ESTIMATOR_TREE,
            tree: tree.as_ptr(),
            ..Default::default()
        })
    }

    fn set_estimator_options(&mut self, options: sys::hbbp_estimator_options) -> Result<()> {
        let profile = self.handle.get_mut();
        // SAFETY: nobody else uses the profile; the callers keep the tree.
        call(|error| unsafe { sys::hbbp_profile_set_estimator(profile, &options, error) })
    }

    /// Finds and counts the blocks now, with progress and a flag that calls it off. Without it, the
    /// first function that needs blocks does so. Called off, the profile is as it was.
    pub fn resolve(&self, work: Work<'_>) -> Result<()> {
        work.resolve(self.raw())
    }

    /// What counts its blocks.
    pub fn estimator(&self) -> Result<EstimatorInfo> {
        self.one(sys::hbbp_profile_get_estimator)
    }

    /// Says where debug information is looked for. Lines that were found before are gone.
    pub fn set_source_options(&mut self, options: SourceOptions) -> Result<()> {
        self.source_host = Some(options.apply_without_resuming(self.handle.get_mut())?);
        resume_panic();
        Ok(())
    }

    fn one<T: Record>(
        &self,
        get: unsafe extern "C" fn(
            *const sys::hbbp_profile,
            *mut T::Raw,
            *mut sys::hbbp_error,
        ) -> sys::hbbp_status,
    ) -> Result<T> {
        // SAFETY: the profile is there, and what it lends lives as long as it is borrowed.
        unsafe {
            Ok(T::from_raw(&fill(|raw, error| {
                get(self.raw(), raw, error)
            })?))
        }
    }

    fn list<T: Record>(&self, count: Count, at: At<T::Raw>) -> Result<Vec<T>> {
        // SAFETY: as above.
        unsafe {
            read(count(self.raw()), |index, raw, error| {
                at(self.raw(), index, raw, error)
            })
        }
    }

    fn list_of<T: Record>(
        &self,
        of: usize,
        count: unsafe extern "C" fn(*const sys::hbbp_profile, usize) -> usize,
        at: AtOf<T::Raw>,
    ) -> Result<Vec<T>> {
        // SAFETY: as above.
        unsafe {
            read(count(self.raw(), of), |index, raw, error| {
                at(self.raw(), of, index, raw, error)
            })
        }
    }

    fn copied<T: Record>(&self, count: Count, copy_part: Copy<T::Raw>) -> Result<Vec<T>> {
        // SAFETY: as above; the array has the size that is given.
        unsafe {
            copy(
                count(self.raw()),
                |raw| T::from_raw(raw),
                |first, count, size, array, copied, error| {
                    copy_part(self.raw(), first, count, size, array, copied, error)
                },
            )
        }
    }

    /// What it is of.
    pub fn info(&self) -> Result<ProfileInfo<'_>> {
        self.one(sys::hbbp_profile_get_info)
    }

    /// Where samples came from.
    pub fn sources(&self) -> Result<Vec<SourceInfo<'_>>> {
        self.list(sys::hbbp_profile_source_count, sys::hbbp_profile_source_at)
    }

    /// How many samples of a source are in no block: code missing or undecodable. With SWBT, how
    /// many streams no path through the code explains.
    pub fn unexplained(&self, source: usize) -> Result<u64> {
        // SAFETY: the profile is there.
        fill(|number, error| unsafe {
            sys::hbbp_profile_unexplained_at(self.raw(), source, number, error)
        })
    }

    /// The same by reason; none if there is no such source.
    pub fn unexplained_reasons(&self, source: usize) -> Result<Vec<Counter<'_>>> {
        self.list_of(
            source,
            sys::hbbp_profile_unexplained_reason_count,
            sys::hbbp_profile_unexplained_reason_at,
        )
    }

    /// How many samples of a source are in blocks that streams of another source count, and so add
    /// nothing.
    pub fn superseded(&self, source: usize) -> Result<u64> {
        // SAFETY: as above.
        fill(|number, error| unsafe {
            sys::hbbp_profile_superseded_at(self.raw(), source, number, error)
        })
    }

    /// What else a source counted: why bursts ended or were dropped. Only numbers that are not 0.
    pub fn counters(&self, source: usize) -> Result<Vec<Counter<'_>>> {
        self.list_of(
            source,
            sys::hbbp_profile_counter_count,
            sys::hbbp_profile_counter_at,
        )
    }

    /// Threads that ran.
    pub fn threads(&self) -> Result<Vec<Thread<'_>>> {
        self.list(sys::hbbp_profile_thread_count, sys::hbbp_profile_thread_at)
    }

    /// Files, and other regions, that have code.
    pub fn modules(&self) -> Result<Vec<Module<'_>>> {
        self.list(sys::hbbp_profile_module_count, sys::hbbp_profile_module_at)
    }

    /// Every function that has a block with a count, and those of a kernel that have samples, in
    /// order of module and address.
    pub fn functions(&self) -> Result<Vec<Function<'_>>> {
        self.list(
            sys::hbbp_profile_function_count,
            sys::hbbp_profile_function_at,
        )
    }

    /// Every block that has a count, in order of module and address.
    pub fn blocks(&self) -> Result<Vec<Block>> {
        self.copied(sys::hbbp_profile_block_count, sys::hbbp_profile_copy_blocks)
    }

    /// Taken branches. Only SWBT and LBR have them.
    pub fn branches(&self) -> Result<Vec<Branch>> {
        self.list(sys::hbbp_profile_branch_count, sys::hbbp_profile_branch_at)
    }

    /// Loops in which a block has a count; the loop around a loop comes before it.
    pub fn loops(&self) -> Result<Vec<Loop>> {
        self.copied(sys::hbbp_profile_loop_count, sys::hbbp_profile_copy_loops)
    }

    /// Of each block of [`blocks`](Profile::blocks), the index of the innermost loop that it is in.
    pub fn loops_of_blocks(&self) -> Result<Vec<Option<usize>>> {
        // SAFETY: the profile is there, and the array has the size that is given.
        unsafe {
            copy(
                sys::hbbp_profile_block_count(self.raw()),
                |&index| crate::text::index(index),
                |first, count, _, array, copied, error| {
                    sys::hbbp_profile_copy_loops_of_blocks(
                        self.raw(),
                        first,
                        count,
                        array,
                        copied,
                        error,
                    )
                },
            )
        }
    }

    /// What a decision tree may ask about each block of [`blocks`](Profile::blocks): numbers in the
    /// order of [`feature_names`].
    pub fn features(&self) -> Result<Vec<Vec<f64>>> {
        let width = feature_names().len();
        // SAFETY: as above.
        let blocks = unsafe { sys::hbbp_profile_block_count(self.raw()) };
        let mut values = vec![0.0; blocks.saturating_mul(width)];
        let mut copied = 0;
        // SAFETY: the array has room for all blocks.
        call(|error| unsafe {
            let array = values.as_mut_ptr();
            sys::hbbp_profile_copy_features(self.raw(), 0, blocks, array, &mut copied, error)
        })?;
        Ok(values
            .chunks(width.max(1))
            .take(copied)
            .map(<[f64]>::to_vec)
            .collect())
    }

    /// Slices of time, if the profile keeps them.
    pub fn slices(&self) -> Result<Vec<Slice>> {
        self.list(sys::hbbp_profile_slice_count, sys::hbbp_profile_slice_at)
    }

    /// Events of instructions that IBS of AMD told, by module and address.
    pub fn ibs_sums(&self) -> Result<Vec<IbsSum<'_>>> {
        self.copied(
            sys::hbbp_profile_ibs_sum_count,
            sys::hbbp_profile_copy_ibs_sums,
        )
    }

    /// Latencies that IBS of AMD told, by name and cycles.
    pub fn ibs_buckets(&self) -> Result<Vec<IbsBucket<'_>>> {
        self.copied(
            sys::hbbp_profile_ibs_bucket_count,
            sys::hbbp_profile_copy_ibs_buckets,
        )
    }

    /// Accesses to memory that IBS of AMD told, by address.
    pub fn ibs_lines(&self) -> Result<Vec<IbsLine>> {
        self.copied(
            sys::hbbp_profile_ibs_line_count,
            sys::hbbp_profile_copy_ibs_lines,
        )
    }

    /// Which instructions ran.
    pub fn mix(&self, keys: MixKeys) -> Result<Mix> {
        Mix::of(self, keys)
    }

    /// What ran, summed by keys of your choice.
    pub fn pivot(&self, query: &PivotQuery<'_>) -> Result<Pivot> {
        Pivot::of(self, query)
    }

    /// What follows from the whole mix, or from that of the instructions that a condition lets
    /// through.
    pub fn ratios(&self, filter: Option<&str>, taxonomy: Option<&Taxonomy>) -> Result<Ratios> {
        Ratios::of(self, filter, taxonomy)
    }

    fn at<T: Record>(
        &self,
        module: usize,
        address: u64,
        get: unsafe extern "C" fn(
            *const sys::hbbp_profile,
            u32,
            u64,
            *mut T::Raw,
            *mut sys::hbbp_error,
        ) -> sys::hbbp_status,
    ) -> Result<T> {
        // SAFETY: the profile is there; what these lend lives as long, or is static.
        unsafe {
            let raw = fill(|raw, error| get(self.raw(), raw_index(module), address, raw, error))?;
            Ok(T::from_raw(&raw))
        }
    }

    /// The block around an address of a module, whether it has a count or not.
    pub fn find_block(&self, module: usize, address: u64) -> Result<Block> {
        self.at(module, address, sys::hbbp_profile_find_block)
    }

    /// The instruction at an address of a module.
    pub fn decode(&self, module: usize, address: u64) -> Result<Instruction> {
        self.at(module, address, sys::hbbp_profile_decode)
    }

    /// The text of the instruction at an address of a module.
    pub fn disassemble(&self, module: usize, address: u64) -> Result<Disassembly> {
        self.at(module, address, sys::hbbp_profile_disassemble)
    }

    /// Instructions that begin in a range of addresses of a module. Ends with the first error.
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

    /// The same as text.
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

    /// The source of an address of a module: its lines, and what was inlined there.
    pub fn find_source(&self, module: usize, address: u64) -> Result<SourcePlace<'_>> {
        source::find(self, module, address)
    }

    /// Places one after the other in a range of addresses of a module. Ends with the first error.
    pub fn source_places(
        &self,
        module: usize,
        range: Range<u64>,
    ) -> impl Iterator<Item = Result<SourcePlace<'_>>> + '_ {
        Walk::new(range, move |address| {
            let found = self.find_source(module, address)?;
            Ok((found.end, found))
        })
    }

    /// What of a module's debug information was missing or damaged, as far as was noticed up to now;
    /// "" if nothing.
    pub fn source_problem(&self, module: usize) -> Result<String> {
        source::problem(self, module)
    }
}
