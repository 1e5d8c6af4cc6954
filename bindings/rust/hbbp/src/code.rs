//! Single instructions as text, and names of functions.

use crate::sys;
use crate::text::{address, until_zero};
use std::ffi::CString;
use std::ptr;

values! {
    /// The effect of an instruction on the flow of control.
    Flow: i32 {
        /// The next instruction follows.
        Next = HBBP_FLOW_NEXT,
        /// A conditional branch.
        Conditional = HBBP_FLOW_CONDITIONAL,
        /// A jump to an address.
        Jump = HBBP_FLOW_JUMP,
        /// A jump to an address in a register or in memory.
        IndirectJump = HBBP_FLOW_INDIRECT_JUMP,
        /// A call of an address.
        Call = HBBP_FLOW_CALL,
        /// A call of an address in a register or in memory.
        IndirectCall = HBBP_FLOW_INDIRECT_CALL,
        /// A return.
        Return = HBBP_FLOW_RETURN,
        /// System calls, far transfers, transactions.
        System = HBBP_FLOW_SYSTEM,
        /// Execution ends there.
        Trap = HBBP_FLOW_TRAP,
    }
}

records! {
    /// An instruction as text.
    Disassembly(raw: hbbp_disassembly) {
        /// Its address.
        address: u64 = raw.address,
        /// Length in bytes.
        length: u32 = raw.length,
        /// Target of a branch, if the code alone determines it.
        target: Option<u64> = address(raw.target),
        /// Its effect on the flow of control.
        flow: Flow = Flow::from_raw(raw.flow),
        /// The text in Intel's syntax, lower case, numbers in hexadecimal.
        text: String = until_zero(&raw.text.map(|character| character as u8)),
    }
}

/// Returns the name of a function in C++ or Rust, or the symbol itself if it is not a mangled name.
///
/// ```
/// assert_eq!(hbbp::demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
///            "core::fmt::Write::write_fmt");
/// assert_eq!(hbbp::demangle("_RNvMNtCs1234_4core3stre3len"), "<str>::len");
/// assert_eq!(hbbp::demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
///            "std::vector<int, std::allocator<int> >::push_back(int&&)");
/// assert_eq!(hbbp::demangle("main"), "main");
/// ```
pub fn demangle(symbol: &str) -> String {
    let c_symbol = match CString::new(symbol) {
        Ok(c_symbol) => c_symbol,
        Err(_) => return symbol.into(),
    };
    // SAFETY: the symbol ends with 0, and the buffer has the size that is given.
    let length = unsafe { sys::hbbp_demangle(c_symbol.as_ptr(), ptr::null_mut(), 0) };
    let mut buffer = vec![0u8; length.saturating_add(1)];
    unsafe {
        sys::hbbp_demangle(c_symbol.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len());
    }
    until_zero(&buffer)
}
