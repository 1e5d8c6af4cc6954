#include "truth/exp_bbv.h"

#include <set>

#include "truth/fields.h"

namespace hbbp::tools {
namespace {

constexpr char kHowToMake[] =
    "make both files with valgrind --tool=exp-bbv --bb-out-file=bb.out --pc-out-file=pc.out";

Status Malformed(const std::string& name, uint64_t line, const std::string& what) {
  return MakeStatus(StatusCode::kBadFormat, "%s: line %s: %s; %s", name.c_str(),
                    std::to_string(line).c_str(), what.c_str(), kHowToMake);
}

// Cuts the text up to the next colon off `*rest`. Returns false if there is no colon.
bool CutColon(std::string_view* rest, std::string_view* part) {
  const size_t colon = rest->find(':');
  if (colon == std::string_view::npos) return false;
  *part = rest->substr(0, colon);
  rest->remove_prefix(colon + 1);
  return true;
}

// Parses ":ID:INSTRUCTIONS".
Status AddPair(std::string_view word, BbVectors* vectors) {
  std::string_view id_text;
  if (!word.starts_with(':')) return BadLine("a pair without a colon before it");
  word.remove_prefix(1);
  if (!CutColon(&word, &id_text)) return BadLine("a block without its count");
  uint64_t id, count;
  if (!CountFromWord(id_text, &id).ok()) return BadLine("a block that is not a number");
  HBBP_RETURN_IF_ERROR(CountFromWord(word, &count));
  if (!AddCount(count, &vectors->total)) return BadLine("counts above 2^63 in total");
  if (count != 0) vectors->instructions[id] += count;
  return OkStatus();
}

Status ReadComment(std::string_view line, BbVectors* vectors) {
  static constexpr std::string_view kTotal = "#   Total instructions: ";
  if (!line.starts_with(kTotal)) return OkStatus();
  uint64_t count;
  HBBP_RETURN_IF_ERROR(CountFromWord(line.substr(kTotal.size()), &count));
  uint64_t sum = vectors->declared_total.value_or(0);
  if (!AddCount(count, &sum)) return BadLine("counts above 2^63 in total");
  vectors->declared_total = sum;
  return OkStatus();
}

Status ReadVector(std::string_view line, BbVectors* vectors) {
  Fields fields(line.substr(1));
  while (!fields.AtEnd()) {
    HBBP_RETURN_IF_ERROR(AddPair(fields.Word(), vectors));
  }
  return OkStatus();
}

}  // namespace

StatusOr<BbVectors> ParseBbVectors(std::string_view text, const std::string& name) {
  BbVectors vectors;
  HBBP_RETURN_IF_ERROR(ForEachLine(text, [&](uint64_t number, std::string_view line) {
    Status read = BadLine("neither an interval (T:...) nor a comment");
    if (line[0] == '#') read = ReadComment(line, &vectors);
    if (line[0] == 'T') read = ReadVector(line, &vectors);
    return read.ok() ? OkStatus() : Malformed(name, number, read.message());
  }));
  if (vectors.declared_total && *vectors.declared_total < vectors.total) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: its intervals have more instructions than its comments say: is it two "
                      "files in one? %s",
                      name.c_str(), kHowToMake);
  }
  return vectors;
}

StatusOr<std::vector<BbAddress>> ParseBbAddresses(std::string_view text, const std::string& name) {
  std::vector<BbAddress> addresses;
  std::set<uint64_t> seen;
  HBBP_RETURN_IF_ERROR(ForEachLine(text, [&](uint64_t number, std::string_view line) {
    if (line[0] == '#') return OkStatus();
    std::string_view letter, id, address;
    if (!CutColon(&line, &letter) || letter != "F" || !CutColon(&line, &id) ||
        !CutColon(&line, &address)) {
      return Malformed(name, number, "not F:BLOCK:ADDRESS:FUNCTION");
    }
    BbAddress& entry = addresses.emplace_back();
    if (!CountFromWord(id, &entry.block).ok()) {
      return Malformed(name, number, "a block that is not a number");
    }
    if (!HexFromWord(address, &entry.address)) {
      return Malformed(name, number, "an address that is not hexadecimal");
    }
    if (!seen.insert(entry.block).second) {
      return Malformed(name, number, "a block that has an address already");
    }
    entry.function = line;
    return OkStatus();
  }));
  return addresses;
}

}  // namespace hbbp::tools
