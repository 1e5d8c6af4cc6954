//! The C ABI of libhbbp as Rust sees it; the crate `hbbp` makes it safe.
//!
//! The declarations are those of the C headers, with their comments; `hbbp/api.h` states the
//! conventions that hold for all of them. Structs that the caller sizes have a [`Default`], which is
//! all zeros with `struct_size` set, as `HBBP_INIT` makes them:
//!
//! ```
//! let mut error = hbbp_sys::hbbp_error::default();
//! let mut capabilities = std::ptr::null_mut();
//! let status = unsafe { hbbp_sys::hbbp_capabilities_probe(&mut capabilities, &mut error) };
//! assert_eq!(status, hbbp_sys::HBBP_OK);
//! unsafe { hbbp_sys::hbbp_capabilities_destroy(capabilities) };
//! ```
//!
//! The library is found by `HBBP_LIB_DIR`, the folder that it is in, or else by `pkg-config`. The
//! feature `static`, or `HBBP_STATIC=1` while building, links `libhbbp.a`.
#![deny(missing_docs, missing_debug_implementations)]
#![allow(non_camel_case_types)]

macro_rules! zeroed {
    ($name:ident) => {
        impl Default for $name {
            /// All zeros.
            fn default() -> Self {
                // SAFETY: structs of the C ABI are of numbers, pointers that may be NULL and
                // functions that may be, all of which may be zero.
                unsafe { core::mem::zeroed() }
            }
        }
    };
}

macro_rules! sized {
    ($name:ident) => {
        impl Default for $name {
            /// All zeros but `struct_size`, which is the size of the struct.
            fn default() -> Self {
                // SAFETY: as in `zeroed`.
                let mut value: Self = unsafe { core::mem::zeroed() };
                value.struct_size = core::mem::size_of::<Self>() as u32;
                value
            }
        }
    };
}

#[rustfmt::skip]
mod bindings;

pub use bindings::*;
