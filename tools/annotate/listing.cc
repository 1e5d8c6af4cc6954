// Prints annotated functions. ListFunction writes a heading, then each instruction with its counts,
// arrows from branches to their targets, and the names of these; a source line comes before its
// first instruction. The lines are made first (ListingLines), since arrows and columns depend on
// all of them. AddInstructions adds the same data to a table. hbbp annotate calls both for each
// chosen function.
#include "annotate/listing.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "annotate/jump_arrows.h"
#include "format.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kReset[] = "\033[0m";
constexpr char kHot[] = "\033[31m";
constexpr char kWarm[] = "\033[32m";
constexpr char kSource[] = "\033[36m";
constexpr char kHeading[] = "\033[1m";
// Of the count of the instruction that ran most often.
constexpr double kHotFraction = 0.5;
constexpr double kWarmFraction = 0.05;

// Shorter runs of code that was not seen take as little room as a line that stands for them.
constexpr size_t kMinFolded = 3;

std::string Coloured(const std::string& text, const char* colour, const ListingStyle& style) {
  return style.has_colour && colour != nullptr ? colour + text + kReset : text;
}

const char* ColourOf(double fraction) {
  if (fraction >= kHotFraction) return kHot;
  return fraction >= kWarmFraction ? kWarm : nullptr;
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

bool WasSeen(const AnnotatedInstruction& instruction) {
  return instruction.block != nullptr && instruction.block->count > 0;
}

double InstructionsOf(const hbbp_block& block) { return block.count * block.instruction_count; }

// Returns null if none was seen.
const hbbp_block* HottestBlock(const AnnotatedFunction& function) {
  const hbbp_block* hottest = nullptr;
  for (const AnnotatedInstruction& instruction : function.instructions) {
    if (!WasSeen(instruction)) continue;
    const bool is_hotter =
        hottest == nullptr || InstructionsOf(*instruction.block) > InstructionsOf(*hottest);
    if (is_hotter) hottest = instruction.block;
  }
  return hottest;
}

double HighestCount(const AnnotatedFunction& function) {
  double highest = 0;
  for (const AnnotatedInstruction& instruction : function.instructions) {
    if (instruction.block != nullptr) highest = std::max(highest, instruction.block->count);
  }
  return highest;
}

// Draws a fraction as a bar of at most five characters, in steps of an eighth of one.
std::string Bar(double fraction) {
  constexpr int kBarWidth = 5;
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = std::max(1, static_cast<int>(std::lround(fraction * kBarWidth * 8)));
  std::string bar;
  for (int full = 0; full < eighths / 8; ++full) bar += "█";
  return bar + kEighths[eighths % 8];
}

std::string LoopText(const hbbp_loop& loop) {
  std::string text = "loop of depth " + std::to_string(loop.depth);
  if (loop.trip_basis != HBBP_TRIPS_UNKNOWN) {
    char trips[96];
    std::snprintf(trips, sizeof(trips), ": %.4g ± %.2g trips on average", loop.trip_count,
                  loop.trip_count_error);
    text += trips;
  } else {
    text += (loop.flags & HBBP_LOOP_IRREDUCIBLE) != 0 ? ": entered at several points"
                                                      : ": trips not known";
  }
  return text;
}

std::string Heading(const AnnotatedFunction& function, const AnalysedCode& code,
                    const ListingStyle& style) {
  const hbbp_function& counted = function.function;
  const double total = code.total_instructions();
  const MeasuredText instructions = FormatMeasured(counted.instructions, counted.standard_error);
  std::string text = Coloured(Printable(function.name), kHeading, style) + "\n  " +
                     Printable(function.module) + " " + FormatAddress(counted.start) + " to " +
                     FormatAddress(counted.end) + "\n  " + instructions.value + " ± " +
                     instructions.error + " instructions, " +
                     FormatShare(total > 0 ? counted.instructions / total : 0) + " of all\n";
  const hbbp_block* const hottest = HottestBlock(function);
  if (hottest != nullptr) {
    text += "  hottest block " + FormatAddress(hottest->start) + " to " +
            FormatAddress(hottest->end) + ", " +
            FormatShare(InstructionsOf(*hottest) / counted.instructions) + " of these\n";
  }
  return text + '\n';
}

std::string InlinedText(const std::vector<CodeFrame>& frames) {
  std::string text;
  for (const CodeFrame& frame : frames) {
    if (!text.empty()) text += ';';
    text += frame.function + "@" + frame.file + ":" + std::to_string(frame.line);
  }
  return text;
}

// The lines of a function, which are laid out when all of them are known.
class ListingLines {
 public:
  ListingLines(const AnnotatedFunction& function, const AnalysedCode& code,
               const ListingStyle& style, SourceText* source)
      : function_(function),
        code_(code),
        style_(style),
        source_(source),
        highest_(HighestCount(function)),
        expected_(function.listed_from) {
    lines_.push_back({{"%", "executions", "std. error", "source", "", "", "", "heat"},
                      {},
                      nullptr,
                      "instruction"});
    for (const std::string& event : code.sampled_events()) {
      lines_.back().samples.push_back(Printable(event) + " samples");
    }
    if (code.has_ops()) SetOps("IBS ops", "DC misses", "mean miss", &lines_.back());
    FindFolded();
    AddLines();
  }

  // Returns the number of the first line of a block, or 0.
  size_t LineOf(const hbbp_block* block) const {
    const auto line =
        block == nullptr ? lines_by_address_.end() : lines_by_address_.find(block->start);
    return line == lines_by_address_.end() ? 0 : line->second;
  }
  size_t folded() const { return folded_.size(); }

  std::string Text() const {
    Widths widths = {.of_samples = std::vector<size_t>(code_.sampled_events().size())};
    for (const Line& line : lines_) {
      for (size_t i = 0; i < kCells; ++i) {
        widths.of_cells[i] = std::max(widths.of_cells[i], DisplayWidth(line.cells[i]));
      }
      for (size_t i = 0; i < line.samples.size(); ++i) {
        widths.of_samples[i] = std::max(widths.of_samples[i], DisplayWidth(line.samples[i]));
      }
    }
    const std::vector<std::string> arrows = DrawJumps(Jumps(), lines_.size());
    std::string text;
    for (size_t i = 0; i < lines_.size(); ++i) text += LineText(lines_[i], widths, arrows[i]);
    return text;
  }

 private:
  enum Cells {
    kShare,
    kExecutions,
    kError,
    kSourceKind,
    kOps,
    kDcMisses,
    kMeanMiss,
    kHeat,
    kCells
  };

  struct Line {
    std::string cells[kCells];
    std::vector<std::string> samples;  // cells; empty: there are none
    const char* heat = nullptr;        // colour
    std::string text;
    const char* colour = nullptr;  // of the text
  };

  struct Widths {
    size_t of_cells[kCells] = {};
    std::vector<size_t> of_samples;
  };

  // Chooses the instructions that a line stands for.
  void FindFolded() {
    if (!style_.folds) return;
    const std::vector<AnnotatedInstruction>& all = function_.instructions;
    for (size_t i = 0; i < all.size(); ++i) {
      size_t end = i;
      while (end < all.size() && !WasSeen(all[end])) ++end;
      if (end - i < kMinFolded) continue;
      for (; i < end; ++i) folded_.insert(all[i].code.address);
    }
  }

  void AddLines() {
    const std::vector<AnnotatedInstruction>& all = function_.instructions;
    for (size_t i = 0; i < all.size();) {
      size_t end = i;
      while (end < all.size() && folded_.contains(all[end].code.address)) ++end;
      if (end > i) {
        AddFold(i, end);
        i = end;
      } else {
        AddInstruction(all[i++]);
      }
    }
  }

  // Describes the target of a branch in words.
  std::string TargetText(const hbbp_disassembly& code) const {
    if (code.target == HBBP_NO_ADDRESS) return {};
    if (code.flow != HBBP_FLOW_CALL) {
      if (folded_.contains(code.target)) return "  # not seen to run";
      const auto label = function_.labels.find(code.target);
      if (label != function_.labels.end()) {
        return "  # " + label->second + (code.target <= code.address ? " (back)" : "");
      }
    }
    const std::string name = code_.NameAt(function_.function.module, code.target);
    return name.empty() ? "" : "  # " + Printable(name);
  }

  void AddText(std::string text, const char* colour = nullptr) {
    lines_.push_back({{}, {}, nullptr, std::move(text), colour});
  }

  void AddFold(size_t begin, size_t end) {
    const std::vector<AnnotatedInstruction>& all = function_.instructions;
    for (size_t i = begin; i < end; ++i) {
      lines_by_address_.emplace(all[i].code.address, lines_.size());
    }
    expected_ = all[end - 1].code.address + all[end - 1].code.length;
    AddText("... " + std::to_string(end - begin) + " instructions were not seen to run, " +
            FormatAddress(all[begin].code.address) + " to " + FormatAddress(expected_));
    last_frames_ = nullptr;
  }

  void AddSource(const std::vector<CodeFrame>& frames) {
    const bool is_same_inlining = last_frames_ != nullptr && IsSameInlining(*last_frames_, frames);
    if (!is_same_inlining && frames.size() > 1) {
      AddText("[" + Printable(InlinedInto(frames)) + "]", kSource);
    }
    const CodeFrame& frame = frames.front();
    const bool is_new_line = last_frames_ == nullptr || last_frames_->front().line != frame.line ||
                             last_frames_->front().file != frame.file || !is_same_inlining;
    if (is_new_line && frame.line != 0) {
      const std::string line = source_->Line(frame.file, frame.line);
      AddText(Printable(LocationOf(frame)) + (line.empty() ? "" : "  " + line), kSource);
    }
    last_frames_ = &frames;
  }

  void AddInstruction(const AnnotatedInstruction& instruction) {
    const hbbp_disassembly& code = instruction.code;
    if (code.address > expected_) AddText("(no instructions)");
    expected_ = code.address + code.length;
    if (style_.has_source && !instruction.frames.empty()) AddSource(instruction.frames);
    const auto label = function_.labels.find(code.address);
    if (label != function_.labels.end()) AddText(label->second + ":");
    const hbbp_loop* const loop = instruction.loop;
    if (loop != nullptr && loop->header == code.address) {
      AddText("[" + LoopText(*loop) + "]", kSource);
    }
    lines_by_address_.emplace(code.address, lines_.size());
    Line line;
    if (instruction.block != nullptr) AddCounts(*instruction.block, &line);
    if (instruction.samples != nullptr) {
      for (const uint64_t samples : *instruction.samples) {
        line.samples.push_back(samples == 0 ? "" : FormatCount(samples));
      }
    }
    if (instruction.ops != nullptr) AddOps(*instruction.ops, &line);
    line.text = FormatAddress(code.address) + ":  " + code.text + TargetText(code);
    lines_.push_back(std::move(line));
  }

  void AddCounts(const hbbp_block& block, Line* line) const {
    const double of_function = function_.function.instructions;
    const double share = of_function > 0 ? block.count / of_function : 0;
    char percent[32];
    std::snprintf(percent, sizeof(percent), "%.2f", 100 * share);
    const MeasuredText count = FormatMeasured(block.count, block.standard_error);
    line->cells[kShare] = percent;
    line->cells[kExecutions] = count.value;
    line->cells[kError] = "± " + count.error;
    line->cells[kSourceKind] = SourceName(block.source);
    if (block.count <= 0) return;
    line->cells[kHeat] = Bar(block.count / highest_);
    line->heat = ColourOf(block.count / highest_);
  }

  static void SetOps(std::string ops, std::string dc_misses, std::string mean_miss, Line* line) {
    line->cells[kOps] = std::move(ops);
    line->cells[kDcMisses] = std::move(dc_misses);
    line->cells[kMeanMiss] = std::move(mean_miss);
  }

  static void AddOps(const IbsOps& ops, Line* line) {
    const std::optional<double> mean_miss = ops.MeanMissCycles();
    SetOps(FormatCount(ops.samples), FormatCount(ops.dc_misses),
           mean_miss ? FormatCount(*mean_miss) : "", line);
  }

  // Of the branches that were seen, those whose targets are listed.
  std::vector<Jump> Jumps() const {
    std::vector<Jump> jumps;
    for (const AnnotatedInstruction& instruction : function_.instructions) {
      const hbbp_disassembly& code = instruction.code;
      const bool is_branch = code.target != HBBP_NO_ADDRESS && code.flow != HBBP_FLOW_CALL;
      if (!WasSeen(instruction) || !is_branch) continue;
      const auto target = lines_by_address_.find(code.target);
      if (target == lines_by_address_.end()) continue;
      jumps.push_back({lines_by_address_.at(code.address), target->second});
    }
    return jumps;
  }

  std::string LineText(const Line& line, const Widths& widths, const std::string& arrows) const {
    std::string text;
    for (size_t i = 0; i < kCells; ++i) {
      if (i == kOps) text += SamplesText(line, widths);
      const bool is_of_ops = i >= kOps && i <= kMeanMiss;
      if (is_of_ops && !code_.has_ops()) continue;
      const std::string& cell = line.cells[i];
      const std::string padding(widths.of_cells[i] - DisplayWidth(cell), ' ');
      const bool is_heat = i == kHeat || i == kShare;
      const std::string shown = is_heat ? Coloured(cell, line.heat, style_) : cell;
      text += (i == kHeat ? shown + padding : padding + shown) + "  ";
    }
    text += arrows + (arrows.empty() ? "" : " ") + Coloured(line.text, line.colour, style_);
    return text + '\n';
  }

  static std::string SamplesText(const Line& line, const Widths& widths) {
    std::string text;
    for (size_t i = 0; i < widths.of_samples.size(); ++i) {
      const std::string cell = i < line.samples.size() ? line.samples[i] : "";
      text += std::string(widths.of_samples[i] - DisplayWidth(cell), ' ') + cell + "  ";
    }
    return text;
  }

  const AnnotatedFunction& function_;
  const AnalysedCode& code_;
  const ListingStyle& style_;
  SourceText* const source_;
  const double highest_;  // count of a block
  uint64_t expected_;     // address of the next instruction
  std::vector<Line> lines_;
  std::unordered_map<uint64_t, size_t> lines_by_address_;  // in lines_
  std::unordered_set<uint64_t> folded_;                    // addresses
  const std::vector<CodeFrame>* last_frames_ = nullptr;    // of the line before; null: unknown
};

}  // namespace

bool WantsColour() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool is_refused = no_colour != nullptr && *no_colour != '\0';
  const bool is_dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return ::isatty(STDOUT_FILENO) == 1 && !is_refused && !is_dumb;
}

Listing ListFunction(const AnnotatedFunction& function, const AnalysedCode& code,
                     const ListingStyle& style, SourceText* text) {
  Listing listing;
  listing.text = Heading(function, code, style);
  if (!function.problem.empty()) {
    listing.text += "no instructions: " + function.problem + "\n\n";
    return listing;
  }
  const ListingLines lines(function, code, style, text);
  const auto heading_lines = std::count(listing.text.begin(), listing.text.end(), '\n');
  listing.hottest_line = static_cast<size_t>(heading_lines) + lines.LineOf(HottestBlock(function));
  listing.folded = lines.folded();
  listing.text += lines.Text() + '\n';
  return listing;
}

Table InstructionTable(const AnalysedCode& code) {
  std::vector<Column> columns = {{"module", "", Column::kPath},
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
                                 {"inlined", ""}};
  for (const std::string& event : code.sampled_events()) {
    columns.push_back({event + "-samples", "", Column::kCount});
  }
  if (code.has_ops()) {
    columns.push_back({"op-samples", "", Column::kCount});
    columns.push_back({"op-dc-misses", "", Column::kCount});
    columns.push_back({"mean_miss_cycles", "", Column::kCount});
  }
  return Table(std::move(columns));
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
    for (size_t i = 0; i < code.sampled_events().size(); ++i) {
      row.emplace_back(instruction.samples == nullptr ? 0 : (*instruction.samples)[i]);
    }
    if (code.has_ops()) {
      const IbsOps ops = instruction.ops == nullptr ? IbsOps() : *instruction.ops;
      row.emplace_back(ops.samples);
      row.emplace_back(ops.dc_misses);
      const std::optional<double> mean_miss = ops.MeanMissCycles();
      row.push_back(mean_miss ? Cell(*mean_miss) : Cell());
    }
    table->AddRow(std::move(row));
  }
}

}  // namespace hbbp::tools
