//! Returns how C declares the types that Rust compiled.

use std::os::raw::{c_char, c_void};

pub trait CType {
    /// Declares `inner` with this type, or with this type and const.
    fn declare(is_const: bool, inner: &str) -> String;
}

pub fn declaration<T: CType>(inner: &str) -> String {
    T::declare(false, inner)
}

/// A type with a name in C.
pub trait Named {
    const NAME: &'static str;
}

impl<T: Named> CType for T {
    fn declare(is_const: bool, inner: &str) -> String {
        format!(
            "{}{} {inner}",
            if is_const { "const " } else { "" },
            T::NAME
        )
    }
}

macro_rules! named {
    ($($rust:ty => $c:literal,)*) => {
        $(impl Named for $rust { const NAME: &'static str = $c; })*
    };
}
named! {
    i32 => "int32_t",
    u8 => "uint8_t",
    u32 => "uint32_t",
    u64 => "uint64_t",
    usize => "size_t",
    f64 => "double",
    c_char => "char",
    c_void => "void",
    () => "void",
}

impl<T: CType> CType for *const T {
    fn declare(is_const: bool, inner: &str) -> String {
        T::declare(true, &pointer(is_const, inner))
    }
}

impl<T: CType> CType for *mut T {
    fn declare(is_const: bool, inner: &str) -> String {
        T::declare(false, &pointer(is_const, inner))
    }
}

fn pointer(is_const: bool, inner: &str) -> String {
    format!("*{}{inner}", if is_const { "const " } else { "" })
}

impl<T: CType, const N: usize> CType for [T; N] {
    fn declare(is_const: bool, inner: &str) -> String {
        T::declare(is_const, &format!("{inner}[{N}]"))
    }
}

pub trait FunctionType {
    /// A pointer to the type.
    fn pointer() -> String {
        Self::declare_pointer("")
    }
    fn declare_pointer(inner: &str) -> String;
}

impl<F: FunctionType> CType for Option<F> {
    fn declare(is_const: bool, inner: &str) -> String {
        F::declare_pointer(&format!("{}{inner}", if is_const { "const " } else { "" }))
    }
}

macro_rules! functions {
    ($(($($parameter:ident)*))*) => {$(
        impl<R: CType, $($parameter: CType),*> FunctionType
            for unsafe extern "C" fn($($parameter),*) -> R
        {
            fn declare_pointer(inner: &str) -> String {
                let parameters: &[String] = &[$(declaration::<$parameter>("")),*];
                let listed = match parameters {
                    [] => "void".into(),
                    _ => parameters.join(", "),
                };
                declaration::<R>(&format!("(*{inner})({listed})"))
            }
        }
    )*};
}
functions! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H)
    (A B C D E F G H I) (A B C D E F G H I J)
}
