// Prints annotated functions. ListFunction writes a heading, then each instruction with its counts,
// the bars of the loops around it, and the target of a branch; a source line comes before its first
// instruction. AddInstructions adds the same data to a table. hbbp annotate calls both for each
// chosen function.
#include "annotate/listing.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "format.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kReset[] = "\033[0m";
constexpr char kHot[] = "\033[31m";
constexpr char kWarm[] = "\033[32m";
constexpr char kSource[] = "\033[36m";
constexpr char kHeading[] = "\033[1m";
// perf annotate has the same limits.
constexpr double kHotShare = 0.05;
constexpr double kWarmShare = 0.005;

constexpr int kShareWidth = 8;
constexpr int kCountWidth = 16;
constexpr int kErrorWidth = 14;
constexpr int kSourceWidth = 9;
constexpr int kMargin = kShareWidth + kCountWidth + kErrorWidth + kSourceWidth;

std::string PadLeft(std::string text, int width) {
  const auto wanted = static_cast<size_t>(width);
  if (text.size() < wanted) text.insert(0, wanted - text.size(), ' ');
  return text;
}

std::string Coloured(const std::string& text, const char* colour, const ListingStyle& style) {
  return style.has_colour && colour != nullptr ? colour + text + kReset : text;
}

const char* ColourOf(double share) {
  if (share >= kHotShare) return kHot;
  return share >= kWarmShare ? kWarm : nullptr;
}

std::string LocationOf(const CodeFrame& frame) {
  std::string location(frame.file.empty() ? "?" : BaseName(frame.file));
  if (frame.line != 0) location += ":" + std::to_string(frame.line);
  return location;
}

// Returns "f inlined into g (a.c:12)", for every function that was inlined.
std::string InlinedInto(const std::vector<CodeFrame>& frames) {
  std::string text;
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    text += (i == 0 ? frames[i].function : std::string()) + " inlined into " +
            frames[i + 1].function + " (" + LocationOf(frames[i + 1]) + ")";
  }
  return text;
}

// Compares the inlined calls that led to an instruction, without its line.
bool IsSameInlining(const std::vector<CodeFrame>& a, const std::vector<CodeFrame>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (i == 0 ? a[i].function != b[i].function : a[i] != b[i]) return false;
  }
  return true;
}

std::string Counts(const AnnotatedFunction& function, const AnnotatedInstruction& instruction,
                   const ListingStyle& style) {
  const hbbp_block* const block = instruction.block;
  if (block == nullptr) return std::string(static_cast<size_t>(kMargin), ' ');
  const double share =
      function.function.instructions > 0 ? block->count / function.function.instructions : 0;
  char percent[32];
  std::snprintf(percent, sizeof(percent), "%.2f", 100 * share);
  return Coloured(PadLeft(percent, kShareWidth), ColourOf(share), style) +
         PadLeft(FormatCount(block->count), kCountWidth) +
         PadLeft("+-" + FormatCount(block->standard_error), kErrorWidth) +
         PadLeft(SourceName(block->source), kSourceWidth);
}

// Draws a bar for each loop around the instruction.
std::string Nesting(const hbbp_loop* loop) {
  constexpr size_t kBars = 4;
  std::string bars(loop == nullptr ? 0 : std::min<size_t>(loop->depth, kBars), '|');
  bars.resize(kBars, ' ');
  return bars;
}

std::string LoopText(const hbbp_loop& loop) {
  std::string text = "loop of depth " + std::to_string(loop.depth);
  if (loop.trip_basis != HBBP_TRIPS_UNKNOWN) {
    char trips[96];
    std::snprintf(trips, sizeof(trips), ": %.4g +-%.2g trips on average", loop.trip_count,
                  loop.trip_count_error);
    text += trips;
  } else {
    text += (loop.flags & HBBP_LOOP_IRREDUCIBLE) != 0 ? ": entered at several points"
                                                      : ": trips not known";
  }
  return text;
}

// Describes the target of a branch in words.
std::string DescribeTarget(const AnnotatedFunction& function, const hbbp_disassembly& code,
                           const AnalysedCode& names) {
  if (code.target == HBBP_NO_ADDRESS) return {};
  if (const auto label = function.labels.find(code.target);
      label != function.labels.end() && code.flow != HBBP_FLOW_CALL) {
    return "  # " + label->second + (code.target <= code.address ? " (back)" : "");
  }
  const std::string name = names.NameAt(function.function.module, code.target);
  return name.empty() ? "" : "  # " + Printable(name);
}

std::string Heading(const AnnotatedFunction& function, const AnalysedCode& code,
                    const ListingStyle& style) {
  const hbbp_function& counted = function.function;
  const double total = code.total_instructions();
  std::string text = Coloured(Printable(function.name), kHeading, style) + "\n  " +
                     Printable(function.module) + " " + FormatAddress(counted.start) + " to " +
                     FormatAddress(counted.end) + "\n  " + FormatCount(counted.instructions) +
                     " +-" + FormatCount(counted.standard_error) + " instructions, " +
                     FormatShare(total > 0 ? counted.instructions / total : 0) + " of all\n\n";
  return text + PadLeft("%", kShareWidth) + PadLeft("executions", kCountWidth) +
         PadLeft("std. error", kErrorWidth) + PadLeft("source", kSourceWidth) + "  instruction\n";
}

std::string InlinedText(const std::vector<CodeFrame>& frames) {
  std::string text;
  for (const CodeFrame& frame : frames) {
    if (!text.empty()) text += ';';
    text += frame.function + "@" + frame.file + ":" + std::to_string(frame.line);
  }
  return text;
}

}  // namespace

bool WantsColour() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool is_refused = no_colour != nullptr && *no_colour != '\0';
  const bool is_dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return ::isatty(STDOUT_FILENO) == 1 && !is_refused && !is_dumb;
}

std::string ListFunction(const AnnotatedFunction& function, const AnalysedCode& code,
                         const ListingStyle& style, SourceText* text) {
  std::string out = Heading(function, code, style);
  if (!function.problem.empty()) return out + "no instructions: " + function.problem + "\n\n";
  const std::string margin(static_cast<size_t>(kMargin + 2), ' ');
  const std::vector<CodeFrame>* last = nullptr;
  uint64_t expected = function.listed_from;
  for (const AnnotatedInstruction& instruction : function.instructions) {
    const hbbp_disassembly& disassembly = instruction.code;
    if (disassembly.address > expected) out += margin + "(no instructions)\n";
    expected = disassembly.address + disassembly.length;
    const std::vector<CodeFrame>& frames = instruction.frames;
    if (style.has_source && !frames.empty()) {
      const bool is_same_inlining = last != nullptr && IsSameInlining(*last, frames);
      if (!is_same_inlining && frames.size() > 1) {
        out += margin + Coloured("[" + Printable(InlinedInto(frames)) + "]", kSource, style) + "\n";
      }
      const CodeFrame& frame = frames.front();
      const bool is_new_line = last == nullptr || last->front().line != frame.line ||
                               last->front().file != frame.file || !is_same_inlining;
      if (is_new_line && frame.line != 0) {
        const std::string line = text->Line(frame.file, frame.line);
        out += margin +
               Coloured(Printable(LocationOf(frame)) + (line.empty() ? "" : "  " + line), kSource,
                        style) +
               "\n";
      }
      last = &frames;
    }
    if (const auto label = function.labels.find(disassembly.address);
        label != function.labels.end()) {
      out += margin + label->second + ":\n";
    }
    const hbbp_loop* const loop = instruction.loop;
    if (loop != nullptr && loop->header == disassembly.address) {
      out += margin + Coloured("[" + LoopText(*loop) + "]", kSource, style) + "\n";
    }
    out += Counts(function, instruction, style) + "  " + Nesting(loop) + " " +
           FormatAddress(disassembly.address) + ":  " + disassembly.text +
           DescribeTarget(function, disassembly, code) + "\n";
  }
  return out + "\n";
}

Table InstructionTable() {
  return Table({{"module", "", Column::kPath},
                {"function", ""},
                {"address", "", Column::kAddress},
                {"length", "", Column::kCount},
                {"instruction", ""},
                {"target", "", Column::kAddress},
                {"label", ""},
                {"count", "", Column::kCount},
                {"standard_error", "", Column::kError},
                {"share", "", Column::kShare},
                {"share_of_function", "", Column::kShare},
                {"source", ""},
                {"block", "", Column::kAddress},
                {"loop_depth", "", Column::kCount},
                {"loop_header", "", Column::kAddress},
                {"trip_count", "", Column::kCount},
                {"trip_count_error", "", Column::kError},
                {"file", ""},
                {"line", "", Column::kCount},
                {"column", "", Column::kCount},
                {"inlined", ""}});
}

void AddInstructions(const AnnotatedFunction& function, const AnalysedCode& code, Table* table) {
  const double total = code.total_instructions();
  const double of_function = function.function.instructions;
  for (const AnnotatedInstruction& instruction : function.instructions) {
    const hbbp_disassembly& disassembly = instruction.code;
    const hbbp_block* const block = instruction.block;
    const auto label = function.labels.find(disassembly.address);
    std::vector<Cell> row = {function.module, function.name, disassembly.address,
                             uint64_t{disassembly.length}, std::string(disassembly.text)};
    row.push_back(disassembly.target == HBBP_NO_ADDRESS ? Cell() : Cell(disassembly.target));
    row.push_back(label == function.labels.end() ? Cell() : Cell(label->second));
    if (block != nullptr) {
      row.emplace_back(block->count);
      row.emplace_back(block->standard_error);
      row.emplace_back(total > 0 ? block->count / total : 0);
      row.emplace_back(of_function > 0 ? block->count / of_function : 0);
      row.emplace_back(SourceName(block->source));
      row.emplace_back(block->start);
    } else {
      row.resize(row.size() + 6);
    }
    const hbbp_loop* const loop = instruction.loop;
    row.emplace_back(uint64_t{loop == nullptr ? 0 : loop->depth});
    row.push_back(loop == nullptr ? Cell() : Cell(loop->header));
    if (loop != nullptr && loop->trip_basis != HBBP_TRIPS_UNKNOWN) {
      row.emplace_back(loop->trip_count);
      row.emplace_back(loop->trip_count_error);
    } else {
      row.resize(row.size() + 2);
    }
    if (!instruction.frames.empty()) {
      const CodeFrame& frame = instruction.frames.front();
      row.emplace_back(frame.file);
      row.emplace_back(uint64_t{frame.line});
      row.emplace_back(uint64_t{frame.column});
      row.emplace_back(InlinedText(instruction.frames));
    } else {
      row.resize(row.size() + 4);
    }
    table->AddRow(std::move(row));
  }
}

}  // namespace hbbp::tools
