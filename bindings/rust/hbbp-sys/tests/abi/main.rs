//! Compares the declarations of the crate with the C headers: a C compiler checks every struct,
//! field, constant and function, by the types and numbers that Rust compiled.

mod c_types;
mod headers;

use c_types::{declaration, CType, FunctionType};
use headers::Headers;
use std::env;
use std::mem::{align_of, size_of, MaybeUninit};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::addr_of;

/// The declarations of the crate.
#[derive(Default)]
struct Declared {
    structs: Vec<&'static str>,
    constants: Vec<&'static str>,
    functions: Vec<&'static str>,
    /// An assertion that must hold in C.
    assertions: Vec<String>,
}

impl Declared {
    fn assert(&mut self, condition: String) {
        self.assertions.push(condition);
    }

    fn field<T: CType>(&mut self, name: &str, field: &str, offset: usize, _: *const T) {
        self.assert(format!("offsetof({name}, {field}) == {offset}"));
        self.assert(format!(
            "sizeof((({name}*)0)->{field}) == {}",
            size_of::<T>()
        ));
        self.assert(format!(
            "_Generic(&(({name}*)0)->{field}, {}: 1, default: 0)",
            declaration::<T>("(*)")
        ));
    }

    fn function<F: FunctionType>(&mut self, name: &'static str, _: F) {
        self.functions.push(name);
        self.assert(format!(
            "_Generic(&{name}, {}: 1, default: 0)",
            F::pointer()
        ));
    }
}

/// A constant in C's spelling.
trait CValue {
    fn equals(&self, name: &str) -> String;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl CValue for $number {
            fn equals(&self, name: &str) -> String {
                // One assertion compares values, the other distinguishes -1 from 4294967295.
                format!("{name} == {self:?} && ({name} < 0) == {}", (*self < 0 as $number) as i32)
            }
        }
    )*};
}
numbers!(i32 f64);

macro_rules! unsigned_numbers {
    ($($number:ty)*) => {$(
        impl CValue for $number {
            fn equals(&self, name: &str) -> String {
                format!("{name} == {self}u")
            }
        }
    )*};
}
unsigned_numbers!(u32 u64 usize);

impl CValue for &str {
    fn equals(&self, name: &str) -> String {
        format!("__builtin_strcmp({name}, {self:?}) == 0")
    }
}

/// Fields that are keywords of Rust end with `_` here.
fn c_name(field: &'static str) -> &'static str {
    field.strip_suffix('_').unwrap_or(field)
}

macro_rules! declared {
    (structs [ $($structure:ident { $($field:ident),* })* ]
     opaque [ $($opaque:ident)* ]
     constants [ $($constant:ident)* ]
     functions [ $($function:ident($($any:tt),*))* ]) => {
        fn declared() -> Declared {
            let mut all = Declared::default();
            $({
                type Structure = hbbp_sys::$structure;
                let name = stringify!($structure);
                all.structs.push(name);
                all.assert(format!("sizeof({name}) == {}", size_of::<Structure>()));
                all.assert(format!("_Alignof({name}) == {}", align_of::<Structure>()));
                let value = MaybeUninit::<Structure>::uninit();
                let base = value.as_ptr();
                $({
                    let field = unsafe { addr_of!((*base).$field) };
                    let offset = field as usize - base as usize;
                    all.field(name, c_name(stringify!($field)), offset, field);
                })*
                let Structure { $($field: _),* } = Structure::default();
            })*
            $(
                all.constants.push(stringify!($constant));
                all.assert(hbbp_sys::$constant.equals(stringify!($constant)));
            )*
            $(all.function(
                stringify!($function),
                hbbp_sys::$function as unsafe extern "C" fn($($any),*) -> _,
            );)*
            all
        }

        mod names {
            $(
                impl super::c_types::Named for hbbp_sys::$structure {
                    const NAME: &'static str = stringify!($structure);
                }
            )*
            $(
                impl super::c_types::Named for hbbp_sys::$opaque {
                    const NAME: &'static str = stringify!($opaque);
                }
            )*
        }
    };
}

include!("declared.rs");

fn include_directory() -> PathBuf {
    match env::var_os("HBBP_INCLUDE_DIR") {
        Some(directory) => directory.into(),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../include")),
    }
}

#[test]
fn a_c_compiler_agrees() {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let declared = declared();
    let mut source = vec!["#include <hbbp/hbbp.h>".to_string()];
    source.extend(
        declared
            .assertions
            .iter()
            .map(|condition| format!("_Static_assert({condition}, \"not as Rust has it\");")),
    );
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = directory.join("as_rust_has_it.c");
    std::fs::write(&file, source.join("\n") + "\n").unwrap();
    let output = Command::new(&compiler)
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .arg(include_directory())
        .arg(&file)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler:?}, set CC: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        declared.assertions.len() > 1000,
        "{}",
        declared.assertions.len()
    );
}

#[test]
fn nothing_of_the_headers_is_missing() {
    let declared = declared();
    let headers = Headers::read(&include_directory());
    assert_eq!(headers.structs, headers::sorted(&declared.structs));
    assert_eq!(headers.constants, headers::sorted(&declared.constants));
    assert_eq!(headers.functions, headers::sorted(&declared.functions));
}

#[test]
fn functions_are_those_of_the_version_script() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../lib/capi/libhbbp.map");
    let exported = headers::exported(&std::fs::read_to_string(script).unwrap());
    assert_eq!(exported, headers::sorted(&declared().functions));
}

#[test]
fn the_library_that_runs_is_of_the_version_of_the_crate() {
    let version = unsafe { std::ffi::CStr::from_ptr(hbbp_sys::hbbp_version_string()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    assert_eq!(hbbp_sys::HBBP_VERSION_STRING, env!("CARGO_PKG_VERSION"));
}
