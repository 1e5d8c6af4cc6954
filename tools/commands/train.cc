// hbbp train: labels blocks with the source that is closer to exact counts, and runs a script that
// learns a decision tree from them. RunTrain reads the options, labels the blocks of each program
// (profile and exact counts), writes them as CSV, and becomes the Python script.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "command.h"
#include "compare_inputs.h"
#include "format.h"
#include "install_paths.h"
#include "options.h"
#include "profile_view.h"
#include "train/labels.h"
#include "truth/truth_file.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "train";
constexpr char kScript[] = "train_tree.py";

struct Labelling {
  std::vector<std::string> profiles;
  std::vector<std::string> truths;
  std::vector<std::string> programs;
  std::string output;
};

struct Training {
  std::vector<std::string> files;
  std::string output;
  std::string leaves;
  std::string min_samples;
  std::string weights;
  bool no_weights = false;
  std::vector<std::string> hold_out;
  std::string report;
  std::string drawing;
};

// Blocks as both families count them: the features of a block have both counts, on one scale.
std::vector<ObservedModule> Observations(const hbbp::analysis& analysis) {
  const std::vector<std::string> names = hbbp::block_feature_names();
  const auto index_of = [&](std::string_view name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const size_t ebs = index_of("ebs_count");
  const size_t streams = index_of("streams_count");
  const std::vector<hbbp_function> functions = analysis.functions();
  const std::vector<hbbp_block> blocks = analysis.blocks();
  const std::vector<double> features = analysis.block_features();
  std::vector<ObservedModule> observed;
  for (const hbbp_module& module : analysis.get_profile().modules()) {
    observed.push_back({module.path, {}});
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const hbbp_block& block = blocks[i];
    if (block.module >= observed.size()) continue;
    ObservedBlock& counts = observed[block.module].blocks[block.start];
    if (block.function < functions.size()) {
      counts.function = Demangle(functions[block.function].name);
    }
    counts.instruction_count = block.instruction_count;
    const auto first = features.begin() + static_cast<ptrdiff_t>(i * names.size());
    counts.features.assign(first, first + static_cast<ptrdiff_t>(names.size()));
    counts.ebs = counts.features[ebs];
    counts.streams = counts.features[streams];
  }
  return observed;
}

// Adds the blocks of one program to `table`.
Status AddProgram(const std::string& name, const std::string& profile_path,
                  const std::string& truth_path, Table* table) {
  // This is the only estimator that lists blocks whichever family observed them.
  hbbp_analysis_options options = {};
  options.estimator = HBBP_ESTIMATOR_TREE;
  const hbbp::analysis analysis(LoadProfile(profile_path), options);
  const std::vector<ObservedModule> observed = Observations(analysis);
  const std::vector<EstimatedModule> estimates = Estimates(analysis);
  std::vector<std::string> notes;
  TruthInput input;
  input.files = {truth_path};
  HBBP_ASSIGN_OR_RETURN(const auto references,
                        ReadTruth(input, ProfiledModules(estimates), &notes));
  for (const std::string& note : notes) Note(kName, note);
  const std::vector<ModuleView> modules = Modules(analysis);
  const std::vector<std::optional<size_t>> match = MatchModules(references, estimates);
  HBBP_RETURN_IF_ERROR(CheckBuilds(references, match, estimates));
  size_t labelled = 0;
  for (size_t r = 0; r < references.size(); ++r) {
    if (!match[r]) continue;
    const ModuleCode code(analysis, static_cast<uint32_t>(*match[r]));
    const ModuleCounts truth = CountModule(references[r], estimates[*match[r]], code);
    HBBP_RETURN_IF_ERROR(CheckAddresses(truth, modules[*match[r]]));
    const auto labels = LabelModule(truth, observed[*match[r]], code, hbbp::block_feature_names());
    labelled += labels.size();
    AddLabels(name, labels, table);
  }
  if (labelled != 0) return OkStatus();
  return MakeStatus(StatusCode::kNotFound,
                    "%s: no module of %s was observed both by samples (ebs, ibs) and by streams "
                    "(lbr, swbt); record both, hbbp merge makes one profile of them",
                    profile_path.c_str(), truth_path.c_str());
}

Status WriteLabels(const Labelling& labelling) {
  Table table = LabelTable(hbbp::block_feature_names());
  for (size_t i = 0; i < labelling.profiles.size(); ++i) {
    const std::string& profile = labelling.profiles[i];
    const std::string name =
        labelling.programs.empty() ? fs::path(profile).stem().string() : labelling.programs[i];
    HBBP_RETURN_IF_ERROR(AddProgram(name, profile, labelling.truths[i], &table));
  }
  std::ofstream file(labelling.output, std::ios::binary | std::ios::trunc);
  file << table.ToCsv();
  file.close();
  if (file) return OkStatus();
  return MakeStatus(StatusCode::kInternal, "%s: %s", labelling.output.c_str(),
                    std::strerror(errno));
}

// The script is next to the command in a build tree, and below the data directory when installed.
StatusOr<std::string> FindScript() {
  std::error_code error;
  const fs::path directory = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path candidates[] = {directory / "train" / kScript,
                                 directory / kPathFromCommandToTrain / kScript};
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate, error)) return fs::weakly_canonical(candidate, error).string();
  }
  return MakeStatus(StatusCode::kNotFound,
                    "%s: neither next to %s nor in %s; the installation is incomplete", kScript,
                    directory.c_str(), candidates[1].parent_path().lexically_normal().c_str());
}

// Replaces this process by the script; returns only if that fails.
Status RunScript(const Training& training) {
  HBBP_ASSIGN_OR_RETURN(const std::string script, FindScript());
  std::vector<std::string> words = {"python3", "-B", script, "-o", training.output};
  const auto pass_on = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  pass_on("--leaves", training.leaves);
  pass_on("--min-samples", training.min_samples);
  pass_on("--weights", training.no_weights ? "none" : training.weights);
  pass_on("--report", training.report);
  pass_on("--drawing", training.drawing);
  for (const std::string& names : training.hold_out) pass_on("--hold-out", names);
  words.emplace_back("--");
  words.insert(words.end(), training.files.begin(), training.files.end());

  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return MakeStatus(StatusCode::kNotFound,
                    "python3 cannot be started (%s); trees are learned by the Debian package "
                    "python3-sklearn",
                    std::strerror(errno));
}

std::string Objection(const Labelling& labelling, const Training& training) {
  if (labelling.profiles.size() != labelling.truths.size()) {
    return "as many --truth as --profile are needed, in the same order";
  }
  if (!labelling.programs.empty() && labelling.programs.size() != labelling.profiles.size()) {
    return "--program is needed for every --profile, or for none";
  }
  if (labelling.profiles.empty() != labelling.output.empty()) {
    return labelling.output.empty() ? "--labels FILE says where the labels of --profile go"
                                    : "--labels needs a --profile and its --truth";
  }
  if (training.no_weights && !training.weights.empty() && training.weights != "none") {
    return "--no-weights and --weights " + training.weights + " exclude each other";
  }
  if (training.output.empty()) {
    if (labelling.output.empty()) return "-o FILE says where the tree goes";
    if (!training.files.empty()) return "-o FILE says where the tree of these labels goes";
    return "";
  }
  if (training.files.empty() && labelling.output.empty())
    return "there are no labels to learn from";
  return "";
}

}  // namespace

int RunTrain(int argc, char** argv) {
  Labelling labelling;
  Training training;
  Options options(kName, "Learn from exact counts which source to believe of which block");
  options.Positionals("LABELLED.csv", &training.files, 0, Options::kAny,
                      "labelled blocks to learn from, besides those of --labels");
  options.Values("--profile", &labelling.profiles, "FILE",
                 "label the blocks of this profile, which has samples and streams");
  options.Values(
      "--truth", &labelling.truths, "FILE",
      "its exact counts, as of hbbp compare; one for every --profile, in the same order");
  options.Values("--program", &labelling.programs, "NAME",
                 "what it is called; one for every --profile (the name of its file)");
  options.Value("--labels", &labelling.output, "OUT.csv", "where labelled blocks go");
  options.Value("-o,--output", &training.output, "tree.json", "learn a tree and write it here");
  options.Value("--leaves", &training.leaves, "N", "at most so many leaves (what does best)");
  options.Value("--min-samples", &training.min_samples, "N",
                "at least so many blocks in a leaf (what does best)");
  options.Value("--weights", &training.weights, "executions|difference|none",
                "a block weighs its executed instructions, or by how much the wrong source is "
                "worse, or as all others (what does best)");
  options.Flag("--no-weights", &training.no_weights, "the same as --weights none");
  options.Values("--hold-out", &training.hold_out, "PROGRAM,..",
                 "do not learn from these; report how the tree does on them");
  options.Value("--report", &training.report, "FILE.md",
                "where errors, experiments and importances go (stdout)");
  options.Value("--drawing", &training.drawing, "FILE.svg", "draw the tree");
  options.Footer(
      "Needs python3 with scikit-learn for -o: Debian package python3-sklearn. The tree is for\n"
      "--estimator FILE.json of hbbp mix, blocks and compare.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;
  const std::string objection = Objection(labelling, training);
  if (!objection.empty()) return Fail(kName, objection + "; see hbbp train --help");

  if (!labelling.output.empty()) {
    const Status written = WriteLabels(labelling);
    if (!written.ok()) return Fail(kName, written.message());
    training.files.push_back(labelling.output);
  }
  if (training.output.empty()) return kExitSuccess;
  const Status started = RunScript(training);
  return Fail(kName, started.message());
}

}  // namespace hbbp::tools
