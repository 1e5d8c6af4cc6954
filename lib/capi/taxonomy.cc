#include <hbbp/pivot.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "capi/boundary.h"
#include "capi/taxonomy_handle.h"
#include "mix/query_keys.h"

using hbbp::OkStatus;
using hbbp::Status;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

namespace hbbp::capi {

StatusOr<std::vector<Taxonomy>> TaxonomiesOf(const hbbp_taxonomy* taxonomy) {
  if (taxonomy == nullptr) return ParseTaxonomies(DefaultTaxonomyText());
  return taxonomy->taxonomies;
}

}  // namespace hbbp::capi

namespace {

hbbp::StatusOr<std::vector<hbbp::Taxonomy>> ParseGroups(std::string_view text) {
  HBBP_ASSIGN_OR_RETURN(std::vector<hbbp::Taxonomy> parsed, hbbp::ParseTaxonomies(text));
  HBBP_RETURN_IF_ERROR(hbbp::CheckTaxonomyNames(parsed));
  return parsed;
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_taxonomy_create(const char* text, hbbp_taxonomy** taxonomy,
                                          hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (taxonomy == nullptr) return NullArgument("hbbp_taxonomy_create", "taxonomy");
    HBBP_ASSIGN_OR_RETURN(auto parsed,
                          ParseGroups(text == nullptr ? hbbp::DefaultTaxonomyText() : text));
    *taxonomy = new hbbp_taxonomy{std::move(parsed)};
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_taxonomy_load(const char* path, hbbp_taxonomy** taxonomy,
                                        hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (path == nullptr) return NullArgument("hbbp_taxonomy_load", "path");
    if (taxonomy == nullptr) return NullArgument("hbbp_taxonomy_load", "taxonomy");
    HBBP_ASSIGN_OR_RETURN(const std::string text,
                          hbbp::ReadTextFile(path, hbbp::kMaxTaxonomyBytes));
    auto parsed = ParseGroups(text);
    if (!parsed.ok()) return parsed.status().Annotate(path);
    *taxonomy = new hbbp_taxonomy{*std::move(parsed)};
    return OkStatus();
  });
}

HBBP_API void hbbp_taxonomy_destroy(hbbp_taxonomy* taxonomy) { delete taxonomy; }

HBBP_API size_t hbbp_taxonomy_count(const hbbp_taxonomy* taxonomy) {
  return taxonomy == nullptr ? 0 : taxonomy->taxonomies.size();
}

HBBP_API const char* hbbp_taxonomy_name(const hbbp_taxonomy* taxonomy, size_t index) {
  if (index >= hbbp_taxonomy_count(taxonomy)) return nullptr;
  return taxonomy->taxonomies[index].name().c_str();
}

HBBP_API size_t hbbp_taxonomy_group_count(const hbbp_taxonomy* taxonomy, size_t index) {
  if (index >= hbbp_taxonomy_count(taxonomy)) return 0;
  return taxonomy->taxonomies[index].groups().size();
}

HBBP_API const char* hbbp_taxonomy_group_name(const hbbp_taxonomy* taxonomy, size_t index,
                                              size_t group) {
  if (group >= hbbp_taxonomy_group_count(taxonomy, index)) return nullptr;
  return taxonomy->taxonomies[index].groups()[group].name.c_str();
}

}  // extern "C"
