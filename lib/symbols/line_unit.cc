// ReadLineUnit decodes one DWARF unit by libdw: ReadDirectory and ReadRows copy the line table, the
// walk over the DIEs (Enter) collects the ranges of functions and of inlined calls with their
// depth, and Finish cuts the nested ranges into the changes of the innermost scope. FindRow and
// FindScope search the result. LineTable calls them: the reader once for a unit, the searches for
// each address.
#include "symbols/line_unit.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "image/elf_file.h"

namespace hbbp {
namespace {

constexpr unsigned int kGnuDiscriminator = 0x2136;  // DW_AT_GNU_discriminator, not in dwarf.h
// Compilers do not nest as deep; deeper scopes are left out.
constexpr size_t kMaxDepth = 512;
constexpr RangeBudget kRangesOfUnit = {4u << 20, 16u << 20};
// This bounds the names of a unit, and its files: strings may overlap, so the size of the file is
// not a bound.
constexpr size_t kMaxStringBytes = 128u << 20;

// Stores each string of libdw once, by its address: files and names occur many times.
class StringTable {
 public:
  explicit StringTable(std::vector<std::string>* strings) : strings_(strings) {}

  uint32_t IndexOf(const char* string) {
    const auto [known, is_new] = indices_.emplace(string, static_cast<uint32_t>(strings_->size()));
    if (is_new) strings_->push_back(Copy(string == nullptr ? "" : string));
    return known->second;
  }

  // Sets the directory that relative paths are below.
  void SetDirectory(const char* directory) { directory_ = Cut(directory) + "/"; }

 private:
  static std::string Cut(const char* string) {
    return std::string(string, ::strnlen(string, kMaxNameSize));
  }

  // Returns nothing once the bytes are used up.
  std::string Copy(const char* string) {
    if (bytes_left_ == 0) return {};
    std::string text = string[0] == '/' ? Cut(string) : directory_ + Cut(string);
    bytes_left_ -= std::min(bytes_left_, text.size());
    return text;
  }

  std::vector<std::string>* strings_;
  std::string directory_;
  size_t bytes_left_ = kMaxStringBytes;
  std::unordered_map<const char*, uint32_t> indices_;
};

struct ScopeRange {
  AddressRange range;
  uint32_t depth;
  uint32_t scope;
};

class Reader {
 public:
  Reader(const Libdw& libdw, LineUnit* unit, const CancelFlag* cancel)
      : libdw_(libdw), unit_(unit), files_(&unit->files), names_(&unit->names), check_(cancel) {}

  void ReadLanguage(Dwarf_Die* unit) { is_go_ = Number(unit, DW_AT_language) == DW_LANG_Go; }

  // DWARF 5 has directories that are relative to the compilation directory.
  void ReadDirectory(Dwarf_Die* unit) {
    Dwarf_Attribute attribute;
    if (libdw_.attr_(unit, DW_AT_comp_dir, &attribute) == nullptr) return;
    const char* const directory = libdw_.formstring_(&attribute);
    if (directory != nullptr && directory[0] == '/') files_.SetDirectory(directory);
  }

  void ReadRows(Dwarf_Die* unit, LineSection* line_section) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (libdw_.getsrclines_(unit, &lines, &count) != 0) {
      Dwarf_Attribute attribute;
      if (libdw_.attr_(unit, DW_AT_stmt_list, &attribute) == nullptr) return;
      unit_->problem = std::string("its line table is damaged (libdw: ") + libdw_.Error() + ")";
      return;
    }
    unit_->rows_read = count;
    unit_->rows.reserve(count);
    const std::vector<SequenceRow> sequences = FindSequences(unit, lines, count, line_section);
    for (size_t i = 0; i < count; ++i) {
      check_.Step();
      if (!sequences.empty() && sequences[i].is_dropped) continue;
      Dwarf_Line* const line = libdw_.onesrcline_(lines, i);
      Dwarf_Addr address = 0;
      if (line == nullptr || libdw_.lineaddr_(line, &address) != 0) continue;
      LineRow row;
      row.address = address;
      libdw_.lineendsequence_(line, &row.is_end);
      if (!row.is_end) {
        int number = 0, column = 0;
        if (libdw_.lineno_(line, &number) == 0 && number > 0)
          row.line = static_cast<uint32_t>(number);
        if (libdw_.linecol_(line, &column) == 0 && column > 0) {
          row.column = static_cast<uint32_t>(column);
        }
        libdw_.linediscriminator_(line, &row.discriminator);
        const char* const file = libdw_.linesrc_(line, nullptr, nullptr);
        if (file != nullptr) row.file = files_.IndexOf(file);
      }
      // The last of several rows at one address holds.
      if (!unit_->rows.empty() && unit_->rows.back().address == row.address) {
        unit_->rows.back() = row;
      } else {
        unit_->rows.push_back(row);
      }
    }
    unit_->rows.shrink_to_fit();
    std::stable_sort(unit_->rows.begin(), unit_->rows.end(),
                     [](const LineRow& a, const LineRow& b) { return a.address < b.address; });
  }

  void ReadScopes(Dwarf_Die* unit, Dwarf_Die* files) {
    if (libdw_.getsrcfiles_(files, &source_files_, &source_file_count_) != 0) {
      source_files_ = nullptr;
    }
    struct Level {
      Dwarf_Die die;
      uint32_t scope;  // around the DIEs of this level
      uint32_t depth;  // of that scope
    };
    std::vector<Level> path;
    Level first{{}, kNoScope, 0};
    if (libdw_.child_(unit, &first.die) != 0) return;
    path.push_back(first);
    // Every step must go forward: damaged references could make a circle.
    const void* last = nullptr;
    while (!path.empty()) {
      check_.Step();
      Level& level = path.back();
      if (std::less_equal<const void*>()(level.die.addr, last)) return;
      last = level.die.addr;
      Level inner{{}, level.scope, level.depth};
      const bool may_have_code = Enter(&level.die, &inner.scope, &inner.depth);
      if (may_have_code && path.size() < kMaxDepth && libdw_.child_(&level.die, &inner.die) == 0) {
        path.push_back(inner);
        continue;
      }
      while (!path.empty()) {
        Dwarf_Die next;
        if (libdw_.siblingof_(&path.back().die, &next) == 0) {
          path.back().die = next;
          break;
        }
        path.pop_back();
      }
    }
  }

  // Divides the nested ranges into stretches with one innermost scope each.
  void Finish() {
    struct Edge {
      uint64_t address;
      bool is_start;
      const ScopeRange* range;
    };
    std::vector<Edge> edges;
    edges.reserve(ranges_.size() * 2);
    for (const ScopeRange& range : ranges_) {
      edges.push_back({range.range.start.value, true, &range});
      edges.push_back({range.range.end.value, false, &range});
    }
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.address < b.address; });
    std::multiset<std::pair<uint32_t, uint32_t>> open;  // depth, scope
    for (size_t i = 0; i < edges.size();) {
      check_.Step();
      const uint64_t address = edges[i].address;
      for (; i < edges.size() && edges[i].address == address; ++i) {
        const std::pair key(edges[i].range->depth, edges[i].range->scope);
        if (edges[i].is_start) {
          open.insert(key);
        } else {
          open.erase(open.find(key));
        }
      }
      const uint32_t scope = open.empty() ? kNoScope : open.rbegin()->second;
      const uint32_t before = unit_->changes.empty() ? kNoScope : unit_->changes.back().scope;
      if (scope != before) unit_->changes.push_back({address, scope});
    }
    unit_->changes.shrink_to_fit();
    unit_->scopes.shrink_to_fit();
  }

 private:
  // Returns the rows of the table again, with their sequences, if some may be of dropped functions
  // and the rows are those of libdw.
  std::vector<SequenceRow> FindSequences(Dwarf_Die* unit, Dwarf_Lines* lines, size_t count,
                                         LineSection* line_section) {
    const auto address = [&](size_t i) {
      Dwarf_Addr found = 0;
      Dwarf_Line* const line = libdw_.onesrcline_(lines, i);
      return line != nullptr && libdw_.lineaddr_(line, &found) == 0 ? found : 0;
    };
    if (line_section == nullptr || count == 0 ||
        !(IsDropped(address(0)) || IsDropped(address(count - 1)))) {
      return {};
    }
    std::vector<SequenceRow> rows =
        ReadSequences(line_section->Read(Number(unit, DW_AT_stmt_list)));
    if (rows.size() != count) return {};
    for (size_t i = 0; i < count; ++i) {
      check_.Step();
      if (rows[i].address != address(i)) return {};
    }
    return rows;
  }

  // Records a DIE. Returns false if nothing in it can have code.
  bool Enter(Dwarf_Die* die, uint32_t* scope, uint32_t* depth) {
    switch (libdw_.tag_(die)) {
      case DW_TAG_subprogram: {
        Dwarf_Attribute attribute;
        bool is_declaration = false;
        if (libdw_.attr_(die, DW_AT_declaration, &attribute) != nullptr &&
            libdw_.formflag_(&attribute, &is_declaration) == 0 && is_declaration) {
          return false;
        }
        *scope = kNoScope;
        AddScope(die, kNoScope, scope, depth);
        return true;
      }
      case DW_TAG_inlined_subroutine:
        // Calls that were inlined into a dropped function may have ranges that do not look dropped.
        if (*scope != kNoScope) AddScope(die, *scope, scope, depth);
        return true;
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_interface_type:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_with_stmt:
      case DW_TAG_common_block:
        return true;
      default:
        return false;
    }
  }

  void AddScope(Dwarf_Die* die, uint32_t parent, uint32_t* scope, uint32_t* depth) {
    const std::vector<AddressRange> ranges = ReadRanges(libdw_, die, &ranges_left_);
    if (ranges.empty()) return;
    LineScope added;
    added.parent = parent;
    added.name = names_.IndexOf(NameOf(die));
    added.declared_line = static_cast<uint32_t>(DeclaredLine(die));
    added.start = std::ranges::min(ranges, {}, &AddressRange::start).start.value;
    if (is_go_ && parent == kNoScope && added.declared_line == 0) {
      added.declared_line = FirstLine(die, added.start);
    }
    if (parent != kNoScope) {
      const auto file = static_cast<size_t>(Number(die, DW_AT_call_file));
      if (source_files_ != nullptr && file < source_file_count_) {
        const char* const name = libdw_.filesrc_(source_files_, file, nullptr, nullptr);
        if (name != nullptr) added.call_file = files_.IndexOf(name);
      }
      added.call_line = static_cast<uint32_t>(Number(die, DW_AT_call_line));
      added.call_column = static_cast<uint32_t>(Number(die, DW_AT_call_column));
      added.call_discriminator = static_cast<uint32_t>(Number(die, kGnuDiscriminator));
    }
    *scope = static_cast<uint32_t>(unit_->scopes.size());
    ++*depth;
    unit_->scopes.push_back(added);
    for (const AddressRange& range : ranges) ranges_.push_back({range, *depth, *scope});
  }

  Dwarf_Word Number(Dwarf_Die* die, unsigned int name) const {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (libdw_.attr_(die, name, &attribute) == nullptr ||
        libdw_.formudata_(&attribute, &value) != 0) {
      return 0;
    }
    return value;
  }

  // Returns the line of a function, following references to its declaration.
  Dwarf_Word DeclaredLine(Dwarf_Die* die) const {
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0;
    if (libdw_.attr_integrate_(die, DW_AT_decl_line, &attribute) == nullptr ||
        libdw_.formudata_(&attribute, &line) != 0) {
      return 0;
    }
    return line;
  }

  // Returns the line of a function of Go, whose compiler wrote none before it had profiles to take:
  // code that makes room for the stack has that line, and so have parameters. What has neither
  // begins with its body.
  uint32_t FirstLine(Dwarf_Die* function, uint64_t start) const {
    AddressRange range;
    const LineRow* const row = unit_->FindRow({start}, &range);
    uint32_t first = row == nullptr ? 0 : row->line;
    Dwarf_Die child;
    if (libdw_.child_(function, &child) != 0) return first;
    // Every step must go forward here, too.
    for (const void* last = function->addr; std::less<const void*>()(last, child.addr);) {
      if (libdw_.tag_(&child) != DW_TAG_formal_parameter) break;
      const auto line = static_cast<uint32_t>(DeclaredLine(&child));
      if (line != 0 && (first == 0 || line < first)) first = line;
      last = child.addr;
      if (libdw_.siblingof_(&child, &child) != 0) break;
    }
    return first;
  }

  // Returns the linkage name of a function, following references to its declaration.
  const char* NameOf(Dwarf_Die* die) const {
    for (const unsigned int name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
      Dwarf_Attribute attribute;
      if (libdw_.attr_integrate_(die, name, &attribute) == nullptr) continue;
      const char* const text = libdw_.formstring_(&attribute);
      if (text != nullptr) return text;
    }
    return nullptr;
  }

  const Libdw& libdw_;
  LineUnit* unit_;
  StringTable files_;
  StringTable names_;
  CancelCheck check_;
  bool is_go_ = false;
  Dwarf_Files* source_files_ = nullptr;
  size_t source_file_count_ = 0;
  std::vector<ScopeRange> ranges_;
  RangeBudget ranges_left_ = kRangesOfUnit;
};

// Returns the last element whose address is not above `address`, or null.
template <typename Element>
const Element* LastUpTo(const std::vector<Element>& elements, ModuleAddress address,
                        AddressRange* range) {
  const auto next = std::upper_bound(
      elements.begin(), elements.end(), address.value,
      [](uint64_t value, const Element& element) { return value < element.address; });
  if (next != elements.end()) range->end.value = std::min(range->end.value, next->address);
  if (next == elements.begin()) return nullptr;
  const Element& found = *std::prev(next);
  range->start.value = std::max(range->start.value, found.address);
  return &found;
}

template <typename Element>
size_t BytesOf(const std::vector<Element>& elements) {
  return elements.capacity() * sizeof(Element);
}

}  // namespace

const LineRow* LineUnit::FindRow(ModuleAddress address, AddressRange* range) const {
  const LineRow* row = LastUpTo(rows, address, range);
  return row == nullptr || row->is_end ? nullptr : row;
}

uint32_t LineUnit::FindScope(ModuleAddress address, AddressRange* range) const {
  const ScopeChange* change = LastUpTo(changes, address, range);
  return change == nullptr ? kNoScope : change->scope;
}

size_t LineUnit::MemoryBytes() const {
  size_t bytes = sizeof(*this) + BytesOf(rows) + BytesOf(scopes) + BytesOf(changes) +
                 BytesOf(files) + BytesOf(names);
  for (const auto* strings : {&files, &names}) {
    for (const std::string& string : *strings) bytes += string.capacity();
  }
  return bytes;
}

std::vector<AddressRange> ReadRanges(const Libdw& libdw, Dwarf_Die* die, RangeBudget* budget) {
  std::vector<AddressRange> ranges;
  Dwarf_Addr base = 0, start = 0, end = 0;
  ptrdiff_t position = 0;
  while (budget->kept != 0 && budget->read != 0 &&
         (position = libdw.ranges_(die, position, &base, &start, &end)) > 0) {
    --budget->read;
    if (IsDropped(start) || start >= end) continue;
    ranges.push_back({{start}, {end}});
    --budget->kept;
  }
  return ranges;
}

LineUnit ReadLineRows(const Libdw& libdw, Dwarf_Die* unit) {
  LineUnit lines;
  Reader reader(libdw, &lines, nullptr);
  reader.ReadDirectory(unit);
  reader.ReadRows(unit, nullptr);
  return lines;
}

LineUnit ReadLineUnit(const Libdw& libdw, Dwarf_Die* unit, Dwarf_Die* functions, Dwarf_Die* files,
                      LineSection* line_section, const CancelFlag* cancel) {
  LineUnit lines;
  Reader reader(libdw, &lines, cancel);
  reader.ReadLanguage(functions);
  reader.ReadDirectory(unit);
  reader.ReadRows(unit, line_section);
  reader.ReadScopes(functions, files);
  reader.Finish();
  return lines;
}

}  // namespace hbbp
