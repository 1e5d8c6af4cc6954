// Options: the command line of one sub-command.
//
//   Options options("record", "Profile a program");
//   options.Value("-o,--output", &output, "FILE", "where the profile goes");
//   options.Flag("--kernel", &kernel, "count kernel code too");
//   options.Command(&words, "CMD ARG...", "the program to profile");
//   if (std::optional<int> status = options.Parse(argc, argv)) return *status;
//
// The variables keep the values that they have if the option is not given. One file includes
// CLI11, which compiles slowly; this is its face.
#ifndef HBBP_TOOLS_OPTIONS_H_
#define HBBP_TOOLS_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hbbp::tools {

// The file that commands read and write if none is named.
inline constexpr char kDefaultProfile[] = "hbbp.data";
// Stands for stdout where a file is written.
inline constexpr char kStandardOutput[] = "-";
// Says why commands that run a program refuse it.
inline constexpr char kOutputIsOfProgram[] =
    "-o -: standard output is the program's own; name a file";

class Options {
 public:
  // `command` is the word after hbbp; `summary` one sentence for --help.
  Options(const std::string& command, const std::string& summary);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options();

  // `names` is for instance "-o,--output". --help shows `placeholder` for the value.
  void Flag(const std::string& names, bool* value, const std::string& help);
  void Value(const std::string& names, std::string* value, const std::string& placeholder,
             const std::string& help);
  // The number may be 250k, 1M or 1e6, also below.
  void Value(const std::string& names, uint64_t* value, const std::string& placeholder,
             const std::string& help);
  // The number must not be 0.
  void Count(const std::string& names, uint64_t* value, const std::string& help);
  void Value(const std::string& names, double* value, const std::string& placeholder,
             const std::string& help);
  // The time may be 10, 500ms, 1.5s, 5m or 1h.
  void Seconds(const std::string& names, double* value, const std::string& placeholder,
               const std::string& help);
  // Says why these options, which people know from elsewhere, are not here. Of commands that
  // take a Command only.
  void Refuse(const std::string& names, const std::string& reason);
  // The option may be repeated, with a value each.
  void Values(const std::string& names, std::vector<std::string>* values,
              const std::string& placeholder, const std::string& help);
  // The value must be one of `choices`.
  void Choice(const std::string& names, std::string* value, const std::vector<std::string>& choices,
              const std::string& help);
  // The values are "a,b", or the option is repeated; each one must be one of `choices`.
  void Choices(const std::string& names, std::vector<std::string>* values,
               const std::vector<std::string>& choices, const std::string& help);
  // Stands for any number of words.
  static constexpr size_t kAny = 1 << 20;
  // Takes words without a dash, between `min_words` and `max_words` of them.
  void Positionals(const std::string& placeholder, std::vector<std::string>* values,
                   size_t min_words, size_t max_words, const std::string& help);
  // Takes any number of paths of profiles; kDefaultProfile if there is none.
  void Profiles(std::vector<std::string>* paths, const std::string& help);
  // Takes the rest of the line, from "--" or the first word without a dash on. At least one word is
  // required unless `may_be_empty`, which is called when the options are known, returns true.
  void Command(std::vector<std::string>* words, const std::string& placeholder,
               const std::string& help, std::function<bool()> may_be_empty = nullptr);
  // Adds text at the end of --help.
  void Footer(const std::string& text);

  // Returns nullopt to continue, else the exit status: --help was printed, or an error.
  std::optional<int> Parse(int argc, char** argv);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_OPTIONS_H_
