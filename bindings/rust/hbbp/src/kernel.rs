//! Files of the kernel that was profiled.

use crate::error::{call, Result};
use crate::sys;
use crate::text::{c_path, pointer};
use std::path::PathBuf;

/// Files of the kernel that was profiled. What is not named is looked for where it usually is, and
/// taken only if it is of that kernel (and boot, as far as it matters).
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct KernelFiles {
    vmlinux: Option<PathBuf>,
    kcore: Option<PathBuf>,
    kallsyms: Option<PathBuf>,
}

impl KernelFiles {
    /// None is named.
    pub fn new() -> Self {
        KernelFiles::default()
    }

    setters! {
        /// The static kernel, an ELF file with symbols.
        vmlinux(file: impl Into<PathBuf>): vmlinux = Some(file.into());
        /// Its memory, a file of the ELF core format: a copy of /proc/kcore, a dump.
        kcore(file: impl Into<PathBuf>): kcore = Some(file.into());
        /// Its symbols, a copy of /proc/kallsyms or a System.map.
        kallsyms(file: impl Into<PathBuf>): kallsyms = Some(file.into());
    }

    /// For a profile that the caller has for itself.
    pub(crate) fn apply(&self, profile: *mut sys::hbbp_profile) -> Result<()> {
        let vmlinux = self.vmlinux.as_deref().map(c_path).transpose()?;
        let kcore = self.kcore.as_deref().map(c_path).transpose()?;
        let kallsyms = self.kallsyms.as_deref().map(c_path).transpose()?;
        let raw = sys::hbbp_kernel_files {
            vmlinux: pointer(&vmlinux),
            kcore: pointer(&kcore),
            kallsyms: pointer(&kallsyms),
            ..Default::default()
        };
        // SAFETY: profile and paths are there during the call.
        call(|error| unsafe { sys::hbbp_profile_set_kernel(profile, &raw, error) })
    }
}
