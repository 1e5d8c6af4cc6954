// Each function parses a line, or a word of one, by what is typical of it: ParseMmapLine of a
// mapping, ParseSampleLine of a sample, whose words are branches (ParseBranchWord), labels that end
// in a colon (ParseLabelledWords), or numbers alone (ParseNumbers). PerfScriptImport calls them.
#include "perf_data/perf_script_line.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/hex_bytes.h"
#include "perf_data/text_words.h"

namespace hbbp {
namespace {

// Takes what stands in front of `separator`, which goes with it.
std::optional<std::string_view> TakeUpTo(std::string_view separator, std::string_view* rest) {
  const size_t found = rest->find(separator);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest->substr(0, found);
  rest->remove_prefix(found + separator.size());
  return part;
}

// Parses "08:01 77 5" or "<0123abcd...>".
void ParseIdentity(std::string_view text, MmapRecord* mmap) {
  const std::string_view first = NextWord(&text);
  if (first.starts_with('<') && first.ends_with('>')) {
    mmap->build_id = BytesOfHex(first.substr(1, first.size() - 2));
    return;
  }
  std::string_view device = first;
  const auto major_part = TakeUpTo(":", &device);
  if (!major_part) return;
  const auto major = ParseWhole<uint32_t>(*major_part, 16);
  const auto minor = ParseWhole<uint32_t>(device, 16);
  const auto inode = ParseWhole<uint64_t>(NextWord(&text), 10);
  if (!major || !minor || !inode) return;
  mmap->device = makedev(*major, *minor);
  mmap->inode = *inode;
}

bool IsTime(std::string_view word) {
  return word.ends_with(':') && word.find('.') != std::string_view::npos &&
         word.find_first_not_of("0123456789.:") == std::string_view::npos;
}

// Parses "7/8", or "7" alone.
bool ParsePidTid(std::string_view word, SampleLine* sample) {
  std::string_view tid = word;
  const std::string_view pid = TakeUpTo("/", &tid).value_or(word);
  const auto process = ParseWhole<uint32_t>(pid, 10);
  const auto thread = ParseWhole<uint32_t>(tid, 10);
  if (!process || !thread) return false;
  sample->pid = process;
  sample->tid = thread;
  return true;
}

// Parses "1000 40062f". Words of other fields, such as a symbol, have no digit.
bool ParsePeriodAndIp(std::string_view first, std::string_view second, SampleLine* sample) {
  const auto period = ParseWhole<uint64_t>(first, 10);
  const auto ip = ParseHex(second);
  const bool has_digit = second.find_first_of("0123456789") != std::string_view::npos;
  if (!period || !ip || !has_digit) return false;
  sample->period = period;
  sample->ip = ip;
  return true;
}

// Parses "comm 7/8 [001] 12.5: 1000 cycles:u: 40062f main": what ends in a colon divides what is
// the thread's from what is the address'. Without a time, a number in front of the event may be a
// thread.
void ParseLabelledWords(std::span<const std::string_view> words, SampleLine* sample) {
  bool is_of_thread = true;
  std::string_view after_labels, second;
  size_t words_after = 0;
  for (const std::string_view word : words) {
    if (word.ends_with(':')) {
      is_of_thread = false;
      if (!IsTime(word)) {
        sample->event = word.substr(0, word.size() - 1);
        sample->period = ParseWhole<uint64_t>(after_labels, 10);
      }
      after_labels = {};
      words_after = 0;
    } else if (is_of_thread) {
      (void)ParsePidTid(word, sample);
    } else {
      ++words_after;
      (words_after == 1 ? after_labels : second) = word;
    }
  }
  const bool has_no_event = sample->event.empty() && words_after == 2;
  if (has_no_event && ParsePeriodAndIp(after_labels, second, sample)) return;
  sample->ip = ParseHex(after_labels);
}

// Parses "40062f", "7 40062f", "server 7/8 [001] 40062f" and "server 7/8 1000 40062f".
void ParseNumbers(std::vector<std::string_view> words, SampleLine* sample) {
  std::erase_if(words, [](std::string_view word) { return word.starts_with('['); });
  const size_t size = words.size();
  if (size == 0) return;
  if (size == 1) {
    sample->ip = ParseHex(words[0]);
    sample->ip_or_pid = ParseWhole<uint32_t>(words[0], 10);
    return;
  }
  const std::string_view before = words[size - 2], last = words[size - 1];
  SampleLine head;
  if (size > 2 && ParsePidTid(words[size - 3], &head) && ParsePeriodAndIp(before, last, sample)) {
    sample->pid = head.pid;
    sample->tid = head.tid;
    return;
  }
  const bool has_pid = ParsePidTid(before, sample);
  sample->may_be_period = size == 2 && has_pid && before.find('/') == std::string_view::npos;
  if (size == 2 || has_pid) sample->ip = ParseHex(last);
}

}  // namespace

std::optional<MmapRecord> ParseMmapLine(std::string_view line) {
  constexpr std::string_view kMmap = "PERF_RECORD_MMAP";
  const size_t found = line.find(kMmap);
  if (found == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(found + kMmap.size());
  if (rest.starts_with('2')) rest.remove_prefix(1);
  MmapRecord mmap;
  const auto pid = TakeUpTo("/", &rest);
  const auto tid = TakeUpTo(": [", &rest);
  const auto address = TakeUpTo("(", &rest);
  const auto size = TakeUpTo(")", &rest);
  const auto at = TakeUpTo("@ ", &rest);
  const auto where = TakeUpTo("]: ", &rest);
  if (!pid || !tid || !address || !size || !at || !where) return std::nullopt;
  std::string_view pid_text = *pid, offset_and_identity = *where;
  const auto process = ParseWhole<int32_t>(NextWord(&pid_text), 10);
  const auto thread = ParseWhole<int32_t>(*tid, 10);
  const auto start = ParseHex(*address), bytes = ParseHex(*size);
  const auto offset = ParseHex(NextWord(&offset_and_identity));
  if (!process || !thread || !start || !bytes || !offset) return std::nullopt;
  mmap.pid = static_cast<uint32_t>(*process);
  mmap.tid = static_cast<uint32_t>(*thread);
  mmap.address = *start;
  mmap.size = *bytes;
  mmap.file_offset = *offset;
  ParseIdentity(offset_and_identity, &mmap);
  const std::string_view protection = NextWord(&rest);
  if (protection.find('x') != std::string_view::npos) mmap.protection = PROT_EXEC;
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  while (!rest.empty() && kBlanks.find(rest.back()) != std::string_view::npos) {
    rest.remove_suffix(1);
  }
  mmap.path = rest;
  return mmap;
}

std::optional<BranchWord> ParseBranchWord(std::string_view word) {
  if (!word.starts_with("0x")) return std::nullopt;
  const auto from_text = TakeUpTo("/", &word);
  if (!from_text) return std::nullopt;
  const size_t to_size = word.find('/');
  const auto from = ParseHex(*from_text);
  const auto to = ParseHex(word.substr(0, to_size));
  if (!from || !to) return std::nullopt;
  BranchWord branch = {*from, *to};
  // These come behind the prediction: in transaction, aborted, cycles, type, speculation.
  const std::string_view flags = to_size == std::string_view::npos ? "" : word.substr(to_size);
  constexpr int kCyclesField = 4;
  std::string_view rest = flags;
  for (int field = 0; field < kCyclesField; ++field) (void)TakeUpTo("/", &rest);
  branch.cycles = ParseWhole<uint16_t>(rest.substr(0, rest.find('/')), 10).value_or(0);
  branch.is_speculative = flags.find("WRONG_PATH") != std::string_view::npos &&
                          flags.find("NON_SPEC") == std::string_view::npos;
  return branch;
}

std::optional<SampleLine> ParseSampleLine(std::string_view line) {
  if (line.starts_with("//") || line.starts_with('#')) return std::nullopt;
  SampleLine sample;
  std::string_view rest = line;
  std::vector<std::string_view> words;
  for (std::string_view word = NextWord(&rest); !word.empty(); word = NextWord(&rest)) {
    if (const auto branch = ParseBranchWord(word)) {
      sample.branches.push_back(*branch);
    } else if (sample.branches.empty()) {
      words.push_back(word);
    }
  }
  const bool has_labels = std::any_of(words.begin(), words.end(),
                                      [](std::string_view word) { return word.ends_with(':'); });
  if (has_labels) {
    ParseLabelledWords(words, &sample);
  } else {
    ParseNumbers(std::move(words), &sample);
  }
  const bool is_head = has_labels && sample.pid;
  if (!sample.ip && sample.branches.empty() && !is_head) return std::nullopt;
  return sample;
}

std::optional<uint32_t> ParseCountLine(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return ParseWhole<uint32_t>(line, 10);
}

}  // namespace hbbp
