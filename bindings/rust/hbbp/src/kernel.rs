//! Files of the profiled kernel.

use crate::error::Result;
use crate::sys;
use crate::text::{c_path, pointer};
use std::ffi::CString;
use std::path::PathBuf;

/// Files of the profiled kernel. A file that is not named is searched for in the usual directories,
/// and used only if it belongs to that kernel (and boot, as far as it matters).
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct KernelFiles {
    vmlinux: Option<PathBuf>,
    kcore: Option<PathBuf>,
    kallsyms: Option<PathBuf>,
}

impl KernelFiles {
    /// Names no file.
    pub fn new() -> Self {
        KernelFiles::default()
    }

    setters! {
        /// Sets the static kernel, an ELF file with symbols.
        vmlinux(file: impl Into<PathBuf>): vmlinux = Some(file.into());
        /// Sets its memory, a file of the ELF core format: a copy of /proc/kcore, a dump.
        kcore(file: impl Into<PathBuf>): kcore = Some(file.into());
        /// Sets its symbols, a copy of /proc/kallsyms or a System.map.
        kallsyms(file: impl Into<PathBuf>): kallsyms = Some(file.into());
    }

    /// The same for C.
    pub(crate) fn to_c(&self) -> Result<KernelPaths> {
        Ok(KernelPaths {
            vmlinux: self.vmlinux.as_deref().map(c_path).transpose()?,
            kcore: self.kcore.as_deref().map(c_path).transpose()?,
            kallsyms: self.kallsyms.as_deref().map(c_path).transpose()?,
        })
    }
}

pub(crate) struct KernelPaths {
    vmlinux: Option<CString>,
    kcore: Option<CString>,
    kallsyms: Option<CString>,
}

impl KernelPaths {
    /// The result is valid as long as these paths.
    pub fn raw(&self) -> sys::hbbp_kernel_files {
        sys::hbbp_kernel_files {
            vmlinux: pointer(&self.vmlinux),
            kcore: pointer(&self.kcore),
            kallsyms: pointer(&self.kallsyms),
            ..Default::default()
        }
    }
}
