//! The loops that a program ran, and how often they iterated.

use crate::analysis::Analysis;
use crate::error::Result;
use crate::host::Work;
use crate::list::{copy, read};
use crate::records::Loop;
use crate::sys;
use crate::text::index;
use std::ops::Deref;

/// The loops in which a block has a count, in order of module, function and nesting: a loop comes
/// before the loops in it. [`Analysis::loops`] makes it; it is a slice of [`Loop`], which borrows
/// nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Loops {
    loops: Vec<Loop>,
    of_blocks: Vec<Option<usize>>,
}

impl Loops {
    pub(crate) fn of(analysis: &Analysis, work: Work<'_>) -> Result<Loops> {
        let found = work.create(sys::hbbp_loops_destroy, |work, loops, error| {
            // SAFETY: the analysis is alive.
            unsafe { sys::hbbp_loops_create(analysis.raw(), work, loops, error) }
        })?;
        // SAFETY: the object is alive, and its loops point to nothing.
        let loops = unsafe { read(found.get(), sys::hbbp_loops_count, sys::hbbp_loops_copy)? };
        let of_blocks = copy(
            analysis.block_count(),
            |&of_block| index(of_block),
            // SAFETY: the array has the given size.
            |first, count, _, array, copied, error| unsafe {
                sys::hbbp_loops_copy_of_blocks(found.get(), first, count, array, copied, error)
            },
        )?;
        Ok(Loops { loops, of_blocks })
    }

    /// Returns the index of the innermost loop around each block of [`Analysis::blocks`].
    pub fn of_blocks(&self) -> &[Option<usize>] {
        &self.of_blocks
    }
}

impl Deref for Loops {
    type Target = [Loop];
    fn deref(&self) -> &[Loop] {
        &self.loops
    }
}

impl<'l> IntoIterator for &'l Loops {
    type Item = &'l Loop;
    type IntoIter = std::slice::Iter<'l, Loop>;
    fn into_iter(self) -> Self::IntoIter {
        self.loops.iter()
    }
}
