// hbbp mix: which instructions ran, summed over whatever keys are asked for.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "command.h"
#include "estimator_option.h"
#include "format.h"
#include "kernel_options.h"
#include "options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "mix";
constexpr uint64_t kTableRows = 20;

struct Key {
  const char* name;
  hbbp_mix_keys bit;
};
constexpr Key kKeys[] = {{"mnemonic", HBBP_MIX_BY_MNEMONIC},
                         {"module", HBBP_MIX_BY_MODULE},
                         {"function", HBBP_MIX_BY_FUNCTION},
                         {"thread", HBBP_MIX_BY_THREAD}};

std::vector<std::string> KeyNames() {
  std::vector<std::string> names;
  for (const Key& key : kKeys) names.push_back(key.name);
  return names;
}

hbbp_mix_keys KeyBit(std::string_view name) {
  for (const Key& key : kKeys) {
    if (name == key.name) return key.bit;
  }
  return 0;
}

// "module=libc.so.6"
struct Filter {
  hbbp_mix_keys key = 0;
  std::string value;
};

StatusOr<Filter> ParseFilter(const std::string& text) {
  if (text.empty()) return Filter();
  const size_t equals = text.find('=');
  const hbbp_mix_keys key = KeyBit(text.substr(0, equals));
  if (equals == std::string::npos || key == 0) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "--where %s: not KEY=VALUE with KEY one of mnemonic, module, function, "
                      "thread; see hbbp mix --help",
                      text.c_str());
  }
  return Filter{key, text.substr(equals + 1)};
}

// The lists that the indices of rows point into.
struct Names {
  std::vector<hbbp_module> modules;
  std::vector<hbbp_function> functions;
  std::vector<hbbp_thread> threads;

  std::string Module(uint32_t index) const {
    return index < modules.size() ? modules[index].path : "";
  }
  std::string Function(uint32_t index) const {
    return index < functions.size() ? Demangle(functions[index].name) : "";
  }
};

bool Matches(const hbbp_mix_row& row, const Names& names, const Filter& filter) {
  switch (filter.key) {
    case HBBP_MIX_BY_MNEMONIC:
      return filter.value == row.mnemonic;
    case HBBP_MIX_BY_MODULE: {
      const std::string path = names.Module(row.module);
      return filter.value == path || filter.value == BaseName(path);
    }
    case HBBP_MIX_BY_FUNCTION:
      return filter.value == names.Function(row.function) ||
             (row.function < names.functions.size() &&
              filter.value == names.functions[row.function].name);
    case HBBP_MIX_BY_THREAD:
      return row.thread < names.threads.size() &&
             (filter.value == std::to_string(names.threads[row.thread].tid) ||
              filter.value == names.threads[row.thread].name);
    default:
      return true;
  }
}

// Adds up the rows that differ only in a key that was needed for the filter alone. Their samples
// are different ones, so variances add up.
std::vector<hbbp_mix_row> Group(const std::vector<hbbp_mix_row>& rows, hbbp_mix_keys keys) {
  using GroupKey = std::tuple<std::string, uint32_t, uint32_t, uint32_t>;
  std::map<GroupKey, hbbp_mix_row> groups;
  for (hbbp_mix_row row : rows) {
    if ((keys & HBBP_MIX_BY_MNEMONIC) == 0) row.mnemonic = "";
    if ((keys & HBBP_MIX_BY_MODULE) == 0) row.module = HBBP_NO_INDEX;
    if ((keys & HBBP_MIX_BY_FUNCTION) == 0) row.function = HBBP_NO_INDEX;
    if ((keys & HBBP_MIX_BY_THREAD) == 0) row.thread = HBBP_NO_INDEX;
    const auto [group, is_new] =
        groups.try_emplace(GroupKey(row.mnemonic, row.module, row.function, row.thread), row);
    if (is_new) continue;
    group->second.instructions += row.instructions;
    group->second.standard_error = std::hypot(group->second.standard_error, row.standard_error);
  }
  std::vector<std::pair<GroupKey, hbbp_mix_row>> sorted(groups.begin(), groups.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second.instructions, a.first) < std::tie(a.second.instructions, b.first);
  });
  std::vector<hbbp_mix_row> sums;
  for (const auto& [key, row] : sorted) sums.push_back(row);
  return sums;
}

std::vector<Column> Columns(hbbp_mix_keys keys) {
  std::vector<Column> columns;
  if (keys & HBBP_MIX_BY_MNEMONIC) columns.push_back({"mnemonic", "mnemonic"});
  if (keys & HBBP_MIX_BY_MODULE) columns.push_back({"module", "module", Column::kPath});
  if (keys & HBBP_MIX_BY_THREAD) {
    columns.push_back({"thread", "thread"});
    columns.push_back({"thread_name", "thread name"});
  }
  columns.push_back({"instructions", "instructions", Column::kCount});
  columns.push_back({"standard_error", "std. error", Column::kError});
  columns.push_back({"share", "share", Column::kShare});
  // Last, because names of functions are long.
  if (keys & HBBP_MIX_BY_FUNCTION) columns.push_back({"function", "function"});
  return columns;
}

std::vector<Cell> Cells(const hbbp_mix_row& row, hbbp_mix_keys keys, const Names& names,
                        double total) {
  std::vector<Cell> cells;
  if (keys & HBBP_MIX_BY_MNEMONIC) cells.emplace_back(row.mnemonic);
  if (keys & HBBP_MIX_BY_MODULE) cells.emplace_back(names.Module(row.module));
  if (keys & HBBP_MIX_BY_THREAD) {
    if (row.thread < names.threads.size()) {
      cells.emplace_back(uint64_t{names.threads[row.thread].tid});
      cells.emplace_back(names.threads[row.thread].name);
    } else {
      cells.resize(cells.size() + 2);
    }
  }
  cells.emplace_back(row.instructions);
  cells.emplace_back(row.standard_error);
  cells.emplace_back(total > 0 ? row.instructions / total : 0.0);
  if (keys & HBBP_MIX_BY_FUNCTION) cells.emplace_back(names.Function(row.function));
  return cells;
}

StatusOr<Table> Listing(const hbbp_profile* profile, hbbp_mix_keys keys, const Filter& filter,
                        uint64_t top) {
  HBBP_ASSIGN_OR_RETURN(const auto sources, Sources(profile));
  Names names;
  HBBP_ASSIGN_OR_RETURN(names.modules, Modules(profile));
  HBBP_ASSIGN_OR_RETURN(names.functions, Functions(profile));
  HBBP_ASSIGN_OR_RETURN(names.threads, Threads(profile));

  HBBP_ASSIGN_OR_RETURN(std::vector<hbbp_mix_row> rows, MixRows(profile, keys | filter.key));
  std::erase_if(rows, [&](const hbbp_mix_row& row) { return !Matches(row, names, filter); });
  rows = Group(rows, keys);

  double total = 0;
  for (const hbbp_mix_row& row : rows) total += row.instructions;
  Table table(Columns(keys));
  for (size_t i = 0; i < std::min<uint64_t>(top, rows.size()); ++i) {
    table.AddRow(Cells(rows[i], keys, names, total));
  }
  table.AddField("total_instructions", total);
  table.AddSummary(FormatCount(std::min<uint64_t>(top, rows.size())) + " of " +
                   FormatCount(uint64_t{rows.size()}) + " rows; " + FormatCount(total) +
                   " instructions in all");
  AddCaveats(sources, &table);
  return table;
}

}  // namespace

int RunMix(int argc, char** argv) {
  std::vector<std::string> files;
  std::vector<std::string> by;
  std::string where;
  uint64_t top = 0;
  std::string format = "table";
  Options options(kName, "Sum executed instructions by mnemonic, module, function or thread");
  options.Positionals("FILE", &files, 1, Options::kAny, "profiles; several are added up");
  options.Choices("--by", &by, KeyNames(), "what a row stands for (mnemonic)");
  options.Value("--where", &where, "KEY=VALUE",
                "only what matches, for example module=libc.so.6; keys as in --by");
  options.Value("--top", &top, "N", "only the first N; a table has 20 unless told otherwise");
  options.Choice("--format", &format, FormatNames(), "how to print (table)");
  EstimatorOption estimator;
  estimator.AddTo(&options);
  KernelOptions kernel;
  kernel.AddTo(&options);
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  hbbp_mix_keys keys = 0;
  for (const std::string& name : by) keys |= KeyBit(name);
  if (keys == 0) keys = HBBP_MIX_BY_MNEMONIC;
  const StatusOr<Filter> filter = ParseFilter(where);
  if (!filter.ok()) return Fail(kName, filter.status().message());
  const Format printed = FormatFromName(format);
  if (top == 0) top = printed == Format::kTable ? kTableRows : UINT64_MAX;

  const StatusOr<ProfileHandle> profile = LoadProfiles(files);
  if (!profile.ok()) return Fail(kName, profile.status().message());
  Status applied = kernel.Apply(profile->get());
  if (applied.ok()) applied = estimator.Apply(profile->get());
  if (!applied.ok()) return Fail(kName, applied.message());
  const StatusOr<Table> table = Listing(profile->get(), keys, *filter, top);
  if (!table.ok()) return Fail(kName, table.status().message());
  return table->Print(kName, printed);
}

}  // namespace hbbp::tools
