//! Lists of the C ABI, which are copied a part at a time.

use crate::error::{call, Result};
use crate::handle::Handle;
use crate::sys;
use std::mem::size_of;

/// A record made of a struct of the C ABI.
pub(crate) trait Record: Sized {
    type Raw: Copy + Default;

    /// # Safety
    /// The data that `raw` points to outlives the record.
    unsafe fn from_raw(raw: &Self::Raw) -> Self;
}

/// Reads one struct that a function fills.
pub(crate) fn fill<Raw: Default>(
    function: impl FnOnce(*mut Raw, *mut sys::hbbp_error) -> sys::hbbp_status,
) -> Result<Raw> {
    let mut raw = Raw::default();
    call(|error| function(&mut raw, error))?;
    Ok(raw)
}

/// Reads a part of a list: the object, the first index, how many, the size of an element, the
/// output, and the output for the number of elements.
pub(crate) type CopyPart<H, Raw> = unsafe extern "C" fn(
    *const H,
    usize,
    usize,
    usize,
    *mut Raw,
    *mut usize,
    *mut sys::hbbp_error,
) -> sys::hbbp_status;

/// Does the same for a list of a source, whose index comes second.
pub(crate) type CopyPartOf<H, Raw> = unsafe extern "C" fn(
    *const H,
    usize,
    usize,
    usize,
    usize,
    *mut Raw,
    *mut usize,
    *mut sys::hbbp_error,
) -> sys::hbbp_status;

/// Reads all records of a list of an object.
///
/// # Safety
/// The object is alive, and the data that the structs point to outlives the records.
pub(crate) unsafe fn read<H, T: Record>(
    object: *const H,
    count: unsafe extern "C" fn(*const H) -> usize,
    copy_part: CopyPart<H, T::Raw>,
) -> Result<Vec<T>> {
    copy(
        count(object),
        |raw| T::from_raw(raw),
        |first, count, size, array, copied, error| {
            copy_part(object, first, count, size, array, copied, error)
        },
    )
}

/// Does the same for a list of a source.
///
/// # Safety
/// See `read`.
pub(crate) unsafe fn read_of<H, T: Record>(
    object: *const H,
    source: usize,
    count: unsafe extern "C" fn(*const H, usize) -> usize,
    copy_part: CopyPartOf<H, T::Raw>,
) -> Result<Vec<T>> {
    copy(
        count(object, source),
        |raw| T::from_raw(raw),
        |first, count, size, array, copied, error| {
            copy_part(object, source, first, count, size, array, copied, error)
        },
    )
}

/// An immutable object with its list, which points into it.
#[derive(Debug)]
pub(crate) struct Table<H, Raw> {
    rows: Vec<Raw>,
    handle: Handle<H>,
}

// SAFETY: the ABI lets any number of threads use a const handle.
unsafe impl<H, Raw> Send for Table<H, Raw> {}
unsafe impl<H, Raw> Sync for Table<H, Raw> {}

impl<H, Raw: Copy + Default> Table<H, Raw> {
    /// # Safety
    /// `count` and `copy_part` read a list of the object, which is immutable.
    pub unsafe fn read(
        handle: Handle<H>,
        count: unsafe extern "C" fn(*const H) -> usize,
        copy_part: CopyPart<H, Raw>,
    ) -> Result<Self> {
        let rows = copy(
            count(handle.get()),
            |raw| *raw,
            |first, count, size, array, copied, error| {
                copy_part(handle.get(), first, count, size, array, copied, error)
            },
        )?;
        Ok(Table { rows, handle })
    }

    pub fn handle(&self) -> &Handle<H> {
        &self.handle
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns records that borrow from the object.
    ///
    /// # Safety
    /// `T` borrows for no longer than `'t`.
    pub unsafe fn iter<'t, T>(
        &'t self,
    ) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + 't
    where
        T: Record<Raw = Raw> + 't,
    {
        self.rows.iter().map(|raw| T::from_raw(raw))
    }
}

const PART: usize = 512;

/// Reads all elements of a list part by part. `copy` takes the first index, how many, their size,
/// the output, and the output for the number of elements.
pub(crate) fn copy<Raw: Copy + Default, T>(
    count: usize,
    make: impl Fn(&Raw) -> T,
    copy: impl Fn(usize, usize, usize, *mut Raw, *mut usize, *mut sys::hbbp_error) -> sys::hbbp_status,
) -> Result<Vec<T>> {
    let mut all = Vec::with_capacity(count);
    let mut part = vec![Raw::default(); count.min(PART)];
    while all.len() < count {
        let wanted = part.len().min(count - all.len());
        let mut copied = 0;
        call(|error| {
            copy(
                all.len(),
                wanted,
                size_of::<Raw>(),
                part.as_mut_ptr(),
                &mut copied,
                error,
            )
        })?;
        if copied == 0 {
            break;
        }
        all.extend(part.iter().take(copied.min(wanted)).map(&make));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn parts_make_a_whole() {
        for count in [0, 1, PART - 1, PART, PART + 1, 3 * PART + 7] {
            let all = copy(
                count,
                |&number: &u32| number,
                |first, wanted, size, part, copied, _| {
                    assert_eq!(size, 4);
                    for i in 0..wanted {
                        unsafe { *part.add(i) = (first + i) as u32 };
                    }
                    unsafe { *copied = wanted };
                    sys::HBBP_OK
                },
            );
            assert_eq!(all.unwrap(), (0..count as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_list_that_is_shorter_than_it_said_ends() {
        let all = copy(7, |&number: &u32| number, |_, _, _, _, _, _| sys::HBBP_OK);
        assert_eq!(all, Ok(Vec::new()));
    }

    unsafe extern "C" fn destroy(_: *mut u32) {}

    unsafe extern "C" fn three(_: *const u32) -> usize {
        3
    }

    unsafe extern "C" fn fails(
        _: *const u32,
        _: usize,
        _: usize,
        _: usize,
        _: *mut u32,
        _: *mut usize,
        _: *mut sys::hbbp_error,
    ) -> sys::hbbp_status {
        sys::HBBP_ERROR_NO_MEMORY
    }

    #[test]
    fn an_error_ends_a_list() {
        let mut object = 0u32;
        let handle = Handle::create(destroy, |out, _| {
            unsafe { *out = &mut object };
            sys::HBBP_OK
        });
        let table = unsafe { Table::read(handle.unwrap(), three, fails) };
        assert_eq!(table.unwrap_err().status(), Status::NoMemory);
    }
}
