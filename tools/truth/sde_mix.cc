// Parses the output of Intel SDE's mix tool. MixParser::Run passes each line to the function of the
// current section: images, blocks with their disassembly, or totals. At the end it checks that
// images do not overlap. ReadTruth calls ParseSdeMix.
#include "truth/sde_mix.h"

#include <algorithm>

#include "truth/fields.h"

namespace hbbp::tools {
namespace {

constexpr char kHowToMake[] = "make one with sde64 -mix -omix FILE -top_blocks 1000000 -- CMD";
constexpr uint64_t kMaxInstructionsInBlock = 1 << 16;

class MixParser {
 public:
  MixParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  StatusOr<Mix> Run();

 private:
  enum class Section { kNone, kImages, kBlocks, kDynamicCounts };

  // These say what is wrong with a line.
  Status Line(std::string_view line);
  Status Heading(std::string_view line);
  Status Image(std::string_view line);
  Status Block(std::string_view line);
  Status Disassembly(std::string_view line);
  Status FinishBlock();
  Status Total(std::string_view line);

  Status Malformed(const std::string& what) const;
  Status CheckImages();

  std::string_view text_;
  const std::string& name_;
  uint64_t line_number_ = 0;
  Section section_ = Section::kNone;
  bool has_open_block_ = false;
  Mix mix_;
};

Status MixParser::Malformed(const std::string& what) const {
  return MakeStatus(StatusCode::kBadFormat, "%s: line %s: %s; %s", name_.c_str(),
                    std::to_string(line_number_).c_str(), what.c_str(), kHowToMake);
}

Status MixParser::Heading(std::string_view line) {
  const auto has = [&](std::string_view word) { return line.find(word) != line.npos; };
  const bool ends = line.starts_with("# END");
  if (!ends && !has("EMIT_") && !has("TOTALS")) return OkStatus();
  HBBP_RETURN_IF_ERROR(FinishBlock());
  if (section_ != Section::kNone && !ends) return BadLine("a section that begins within another");
  section_ = Section::kNone;
  if (ends) return OkStatus();
  if (has("EMIT_IMAGE_ADDRESSES")) {
    section_ = Section::kImages;
  } else if (has("EMIT_TOP_BLOCK_STATS") && has("FOR TID")) {
    section_ = Section::kBlocks;
    ++mix_.threads;
  } else if (has("EMIT_DYNAMIC_STATS") && has("FOR TID")) {
    section_ = Section::kDynamicCounts;
  }
  return OkStatus();
}

Status MixParser::Image(std::string_view line) {
  // A path may have blanks: the two addresses are the last words.
  const auto cut_last_word = [&line]() {
    while (!line.empty() && IsBlank(line.back())) line.remove_suffix(1);
    const size_t blank = line.find_last_of(" \t");
    const std::string_view word = blank == line.npos ? line : line.substr(blank + 1);
    line.remove_suffix(word.size());
    return word;
  };
  MixImage image;
  if (!HexFromWord(cut_last_word(), &image.high) || !HexFromWord(cut_last_word(), &image.low)) {
    return BadLine("not an image with its lowest and highest address");
  }
  while (!line.empty() && IsBlank(line.back())) line.remove_suffix(1);
  while (!line.empty() && IsBlank(line.front())) line.remove_prefix(1);
  if (line.empty()) return BadLine("an image without a path");
  if (image.high < image.low) return BadLine("an image that ends before it starts");
  image.path = line;
  mix_.images.push_back(std::move(image));
  return OkStatus();
}

Status MixParser::Block(std::string_view line) {
  HBBP_RETURN_IF_ERROR(FinishBlock());
  MixBlock block;
  block.line = line_number_;
  uint64_t icount = 0;
  bool has_pc = false, has_icount = false, has_executions = false;
  Fields fields(line);
  while (!fields.AtEnd()) {
    const std::string_view key = fields.Word();
    if (key == "PC:") {
      has_pc = true;
      if (!HexFromWord(fields.Word(), &block.address))
        return BadLine("a PC that is not hexadecimal");
    } else if (key == "ICOUNT:") {
      has_icount = true;
      HBBP_RETURN_IF_ERROR(CountFromWord(fields.Word(), &icount));
    } else if (key == "EXECUTIONS:") {
      has_executions = true;
      HBBP_RETURN_IF_ERROR(CountFromWord(fields.Word(), &block.executions));
    } else if (key == "#BYTES:") {
      HBBP_RETURN_IF_ERROR(CountFromWord(fields.Word(), &block.bytes));
    } else if (key == "FN:" || key == "IMG:") {
      break;  // names, which may contain anything
    }
  }
  if (!has_pc || !has_icount || !has_executions) {
    return BadLine("a block without PC:, ICOUNT: or EXECUTIONS:");
  }
  if (block.executions == 0) {
    return icount == 0 ? OkStatus() : BadLine("instructions of a block that never ran");
  }
  if (icount % block.executions != 0) return BadLine("ICOUNT: is not a multiple of EXECUTIONS:");
  block.instruction_count = icount / block.executions;
  if (block.instruction_count == 0) return BadLine("a block that ran and has no instructions");
  if (block.instruction_count > kMaxInstructionsInBlock) {
    return BadLine("a block of more instructions than code has in a row");
  }
  if (!AddCount(icount, &mix_.block_instructions)) return BadLine("counts above 2^63 in total");
  mix_.blocks.push_back(std::move(block));
  has_open_block_ = true;
  return OkStatus();
}

Status MixParser::Disassembly(std::string_view line) {
  if (!has_open_block_) return OkStatus();
  const size_t colon = line.find(':');
  uint64_t address;
  Fields fields(line.substr(0, colon));
  fields.Word();
  if (colon == line.npos || !HexFromWord(fields.Word(), &address))
    return BadLine("a malformed XDIS");
  MixBlock& block = mix_.blocks.back();
  const bool rises =
      block.instructions.empty() ? address == block.address : address > block.instructions.back();
  if (!rises) return BadLine("an instruction that is not in its block");
  if (block.instructions.size() >= block.instruction_count) {
    return BadLine("more instructions than ICOUNT: and EXECUTIONS: say");
  }
  block.instructions.push_back(address);
  return OkStatus();
}

Status MixParser::FinishBlock() {
  if (!has_open_block_) return OkStatus();
  has_open_block_ = false;
  const MixBlock& block = mix_.blocks.back();
  if (!block.instructions.empty() && block.instructions.size() != block.instruction_count) {
    return BadLine("the block before it has fewer instructions than ICOUNT: and EXECUTIONS: say");
  }
  return OkStatus();
}

Status MixParser::Total(std::string_view line) {
  Fields fields(line);
  fields.Word();
  uint64_t count;
  HBBP_RETURN_IF_ERROR(CountFromWord(fields.Word(), &count));
  if (AddCount(count, &mix_.total_instructions)) return OkStatus();
  return BadLine("counts above 2^63 in total");
}

Status MixParser::Line(std::string_view line) {
  if (line[0] == '#') return Heading(line);
  switch (section_) {
    case Section::kImages:
      return Image(line);
    case Section::kBlocks:
      if (line.starts_with("BLOCK:")) return Block(line);
      if (line.starts_with("XDIS ")) return Disassembly(line);
      return OkStatus();
    case Section::kDynamicCounts:
      return line.starts_with("*total") ? Total(line) : OkStatus();
    case Section::kNone:
      return OkStatus();
  }
  return OkStatus();
}

Status MixParser::CheckImages() {
  std::sort(mix_.images.begin(), mix_.images.end(),
            [](const MixImage& a, const MixImage& b) { return a.low < b.low; });
  for (size_t i = 1; i < mix_.images.size(); ++i) {
    const MixImage &before = mix_.images[i - 1], &image = mix_.images[i];
    if (before.high < image.low) continue;
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: images overlap: %s ends at %llx, %s starts at "
                      "%llx; was one unloaded before the other came? Such a run cannot be read",
                      name_.c_str(), before.path.c_str(),
                      static_cast<unsigned long long>(before.high), image.path.c_str(),
                      static_cast<unsigned long long>(image.low));
  }
  return OkStatus();
}

StatusOr<Mix> MixParser::Run() {
  HBBP_RETURN_IF_ERROR(ForEachLine(text_, [&](uint64_t number, std::string_view line) {
    line_number_ = number;
    const Status read = Line(line);
    return read.ok() ? OkStatus() : Malformed(read.message());
  }));
  if (section_ != Section::kNone) return Malformed("the file ends within a section");
  if (mix_.threads == 0) return Malformed("no section EMIT_TOP_BLOCK_STATS FOR TID");
  if (mix_.images.empty()) return Malformed("no table EMIT_IMAGE_ADDRESSES of images");
  HBBP_RETURN_IF_ERROR(CheckImages());
  return std::move(mix_);
}

}  // namespace

StatusOr<Mix> ParseSdeMix(std::string_view text, const std::string& name) {
  return MixParser(text, name).Run();
}

}  // namespace hbbp::tools
