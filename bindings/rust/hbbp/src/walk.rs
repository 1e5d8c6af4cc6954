//! Iterates over a range of addresses.

use crate::error::Result;
use std::ops::Range;

/// Iterates over items at addresses; the next one begins at the end of the last.
pub(crate) struct Walk<F> {
    range: Range<u64>,
    find: F,
}

impl<F> Walk<F> {
    /// `find` returns the end of the item at an address, and the item.
    pub fn new<T>(range: Range<u64>, find: F) -> Self
    where
        F: FnMut(u64) -> Result<(u64, T)>,
    {
        Walk { range, find }
    }
}

impl<T, F: FnMut(u64) -> Result<(u64, T)>> Iterator for Walk<F> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.range.is_empty() {
            return None;
        }
        match (self.find)(self.range.start) {
            Ok((end, found)) => {
                // An item without length would be found for ever.
                let goes_on = end > self.range.start;
                self.range.start = if goes_on { end } else { self.range.end };
                Some(Ok(found))
            }
            Err(error) => {
                self.range.start = self.range.end;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Status};

    #[test]
    fn goes_from_end_to_end() {
        let found: Vec<_> = Walk::new(10..20, |at| Ok((at + 4, at))).collect();
        assert_eq!(found, [Ok(10), Ok(14), Ok(18)]);
        assert_eq!(Walk::new(5..5, |at| Ok((at + 1, at))).count(), 0);
    }

    #[test]
    fn ends_with_an_error_and_with_nothing() {
        let bad = Error::new(Status::NotFound, "no code");
        let found: Vec<_> = Walk::new(0..9, |at| {
            if at < 2 {
                Ok((at + 1, at))
            } else {
                Err(bad.clone())
            }
        })
        .collect();
        assert_eq!(found, [Ok(0), Ok(1), Err(bad)]);
        assert_eq!(Walk::new(3..9, |at| Ok((at, at))).count(), 1);
        assert_eq!(Walk::new(0..u64::MAX, |at| Ok((u64::MAX, at))).count(), 1);
    }
}
