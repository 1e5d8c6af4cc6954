//! Objects of the library, which destroy themselves.

use crate::callback::dropping_panics;
use crate::error::{call_without_resuming, Error, Result, Status};
use crate::sys;
use std::ptr::{null_mut, NonNull};

/// Owns an object. Its owner decides which threads may use it.
#[derive(Debug)]
pub(crate) struct Handle<T> {
    object: NonNull<T>,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> Handle<T> {
    /// Takes ownership of the object that `create` writes.
    pub fn create(
        destroy: unsafe extern "C" fn(*mut T),
        create: impl FnOnce(*mut *mut T, *mut sys::hbbp_error) -> sys::hbbp_status,
    ) -> Result<Self> {
        let mut object = null_mut();
        let result = call_without_resuming(|error| create(&mut object, error));
        let handle = NonNull::new(object).map(|object| Handle { object, destroy });
        crate::callback::resume_panic();
        result?;
        handle.ok_or_else(|| Error::new(Status::Internal, "libhbbp gave no object"))
    }

    /// Refers to an object that something else owns.
    pub fn lent(object: *mut T) -> Result<Self> {
        unsafe extern "C" fn keep<T>(_: *mut T) {}
        NonNull::new(object)
            .map(|object| Handle {
                object,
                destroy: keep,
            })
            .ok_or_else(|| Error::new(Status::Internal, "libhbbp gave no object"))
    }

    pub fn get(&self) -> *const T {
        self.object.as_ptr()
    }

    /// Returns the object for functions that may change it.
    pub fn get_mut(&self) -> *mut T {
        self.object.as_ptr()
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: no one else has the object, and it was not destroyed before.
        dropping_panics(|| unsafe { (self.destroy)(self.object.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn destroy(object: *mut u32) {
        *object += 1;
    }

    #[test]
    fn what_was_created_is_destroyed_once() {
        let mut times = 0u32;
        let object: *mut u32 = &mut times;
        let handle = Handle::create(destroy, |out, _| {
            unsafe { *out = object };
            sys::HBBP_OK
        });
        drop(handle.unwrap());
        assert_eq!(unsafe { *object }, 1);
    }

    #[test]
    fn no_object_is_an_error() {
        let handle = Handle::create(destroy, |_, _| sys::HBBP_OK);
        assert_eq!(handle.unwrap_err().status(), Status::Internal);
        let handle = Handle::create(destroy, |_, _| sys::HBBP_ERROR_BUSY);
        assert_eq!(handle.unwrap_err().status(), Status::Busy);
    }
}
