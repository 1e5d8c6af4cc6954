//! The C ABI of libhbbp in Rust; the crate `hbbp` is a safe layer above it.
//!
//! The declarations are those of the C headers, with their comments; `hbbp/api.h` states the
//! conventions that hold for all of them. Structs whose size the caller sets have a [`Default`],
//! which is all zeros with `struct_size` set, like `HBBP_INIT`:
//!
//! ```
//! let mut error = hbbp_sys::hbbp_error::default();
//! let mut capabilities = std::ptr::null_mut();
//! let status = unsafe { hbbp_sys::hbbp_capabilities_probe(&mut capabilities, &mut error) };
//! assert_eq!(status, hbbp_sys::HBBP_OK);
//! unsafe { hbbp_sys::hbbp_capabilities_destroy(capabilities) };
//! ```
//!
//! The library is found in the directory `HBBP_LIB_DIR`, or else by `pkg-config`. The feature
//! `static`, or `HBBP_STATIC=1` while building, links `libhbbp.a`.
#![deny(missing_docs, missing_debug_implementations)]
#![allow(non_camel_case_types)]

macro_rules! zeroed {
    ($name:ident) => {
        impl Default for $name {
            /// Returns all zeros.
            fn default() -> Self {
                // SAFETY: structs of the C ABI consist of numbers, pointers and functions that may
                // be NULL, all of which may be zero.
                unsafe { core::mem::zeroed() }
            }
        }
    };
}

macro_rules! sized {
    ($name:ident) => {
        impl Default for $name {
            /// Returns all zeros except `struct_size`, which is the size of the struct.
            fn default() -> Self {
                // SAFETY: see `zeroed`.
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
