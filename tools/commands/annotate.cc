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
#include "pager.h"
#include "profile_options.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "annotate";
constexpr uint64_t kTextFunctions = 3;
constexpr size_t kLinesAbove = 8;  // of the hottest block, in a pager

std::vector<std::string> Notes(const AnalysedCode& code, const std::vector<SourceView>& sources,
                               const SourceText& text) {
  std::vector<std::string> notes = code.SourceProblems();
  const uint64_t dropped = SumOfCounters(sources, "ibs-sums-dropped");
  if (code.has_ops() && dropped != 0) {
    notes.push_back(FormatCount(dropped) +
                    " events of IBS found no room: numbers of ops are too low");
  }
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
  Table table = InstructionTable(*code);
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
  for (const std::string& note : Notes(*code, request.sources, SourceText())) table.AddNote(note);
  return table.Print(kName, format);
}

std::string TextNotes(const Request& request, const AnalysedCode& code, const SourceText& source,
                      size_t folded) {
  std::string text;
  const auto add = [&](const std::string& note) { text += "note: " + Printable(note) + '\n'; };
  if (folded > 0) {
    add(FormatCount(uint64_t{folded}) +
        " instructions that were not seen to run are left out; --all lists them");
  }
  for (const std::string& note : Caveats(request.sources)) add(note);
  for (const std::string& note : Notes(code, request.sources, source)) add(note);
  return text;
}

// A pager needs the whole text, and begins at the hottest block of the hottest function. Otherwise
// functions are written one by one.
int PrintText(const Request& request, const ListingStyle& style, bool pages, AnalysedCode* code,
              DebugInfoOptions* debug_info) {
  SourceText source;
  std::string text;
  size_t hottest_line = 0;
  size_t folded = 0;
  for (const hbbp_function& function : request.functions) {
    const AnnotatedFunction annotated = code->Annotate(function, request.with_source);
    debug_info->EndProgress();
    const Listing listing = ListFunction(annotated, *code, style, &source);
    folded += listing.folded;
    if (text.empty()) hottest_line = listing.hottest_line;
    text += listing.text;
    if (pages) continue;
    const int status = WriteOutput(kName, text);
    if (status != kExitSuccess) return status;
    text.clear();
  }
  text += TextNotes(request, *code, source, folded);
  if (!pages) return WriteOutput(kName, text);
  const size_t first = hottest_line > kLinesAbove ? hottest_line - kLinesAbove : 0;
  return ShowInPager(kName, text, first);
}

}  // namespace

int RunAnnotate(int argc, char** argv) {
  std::vector<std::string> files;
  FunctionChoice choice;
  bool with_source = true;
  bool with_all = false;
  bool with_samples = false;
  bool with_pager = true;
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
  options.Flag("--all", &with_all, "text: code that was not seen to run, too");
  options.Flag("--samples", &with_samples,
               "how many samples count for each instruction, a column by event");
  options.Flag("--pager,!--no-pager", &with_pager,
               "on a terminal, text by HBBP_PAGER, PAGER or less, at the hottest block (default)");
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  options.Choice("--format", &format, {"text", "csv", "json"}, "how to print (text)");
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(
      "%: share of the function's instructions. std. error: one sigma of executions.\n"
      "source: whose count it is. heat: executions, by the most of any of its instructions.\n"
      "L1, L2, arrows: where branches of the function lead to.\n"
      "samples: of IP samples, where they fell; without --samples, of profiles with IBS ops.\n"
      "IBS ops, DC misses, mean miss: ops that IBS of AMD sampled, misses of the L1 data cache,\n"
      "and cycles of a load that missed it.\n"
      "In colour on a terminal, unless NO_COLOR is set.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  const bool is_text = format == "text";
  const bool is_named = !choice.function.empty() || !choice.address.empty();
  if (choice.top == 0 && is_text && !is_named) choice.top = kTextFunctions;
  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(files, &debug_info);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  AnalysedCode code(*analysis, with_samples);
  const StatusOr<std::vector<hbbp_function>> functions = code.Choose(choice);
  if (!functions.ok()) return Fail(kName, functions.status().message());

  const Request request{*functions, Sources(*analysis), with_source};
  const ListingStyle style{WantsColour(), with_source, !with_all};
  return is_text ? PrintText(request, style, with_pager && CanPage(), &code, &debug_info)
                 : PrintTable(request, FormatFromName(format), &code, &debug_info);
}

}  // namespace hbbp::tools
