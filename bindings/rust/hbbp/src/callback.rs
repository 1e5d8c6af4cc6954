//! Runs closures that C calls. A panic must not unwind through C: it is kept, and continues in the
//! call of this crate that the thread is in. In a thread of libhbbp there is no such call; a
//! closure that panicked there is not run again by that thread.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::thread;

thread_local! {
    static PANIC: RefCell<Option<Box<dyn Any + Send>>> = RefCell::new(None);
}

/// Runs a closure of the host on behalf of C. After a panic no closure is run until that has
/// continued.
pub(crate) fn guarded(body: impl FnOnce()) {
    let is_free = PANIC.try_with(|kept| matches!(kept.try_borrow().as_deref(), Ok(None)));
    if is_free != Ok(true) {
        return;
    }
    // No one sees the state of the closure before the panic continues.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        // The thread is not ending, because it was not before.
        let _ = PANIC.try_with(|kept| kept.replace(Some(panic)));
    }
}

/// Continues with a panic of a closure that C called.
pub(crate) fn resume_panic() {
    // Two panics at once would abort, so this one waits for a later call.
    if thread::panicking() {
        return;
    }
    if let Ok(Some(panic)) = PANIC.try_with(|kept| kept.take()) {
        resume_unwind(panic);
    }
}

/// Runs code without a call in which a panic could continue, as when an object ends: a panic of a
/// closure ends there.
pub(crate) fn dropping_panics(body: impl FnOnce()) {
    let before = PANIC.try_with(|kept| kept.take());
    body();
    if let Ok(before) = before {
        let _ = PANIC.try_with(|kept| kept.replace(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::call;
    use crate::sys;

    fn message(panic: Box<dyn Any + Send>) -> &'static str {
        panic.downcast_ref::<&str>().copied().unwrap_or_default()
    }

    #[test]
    fn a_panic_goes_on_after_the_call() {
        let mut reached = false;
        let panic = catch_unwind(AssertUnwindSafe(|| {
            call(|_| {
                guarded(|| panic!("of a closure"));
                reached = true;
                sys::HBBP_OK
            })
        }));
        assert!(reached);
        assert_eq!(message(panic.unwrap_err()), "of a closure");
        assert_eq!(call(|_| sys::HBBP_OK), Ok(()));
    }

    #[test]
    fn nothing_is_called_after_a_panic() {
        let mut times = 0;
        let panic = catch_unwind(AssertUnwindSafe(|| {
            call(|_| {
                for _ in 0..3 {
                    guarded(|| {
                        times += 1;
                        panic!("first");
                    });
                }
                sys::HBBP_OK
            })
        }));
        assert_eq!(message(panic.unwrap_err()), "first");
        assert_eq!(times, 1);
    }

    #[test]
    fn a_panic_while_an_object_ends_ends_with_it() {
        let panic = catch_unwind(|| {
            guarded(|| panic!("before"));
            dropping_panics(|| guarded(|| panic!("at the end")));
            call(|_| sys::HBBP_OK)
        });
        assert_eq!(message(panic.unwrap_err()), "before");
        dropping_panics(|| guarded(|| panic!("at the end")));
        assert_eq!(call(|_| sys::HBBP_OK), Ok(()));
    }

    #[test]
    fn a_panic_that_is_under_way_is_not_joined() {
        struct CallsWhenDropped;
        impl Drop for CallsWhenDropped {
            fn drop(&mut self) {
                assert_eq!(call(|_| sys::HBBP_OK), Ok(()));
            }
        }
        let outer = catch_unwind(|| {
            let _late = CallsWhenDropped;
            guarded(|| panic!("inner"));
            panic!("outer");
        });
        assert_eq!(message(outer.unwrap_err()), "outer");
        let inner = catch_unwind(|| call(|_| sys::HBBP_OK));
        assert_eq!(message(inner.unwrap_err()), "inner");
    }
}
