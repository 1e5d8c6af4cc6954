#include "probe/load_productions.h"

#include <unistd.h>

#include <bit>
#include <utility>

#include "base/files.h"
#include "base/nearest_name.h"
#include "probes/builtin_productions.h"

namespace hbbp::tools {
namespace {

StatusOr<std::vector<Taxonomy>> LoadTaxonomies(const std::string& path) {
  if (path.empty()) return ParseTaxonomies(DefaultTaxonomyText());
  HBBP_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxTaxonomyBytes));
  StatusOr<std::vector<Taxonomy>> taxonomies = ParseTaxonomies(text);
  if (!taxonomies.ok()) return taxonomies.status().Annotate(path);
  return taxonomies;
}

// Checks that all actions are some that the command can do.
Status CheckForCommand(const ProductionSet& set) {
  for (const Production& production : set.productions()) {
    for (const ProbeAction& action : production.actions) {
      if (set.tables()[action.table].kind != TableKind::kCall) continue;
      return Status(StatusCode::kUnsupported,
                    "'" + production.name +
                        "' has the action 'call', for which hbbp probe has no handler; a program "
                        "that links libhbbp can have one (hbbp_probe_options.handler)");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<ProductionSet> LoadProductions(const std::vector<std::string>& words,
                                        const std::string& groups) {
  HBBP_ASSIGN_OR_RETURN(std::vector<Taxonomy> taxonomies, LoadTaxonomies(groups));
  std::string text;
  std::string file;
  std::string uses;
  for (const std::string& word : words) {
    if (FindBuiltinProductions(word) != nullptr) {
      uses += "\nuse " + word;
      continue;
    }
    if (word.find('/') == word.npos && ::access(word.c_str(), F_OK) != 0) {
      return Status(StatusCode::kInvalidArgument,
                    "no file and no built-in productions '" + word + "'" +
                        DidYouMeanOneOf(word, BuiltinProductionNames()));
    }
    if (!file.empty()) {
      return Status(StatusCode::kInvalidArgument,
                    "two files of productions, " + file + " and " + word + ": make one of them");
    }
    file = word;
    HBBP_ASSIGN_OR_RETURN(text, ReadTextFile(file, kMaxProductionBytes));
  }
  // Lines of the file keep their numbers.
  StatusOr<ProductionSet> set = ProductionSet::Parse(text + uses, std::move(taxonomies));
  if (set.ok()) {
    const Status fits = CheckForCommand(*set);
    if (!fits.ok()) set = fits;
  }
  if (!set.ok() && !file.empty()) return set.status().Annotate(file);
  return set;
}

Status CheckForValgrind(const ProductionSet& set) {
  const ProbeKeySet missing = set.keys() & (kRegisters | kValues);
  if (missing == 0) return OkStatus();
  const auto key = static_cast<ProbeKey>(std::countr_zero(missing));
  return Status(StatusCode::kUnsupported,
                "the productions use '" + std::string(NameOf(key)) +
                    "', which valgrind's stream does not have; --stream step does");
}

std::string DescribeBuiltins() {
  std::string text;
  for (const BuiltinProductions& builtin : AllBuiltinProductions()) {
    std::string name(builtin.name);
    name.resize(18, ' ');
    text += "  " + name + std::string(builtin.summary) + "\n";
  }
  return text;
}

}  // namespace hbbp::tools
