//! Mixes: which instructions ran, and how many.

use crate::analysis::Analysis;
use crate::error::Result;
use crate::host::Work;
use crate::list::Table;
use crate::sys;
use crate::text::{index, text};
use std::borrow::Cow;
use std::ops::{BitOr, BitOrAssign};

/// The keys of the rows of a mix; `|` combines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MixKeys(u32);

impl MixKeys {
    /// Mnemonics of instructions.
    pub const MNEMONIC: MixKeys = MixKeys(sys::HBBP_MIX_BY_MNEMONIC);
    /// Modules.
    pub const MODULE: MixKeys = MixKeys(sys::HBBP_MIX_BY_MODULE);
    /// Functions.
    pub const FUNCTION: MixKeys = MixKeys(sys::HBBP_MIX_BY_FUNCTION);
    /// Threads.
    pub const THREAD: MixKeys = MixKeys(sys::HBBP_MIX_BY_THREAD);
    /// Slices of time.
    pub const SLICE: MixKeys = MixKeys(sys::HBBP_MIX_BY_SLICE);

    /// Returns whether all keys of `other` are among these.
    pub fn contains(self, other: MixKeys) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for MixKeys {
    type Output = MixKeys;
    fn bitor(self, other: MixKeys) -> MixKeys {
        MixKeys(self.0 | other.0)
    }
}

impl BitOrAssign for MixKeys {
    fn bitor_assign(&mut self, other: MixKeys) {
        *self = *self | other;
    }
}

records! {
    /// The executed instructions of one combination of keys.
    MixRow<'m>(raw: hbbp_mix_row) {
        /// Index in the profile; none if modules are not a key.
        module: Option<usize> = index(raw.module),
        /// Index in the analysis; none if functions are not a key.
        function: Option<usize> = index(raw.function),
        /// Index in the profile; none if threads are not a key.
        thread: Option<usize> = index(raw.thread),
        /// Index in the profile; none if slices are not a key, or the time is unknown.
        slice: Option<usize> = index(raw.slice),
        /// Intel's, lower case, without prefixes; empty if mnemonics are not a key.
        mnemonic: Cow<'m, str> = text(raw.mnemonic),
        /// Executed instructions, in the unit of the source
        /// ([`SourceInfo::unit`](crate::SourceInfo::unit)).
        instructions: f64 = raw.instructions,
        /// Standard error of `instructions`.
        standard_error: f64 = raw.standard_error,
        /// Share of all instructions in the mix; 0 to 1.
        share: f64 = raw.share,
    }
}

/// The mix of a whole profile. [`Analysis::mix`] makes it; it does not need the analysis
/// afterwards.
///
/// Rows borrow from the mix:
///
/// ```compile_fail,E0597
/// let row = {
///     let mix = hbbp::Profile::load("program.hbbp")?.analyze()?.mix(hbbp::MixKeys::MNEMONIC)?;
///     mix.rows().next()
/// };
/// println!("{row:?}");
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug)]
pub struct Mix(Table<sys::hbbp_mix, sys::hbbp_mix_row>);

impl Mix {
    pub(crate) fn of(analysis: &Analysis, keys: MixKeys, work: Work<'_>) -> Result<Mix> {
        let mix = work.create(sys::hbbp_mix_destroy, |work, mix, error| {
            // SAFETY: the analysis is alive.
            unsafe { sys::hbbp_mix_create(analysis.raw(), keys.0, work, mix, error) }
        })?;
        // SAFETY: these are the rows of an immutable mix.
        let table = unsafe { Table::read(mix, sys::hbbp_mix_row_count, sys::hbbp_mix_copy_rows)? };
        Ok(Mix(table))
    }

    /// Returns all executed instructions, in the unit of the source.
    pub fn total(&self) -> f64 {
        // SAFETY: the mix is alive.
        unsafe { sys::hbbp_mix_total(self.0.handle().get()) }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether nothing ran.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows sorted by instructions, most first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = MixRow<'_>> + ExactSizeIterator {
        // SAFETY: rows borrow from the mix.
        unsafe { self.0.iter() }
    }
}

#[cfg(test)]
mod tests {
    use super::MixKeys;

    #[test]
    fn keys_are_combined() {
        let mut keys = MixKeys::MODULE | MixKeys::FUNCTION;
        assert!(keys.contains(MixKeys::MODULE) && !keys.contains(MixKeys::THREAD));
        keys |= MixKeys::THREAD;
        assert!(keys.contains(MixKeys::THREAD | MixKeys::FUNCTION));
    }
}
