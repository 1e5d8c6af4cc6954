//! Lists of the C ABI: by index, or a part at a time.

use crate::error::{call, Result};
use crate::handle::Handle;
use crate::sys;
use std::mem::size_of;

/// Made of a struct of the C ABI.
pub(crate) trait Record: Sized {
    type Raw: Copy + Default;

    /// # Safety
    /// What `raw` points to outlives the record.
    unsafe fn from_raw(raw: &Self::Raw) -> Self;
}

/// One struct that a function fills.
pub(crate) fn fill<Raw: Default>(
    function: impl FnOnce(*mut Raw, *mut sys::hbbp_error) -> sys::hbbp_status,
) -> Result<Raw> {
    let mut raw = Raw::default();
    call(|error| function(&mut raw, error))?;
    Ok(raw)
}

/// All records of a list that is read by index.
///
/// # Safety
/// What the structs point to outlives the records.
pub(crate) unsafe fn read<T: Record>(
    count: usize,
    at: impl Fn(usize, *mut T::Raw, *mut sys::hbbp_error) -> sys::hbbp_status,
) -> Result<Vec<T>> {
    (0..count)
        .map(|index| Ok(T::from_raw(&fill(|raw, error| at(index, raw, error))?)))
        .collect()
}

/// An object that does not change, with its list, which points into it.
#[derive(Debug)]
pub(crate) struct Table<H, Raw> {
    rows: Vec<Raw>,
    handle: Handle<H>,
}

// SAFETY: the ABI lets any number of threads use a const handle.
unsafe impl<H, Raw> Send for Table<H, Raw> {}
unsafe impl<H, Raw> Sync for Table<H, Raw> {}

impl<H, Raw: Default> Table<H, Raw> {
    /// # Safety
    /// `count` and `at` read a list of the object, which does not change.
    pub unsafe fn read(
        handle: Handle<H>,
        count: unsafe extern "C" fn(*const H) -> usize,
        at: unsafe extern "C" fn(
            *const H,
            usize,
            *mut Raw,
            *mut sys::hbbp_error,
        ) -> sys::hbbp_status,
    ) -> Result<Self> {
        let rows = (0..count(handle.get()))
            .map(|index| fill(|raw, error| at(handle.get(), index, raw, error)))
            .collect::<Result<_>>()?;
        Ok(Table { rows, handle })
    }

    pub fn handle(&self) -> &Handle<H> {
        &self.handle
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Records that borrow from the object.
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

/// All elements of a list that is copied part by part. `copy` takes the first index, how many, their
/// size, where to, and where to say how many there were.
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

    unsafe extern "C" fn only_the_first(
        _: *const u32,
        index: usize,
        _: *mut u32,
        _: *mut sys::hbbp_error,
    ) -> sys::hbbp_status {
        match index {
            0 => sys::HBBP_OK,
            _ => sys::HBBP_ERROR_NO_MEMORY,
        }
    }

    #[test]
    fn an_error_ends_a_list() {
        let mut object = 0u32;
        let handle = Handle::create(destroy, |place, _| {
            unsafe { *place = &mut object };
            sys::HBBP_OK
        });
        let table = unsafe { Table::read(handle.unwrap(), three, only_the_first) };
        assert_eq!(table.unwrap_err().status(), Status::NoMemory);
    }
}
