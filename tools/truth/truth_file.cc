// Reads exact counts of any format. ReadTruth reads each file, detects its format unless that is
// given, and calls the reader and the converter of that format; exp-bbv needs a second file, which
// FindBbAddresses finds by its name. hbbp compare and hbbp train call it.
#include "truth/truth_file.h"

#include <filesystem>
#include <map>
#include <utility>

#include "base/files.h"
#include "format.h"
#include "truth/callgrind.h"
#include "truth/exp_bbv_modules.h"
#include "truth/fields.h"
#include "truth/gcov_modules.h"
#include "truth/sde_mix_modules.h"
#include "truth/unknown_code.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kFormats[] =
    "known are files of hbbp count, of valgrind --tool=callgrind --dump-instr=yes, of valgrind "
    "--tool=exp-bbv (both), of sde64 -mix, and of gcov --json-format --stdout "
    "(docs/guide/truth.md)";
// The comments at the start of some formats fit.
constexpr size_t kBytesToDetect = 1 << 16;
// Maximum share of the counts in the interval that exp-bbv did not write; above it is not the truth
// of the program.
constexpr double kMaxUnwritten = 0.01;

struct NamedFormat {
  const char* name;
  TruthFormat format;
};
constexpr NamedFormat kNames[] = {{"callgrind", TruthFormat::kCallgrind},
                                  {"exp-bbv", TruthFormat::kBbVectors},
                                  {"sde-mix", TruthFormat::kSdeMix},
                                  {"gcov", TruthFormat::kGcov}};

struct TruthText {
  std::string name;
  std::string text;
  TruthFormat format = TruthFormat::kCallgrind;
};

const char* NameOf(TruthFormat format) {
  if (format == TruthFormat::kBbAddresses) format = TruthFormat::kBbVectors;
  for (const NamedFormat& named : kNames) {
    if (named.format == format) return named.name;
  }
  return "";
}

StatusOr<TruthText> ReadText(const std::string& path, const std::string& format) {
  TruthText file;
  file.name = path;
  HBBP_ASSIGN_OR_RETURN(file.text, ReadTextFile(path));
  if (file.text.empty()) {
    return MakeStatus(StatusCode::kBadFormat, "%s: empty; most tools write when the program ends",
                      path.c_str());
  }
  const StatusOr<TruthFormat> found = DetectTruthFormat(file.text, path);
  if (format.empty()) {
    if (!found.ok()) return found.status();
    file.format = *found;
    return file;
  }
  for (const NamedFormat& named : kNames) {
    if (format == named.name) file.format = named.format;
  }
  // exp-bbv has two files.
  if (file.format == TruthFormat::kBbVectors && found.ok() && *found == TruthFormat::kBbAddresses) {
    file.format = *found;
  }
  return file;
}

// Returns "pc.out.17" for "bb.out.17", and also for "bb.out.17.2" of a further thread.
StatusOr<std::string> FindBbAddresses(const std::string& vectors) {
  const fs::path path(vectors);
  std::string name = path.filename().string();
  const size_t at = name.find("bb");
  if (at != std::string::npos) {
    name.replace(at, 2, "pc");
    for (const std::string& candidate : {name, name.substr(0, name.rfind('.'))}) {
      std::error_code error;
      const fs::path file = path.parent_path() / candidate;
      if (fs::is_regular_file(file, error)) return file.string();
    }
  }
  return MakeStatus(StatusCode::kNotFound,
                    "%s has numbers of blocks, and their addresses are in another file: run "
                    "valgrind --tool=exp-bbv with --pc-out-file=FILE and give --truth %s --truth "
                    "FILE",
                    vectors.c_str(), vectors.c_str());
}

StatusOr<std::vector<ReferenceModule>> FromCallgrind(const std::vector<TruthText>& files,
                                                     ModuleImages* images,
                                                     std::vector<std::string>* notes) {
  std::map<std::string, ReferenceModule> modules;
  std::map<std::string, std::map<uint64_t, double>> counts;
  uint64_t total = 0;
  for (const TruthText& file : files) {
    HBBP_ASSIGN_OR_RETURN(Truth truth, ParseCallgrind(file.text, file.name));
    MoveUnknownCode(images, &truth);
    if (truth.declared_total && *truth.declared_total != truth.total) {
      notes->push_back(file.name + " has " + FormatCount(truth.total) +
                       " instructions and claims " + FormatCount(*truth.declared_total));
    }
    if (!AddCount(truth.total, &total)) {
      return MakeStatus(StatusCode::kBadFormat, "%s: counts above 2^63 in total",
                        file.name.c_str());
    }
    for (const TruthObject& object : truth.objects) {
      ReferenceModule& module = modules[object.path];
      if (!module.build_id.empty() && !object.build_id.empty() &&
          module.build_id != object.build_id) {
        return MakeStatus(StatusCode::kMismatch,
                          "%s: %s has build ID %s here and %s in a file before it; counts of two "
                          "builds cannot be added",
                          file.name.c_str(), object.path.c_str(), object.build_id.c_str(),
                          module.build_id.c_str());
      }
      module.path = object.path;
      if (module.build_id.empty()) module.build_id = object.build_id;
      for (const InstructionCount& instruction : object.instructions) {
        counts[object.path][instruction.address] += static_cast<double>(instruction.count);
      }
    }
  }
  std::vector<ReferenceModule> references;
  for (auto& [path, module] : modules) {
    for (const auto& [address, count] : counts[path]) module.counts.push_back({address, count});
    references.push_back(std::move(module));
  }
  return references;
}

StatusOr<BbVectors> SumOfVectors(const std::vector<TruthText>& files,
                                 std::vector<std::string>* notes) {
  BbVectors sum;
  uint64_t declared = 0;
  for (const TruthText& file : files) {
    if (file.format != TruthFormat::kBbVectors) continue;
    HBBP_ASSIGN_OR_RETURN(const BbVectors vectors, ParseBbVectors(file.text, file.name));
    for (const auto& [block, count] : vectors.instructions) sum.instructions[block] += count;
    if (!AddCount(vectors.total, &sum.total) ||
        !AddCount(vectors.declared_total.value_or(vectors.total), &declared)) {
      return MakeStatus(StatusCode::kBadFormat, "%s: counts above 2^63 in total",
                        file.name.c_str());
    }
  }
  const double unwritten = static_cast<double>(declared - sum.total);
  if (unwritten > kMaxUnwritten * static_cast<double>(declared)) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: has %s of %s instructions: exp-bbv does not write the last interval, "
                      "which is not full; make intervals shorter, with --interval-size=%s",
                      files[0].name.c_str(), FormatCount(sum.total).c_str(),
                      FormatCount(declared).c_str(),
                      std::to_string(std::max<uint64_t>(declared / 1000, 100)).c_str());
  }
  if (unwritten > 0) {
    notes->push_back(FormatCount(unwritten) +
                     " instructions are missing: exp-bbv does not write its last interval");
  }
  return sum;
}

StatusOr<std::vector<ReferenceModule>> FromBbv(std::vector<TruthText> files,
                                               const std::vector<LoadAddress>& load_addresses,
                                               ModuleImages* images,
                                               std::vector<std::string>* notes) {
  const auto is = [](TruthFormat format) {
    return [format](const TruthText& file) { return file.format == format; };
  };
  const auto vectors = std::find_if(files.begin(), files.end(), is(TruthFormat::kBbVectors));
  if (vectors == files.end()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s has the addresses of blocks, and how often they ran is in another file, "
                      "that of --bb-out-file; give both, with a --truth each",
                      files[0].name.c_str());
  }
  const auto count = std::count_if(files.begin(), files.end(), is(TruthFormat::kBbAddresses));
  if (count == 0) {
    HBBP_ASSIGN_OR_RETURN(const std::string path, FindBbAddresses(vectors->name));
    HBBP_ASSIGN_OR_RETURN(TruthText addresses, ReadText(path, "exp-bbv"));
    addresses.format = TruthFormat::kBbAddresses;
    files.push_back(std::move(addresses));
  } else if (count > 1) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "two files of --pc-out-file: blocks of two runs have the same numbers; "
                      "compare one run at a time");
  }
  HBBP_ASSIGN_OR_RETURN(const BbVectors sum, SumOfVectors(files, notes));
  const TruthText& file = *std::find_if(files.begin(), files.end(), is(TruthFormat::kBbAddresses));
  HBBP_ASSIGN_OR_RETURN(std::vector<BbAddress> addresses, ParseBbAddresses(file.text, file.name));
  return CountsFromBbv(sum, std::move(addresses), load_addresses, file.name, images, notes);
}

StatusOr<std::vector<ReferenceModule>> FromSdeMix(const std::vector<TruthText>& files,
                                                  ModuleImages* images) {
  if (files.size() != 1) {
    return MakeStatus(StatusCode::kInvalidArgument, "give one file of SDE, which has all threads");
  }
  HBBP_ASSIGN_OR_RETURN(const Mix mix, ParseSdeMix(files[0].text, files[0].name));
  return CountsFromSdeMix(mix, files[0].name, images);
}

StatusOr<std::vector<ReferenceModule>> FromGcov(const std::vector<TruthText>& files,
                                                ModuleImages* images,
                                                std::vector<std::string>* notes) {
  std::vector<GcovLine> lines;
  for (const TruthText& file : files) {
    HBBP_ASSIGN_OR_RETURN(std::vector<GcovLine> more, ParseGcov(file.text, file.name));
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return CountsFromGcov(lines, files[0].name, images, notes);
}

}  // namespace

std::vector<std::string> TruthFormatNames() {
  std::vector<std::string> names;
  for (const NamedFormat& named : kNames) names.push_back(named.name);
  return names;
}

StatusOr<TruthFormat> DetectTruthFormat(std::string_view text, const std::string& name) {
  const std::string_view start = text.substr(0, kBytesToDetect);
  const auto has = [&](std::string_view words) { return start.find(words) != start.npos; };
  if (start.starts_with("\x1f\x8b")) return TruthFormat::kGcov;
  if (start.starts_with("# callgrind format")) return TruthFormat::kCallgrind;
  if (start.starts_with("# Mix output version") || has("# EMIT_")) return TruthFormat::kSdeMix;
  if (start.starts_with('{') && has("format_version")) return TruthFormat::kGcov;
  if (start.starts_with("file:") || start.starts_with("version:8")) {
    if (has("\nlcount:")) return TruthFormat::kGcov;
  }
  if (has("events:")) return TruthFormat::kCallgrind;
  if (start.starts_with("T:") || has("#   Total instructions:")) return TruthFormat::kBbVectors;
  if (start.starts_with("F:")) return TruthFormat::kBbAddresses;
  return MakeStatus(StatusCode::kBadFormat, "%s: no format of exact counts; %s", name.c_str(),
                    kFormats);
}

StatusOr<std::vector<ReferenceModule>> ReadTruth(const TruthInput& input,
                                                 const std::vector<ProfiledModule>& modules,
                                                 std::vector<std::string>* notes) {
  std::vector<LoadAddress> load_addresses;
  for (const std::string& text : input.load_addresses) {
    HBBP_ASSIGN_OR_RETURN(LoadAddress load, ParseLoadAddress(text));
    load_addresses.push_back(std::move(load));
  }
  std::vector<TruthText> files;
  for (const std::string& path : input.files) {
    HBBP_ASSIGN_OR_RETURN(TruthText file, ReadText(path, input.format));
    if (!files.empty() && std::string_view(NameOf(file.format)) != NameOf(files[0].format)) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s is of %s and %s of %s: give one of them",
                        files[0].name.c_str(), NameOf(files[0].format), path.c_str(),
                        NameOf(file.format));
    }
    files.push_back(std::move(file));
  }
  const TruthFormat format = files.at(0).format;
  ModuleImages images(modules);
  StatusOr<std::vector<ReferenceModule>> references = std::vector<ReferenceModule>();
  switch (format) {
    case TruthFormat::kCallgrind:
      references = FromCallgrind(files, &images, notes);
      break;
    case TruthFormat::kBbVectors:
    case TruthFormat::kBbAddresses:
      references = FromBbv(std::move(files), load_addresses, &images, notes);
      break;
    case TruthFormat::kSdeMix:
      references = FromSdeMix(files, &images);
      break;
    case TruthFormat::kGcov:
      references = FromGcov(files, &images, notes);
      break;
  }
  if (!references.ok()) return references.status();
  double total = 0;
  for (const ReferenceModule& reference : *references) {
    for (const ReferenceCount& count : reference.counts) total += count.count;
  }
  if (total > 0) return references;
  return MakeStatus(StatusCode::kBadFormat, "%s: all its counts are 0: was anything executed?",
                    input.files[0].c_str());
}

}  // namespace hbbp::tools
