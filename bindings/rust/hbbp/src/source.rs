//! Sources of samples that the host implements, as parts of a session.

use crate::callback::dropping_panics;
use crate::error::{call_without_resuming, Error, Result, Status};
use crate::feed::Feed;
use crate::handle::Handle;
use crate::sys;
use std::any::Any;
use std::cell::Cell;
use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A reader of a device's trace, of another profiler's output, of an emulator: the session that it
/// is added to ([`Session::add_source`](crate::Session::add_source)) starts it next to its own
/// sources, drains it, and stops it. Its samples belong to the session's process; samples of other
/// processes are dropped and counted.
///
/// Its functions are never called concurrently, but also by threads of the library. They must not
/// use the session. Snapshots and information of `feed` belong to the session, and are refused. A
/// panic is a failure of the function.
///
/// ```no_run
/// use hbbp::{Event, Feed, FeedSample, FeedSource, Result, Session, Source, SourceKind};
/// # fn read_device() -> Vec<u64> { Vec::new() }
/// struct Device(u32);
///
/// impl Source for Device {
///     fn start(&mut self, feed: &Feed) -> Result<()> {
///         let source = FeedSource::of_samples(SourceKind::Ebs, Event::Instructions);
///         self.0 = feed.add_source(&source.period(1_000_000))?;
///         Ok(())
///     }
///     fn drain(&mut self, feed: &Feed) -> Result<bool> {
///         let samples: Vec<_> = read_device().iter().map(|&ip| FeedSample::new(0, 1).ip(ip)).collect();
///         feed.add_samples(self.0, &samples)?;
///         Ok(false)
///     }
///     fn stop(&mut self, _feed: &Feed) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// let mut session = Session::new()?;
/// session.add_source("device", Device(0))?;
/// session.start()?;
/// # Ok::<(), hbbp::Error>(())
/// ```
pub trait Source: Send {
    /// Adds its sources to the feed, which is a new one at each start, and starts to collect. The
    /// same sources in the same order continue their counts. If it fails, nothing was started, and
    /// the session does not start.
    fn start(&mut self, feed: &Feed) -> Result<()>;

    /// Adds the samples since the last call, without waiting for more. Returns true if no more can
    /// come before the next start. A failure ends nothing: it is logged, and in the notes of the
    /// profile's sources.
    fn drain(&mut self, feed: &Feed) -> Result<bool>;

    /// Stops collecting; may add the remaining samples. It is called once for each start that
    /// succeeded, and the source is then stopped even if this fails, which is logged and noted as
    /// well.
    fn stop(&mut self, feed: &Feed) -> Result<()>;
}

type Context = Box<dyn Source>;

/// Passes a source to C: on success it belongs to the session.
pub(crate) fn add<S: Source + 'static>(
    session: &Handle<sys::hbbp_session>,
    name: &str,
    source: S,
) -> Result<()> {
    let name = CString::new(name)?;
    let ops = sys::hbbp_source_ops {
        name: name.as_ptr(),
        start: Some(start),
        drain: Some(drain),
        stop: Some(stop),
        destroy: Some(destroy),
        ..Default::default()
    };
    let boxed: Context = Box::new(source);
    let context: *mut Context = Box::into_raw(Box::new(boxed));
    // SAFETY: session and operations live during the call, which copies them.
    let result = call_without_resuming(|error| unsafe {
        sys::hbbp_session_add_source(session.get_mut(), &ops, context.cast(), error)
    });
    if result.is_err() {
        // SAFETY: it still belongs to this function.
        drop(unsafe { Box::from_raw(context) });
    }
    result
}

thread_local! {
    // How many calls of sources this thread is inside of.
    static RUNNING: Cell<u32> = Cell::new(0);
}

/// Returns whether the caller is inside a source. The session of it cannot end there.
pub(crate) fn is_running_here() -> bool {
    RUNNING
        .try_with(|running| running.get() != 0)
        .unwrap_or(false)
}

/// Calls a function of a source, and writes its failure in the format of C.
///
/// # Safety
/// `context` is a `Context` that no one else uses meanwhile; `feed` and the error live during the
/// call.
unsafe fn run(
    context: *mut c_void,
    feed: *mut sys::hbbp_feed,
    error: *mut sys::hbbp_error,
    function: impl FnOnce(&mut dyn Source, &Feed) -> Result<()>,
) -> sys::hbbp_status {
    let source = &mut *context.cast::<Context>();
    // The state of the source is its own, and it is stopped nevertheless.
    let _ = RUNNING.try_with(|running| running.set(running.get() + 1));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let feed = Feed::lent(feed)?;
        function(source.as_mut(), &feed)
    }));
    let _ = RUNNING.try_with(|running| running.set(running.get() - 1));
    let failure = match outcome {
        Ok(Ok(())) => return sys::HBBP_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Error::new(Status::InvalidState, message_of(panic)),
    };
    if let Some(error) = error.as_mut() {
        write(&mut error.message, failure.message());
    }
    match failure.status().raw() {
        status if status < 0 => status,
        _ => sys::HBBP_ERROR_INVALID_STATE,
    }
}

fn message_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| text.to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    // The payload of a panic may panic when it is dropped.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    format!("the source panicked: {text}")
}

/// Writes a text with its final 0, cut between characters where there is no room.
fn write(buffer: &mut [c_char], text: &str) {
    let room = buffer.len().saturating_sub(1);
    let mut length = text.len().min(room);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    let bytes = text.bytes().take(length).filter(|&byte| byte != 0);
    for (cell, byte) in buffer.iter_mut().zip(bytes.chain([0])) {
        *cell = byte as c_char;
    }
}

unsafe extern "C" fn start(
    context: *mut c_void,
    feed: *mut sys::hbbp_feed,
    error: *mut sys::hbbp_error,
) -> sys::hbbp_status {
    run(context, feed, error, |source, feed| source.start(feed))
}

unsafe extern "C" fn drain(
    context: *mut c_void,
    feed: *mut sys::hbbp_feed,
    has_ended: *mut u32,
    error: *mut sys::hbbp_error,
) -> sys::hbbp_status {
    run(context, feed, error, |source, feed| {
        let ended = source.drain(feed)?;
        if let Some(out) = has_ended.as_mut() {
            *out = ended.into();
        }
        Ok(())
    })
}

unsafe extern "C" fn stop(
    context: *mut c_void,
    feed: *mut sys::hbbp_feed,
    error: *mut sys::hbbp_error,
) -> sys::hbbp_status {
    run(context, feed, error, |source, feed| source.stop(feed))
}

unsafe extern "C" fn destroy(context: *mut c_void) {
    let source = Box::from_raw(context.cast::<Context>());
    dropping_panics(|| {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(source)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(size: usize, text: &str) -> String {
        let mut buffer = vec![-1; size];
        write(&mut buffer, text);
        let bytes: Vec<u8> = buffer.iter().map(|&byte| byte as u8).collect();
        crate::text::until_zero(&bytes)
    }

    #[test]
    fn messages_are_cut_where_they_do_not_fit() {
        assert_eq!(written(8, "abc"), "abc");
        assert_eq!(written(3, "abc"), "ab");
        assert_eq!(written(4, "abé"), "ab");
        assert_eq!(written(8, "a\0b"), "ab");
        assert_eq!(written(1, "abc"), "");
        assert_eq!(written(0, "abc"), "");
    }

    #[test]
    fn panics_have_messages() {
        let panic = |function: fn()| message_of(catch_unwind(function).unwrap_err());
        assert_eq!(panic(|| panic!("no")), "the source panicked: no");
        assert_eq!(panic(|| panic!("no {}", 2)), "the source panicked: no 2");
    }
}
