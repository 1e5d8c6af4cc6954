//! Pivots: sums of what ran by any keys, with rows, columns and values of your choice.

use crate::analysis::Analysis;
use crate::error::{optional_text, Result};
use crate::handle::Handle;
use crate::host::Work;
use crate::list::{fill, Record};
use crate::sys;
use crate::taxonomy::Taxonomy;
use crate::text::{index, pointer, static_text, text};
use std::borrow::Cow;

/// A query of sums. Keys and values are texts with commas between them; [`PivotQuery::key_names`]
/// and `docs/guide/mix.md` list them.
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
    /// Makes a query of instructions by mnemonic.
    pub fn new() -> Self {
        PivotQuery::default()
    }

    setters! {
        /// Sets the keys of rows; "": one row of all.
        rows(keys: impl Into<String>): rows = Some(keys.into());
        /// Sets the keys of columns.
        columns(keys: impl Into<String>): columns = Some(keys.into());
        /// Sets the numbers of a cell. Default: "instructions".
        values(values: impl Into<String>): values = Some(values.into());
        /// Sets a condition for instructions: `where` of the C ABI and of `hbbp mix`,
        /// `docs/guide/mix.md`.
        filter(condition: impl Into<String>): filter = Some(condition.into());
        /// Sorts rows by a value, largest first; by "error", that of the first value; or by "key".
        /// Default: by the first value.
        sort(by: impl Into<String>): sort = Some(by.into());
        /// Limits the number of rows; 0: all.
        top(rows: u64): top = rows;
        /// Merges labels with the same name: static functions, C++ names that demangle to the same,
        /// builds of one file. The label is that of the first.
        join_names(join: bool): join_names = join;
        /// Sets a taxonomy whose names are keys, instead of the library's own.
        taxonomy(taxonomy: &'t Taxonomy): taxonomy = Some(taxonomy);
    }

    /// Returns the names of the keys that every profile has.
    pub fn key_names() -> impl ExactSizeIterator<Item = &'static str> {
        // SAFETY: any index is allowed, and names are static.
        (0..unsafe { sys::hbbp_pivot_key_name_count() })
            .map(|index| unsafe { static_text(sys::hbbp_pivot_key_name(index)) })
    }

    /// Returns the names of the values that every profile has.
    pub fn value_names() -> impl ExactSizeIterator<Item = &'static str> {
        // SAFETY: as above.
        (0..unsafe { sys::hbbp_pivot_value_name_count() })
            .map(|index| unsafe { static_text(sys::hbbp_pivot_value_name(index)) })
    }
}

values! {
    /// The kind of a label.
    LabelKind: i32 {
        /// A text.
        Text = HBBP_LABEL_TEXT,
        /// A number, such as a thread id or a width.
        Number = HBBP_LABEL_NUMBER,
        /// An address in its module.
        Address = HBBP_LABEL_ADDRESS,
    }
}

records! {
    /// The label of one key of a row or column.
    PivotLabel<'p>(raw: hbbp_pivot_label) {
        /// Its kind.
        kind: LabelKind = LabelKind::from_raw(raw.kind),
        /// The text, which is always set; for functions the symbol ([`demangle`](crate::demangle)).
        text: Cow<'p, str> = text(raw.text),
        /// The number, for [`LabelKind::Number`] and [`LabelKind::Address`].
        number: u64 = raw.number,
        /// The index in the list of the key: threads, modules and slices of the profile, functions
        /// and blocks of the analysis, loops of [`Analysis::loops`]; for addresses, their module;
        /// none for other keys.
        index: Option<usize> = index(raw.index),
    }

    /// One number of a row and column.
    PivotCell(raw: hbbp_pivot_cell) {
        /// Instructions, executions (of blocks), bytes or operations, in the unit of the source.
        value: f64 = raw.value,
        /// Standard error of `value`.
        standard_error: f64 = raw.standard_error,
        /// Share of everything that matches the condition; 0 to 1.
        share: f64 = raw.share,
        /// Standard error of `share`, which is more certain than the value: an error of all counts
        /// alike does not change it.
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

/// Sums by the keys of rows and columns. [`Analysis::pivot`] makes it; it needs neither the
/// analysis nor the taxonomy afterwards.
#[derive(Debug)]
pub struct Pivot {
    handle: Handle<sys::hbbp_pivot>,
}

// SAFETY: a pivot is immutable, and the ABI lets any number of threads use a const handle.
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
            // SAFETY: analysis, texts and taxonomy live during the call.
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
        // SAFETY: the pivot is alive.
        unsafe { sys::hbbp_pivot_line_count(self.handle.get(), axis.raw()) }
    }

    fn line_count_in_all(&self, axis: Axis) -> usize {
        // SAFETY: as above.
        unsafe { sys::hbbp_pivot_line_count_in_all(self.handle.get(), axis.raw()) }
    }

    /// Returns the rows, in the order that the query requested.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = PivotLine<'_>> + ExactSizeIterator {
        self.lines(Axis::Rows)
    }

    /// Returns the columns; one without any label if the query requested none.
    pub fn columns(&self) -> impl DoubleEndedIterator<Item = PivotLine<'_>> + ExactSizeIterator {
        self.lines(Axis::Columns)
    }

    /// Returns the number of rows, including those that `top` excluded.
    pub fn row_count_in_all(&self) -> usize {
        self.line_count_in_all(Axis::Rows)
    }

    /// Returns the number of values in a cell.
    pub fn value_count(&self) -> usize {
        // SAFETY: as above.
        unsafe { sys::hbbp_pivot_value_count(self.handle.get()) }
    }

    /// Returns value `value` of a cell; no row or no column stands for all of them, including those
    /// that `top` excluded. A cell where nothing ran is 0.
    pub fn cell(
        &self,
        row: Option<usize>,
        column: Option<usize>,
        value: usize,
    ) -> Result<PivotCell> {
        let index_in_c = |index: Option<usize>| index.unwrap_or(sys::HBBP_PIVOT_ALL);
        // SAFETY: the pivot is alive; cells point to nothing.
        unsafe {
            let raw = fill(|cell, error| {
                let (row, column) = (index_in_c(row), index_in_c(column));
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
    /// Returns its index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the number of labels: as many as its axis has keys.
    pub fn label_count(&self) -> usize {
        // SAFETY: the pivot is alive.
        unsafe { sys::hbbp_pivot_key_count(self.pivot.handle.get(), self.axis.raw()) }
    }

    /// Returns its label for key `key`.
    pub fn label(&self, key: usize) -> Result<PivotLabel<'p>> {
        let pivot = self.pivot.handle.get();
        // SAFETY: the pivot is alive, and the data of its labels lives as long.
        unsafe {
            let raw = fill(|label, error| {
                sys::hbbp_pivot_get_label(pivot, self.axis.raw(), self.index, key, label, error)
            })?;
            Ok(PivotLabel::from_raw(&raw))
        }
    }

    /// Returns all its labels.
    pub fn labels(&self) -> Result<Vec<PivotLabel<'p>>> {
        (0..self.label_count()).map(|key| self.label(key)).collect()
    }

    /// Returns value `value` of its cell with the line `other` of the other axis.
    pub fn cell(&self, other: usize, value: usize) -> Result<PivotCell> {
        match self.axis {
            Axis::Rows => self.pivot.cell(Some(self.index), Some(other), value),
            Axis::Columns => self.pivot.cell(Some(other), Some(self.index), value),
        }
    }

    /// Returns value `value` of the whole line.
    pub fn total(&self, value: usize) -> Result<PivotCell> {
        match self.axis {
            Axis::Rows => self.pivot.cell(Some(self.index), None, value),
            Axis::Columns => self.pivot.cell(None, Some(self.index), value),
        }
    }
}
