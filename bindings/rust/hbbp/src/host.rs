//! The interface to the host: messages, progress of long work, a flag that cancels it, and memory.

use crate::callback::guarded;
use crate::error::{call, Result};
use crate::handle::Handle;
use crate::sys;
use crate::text::text;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::RefCell;
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// A flag that cancels long work, which then fails with
/// [`Status::Cancelled`](crate::Status::Cancelled) soon after. Clones share the flag; any thread
/// may set it.
///
/// ```
/// let cancel = hbbp::Cancel::new()?;
/// let work = hbbp::Work::new().cancel(&cancel);
/// # let import = hbbp::ImportOptions::new().cancel(&cancel);
/// std::thread::spawn(move || cancel.set(true)).join().unwrap();
/// # drop((work, import));
/// # Ok::<(), hbbp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug)]
struct Flag(Handle<sys::hbbp_cancel>);

// SAFETY: the ABI lets any thread set and read a flag at any time.
unsafe impl Send for Flag {}
unsafe impl Sync for Flag {}

impl Cancel {
    /// Makes a flag that is not set.
    pub fn new() -> Result<Cancel> {
        let flag = Handle::create(sys::hbbp_cancel_destroy, |cancel, error| {
            // SAFETY: the pointer is for the object that is made.
            unsafe { sys::hbbp_cancel_create(cancel, error) }
        })?;
        Ok(Cancel(Arc::new(Flag(flag))))
    }

    /// Sets or clears the flag.
    pub fn set(&self, cancelled: bool) {
        // SAFETY: the flag is alive.
        unsafe { sys::hbbp_cancel_set(self.0 .0.get_mut(), cancelled.into()) }
    }

    /// Returns whether the flag is set.
    pub fn is_set(&self) -> bool {
        // SAFETY: the flag is alive.
        unsafe { sys::hbbp_cancel_is_set(self.raw()) != 0 }
    }

    pub(crate) fn raw(&self) -> *const sys::hbbp_cancel {
        self.0 .0.get()
    }
}

/// Called with the progress, and the total if it is known.
type Progress<'a> = Box<dyn FnMut(u64, Option<u64>) + 'a>;

/// # Safety
/// `user_data` is a `Progress` that no one else uses.
unsafe extern "C" fn report_progress(done: u64, all: u64, user_data: *mut c_void) {
    let progress = &mut *user_data.cast::<Progress<'_>>();
    guarded(|| progress(done, (all != 0).then_some(all)));
}

/// Options of a function that may take long, for the `..._with` variants of functions such as
/// [`Profile::analyze`](crate::Profile::analyze).
#[derive(Default)]
#[must_use]
pub struct Work<'a> {
    progress: Option<Progress<'a>>,
    cancel: Option<Cancel>,
}

debug_without_closures!(Work<'a> { cancel });

impl<'a> Work<'a> {
    /// Makes options without progress and without a flag.
    pub fn new() -> Self {
        Work::default()
    }

    setters! {
        /// Sets a function that is called now and then with the progress, in no particular unit
        /// unless the function documents it, and the total if it is known. A panic in it continues
        /// after the work.
        progress(progress: impl FnMut(u64, Option<u64>) + 'a): progress = Some(Box::new(progress));
        /// Sets a flag that cancels the work.
        cancel(cancel: &Cancel): cancel = Some(cancel.clone());
    }

    /// Calls a function with these options, whose data it alone uses.
    fn with<R>(mut self, run: impl FnOnce(&sys::hbbp_work_options) -> R) -> R {
        let mut raw = sys::hbbp_work_options {
            cancel: self.cancel.as_ref().map_or(ptr::null(), Cancel::raw),
            ..Default::default()
        };
        if let Some(progress) = &mut self.progress {
            raw.progress = Some(report_progress);
            raw.user_data = ptr::addr_of_mut!(*progress).cast();
        }
        run(&raw)
    }

    /// Calls a function that takes these options and fills an `hbbp_error`.
    pub(crate) fn call(
        self,
        function: impl FnOnce(*const sys::hbbp_work_options, *mut sys::hbbp_error) -> sys::hbbp_status,
    ) -> Result<()> {
        self.with(|raw| call(|error| function(raw, error)))
    }

    /// Makes an object by a function that takes these options.
    pub(crate) fn create<T>(
        self,
        destroy: unsafe extern "C" fn(*mut T),
        create: impl FnOnce(
            *const sys::hbbp_work_options,
            *mut *mut T,
            *mut sys::hbbp_error,
        ) -> sys::hbbp_status,
    ) -> Result<Handle<T>> {
        self.with(|raw| Handle::create(destroy, |object, error| create(raw, object, error)))
    }
}

values! {
    /// The urgency of a message.
    LogLevel: i32 {
        /// Counts are missing, or there will be none.
        Error = HBBP_LOG_ERROR,
        /// Counts are less exact than requested.
        Warning = HBBP_LOG_WARNING,
        /// What was chosen, and why.
        Info = HBBP_LOG_INFO,
        /// Each step.
        Debug = HBBP_LOG_DEBUG,
    }
}

type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

thread_local! {
    // The logs that this thread is inside of.
    static RUNNING_LOGS: RefCell<Vec<*const Log>> = RefCell::new(Vec::new());
}

type Memory = Box<dyn GlobalAlloc + Send + Sync>;

/// Functions that a session or an import calls; they live as long.
#[derive(Clone, Default)]
pub(crate) struct Host {
    log: Option<Arc<Log>>,
    memory: Option<Arc<Memory>>,
}

impl fmt::Debug for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Host")
            .field("has_log", &self.log.is_some())
            .field("has_memory", &self.memory.is_some())
            .finish()
    }
}

/// Returns them as fields of options of the C ABI.
pub(crate) struct HostFields {
    pub log: sys::hbbp_log,
    pub log_user_data: *mut c_void,
    allocator: Option<sys::hbbp_allocator>,
}

impl Default for HostFields {
    fn default() -> Self {
        HostFields {
            log: None,
            log_user_data: ptr::null_mut(),
            allocator: None,
        }
    }
}

impl HostFields {
    /// The result is valid as long as this object.
    pub fn allocator(&self) -> *const sys::hbbp_allocator {
        self.allocator
            .as_ref()
            .map_or(ptr::null(), |found| found as *const _)
    }
}

impl Host {
    pub fn set_log(&mut self, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) {
        self.log = Some(Arc::new(Box::new(log)));
    }

    pub fn set_memory(&mut self, memory: impl GlobalAlloc + Send + Sync + 'static) {
        self.memory = Some(Arc::new(Box::new(memory)));
    }

    /// Returns whether the caller is inside the log. A session cannot end there.
    pub fn is_in_log(&self) -> bool {
        self.log.as_ref().map_or(false, |log| {
            RUNNING_LOGS
                .try_with(|logs| logs.borrow().contains(&Arc::as_ptr(log)))
                .unwrap_or(false)
        })
    }

    pub fn fields(&self) -> HostFields {
        let mut fields = HostFields::default();
        if let Some(log) = &self.log {
            fields.log = Some(report_message);
            fields.log_user_data = Arc::as_ptr(log) as *mut c_void;
        }
        fields.allocator = self.memory.as_ref().map(|memory| sys::hbbp_allocator {
            allocate: Some(allocate),
            deallocate: Some(deallocate),
            user_data: Arc::as_ptr(memory) as *mut c_void,
            ..Default::default()
        });
        fields
    }
}

/// # Safety
/// `message` ends with 0; `user_data` is a `Log`.
unsafe extern "C" fn report_message(
    level: sys::hbbp_log_level,
    message: *const c_char,
    user_data: *mut c_void,
) {
    let log = user_data as *const Log;
    // A thread that is ending reports nothing.
    if RUNNING_LOGS
        .try_with(|logs| logs.borrow_mut().push(log))
        .is_err()
    {
        return;
    }
    guarded(|| (*log)(LogLevel::from_raw(level), &text(message)));
    let _ = RUNNING_LOGS.try_with(|logs| logs.borrow_mut().pop());
}

/// # Safety
/// `user_data` is a `Memory`, which does not unwind: that is in the contract of GlobalAlloc.
unsafe extern "C" fn allocate(
    size: usize,
    alignment: usize,
    user_data: *mut c_void,
) -> *mut c_void {
    let memory = &*user_data.cast::<Memory>();
    match Layout::from_size_align(size, alignment) {
        Ok(layout) if size > 0 => memory.alloc(layout).cast(),
        _ => ptr::null_mut(),
    }
}

/// # Safety
/// `start` is from `allocate`, with this size and alignment; `user_data` is its `Memory`.
unsafe extern "C" fn deallocate(
    start: *mut c_void,
    size: usize,
    alignment: usize,
    user_data: *mut c_void,
) {
    let memory = &*user_data.cast::<Memory>();
    if let Ok(layout) = Layout::from_size_align(size, alignment) {
        memory.dealloc(start.cast(), layout);
    }
}
