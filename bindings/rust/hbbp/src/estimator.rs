//! The estimators of block counts.

use crate::sys;
use crate::text::static_text;

values! {
    /// How observations of several sources become one count of a block; see
    /// `docs/internals/estimators.md`.
    Estimator: i32 {
        /// `Flow` where EBS counted instructions and LBR taken branches, else `Streams`; `Ebs` if
        /// there are no streams at all.
        Auto = HBBP_ESTIMATOR_AUTO,
        /// Samples of instruction pointers are used; a block without any has no count.
        Ebs = HBBP_ESTIMATOR_EBS,
        /// Streams are used; a block that none crossed has no count.
        Streams = HBBP_ESTIMATOR_STREAMS,
        /// A decision tree chooses, block by block; a block that the chosen family did not observe
        /// has the count 0.
        Tree = HBBP_ESTIMATOR_TREE,
        /// All sources are used together, so that the flow into a block equals the flow out of it;
        /// a block without observations has the count that this requires.
        Flow = HBBP_ESTIMATOR_FLOW,
    }
}

/// Returns the 95 % interval of a count and its standard error. It is not symmetric: of few bursts, a
/// count may be many times too low.
///
/// ```
/// let interval = hbbp::count_interval(100.0, 50.0);
/// assert!(interval.contains(&250.0) && !interval.contains(&10.0));
/// ```
pub fn count_interval(count: f64, standard_error: f64) -> std::ops::RangeInclusive<f64> {
    let (mut low, mut high) = (0.0, 0.0);
    // SAFETY: both pointers are valid during the call.
    unsafe { sys::hbbp_count_interval(count, standard_error, &mut low, &mut high) };
    low..=high
}

/// Returns the names of the features of a block for a decision tree, in the order of
/// [`Analysis::block_features`](crate::Analysis::block_features).
pub fn block_feature_names() -> impl ExactSizeIterator<Item = &'static str> {
    // SAFETY: any index is allowed, and names are static.
    (0..unsafe { sys::hbbp_block_feature_count() })
        .map(|index| unsafe { static_text(sys::hbbp_block_feature_name(index)) })
}
