//! What follows from a whole mix.

use crate::analysis::Analysis;
use crate::error::{optional_text, Result};
use crate::host::Work;
use crate::list::Table;
use crate::sys;
use crate::taxonomy::Taxonomy;
use crate::text::{pointer, text};
use std::borrow::Cow;
use std::ptr;

records! {
    /// A number that follows from a whole mix.
    Ratio<'r>(raw: hbbp_ratio) {
        /// "memory": what belongs together.
        group: Cow<'r, str> = text(raw.group),
        /// "bytes-read", stable.
        name: Cow<'r, str> = text(raw.name),
        /// None if this profile does not say.
        value: Option<f64> = (raw.is_known != 0).then_some(raw.value),
        /// Of the value itself, not of its parts: one sigma.
        standard_error: f64 = raw.standard_error,
        /// "operations", "bytes", "share" (0 to 1), ...
        unit: Cow<'r, str> = text(raw.unit),
    }
}

/// Operations on floating point by precision, bytes loaded and stored, arithmetic intensity and more
/// (`docs/guide/mix.md`), made by [`Analysis::ratios`].
#[derive(Debug)]
pub struct Ratios(Table<sys::hbbp_ratios, sys::hbbp_ratio>);

impl Ratios {
    pub(crate) fn of(
        analysis: &Analysis,
        filter: Option<&str>,
        taxonomy: Option<&Taxonomy>,
        work: Work<'_>,
    ) -> Result<Ratios> {
        let filter = optional_text(&filter.map(String::from))?;
        let taxonomy = taxonomy.map_or(ptr::null(), Taxonomy::raw);
        let ratios = work.create(sys::hbbp_ratios_destroy, |work, ratios, error| {
            let filter = pointer(&filter);
            // SAFETY: analysis, text and taxonomy are there during the call.
            unsafe {
                sys::hbbp_ratios_create(analysis.raw(), filter, taxonomy, work, ratios, error)
            }
        })?;
        // SAFETY: these are the ratios of an object that does not change.
        let table = unsafe { Table::read(ratios, sys::hbbp_ratios_count, sys::hbbp_ratios_copy)? };
        Ok(Ratios(table))
    }

    /// All of them, group by group.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Ratio<'_>> + ExactSizeIterator {
        // SAFETY: they borrow from the object.
        unsafe { self.0.iter() }
    }

    /// The one of a name.
    pub fn get(&self, name: &str) -> Option<Ratio<'_>> {
        self.iter().find(|ratio| ratio.name == name)
    }
}
