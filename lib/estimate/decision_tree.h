// DecisionTree chooses the family of sources that counts a block, by its features.
//
// The default is the published rule (Nowak et al., "Hybrid Basic Block Profiling", section IV):
// blocks of up to 18 instructions by streams (LBR), longer ones by IP samples (EBS). Other trees
// are data:
//
//   {"format": "hbbp-tree", "version": 1,
//    "nodes": [{"feature": "length", "threshold": 18, "yes": 1, "no": 2},
//              {"class": "streams"},
//              {"class": "ebs"}]}
//
// Node 0 is the root. A value that is not above the threshold goes to "yes". Children come after
// their parents, so that no path is endless, and every node but the root has one parent. Other
// members, such as "training", are for people.
#ifndef HBBP_LIB_ESTIMATE_DECISION_TREE_H_
#define HBBP_LIB_ESTIMATE_DECISION_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "estimate/block_features.h"

namespace hbbp {

// A family is the sources that count blocks in the same way: EBS and IBS, whose samples are
// instruction pointers; LBR and SWBT, whose samples are streams.
enum class SourceFamily : uint8_t { kEbs, kStreams };

inline constexpr std::string_view kFamilyNames[] = {"ebs", "streams"};

class DecisionTree {
 public:
  static constexpr size_t kMaxNodes = 1 << 16;
  static constexpr size_t kMaxDepth = 256;
  static constexpr size_t kMaxJsonBytes = 16 << 20;

  // Makes the tree of the published rule.
  DecisionTree();

  // Returns kBadFormat if it is not such a tree; the message has the node and what would be right.
  static StatusOr<DecisionTree> FromJson(std::string_view json);
  std::string ToJson() const;

  // Any thread may call it, and it allocates nothing. A NaN goes to "no".
  SourceFamily Choose(const BlockFeatures& features) const;

  size_t node_count() const { return nodes_.size(); }

 private:
  friend class TreeReader;

  struct Node {
    double threshold = 0;
    uint32_t yes = 0;  // 0, which is never a child: the node is a leaf
    uint32_t no = 0;
    Feature feature = Feature::kLength;
    SourceFamily family = SourceFamily::kEbs;  // of a leaf
  };

  std::vector<Node> nodes_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_DECISION_TREE_H_
