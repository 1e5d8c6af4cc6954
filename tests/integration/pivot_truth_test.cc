// Compares pivots of a whole run that callgrind counted with objdump's listing with the same
// counts: mnemonics, extensions and memory operands, which objdump knows by itself.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "image/elf_image.h"
#include "mix/pivot_query.h"
#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "truth/truth_file.h"

namespace hbbp::tools {
namespace {

constexpr char kValgrind[] =
    "env --default-signal "
    "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-RTM,"
    "-Prefer_No_VZEROUPPER "
    "valgrind --tool=callgrind --dump-instr=yes --skip-plt=no --callgrind-out-file=";

std::vector<ReferenceModule> Count(const std::string& command) {
  const TemporaryFolder directory;
  REQUIRE(RunCommand(kValgrind + directory.File("out") + " " + command));
  std::vector<std::string> notes;
  const auto modules = ReadTruth({{directory.File("out")}, "", {}}, {}, &notes);
  INFO(modules.status().message());
  REQUIRE(modules.ok());
  std::vector<ReferenceModule> files;
  for (const ReferenceModule& module : *modules) {
    if (ElfImage::Open(module.path).ok()) files.push_back(module);
  }
  return files;
}

// Makes samples as if each execution of an instruction had been sampled.
ProfileData ProfileOf(const std::vector<ReferenceModule>& modules) {
  ProfileData data;
  data.sources.emplace_back().kind = SourceKind::kEbs;
  data.sources.back().event = EventKind::kInstructions;
  data.threads.push_back({1, 1, "counted"});
  for (const ReferenceModule& module : modules) {
    const auto image = ElfImage::Open(module.path);
    ModuleRecord record;
    record.path = module.path;
    record.build_id.assign((*image)->build_id().begin(), (*image)->build_id().end());
    for (const ReferenceCount& count : module.counts) {
      const auto offset = (*image)->OffsetOfAddress({count.address});
      if (!offset || count.count == 0) continue;
      IpCount sampled;
      sampled.module = static_cast<uint32_t>(data.modules.size());
      sampled.offset = offset->value;
      sampled.samples = 1;
      sampled.period_sum = count.count;
      data.counts.push_back(sampled);
    }
    data.modules.push_back(record);
  }
  Normalize(&data.counts);
  return data;
}

bool IsPrefix(std::string_view word) {
  static const std::set<std::string_view> kPrefixes = {
      "addr32", "bnd",   "cs",   "data16", "ds", "lock", "notrack",
      "rep",    "repnz", "repz", "rex.W",  "es", "{vex}"};
  return kPrefixes.contains(word);
}

std::string Last(const std::string& text, size_t size) {
  return text.substr(text.size() - std::min(size, text.size()));
}

struct Listed {
  bool is_repeated = false;
  std::string name;
  std::string operands;
};

Listed ParseText(std::string_view text) {
  bool is_repeated = false;
  for (;;) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const size_t next = std::min(text.find_first_not_of(' ', end), text.size());
    if (IsPrefix(word) && next != text.size()) {
      is_repeated |= word.starts_with("rep");
      text.remove_prefix(next);
      continue;
    }
    Listed listed = {is_repeated, std::string(word), std::string(text.substr(next))};
    listed.operands = listed.operands.substr(0, listed.operands.find('#'));
    // The name follows the manual.
    if (listed.name == "movabs") listed.name = "mov";
    if (listed.name == "xchg" && listed.operands == "ax,ax") listed.name = "nop";
    if (listed.name.starts_with("vcmp")) listed.name = "vcmp" + Last(listed.name, 2);
    if (listed.name.starts_with("cmp") && listed.operands.find("xmm") != std::string::npos) {
      listed.name = "cmp" + Last(listed.name, 2);
    }
    return listed;
  }
}

std::string_view ExtensionOf(const Listed& listed) {
  static const std::set<std::string_view> kBmi = {"andn", "bextr", "blsi", "blsmsk", "blsr",
                                                  "bzhi", "mulx",  "pdep", "pext",   "rorx",
                                                  "sarx", "shlx",  "shrx", "tzcnt"};
  if (listed.name.starts_with("f")) return "x87";
  if (listed.name.starts_with("v")) return "avx";
  if (listed.operands.find("xmm") != std::string::npos) return "sse";
  return kBmi.contains(listed.name) ? "bmi" : "other";
}

bool NamesMemory(const Listed& listed) {
  // Without a register there is only the address: fs:0x28.
  return listed.operands.find('[') != std::string::npos ||
         listed.operands.find(":0x") != std::string::npos;
}

// Of string instructions, objdump shows what they imply.
bool HasMemoryOperand(const Listed& listed) {
  static const std::set<std::string_view> kStrings = {"movs", "stos", "lods", "cmps", "scas"};
  return NamesMemory(listed) && !kStrings.contains(listed.name);
}

bool TouchesMemory(const Listed& listed) {
  static const std::set<std::string_view> kStack = {"push", "pop", "call", "ret", "leave"};
  static const std::set<std::string_view> kNone = {"lea", "nop", "endbr64"};
  if (kStack.contains(listed.name)) return true;
  return NamesMemory(listed) && !kNone.contains(listed.name) &&
         !listed.name.starts_with("prefetch");
}

struct Tallies {
  double total = 0;
  std::map<std::string, double> mnemonics;
  std::map<std::string, double> extensions;
  double memory_operands = 0;
  double touching_memory = 0;
};

using Listing = std::map<uint64_t, Listed>;

Listing ListByObjdump(const std::string& path) {
  Listing listing;
  const std::string command = "objdump -d -M intel --no-show-raw-insn '" + path + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe != nullptr);
  char line[1024];
  while (std::fgets(line, sizeof(line), pipe.get()) != nullptr) {
    char* text = nullptr;
    const uint64_t address = std::strtoull(line, &text, 16);
    if (text == line || text[0] != ':' || text[1] != '\t') continue;
    std::string_view words = text + 2;
    words.remove_suffix(words.ends_with('\n') ? 1 : 0);
    listing[address] = ParseText(words);
  }
  return listing;
}

// Callgrind counts each iteration of a repeated instruction, which ran as often as the one before.
void CountTurnsOnce(const Listing& listing, ReferenceModule* module) {
  for (size_t i = 1; i < module->counts.size(); ++i) {
    const auto listed = listing.find(module->counts[i].address);
    if (listed == listing.end() || !listed->second.is_repeated || listed == listing.begin()) {
      continue;
    }
    if (std::prev(listed)->first == module->counts[i - 1].address) {
      module->counts[i].count = module->counts[i - 1].count;
    }
  }
}

void AddTo(const Listing& listing, const ReferenceModule& module, Tallies* tallies) {
  for (const ReferenceCount& count : module.counts) {
    const auto found = listing.find(count.address);
    if (found == listing.end()) continue;
    const Listed& listed = found->second;
    tallies->total += count.count;
    tallies->mnemonics[listed.name] += count.count;
    tallies->extensions[std::string(ExtensionOf(listed))] += count.count;
    if (HasMemoryOperand(listed)) tallies->memory_operands += count.count;
    if (TouchesMemory(listed)) tallies->touching_memory += count.count;
  }
}

std::map<std::string, double> ReadRows(const Analysis& profile, const std::string& key,
                                       const std::string& where,
                                       const std::vector<Taxonomy>& taxonomies = {}) {
  PivotQuery query;
  query.rows = {key};
  query.where = where;
  query.taxonomies = taxonomies;
  const auto table = MakePivotTable(profile, query);
  INFO(table.status().message());
  REQUIRE(table.ok());
  std::map<std::string, double> rows;
  for (size_t row = 0; row < table->row_count(); ++row) {
    rows[table->RowLabel(row, 0).text] = table->At(row, PivotTable::kAll, 0).value;
  }
  return rows;
}

double Total(const std::map<std::string, double>& rows) {
  double total = 0;
  for (const auto& [label, value] : rows) total += value;
  return total;
}

// Returns the share that is in the wrong row.
double Misplaced(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
  double misplaced = 0;
  std::set<std::string> labels;
  for (const auto& rows : {a, b}) {
    for (const auto& [label, value] : rows) labels.insert(label);
  }
  for (const std::string& label : labels) {
    const double left = a.contains(label) ? a.at(label) : 0;
    const double right = b.contains(label) ? b.at(label) : 0;
    if (std::abs(left - right) > 1) {
      std::printf("  %s: %.0f by pivot, %.0f by objdump\n", label.c_str(), left, right);
    }
    misplaced += std::abs(left - right) / 2;
  }
  return misplaced / Total(b);
}

constexpr char kExtensions[] =
    "[families]\n"
    "x87: extension = x87\n"
    "avx: extension ~ avx*, fma*, f16c, vaes, vpclmulqdq\n"
    "sse: extension ~ sse*, ssse3, aes, pclmulqdq, sha\n"
    "bmi: extension ~ bmi*\n";

void CheckRun(const std::string& command) {
  std::vector<ReferenceModule> modules = Count(command);
  REQUIRE_FALSE(modules.empty());
  Tallies tallies;
  for (ReferenceModule& module : modules) {
    const Listing listing = ListByObjdump(module.path);
    CountTurnsOnce(listing, &module);
    AddTo(listing, module, &tallies);
  }
  const Analysis profile = AnalyzeOrFail(ProfileOf(modules));
  std::printf("%s: %.0f instructions\n", command.c_str(), tallies.total);
  // A block has one count: where callgrind's differ within one, because a signal or the end of the
  // program interrupts it, instructions differ a little.
  constexpr double kWithinBlocks = 1e-3;
  const auto mnemonics = ReadRows(profile, "mnemonic", "");
  CHECK(Total(mnemonics) == Approx(tallies.total).epsilon(kWithinBlocks));
  CHECK(Misplaced(mnemonics, tallies.mnemonics) < kWithinBlocks);
  const auto taxonomies = ParseTaxonomies(kExtensions);
  REQUIRE(taxonomies.ok());
  CHECK(Misplaced(ReadRows(profile, "families", "", *taxonomies), tallies.extensions) <
        kWithinBlocks);
  CHECK(Total(ReadRows(profile, "module", "operand-kinds ~ *mem*")) ==
        Approx(tallies.memory_operands).epsilon(kWithinBlocks));
  CHECK(Total(ReadRows(profile, "module", "memory != none")) ==
        Approx(tallies.touching_memory).epsilon(kWithinBlocks));
}

TEST_CASE("a run of gzip is what objdump and callgrind say") {
  if (!HasProgram("valgrind") || !HasProgram("objdump") || !HasProgram("gzip")) {
    HBBP_SKIP("no valgrind, objdump or gzip");
  }
  const TemporaryFolder directory;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += std::to_string(i * i % 997) + (i % 7 ? " " : "\n");
  CheckRun("gzip -nkc " + directory.Write("in", text));
}

TEST_CASE("a run of awk on floating-point numbers is what objdump and callgrind say") {
  if (!HasProgram("valgrind") || !HasProgram("objdump") || !HasProgram("awk")) {
    HBBP_SKIP("no valgrind, objdump or awk");
  }
  CheckRun("awk 'BEGIN { for (i = 1; i < 3000; ++i) s += sin(i) * exp(1 / i); print s }'");
}

}  // namespace
}  // namespace hbbp::tools
