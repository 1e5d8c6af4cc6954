#include "truth/gcov.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "truth/fields.h"

namespace hbbp::tools {
namespace {

using nlohmann::json;

constexpr char kHowToMake[] = "make one with gcov --json-format --stdout X.gcda > FILE";
constexpr uint64_t kMaxLines = uint64_t{1} << 31;

std::string InDirectory(const std::string& directory, const std::string& file) {
  return (std::filesystem::path(directory) / file).lexically_normal().string();
}

// Reads one line of the file, which is a whole JSON text.
class JsonReader {
 public:
  explicit JsonReader(std::vector<GcovLine>* lines) : lines_(*lines) {}

  Status Read(std::string_view text);

 private:
  Status File(const json& file, const std::string& directory);
  Status Line(const json& line, const std::string& file);
  Status FunctionEnd(const json& function, const std::string& file);
  Status Add(GcovLine line);

  std::vector<GcovLine>& lines_;
  std::set<std::pair<uint64_t, std::string>> listed_;  // line and function, of one file
  uint64_t total_ = 0;
};

std::string GetString(const json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

Status GetNumber(const json& object, const char* key, uint64_t limit, uint64_t* number) {
  const auto value = object.find(key);
  if (value == object.end()) return BadLine(std::string("a line without ") + key);
  if (!value->is_number_integer()) return BadLine(std::string(key) + " is not a whole number");
  if (!value->is_number_unsigned()) return BadLine(std::string(key) + " is negative");
  *number = value->get<uint64_t>();
  if (*number <= limit) return OkStatus();
  return BadLine(std::string(key) + " is above " + std::to_string(limit));
}

Status JsonReader::Add(GcovLine line) {
  if (!AddCount(line.count, &total_)) return BadLine("counts above 2^63 in total");
  listed_.insert({line.line, line.function});
  lines_.push_back(std::move(line));
  return OkStatus();
}

Status JsonReader::Line(const json& line, const std::string& file) {
  if (!line.is_object()) return BadLine("a line that is not an object");
  GcovLine entry;
  entry.file = file;
  entry.function = GetString(line, "function_name");
  HBBP_RETURN_IF_ERROR(GetNumber(line, "line_number", kMaxLines, &entry.line));
  HBBP_RETURN_IF_ERROR(GetNumber(line, "count", kMaxCounts, &entry.count));
  return Add(std::move(entry));
}

// gcov lists no line for the brace that ends a function, where its last instructions are.
Status JsonReader::FunctionEnd(const json& function, const std::string& file) {
  if (!function.is_object()) return BadLine("a function that is not an object");
  if (function.find("end_line") == function.end()) return OkStatus();
  GcovLine entry;
  entry.file = file;
  entry.function = GetString(function, "name");
  HBBP_RETURN_IF_ERROR(GetNumber(function, "end_line", kMaxLines, &entry.line));
  HBBP_RETURN_IF_ERROR(GetNumber(function, "execution_count", kMaxCounts, &entry.count));
  if (listed_.count({entry.line, entry.function}) != 0) return OkStatus();
  return Add(std::move(entry));
}

Status JsonReader::File(const json& file, const std::string& directory) {
  if (!file.is_object()) return BadLine("a file that is not an object");
  const std::string path = InDirectory(directory, GetString(file, "file"));
  listed_.clear();
  const auto lines = file.find("lines");
  if (lines == file.end() || !lines->is_array()) return BadLine("a file without a list of lines");
  for (const json& line : *lines) {
    HBBP_RETURN_IF_ERROR(Line(line, path).Annotate(path));
  }
  const auto functions = file.find("functions");
  if (functions == file.end() || !functions->is_array()) return OkStatus();
  for (const json& function : *functions) {
    HBBP_RETURN_IF_ERROR(FunctionEnd(function, path).Annotate(path));
  }
  return OkStatus();
}

Status JsonReader::Read(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return BadLine("not JSON");
  if (!document.is_object()) return BadLine("not an object");
  if (GetString(document, "format_version").empty()) return BadLine("no format_version of gcov");
  const auto files = document.find("files");
  if (files == document.end() || !files->is_array()) return BadLine("no list of files");
  const std::string directory = GetString(document, "current_working_directory");
  for (const json& file : *files) {
    HBBP_RETURN_IF_ERROR(File(file, directory));
  }
  return OkStatus();
}

// Reads the format of gcc before 9: "file:PATH", "lcount:LINE,COUNT[,...]".
class IntermediateReader {
 public:
  explicit IntermediateReader(std::vector<GcovLine>* lines) : lines_(*lines) {}

  Status Read(std::string_view text);

 private:
  std::vector<GcovLine>& lines_;
  std::string file_;
  uint64_t total_ = 0;
};

Status IntermediateReader::Read(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view key = text.substr(0, colon);
  const std::string_view value = colon == text.npos ? "" : text.substr(colon + 1);
  if (key == "file") file_ = value;
  if (key == "file" || key == "version" || key == "function" || key == "branch") return OkStatus();
  if (key != "lcount") return BadLine("neither JSON of gcov nor its intermediate format");
  if (file_.empty()) return BadLine("a line before its file");
  const size_t comma = value.find(',');
  if (comma == value.npos) return BadLine("a line without a count");
  const std::string_view counts = value.substr(comma + 1);
  GcovLine entry;
  entry.file = file_;
  if (!CountFromWord(value.substr(0, comma), &entry.line).ok() || entry.line > kMaxLines) {
    return BadLine("a line that is not a number");
  }
  HBBP_RETURN_IF_ERROR(CountFromWord(counts.substr(0, counts.find(',')), &entry.count));
  if (!AddCount(entry.count, &total_)) return BadLine("counts above 2^63 in total");
  lines_.push_back(std::move(entry));
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<GcovLine>> ParseGcov(std::string_view text, const std::string& name) {
  if (text.starts_with("\x1f\x8b")) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: compressed by gzip; make the plain text of it: gunzip < %s > FILE",
                      name.c_str(), name.c_str());
  }
  std::vector<GcovLine> lines;
  JsonReader json_reader(&lines);
  IntermediateReader intermediate_reader(&lines);
  HBBP_RETURN_IF_ERROR(ForEachLine(text, [&](uint64_t number, std::string_view line) {
    const Status read =
        line.starts_with('{') ? json_reader.Read(line) : intermediate_reader.Read(line);
    if (read.ok()) return OkStatus();
    return MakeStatus(StatusCode::kBadFormat, "%s: line %s: %s; %s", name.c_str(),
                      std::to_string(number).c_str(), read.message().c_str(), kHowToMake);
  }));
  return lines;
}

}  // namespace hbbp::tools
