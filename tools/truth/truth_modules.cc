#include "truth/truth_modules.h"

#include "format.h"
#include "truth/fields.h"

namespace hbbp::tools {

StatusOr<LoadAddress> ParseLoadAddress(const std::string& text) {
  const size_t equals = text.rfind('=');
  LoadAddress load;
  if (equals != std::string::npos && equals != 0) {
    std::string_view address = std::string_view(text).substr(equals + 1);
    if (address.starts_with("0x")) address.remove_prefix(2);
    load.path = text.substr(0, equals);
    if (HexFromWord(address, &load.address)) return load;
  }
  return MakeStatus(StatusCode::kInvalidArgument,
                    "--truth-map %s: give PATH=ADDRESS, the hexadecimal run-time address of the "
                    "file's address 0 (0x108000 for a PIE under valgrind)",
                    text.c_str());
}

StatusOr<const ElfImage*> ModuleImages::Open(const std::string& path) {
  std::unique_ptr<ElfImage>& image = images_[path];
  if (image != nullptr) return static_cast<const ElfImage*>(image.get());
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<ElfImage> opened, ElfImage::Open(path));
  const std::string found = FormatHex(opened->build_id().data(), opened->build_id().size());
  for (const ProfiledModule& module : modules_) {
    if (module.path != path || module.build_id.empty() || module.build_id == found) continue;
    return MakeStatus(StatusCode::kMismatch,
                      "%s: the file has build ID %s and the profile %s: it was replaced since; "
                      "profile it again",
                      path.c_str(), found.empty() ? "none" : found.c_str(),
                      module.build_id.c_str());
  }
  image = std::move(opened);
  return static_cast<const ElfImage*>(image.get());
}

std::vector<ReferenceModule> ReferenceBuilder::Take() const {
  std::vector<ReferenceModule> references;
  for (const auto& [path, counts] : counts_) {
    ReferenceModule& reference = references.emplace_back();
    reference.path = path;
    for (const auto& [address, count] : counts) reference.counts.push_back({address, count});
  }
  return references;
}

}  // namespace hbbp::tools
