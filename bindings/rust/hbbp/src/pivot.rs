//! What ran, summed by any keys: rows, columns and values of your choice.

use crate::analysis::Analysis;
use crate::error::{optional_text, Result};
use crate::handle::Handle;
use crate::host::Work;
use crate::list::{fill, Record};
use crate::sys;
use crate::taxonomy::Taxonomy;
use crate::text::{index, pointer, static_text, text};
use std::borrow::Cow;

/// Which sums are wanted. Keys and values are texts with commas between them; which there are, say
/// [`PivotQuery::key_names`] and `docs/guide/mix.md`.
///
/// ```
/// # fn print(analysis: &hbbp::Analysis) -> hbbp::Result<()> {
/// let query = hbbp::PivotQuery::new()
///     .rows("function")
///     .columns("extension")
///     .filter("memory != none");
/// for row in analysis.pivot(&query)?.rows() {
///     println!("{:40} {:5.1} %", row.label(0)?.text, 100.0 * row.total(0)?.share);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct PivotQuery<'t> {
    rows: Option<String>,
    columns: Option<String>,
    values: Option<String>,
    filter: Option<String>,
    sort: Option<String>,
    top: u64,
    join_names: bool,
    taxonomy: Option<&'t Taxonomy>,
}

impl<'t> PivotQuery<'t> {
    /// Instructions by mnemonic.
    pub fn new() -> Self {
        PivotQuery::default()
    }

    setters! {
        /// Keys of rows; "": one row of all.
        rows(keys: impl Into<String>): rows = Some(keys.into());
        /// Keys of columns.
        columns(keys: impl Into<String>): columns = Some(keys.into());
        /// Which numbers a cell has; without, "instructions".
        values(values: impl Into<String>): values = Some(values.into());
        /// Which instructions count: `where` of the C ABI and of `hbbp mix`, `docs/guide/mix.md`.
        filter(condition: impl Into<String>): filter = Some(condition.into());
        /// Rows by a value, largest first; by "error", that of the first value; or by "key". Without, by
        /// the first value.
        sort(by: impl Into<String>): sort = Some(by.into());
        /// Rows at most; 0: all.
        top(rows: u64): top = rows;
        /// What has one name is one line: static functions, C++ names that demangle alike, builds of one
        /// file. Its label is that of the first.
        join_names(join: bool): join_names = join;
        /// Whose names are keys, instead of those of the library itself.
        taxonomy(taxonomy: &'t Taxonomy): taxonomy = Some(taxonomy);
    }

    /// Names of the keys that every profile has.
    pub fn key_names() -> impl ExactSizeIterator<Item = &'static str> {
        // SAFETY: any index is allowed, and names are static.
        (0..unsafe { sys::hbbp_pivot_key_name_count() })
            .map(|index| unsafe { static_text(sys::hbbp_pivot_key_name(index)) })
    }

    /// Names of the values that every profile has.
    pub fn value_names() -> impl ExactSizeIterator<Item = &'static str> {
        // SAFETY: as above.
        (0..unsafe { sys::hbbp_pivot_value_name_count() })
            .map(|index| unsafe { static_text(sys::hbbp_pivot_value_name(index)) })
    }
}

values! {
    /// What a label is.
    LabelKind: i32 {
        /// A text.
        Text = HBBP_LABEL_TEXT,
        /// As of threads and widths.
        Number = HBBP_LABEL_NUMBER,
        /// An address in its module.
        Address = HBBP_LABEL_ADDRESS,
    }
}

records! {
    /// One key of a row or column.
    PivotLabel<'p>(raw: hbbp_pivot_label) {
        /// What it is.
        kind: LabelKind = LabelKind::from_raw(raw.kind),
        /// Always; function names as the symbol table has them ([`demangle`](crate::demangle)).
        text: Cow<'p, str> = text(raw.text),
        /// Of [`LabelKind::Number`] and [`LabelKind::Address`].
        number: u64 = raw.number,
        /// In the list that the key is of: threads, modules and slices of the profile, functions
        /// and blocks of the analysis, loops of [`Analysis::loops`]; of addresses, their module; none
        /// of other keys.
        index: Option<usize> = index(raw.index),
    }

    /// One number of a row and column.
    PivotCell(raw: hbbp_pivot_cell) {
        /// Instructions, executions (of blocks), bytes or operations; in the unit of the source.
        value: f64 = raw.value,
        /// Of `value`: one sigma.
        standard_error: f64 = raw.standard_error,
        /// Of all that the condition let through; 0 to 1.
        share: f64 = raw.share,
        /// Of `share`, which is surer than the value: what is wrong with all counts alike does not
        /// change it.
        share_error: f64 = raw.share_error,
    }
}

#[derive(Debug, Clone, Copy)]
enum Axis {
    Rows,
    Columns,
}

impl Axis {
    fn raw(self) -> sys::hbbp_pivot_axis {
        match self {
            Axis::Rows => sys::HBBP_PIVOT_ROWS,
            Axis::Columns => sys::HBBP_PIVOT_COLUMNS,
        }
    }
}

/// Sums by the keys of rows and columns, made by [`Analysis::pivot`]. It needs neither the analysis nor
/// the taxonomy afterwards.
#[derive(Debug)]
pub struct Pivot {
    handle: Handle<sys::hbbp_pivot>,
}

// SAFETY: a pivot does not change, and the ABI lets any number of threads use a const handle.
unsafe impl Send for Pivot {}
unsafe impl Sync for Pivot {}

impl Pivot {
    pub(crate) fn of(analysis: &Analysis, query: &PivotQuery<'_>, work: Work<'_>) -> Result<Pivot> {
        let rows = optional_text(&query.rows)?;
        let columns = optional_text(&query.columns)?;
        let values = optional_text(&query.values)?;
        let filter = optional_text(&query.filter)?;
        let sort = optional_text(&query.sort)?;
        let raw = sys::hbbp_pivot_query {
            rows: pointer(&rows),
            columns: pointer(&columns),
            values: pointer(&values),
            where_: pointer(&filter),
            sort: pointer(&sort),
            top: query.top,
            join_names: query.join_names.into(),
            taxonomy: query.taxonomy.map_or(std::ptr::null(), Taxonomy::raw),
            ..Default::default()
        };
        let handle = work.create(sys::hbbp_pivot_destroy, |work, pivot, error| {
            // SAFETY: analysis, texts and taxonomy are there during the call.
            unsafe { sys::hbbp_pivot_create(analysis.raw(), &raw, work, pivot, error) }
        })?;
        Ok(Pivot { handle })
    }

    fn lines(
        &self,
        axis: Axis,
    ) -> impl DoubleEndedIterator<Item = PivotLine<'_>> + ExactSizeIterator {
        (0..self.line_count(axis)).map(move |index| PivotLine {
            pivot: self,
            axis,
            index,
        })
    }

    fn line_count(&self, axis: Axis) -> usize {
        // SAFETY: the pivot is there.
        unsafe { sys::hbbp_pivot_line_count(self.handle.get(), axis.raw()) }
    }

    fn line_count_in_all(&self, axis: Axis) -> usize {
        // SAFETY: as above.
        unsafe { sys::hbbp_pivot_line_count_in_all(self.handle.get(), axis.raw()) }
    }

    /// Rows, in the order that the query asked for.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = PivotLine<'_>> + ExactSizeIterator {
        self.lines(Axis::Rows)
    }

    /// Columns; one without any label if the query asked for none.
    pub fn columns(&self) -> impl DoubleEndedIterator<Item = PivotLine<'_>> + ExactSizeIterator {
        self.lines(Axis::Columns)
    }

    /// How many rows there are, those included that `top` left out.
    pub fn row_count_in_all(&self) -> usize {
        self.line_count_in_all(Axis::Rows)
    }

    /// How many numbers a cell has.
    pub fn value_count(&self) -> usize {
        // SAFETY: as above.
        unsafe { sys::hbbp_pivot_value_count(self.handle.get()) }
    }

    /// Value `value` of a cell; no row or no column stands for all of them, those included that
    /// `top` left out. A cell where nothing ran is 0.
    pub fn cell(
        &self,
        row: Option<usize>,
        column: Option<usize>,
        value: usize,
    ) -> Result<PivotCell> {
        let place = |index: Option<usize>| index.unwrap_or(sys::HBBP_PIVOT_ALL);
        // SAFETY: the pivot is there; cells point to nothing.
        unsafe {
            let raw = fill(|cell, error| {
                let (row, column) = (place(row), place(column));
                sys::hbbp_pivot_get_cell(self.handle.get(), row, column, value, cell, error)
            })?;
            Ok(PivotCell::from_raw(&raw))
        }
    }
}

/// A row or a column of a pivot.
#[derive(Debug, Clone, Copy)]
pub struct PivotLine<'p> {
    pivot: &'p Pivot,
    axis: Axis,
    index: usize,
}

impl<'p> PivotLine<'p> {
    /// Which one it is.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many labels it has: as many as its axis has keys.
    pub fn label_count(&self) -> usize {
        // SAFETY: the pivot is there.
        unsafe { sys::hbbp_pivot_key_count(self.pivot.handle.get(), self.axis.raw()) }
    }

    /// Its label for key `key`.
    pub fn label(&self, key: usize) -> Result<PivotLabel<'p>> {
        let pivot = self.pivot.handle.get();
        // SAFETY: the pivot is there, and what its labels point to lives as long.
        unsafe {
            let raw = fill(|label, error| {
                sys::hbbp_pivot_get_label(pivot, self.axis.raw(), self.index, key, label, error)
            })?;
            Ok(PivotLabel::from_raw(&raw))
        }
    }

    /// All its labels.
    pub fn labels(&self) -> Result<Vec<PivotLabel<'p>>> {
        (0..self.label_count()).map(|key| self.label(key)).collect()
    }

    /// Value `value` of its cell with the line `other` of the other axis.
    pub fn cell(&self, other: usize, value: usize) -> Result<PivotCell> {
        match self.axis {
            Axis::Rows => self.pivot.cell(Some(self.index), Some(other), value),
            Axis::Columns => self.pivot.cell(Some(other), Some(self.index), value),
        }
    }

    /// Value `value` of all of it.
    pub fn total(&self, value: usize) -> Result<PivotCell> {
        match self.axis {
            Axis::Rows => self.pivot.cell(Some(self.index), None, value),
            Axis::Columns => self.pivot.cell(None, Some(self.index), value),
        }
    }
}
