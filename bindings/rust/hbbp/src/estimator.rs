//! Which observations the block counts of an analysis come from.

use crate::sys;
use crate::text::static_text;

values! {
    /// How observations of several sources become one count of a block; `docs/internals/estimators.md`.
    Estimator: i32 {
        /// `Flow` where EBS counted instructions and LBR taken branches, else `Streams`; `Ebs` if
        /// there are no streams at all.
        Auto = HBBP_ESTIMATOR_AUTO,
        /// Samples of instruction pointers; a block without any has no count.
        Ebs = HBBP_ESTIMATOR_EBS,
        /// Streams; a block that none crossed has no count.
        Streams = HBBP_ESTIMATOR_STREAMS,
        /// By a decision tree, block by block; a block that the chosen family did not see has the
        /// count 0.
        Tree = HBBP_ESTIMATOR_TREE,
        /// By all sources together, so that what flows into a block flows out of it; a block that
        /// none saw has the count that this asks for.
        Flow = HBBP_ESTIMATOR_FLOW,
    }
}

/// Names of what a decision tree may ask about a block, in the order of
/// [`Analysis::block_features`](crate::Analysis::block_features).
pub fn block_feature_names() -> impl ExactSizeIterator<Item = &'static str> {
    // SAFETY: any index is allowed, and names are static.
    (0..unsafe { sys::hbbp_block_feature_count() })
        .map(|index| unsafe { static_text(sys::hbbp_block_feature_name(index)) })
}
