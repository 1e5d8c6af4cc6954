// FromJson checks the nesting of the text (IsTooDeep), parses it, and reads the nodes one by one,
// which checks features, thresholds and that children come after their parents and have one each.
// Choose walks from the root. CountBlocks calls Choose for each block, and lib/capi calls FromJson.
#include "estimate/decision_tree.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace hbbp {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "hbbp-tree";
constexpr int kVersion = 1;
constexpr double kPublishedLength = 18;

std::string ListOf(const auto& names) {
  std::string list;
  for (const std::string_view name : names) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  return list;
}

// The JSON reader recurses for each bracket; a deeper text is not a tree.
bool IsTooDeep(std::string_view json) {
  constexpr int kMaxLevels = 64;
  int level = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '\\' && in_string) {
      ++i;
    } else if (json[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && (json[i] == '[' || json[i] == '{')) {
      if (++level > kMaxLevels) return true;
    } else if (!in_string && (json[i] == ']' || json[i] == '}')) {
      --level;
    }
  }
  return false;
}

StatusOr<Json> Parse(std::string_view text) {
  if (text.size() > DecisionTree::kMaxJsonBytes) {
    return MakeStatus(StatusCode::kBadFormat, "decision tree: %zu bytes; at most %zu are read",
                      text.size(), DecisionTree::kMaxJsonBytes);
  }
  if (IsTooDeep(text)) {
    return MakeStatus(StatusCode::kBadFormat, "decision tree: JSON of more than 64 levels");
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    return MakeStatus(StatusCode::kBadFormat, "decision tree: no JSON: %s", error.what());
  }
}

const Json* Member(const Json& object, const char* name) {
  const auto member = object.find(name);
  return member == object.end() ? nullptr : &*member;
}

std::optional<std::string> Text(const Json* value) {
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

}  // namespace

class TreeReader {
 public:
  StatusOr<DecisionTree> Read(const Json& json) {
    if (!json.is_object() || Text(Member(json, "format")) != kFormat) {
      return MakeStatus(StatusCode::kBadFormat,
                        "decision tree: an object with \"format\": \"%s\" is expected", kFormat);
    }
    const Json* version = Member(json, "version");
    if (version == nullptr || !version->is_number_integer() || *version != kVersion) {
      return MakeStatus(StatusCode::kBadFormat, "decision tree: version %s; this library reads %d",
                        version == nullptr ? "missing" : version->dump().c_str(), kVersion);
    }
    const Json* nodes = Member(json, "nodes");
    if (nodes == nullptr || !nodes->is_array() || nodes->empty() ||
        nodes->size() > DecisionTree::kMaxNodes) {
      return MakeStatus(StatusCode::kBadFormat,
                        "decision tree: \"nodes\" has to be a list of 1 to %zu nodes",
                        DecisionTree::kMaxNodes);
    }
    tree_.nodes_.assign(nodes->size(), {});
    depths_.resize(nodes->size());
    for (size_t i = 0; i < nodes->size(); ++i) HBBP_RETURN_IF_ERROR(ReadNode((*nodes)[i], i));
    return std::move(tree_);
  }

 private:
  static Status Wrong(size_t index, const std::string& what) {
    return Status(StatusCode::kBadFormat,
                  "decision tree: node " + std::to_string(index) + ": " + what);
  }

  Status ReadNode(const Json& json, size_t index) {
    if (!json.is_object()) return Wrong(index, "no object");
    if (index != 0 && depths_[index] == 0) {
      return Wrong(index, "no node before it has it as a child");
    }
    if (depths_[index] > DecisionTree::kMaxDepth) {
      return Wrong(index, "deeper than " + std::to_string(DecisionTree::kMaxDepth));
    }
    return Member(json, "class") != nullptr ? ReadLeaf(json, index) : ReadQuestion(json, index);
  }

  Status ReadLeaf(const Json& json, size_t index) {
    const std::optional<std::string> name = Text(Member(json, "class"));
    const auto* const family = std::find(std::begin(kFamilyNames), std::end(kFamilyNames), name);
    if (family == std::end(kFamilyNames)) {
      return Wrong(
          index, "class " + Member(json, "class")->dump() + "; there are: " + ListOf(kFamilyNames));
    }
    tree_.nodes_[index].family = static_cast<SourceFamily>(family - std::begin(kFamilyNames));
    return OkStatus();
  }

  Status ReadQuestion(const Json& json, size_t index) {
    const std::optional<std::string> name = Text(Member(json, "feature"));
    if (!name) return Wrong(index, "neither a \"class\" nor a \"feature\"");
    const std::optional<Feature> feature = FeatureNamed(*name);
    if (!feature) {
      return Wrong(index,
                   "feature \"" + *name + "\" is not known; there are: " + ListOf(kFeatureNames));
    }
    const Json* threshold = Member(json, "threshold");
    if (threshold == nullptr || !threshold->is_number() ||
        !std::isfinite(threshold->get<double>())) {
      return Wrong(index, "\"threshold\" has to be a number");
    }
    DecisionTree::Node& node = tree_.nodes_[index];
    node.feature = *feature;
    node.threshold = threshold->get<double>();
    HBBP_RETURN_IF_ERROR(ReadChild(json, "yes", index, &node.yes));
    return ReadChild(json, "no", index, &node.no);
  }

  Status ReadChild(const Json& json, const char* name, size_t index, uint32_t* child) {
    const std::string label = std::string("\"") + name + "\"";
    const Json* value = Member(json, name);
    if (value == nullptr || !value->is_number_integer()) {
      return Wrong(index, label + " has to be the number of a node");
    }
    const auto number = value->get<int64_t>();
    const std::string which = label + " is node " + value->dump();
    if (number < 0 || static_cast<uint64_t>(number) >= depths_.size()) {
      return Wrong(index, which + "; there are " + std::to_string(depths_.size()));
    }
    if (static_cast<uint64_t>(number) <= index) {
      return Wrong(index, which + ", which does not stand behind it: that may be a cycle");
    }
    *child = static_cast<uint32_t>(number);
    if (depths_[*child] != 0) return Wrong(index, which + ", which has another parent");
    depths_[*child] = depths_[index] + 1;
    return OkStatus();
  }

  DecisionTree tree_;
  std::vector<uint32_t> depths_;  // below the root; 0: no parent yet
};

DecisionTree::DecisionTree() {
  nodes_.push_back({kPublishedLength, 1, 2, Feature::kLength, SourceFamily::kEbs});
  nodes_.push_back({0, 0, 0, Feature::kLength, SourceFamily::kStreams});
  nodes_.push_back({0, 0, 0, Feature::kLength, SourceFamily::kEbs});
}

StatusOr<DecisionTree> DecisionTree::FromJson(std::string_view json) {
  HBBP_ASSIGN_OR_RETURN(const Json parsed, Parse(json));
  return TreeReader().Read(parsed);
}

std::string DecisionTree::ToJson() const {
  Json nodes = Json::array();
  for (const Node& node : nodes_) {
    if (node.yes == 0) {
      nodes.push_back({{"class", kFamilyNames[static_cast<size_t>(node.family)]}});
    } else {
      nodes.push_back({{"feature", kFeatureNames[static_cast<size_t>(node.feature)]},
                       {"threshold", node.threshold},
                       {"yes", node.yes},
                       {"no", node.no}});
    }
  }
  return Json({{"format", kFormat}, {"version", kVersion}, {"nodes", nodes}}).dump();
}

SourceFamily DecisionTree::Choose(const BlockFeatures& features) const {
  uint32_t index = 0;
  while (nodes_[index].yes != 0) {
    const Node& node = nodes_[index];
    index = features[node.feature] <= node.threshold ? node.yes : node.no;
  }
  return nodes_[index].family;
}

}  // namespace hbbp
