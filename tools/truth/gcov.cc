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

  // Returns an empty string, or what is wrong.
  std::string Read(std::string_view text);

 private:
  std::string File(const json& file, const std::string& directory);
  std::string Line(const json& line, const std::string& file);
  std::string FunctionEnd(const json& function, const std::string& file);
  std::string Add(GcovLine line);

  std::vector<GcovLine>& lines_;
  std::set<std::pair<uint64_t, std::string>> listed_;  // line and function, of one file
  uint64_t total_ = 0;
};

std::string GetString(const json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

std::string GetNumber(const json& object, const char* key, uint64_t limit, uint64_t* number) {
  const auto value = object.find(key);
  if (value == object.end()) return std::string("a line without ") + key;
  if (!value->is_number_integer()) return std::string(key) + " is not a whole number";
  if (!value->is_number_unsigned()) return std::string(key) + " is negative";
  *number = value->get<uint64_t>();
  return *number > limit ? std::string(key) + " is above " + std::to_string(limit) : "";
}

std::string JsonReader::Add(GcovLine line) {
  if (!AddCount(line.count, &total_)) return "counts above 2^63 in total";
  listed_.insert({line.line, line.function});
  lines_.push_back(std::move(line));
  return "";
}

std::string JsonReader::Line(const json& line, const std::string& file) {
  if (!line.is_object()) return "a line that is not an object";
  GcovLine entry;
  entry.file = file;
  entry.function = GetString(line, "function_name");
  std::string problem = GetNumber(line, "line_number", kMaxLines, &entry.line);
  if (problem.empty()) problem = GetNumber(line, "count", kMaxCounts, &entry.count);
  return problem.empty() ? Add(std::move(entry)) : problem;
}

// gcov lists no line for the brace that ends a function, where its last instructions are.
std::string JsonReader::FunctionEnd(const json& function, const std::string& file) {
  if (!function.is_object()) return "a function that is not an object";
  if (function.find("end_line") == function.end()) return "";
  GcovLine entry;
  entry.file = file;
  entry.function = GetString(function, "name");
  std::string problem = GetNumber(function, "end_line", kMaxLines, &entry.line);
  if (problem.empty()) {
    problem = GetNumber(function, "execution_count", kMaxCounts, &entry.count);
  }
  if (!problem.empty()) return problem;
  return listed_.count({entry.line, entry.function}) != 0 ? "" : Add(std::move(entry));
}

std::string JsonReader::File(const json& file, const std::string& directory) {
  if (!file.is_object()) return "a file that is not an object";
  const std::string path = InDirectory(directory, GetString(file, "file"));
  listed_.clear();
  const auto lines = file.find("lines");
  if (lines == file.end() || !lines->is_array()) return "a file without a list of lines";
  for (const json& line : *lines) {
    std::string problem = Line(line, path);
    if (!problem.empty()) return problem.insert(0, path + ": ");
  }
  const auto functions = file.find("functions");
  if (functions == file.end() || !functions->is_array()) return "";
  for (const json& function : *functions) {
    std::string problem = FunctionEnd(function, path);
    if (!problem.empty()) return problem.insert(0, path + ": ");
  }
  return "";
}

std::string JsonReader::Read(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return "not JSON";
  if (!document.is_object()) return "not an object";
  if (GetString(document, "format_version").empty()) return "no format_version of gcov";
  const auto files = document.find("files");
  if (files == document.end() || !files->is_array()) return "no list of files";
  const std::string directory = GetString(document, "current_working_directory");
  for (const json& file : *files) {
    std::string problem = File(file, directory);
    if (!problem.empty()) return problem;
  }
  return "";
}

// Reads the format of gcc before 9: "file:PATH", "lcount:LINE,COUNT[,...]".
class IntermediateReader {
 public:
  explicit IntermediateReader(std::vector<GcovLine>* lines) : lines_(*lines) {}

  std::string Read(std::string_view text);

 private:
  std::vector<GcovLine>& lines_;
  std::string file_;
  uint64_t total_ = 0;
};

std::string IntermediateReader::Read(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view key = text.substr(0, colon);
  const std::string_view value = colon == text.npos ? "" : text.substr(colon + 1);
  if (key == "file") file_ = value;
  if (key == "file" || key == "version" || key == "function" || key == "branch") return "";
  if (key != "lcount") return "neither JSON of gcov nor its intermediate format";
  if (file_.empty()) return "a line before its file";
  const size_t comma = value.find(',');
  if (comma == value.npos) return "a line without a count";
  const std::string_view counts = value.substr(comma + 1);
  GcovLine entry;
  entry.file = file_;
  if (CountFromWord(value.substr(0, comma), &entry.line) != nullptr || entry.line > kMaxLines) {
    return "a line that is not a number";
  }
  if (const char* const problem = CountFromWord(counts.substr(0, counts.find(',')), &entry.count)) {
    return problem;
  }
  if (!AddCount(entry.count, &total_)) return "counts above 2^63 in total";
  lines_.push_back(std::move(entry));
  return "";
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
    const std::string problem =
        line.starts_with('{') ? json_reader.Read(line) : intermediate_reader.Read(line);
    if (problem.empty()) return OkStatus();
    return MakeStatus(StatusCode::kBadFormat, "%s: line %s: %s; %s", name.c_str(),
                      std::to_string(number).c_str(), problem.c_str(), kHowToMake);
  }));
  return lines;
}

}  // namespace hbbp::tools
