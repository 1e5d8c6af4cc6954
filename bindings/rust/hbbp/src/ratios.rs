//! Ratios of a whole mix.

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
        /// The group: "memory".
        group: Cow<'r, str> = text(raw.group),
        /// The name, which is stable: "bytes-read".
        name: Cow<'r, str> = text(raw.name),
        /// None if the profile lacks the data.
        value: Option<f64> = (raw.is_known != 0).then_some(raw.value),
        /// Standard error of the value itself, not of its parts.
        standard_error: f64 = raw.standard_error,
        /// The unit: "operations", "bytes", "share" (0 to 1), ...
        unit: Cow<'r, str> = text(raw.unit),
    }
}

/// Operations on floating point by precision, bytes loaded and stored, arithmetic intensity and
/// more (`docs/guide/mix.md`). [`Analysis::ratios`] makes it.
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
            // SAFETY: analysis, text and taxonomy live during the call.
            unsafe {
                sys::hbbp_ratios_create(analysis.raw(), filter, taxonomy, work, ratios, error)
            }
        })?;
        // SAFETY: these are the ratios of an immutable object.
        let table = unsafe { Table::read(ratios, sys::hbbp_ratios_count, sys::hbbp_ratios_copy)? };
        Ok(Ratios(table))
    }

    /// Returns all ratios, group by group.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Ratio<'_>> + ExactSizeIterator {
        // SAFETY: they borrow from the object.
        unsafe { self.0.iter() }
    }

    /// Returns the ratio with a name.
    pub fn get(&self, name: &str) -> Option<Ratio<'_>> {
        self.iter().find(|ratio| ratio.name == name)
    }
}
