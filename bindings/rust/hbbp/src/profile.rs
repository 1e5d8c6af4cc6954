//! Profiles: what was counted, as data.

use crate::analysis::{Analysis, AnalysisOptions};
use crate::error::Result;
use crate::handle::Handle;
use crate::host::Work;
use crate::import::ImportOptions;
use crate::list::{fill, read, read_of, CopyPart, Record};
use crate::records::*;
use crate::sys;
use crate::text::{c_path, raw_index};
use std::path::Path;

/// The counts of a run: sources, threads, modules, and what was lost. A profile is immutable.
///
/// It has no blocks and no instructions: [`analyze`](Profile::analyze) finds them. Each list is a
/// `Vec`, and indices elsewhere refer to these. Borrowed data ends with the profile:
///
/// ```compile_fail,E0505
/// let profile = hbbp::Profile::load("program.hbbp")?;
/// let threads = profile.threads()?;
/// drop(profile);
/// println!("{}", threads[0].name);
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug)]
pub struct Profile {
    handle: Handle<sys::hbbp_profile>,
}

// SAFETY: a profile is immutable, and the ABI lets any number of threads use a const handle.
unsafe impl Send for Profile {}
unsafe impl Sync for Profile {}

/// A part of a profile.
///
/// ```no_run
/// # let profile = hbbp::Profile::load("program.hbbp")?;
/// let selection = hbbp::Selection::new().thread(4711).slice(3);
/// let part = profile.select(&selection)?;
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Selection {
    raw: sys::hbbp_selection,
}

impl Selection {
    /// Selects nothing yet, which is refused.
    pub fn new() -> Self {
        Selection::default()
    }

    /// Selects one thread.
    pub fn thread(mut self, tid: u32) -> Self {
        self.raw.parts |= sys::HBBP_SELECT_THREAD;
        self.raw.tid = tid;
        self
    }

    /// Selects the slice at `index`.
    pub fn slice(mut self, index: usize) -> Self {
        self.raw.parts |= sys::HBBP_SELECT_SLICE;
        self.raw.slice = raw_index(index);
        self
    }
}

impl Profile {
    pub(crate) fn create(
        work: Work<'_>,
        create: impl FnOnce(
            *const sys::hbbp_work_options,
            *mut *mut sys::hbbp_profile,
            *mut sys::hbbp_error,
        ) -> sys::hbbp_status,
    ) -> Result<Profile> {
        Ok(Profile {
            handle: work.create(sys::hbbp_profile_destroy, create)?,
        })
    }

    /// Refers to the profile of an analysis, which must not be destroyed.
    ///
    /// # Safety
    /// The profile must outlive this object.
    pub(crate) unsafe fn lent(profile: *const sys::hbbp_profile) -> Result<Profile> {
        Ok(Profile {
            handle: Handle::lent(profile as *mut sys::hbbp_profile)?,
        })
    }

    pub(crate) fn raw(&self) -> *const sys::hbbp_profile {
        self.handle.get()
    }

    /// Reads a profile file.
    pub fn load(path: impl AsRef<Path>) -> Result<Profile> {
        Profile::load_with(path, Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn load_with(path: impl AsRef<Path>, work: Work<'_>) -> Result<Profile> {
        let path = c_path(path.as_ref())?;
        Profile::create(work, |work, profile, error| {
            // SAFETY: the path lives during the call.
            unsafe { sys::hbbp_profile_load(path.as_ptr(), work, profile, error) }
        })
    }

    /// Reads a recording of perf; [`ImportOptions`] has more options.
    pub fn import(path: impl AsRef<Path>) -> Result<Profile> {
        ImportOptions::new().import(path)
    }

    /// Returns the sum of one or more profiles. Of several events, an analysis counts by one.
    pub fn merge<'p>(profiles: impl IntoIterator<Item = &'p Profile>) -> Result<Profile> {
        Profile::merge_with(profiles, Work::new())
    }

    /// Does the same, with progress (in profiles) and a flag that cancels it.
    pub fn merge_with<'p>(
        profiles: impl IntoIterator<Item = &'p Profile>,
        work: Work<'_>,
    ) -> Result<Profile> {
        let profiles: Vec<_> = profiles.into_iter().map(Profile::raw).collect();
        Profile::create(work, |work, merged, error| {
            let (array, count) = (profiles.as_ptr(), profiles.len());
            // SAFETY: the profiles are borrowed.
            unsafe { sys::hbbp_profile_merge(array, count, work, merged, error) }
        })
    }

    /// Saves the profile and replaces the file atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn save_with(&self, path: impl AsRef<Path>, work: Work<'_>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: profile and path are alive.
        work.call(|work, error| unsafe {
            sys::hbbp_profile_save(self.raw(), path.as_ptr(), work, error)
        })
    }

    /// Returns a part of it as a profile of its own, with the same lists of sources and slices.
    pub fn select(&self, selection: &Selection) -> Result<Profile> {
        self.select_with(selection, Work::new())
    }

    /// Does the same, with progress and a flag that cancels it.
    pub fn select_with(&self, selection: &Selection, work: Work<'_>) -> Result<Profile> {
        Profile::create(work, |work, selected, error| {
            // SAFETY: the profile is alive.
            unsafe { sys::hbbp_profile_select(self.raw(), &selection.raw, work, selected, error) }
        })
    }

    /// Returns the part of thread `tid`.
    pub fn select_thread(&self, tid: u32) -> Result<Profile> {
        self.select(&Selection::new().thread(tid))
    }

    /// Returns the part of the slice at `index`.
    pub fn select_slice(&self, index: usize) -> Result<Profile> {
        self.select(&Selection::new().slice(index))
    }

    /// Finds the blocks and their counts; [`AnalysisOptions`] has more options. The analysis does
    /// not need the profile afterwards.
    pub fn analyze(&self) -> Result<Analysis> {
        AnalysisOptions::new().analyze(self)
    }

    /// Returns the profiled process, the times, and what was lost.
    pub fn info(&self) -> Result<ProfileInfo<'_>> {
        // SAFETY: the profile is alive, and data that it lends lives as long as it is borrowed.
        unsafe {
            let raw = fill(|info, error| sys::hbbp_profile_get_info(self.raw(), info, error))?;
            Ok(ProfileInfo::from_raw(&raw))
        }
    }

    fn list<T: Record>(
        &self,
        count: unsafe extern "C" fn(*const sys::hbbp_profile) -> usize,
        copy_part: CopyPart<sys::hbbp_profile, T::Raw>,
    ) -> Result<Vec<T>> {
        // SAFETY: as above; each list is private to a method that declares for how long it borrows.
        unsafe { read(self.raw(), count, copy_part) }
    }

    /// Returns the sources of samples.
    pub fn sources(&self) -> Result<Vec<SourceInfo<'_>>> {
        self.list(
            sys::hbbp_profile_source_count,
            sys::hbbp_profile_copy_sources,
        )
    }

    /// Returns further counters of a source: why bursts ended or were dropped. Only numbers that
    /// are not 0 are listed.
    pub fn counters(&self, source: usize) -> Result<Vec<Counter<'_>>> {
        // SAFETY: as above.
        unsafe {
            read_of(
                self.raw(),
                source,
                sys::hbbp_profile_counter_count,
                sys::hbbp_profile_copy_counters,
            )
        }
    }

    /// Returns the threads that ran.
    pub fn threads(&self) -> Result<Vec<Thread<'_>>> {
        self.list(
            sys::hbbp_profile_thread_count,
            sys::hbbp_profile_copy_threads,
        )
    }

    /// Returns files, and other regions, that contain code.
    pub fn modules(&self) -> Result<Vec<Module<'_>>> {
        self.list(
            sys::hbbp_profile_module_count,
            sys::hbbp_profile_copy_modules,
        )
    }

    /// Returns slices of time, if the profile keeps them.
    pub fn slices(&self) -> Result<Vec<Slice>> {
        self.list(sys::hbbp_profile_slice_count, sys::hbbp_profile_copy_slices)
    }

    /// Returns latencies that IBS of AMD reported, by name and cycles.
    pub fn ibs_buckets(&self) -> Result<Vec<IbsBucket<'_>>> {
        self.list(
            sys::hbbp_profile_ibs_bucket_count,
            sys::hbbp_profile_copy_ibs_buckets,
        )
    }

    /// Returns accesses to memory that IBS of AMD reported, by address.
    pub fn ibs_lines(&self) -> Result<Vec<IbsLine>> {
        self.list(
            sys::hbbp_profile_ibs_line_count,
            sys::hbbp_profile_copy_ibs_lines,
        )
    }
}
