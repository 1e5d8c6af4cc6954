// hbbp annotate: lists the instructions of functions, with counts and source lines.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "annotate/annotated_code.h"
#include "annotate/listing.h"
#include "annotate/source_text.h"
#include "command.h"
#include "debug_info_options.h"
#include "format.h"
#include "options.h"
#include "profile_options.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "annotate";
constexpr uint64_t kTextFunctions = 3;

std::vector<std::string> Notes(const AnalysedCode& code, const SourceText& text) {
  std::vector<std::string> notes = code.SourceProblems();
  if (!text.missing().empty()) {
    const size_t others = text.missing().size() - 1;
    notes.push_back("there is no source file " + text.missing().front() +
                    (others == 0 ? "" : ", nor " + std::to_string(others) + " others") +
                    ", so that lines are shown by number only");
  }
  return notes;
}

struct Request {
  const std::vector<hbbp_function>& functions;
  const std::vector<SourceView> sources;
  bool with_source;
};

// Writes functions one by one, because a large program has millions of instructions.
int PrintTable(const Request& request, Format format, AnalysedCode* code,
               DebugInfoOptions* debug_info) {
  Table table = InstructionTable();
  AddCaveats(request.sources, &table);
  table.AddField("total_instructions", code->total_instructions());
  table.AddField("functions", uint64_t{request.functions.size()});
  for (const hbbp_function& function : request.functions) {
    const AnnotatedFunction annotated = code->Annotate(function, request.with_source);
    AddInstructions(annotated, *code, &table);
    if (!annotated.problem.empty()) {
      table.AddNote(annotated.name + ": no instructions: " + annotated.problem);
    }
    debug_info->EndProgress();
    const int status = table.PrintRows(kName, format);
    if (status != kExitSuccess) return status;
  }
  for (const std::string& note : Notes(*code, SourceText())) table.AddNote(note);
  return table.Print(kName, format);
}

int PrintText(const Request& request, AnalysedCode* code, DebugInfoOptions* debug_info) {
  SourceText text;
  const ListingStyle style{WantsColour(), request.with_source};
  for (const hbbp_function& function : request.functions) {
    const AnnotatedFunction annotated = code->Annotate(function, request.with_source);
    debug_info->EndProgress();
    const int status = WriteOutput(kName, ListFunction(annotated, *code, style, &text));
    if (status != kExitSuccess) return status;
  }
  std::string notes;
  for (const std::string& note : Caveats(request.sources))
    notes += "note: " + Printable(note) + '\n';
  for (const std::string& note : Notes(*code, text)) notes += "note: " + Printable(note) + '\n';
  return WriteOutput(kName, notes);
}

}  // namespace

int RunAnnotate(int argc, char** argv) {
  std::vector<std::string> files;
  FunctionChoice choice;
  bool with_source = true;
  std::string format = "text";
  Options options(kName, "List the instructions of functions with how often each was executed");
  options.Profiles(&files, "profiles; several are added up");
  options.Value("--function", &choice.function, "NAME",
                "of this name, mangled or not, with or without parameters");
  options.Value("--address", &choice.address, "ADDRESS",
                "the one around an address, as objdump has it");
  options.Value("--module", &choice.module, "MODULE", "of this file, path or last part of it");
  options.Count("--top", &choice.top,
                "the N that executed most instructions (text: 3 if none is named; else all)");
  options.Flag("--source,!--no-source", &with_source,
               "with source lines and inlining, if there is debug information (default)");
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  options.Choice("--format", &format, {"text", "csv", "json"}, "how to print (text)");
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(
      "%: share of the function's instructions. std. error: one sigma of executions.\n"
      "source: whose count it is. L1, L2: where branches of the function lead to.\n"
      "In colour on a terminal, unless NO_COLOR is set.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  const bool is_text = format == "text";
  const bool is_named = !choice.function.empty() || !choice.address.empty();
  if (choice.top == 0 && is_text && !is_named) choice.top = kTextFunctions;
  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(files, &debug_info);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  AnalysedCode code(*analysis);
  const StatusOr<std::vector<hbbp_function>> functions = code.Choose(choice);
  if (!functions.ok()) return Fail(kName, functions.status().message());

  const Request request{*functions, Sources(*analysis), with_source};
  return is_text ? PrintText(request, &code, &debug_info)
                 : PrintTable(request, FormatFromName(format), &code, &debug_info);
}

}  // namespace hbbp::tools
