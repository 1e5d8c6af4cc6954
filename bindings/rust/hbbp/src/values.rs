//! Macros that declare enums, records and builders.

/// Numbers of the C ABI as enums. A newer library may return numbers that this crate has no name
/// for.
macro_rules! values {
    ($(#[$about:meta])* $name:ident: $number:ty {
        $($(#[$meaning:meta])* $variant:ident = $constant:ident,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$meaning])* $variant,)*
            /// A number that this crate has no name for.
            Unknown($number),
        }

        impl $name {
            #[allow(dead_code)]
            pub(crate) fn from_raw(number: $number) -> Self {
                match number {
                    $($crate::sys::$constant => $name::$variant,)*
                    other => $name::Unknown(other),
                }
            }

            #[allow(dead_code)]
            pub(crate) fn raw(self) -> $number {
                match self {
                    $($name::$variant => $crate::sys::$constant,)*
                    $name::Unknown(other) => other,
                }
            }
        }
    };
}

/// Methods of a builder, each of which sets one field.
macro_rules! setters {
    ($($(#[$about:meta])* $name:ident($value:ident: $type:ty): $($field:ident).+ = $new:expr;)*) => {
        $(
            $(#[$about])*
            pub fn $name(mut self, $value: $type) -> Self {
                self.$($field).+ = $new;
                self
            }
        )*
    };
}

/// Implements Debug for types with closures.
macro_rules! debug_without_closures {
    ($name:ident $(<$life:lifetime>)? { $($field:ident),* }) => {
        impl $(<$life>)? std::fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter
                    .debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Structs that are made of those of the C ABI. Fields that a later version adds do not break
/// users.
macro_rules! records {
    ($($(#[$about:meta])* $name:ident $(<$life:lifetime>)? ($raw:ident: $raw_type:ident) {
        $($(#[$meaning:meta])* $field:ident: $type:ty = $value:expr,)*
    })*) => {$(
        $(#[$about])*
        // There is no Eq: a field that is added may be a float.
        #[allow(clippy::derive_partial_eq_without_eq)]
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name $(<$life>)? {
            $($(#[$meaning])* pub $field: $type,)*
        }

        impl $(<$life>)? $crate::list::Record for $name $(<$life>)? {
            type Raw = $crate::sys::$raw_type;

            unsafe fn from_raw($raw: &Self::Raw) -> Self {
                $name { $($field: $value,)* }
            }
        }
    )*};
}
