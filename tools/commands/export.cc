// hbbp export: writes a profile in another format.
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "command.h"
#include "debug_info_options.h"
#include "export/html_page.h"
#include "export/sqlite_file.h"
#include "format.h"
#include "options.h"
#include "profile_options.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "export";
constexpr char kHtml[] = "html";
constexpr char kSqlite[] = "sqlite";
constexpr char kSql[] = "sql";  // what that is made of

// Returns what an option does not go with, or nothing.
std::string Conflict(const std::string& format, const std::string& module, bool is_of_page) {
  if (format == kHtml && !module.empty()) return "--module: the page has all modules";
  if (format != kHtml && is_of_page) {
    return "--functions, --blocks and --source are of --format html only";
  }
  return {};
}

}  // namespace

int RunExport(int argc, char** argv) {
  std::vector<std::string> names = {kHtml, kSqlite};
  std::string formats =
      "Formats:\n  html: a page to look at, whole in one file\n"
      "  sqlite: what sql has, as a database\n";
  for (const hbbp_export_format& each : hbbp::export_formats()) {
    names.emplace_back(each.name);
    formats += "  " + names.back() + ": " + each.summary +
               (each.is_of_one_module != 0 ? "; of one module" : "") + '\n';
  }
  std::string format = kHtml, output, module;
  PageRequest page;
  Options options(kName, "Write a profile in another format");
  options.Profiles(&page.files, "profiles; several are added up");
  options.Choice("--format", &format, names, "what to write (" + format + ")");
  options.Value("-o,--output", &output, "OUT", "where to; without it, standard output");
  options.Value("--module", &module, "NAME",
                "only this module, by its path or file name (formats of one module: the one that "
                "executed most instructions)");
  options.Count("--functions", &page.functions,
                "html: the N busiest functions by name, the others in sums (200)");
  options.Count("--blocks", &page.blocks,
                "html: the N busiest blocks of these with their code, the others in sums (2000)");
  options.Flag("--source,!--no-source", &page.with_source_text,
               "html: with the text of source lines, where the files exist here (default)");
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(formats);
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;
  const bool is_of_page = page.functions != 0 || page.blocks != 0 || !page.with_source_text;
  if (const std::string conflict = Conflict(format, module, is_of_page); !conflict.empty()) {
    return Fail(kName, conflict);
  }

  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(page.files, &debug_info);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  HtmlPage written;
  std::string failed;
  if (format == kHtml) {
    page.analysis = &*analysis;
    written = WriteHtmlPage(page);
  } else {
    try {
      analysis->export_as(
          format == kSqlite ? kSql : format, [&](std::string_view piece) { written.text += piece; },
          [&](const char* note) { written.notes.emplace_back(note); }, module);
    } catch (const hbbp::error& failure) {
      failed = failure.what();
    }
  }
  debug_info.EndProgress();
  for (const std::string& note : CodeProblems(*analysis)) Note(kName, note);
  for (const std::string& note : written.notes) Note(kName, Printable(note));
  if (!failed.empty()) return Fail(kName, failed);
  if (format == kSqlite) {
    StatusOr<std::string> database = MakeSqliteFile(written.text);
    if (!database.ok()) return Fail(kName, database.status().message());
    written.text = *std::move(database);
  }
  const std::string& text = written.text;
  if (output.empty() || output == kStandardOutput) {
    const bool is_binary = text.find('\0') != std::string::npos;
    if (is_binary && ::isatty(STDOUT_FILENO) != 0) {
      return Fail(kName, format + " is not text, and this is a terminal: name a file (-o FILE)");
    }
    return WriteOutput(kName, text);
  }
  const Status stored =
      WriteFileAtomically(output, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return stored.ok() ? kExitSuccess : Fail(kName, stored.message());
}

}  // namespace hbbp::tools
