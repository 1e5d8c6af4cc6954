#include "pmu_model/lackey.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/unique_fd.h"
#include "pmu_model/child.h"
#include "pmu_model/process_code.h"
#include "pmu_model/trace_builder.h"

namespace hbbp::simulation {

std::optional<uint64_t> InstructionOfLackeyLine(std::string_view line) {
  if (!line.starts_with("I  ")) return std::nullopt;
  line.remove_prefix(3);
  uint64_t address;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  if (error != std::errc() || end == line.data() + line.size() || *end != ',') return std::nullopt;
  return address;
}

StatusOr<Trace> TraceByLackey(const std::vector<std::string>& command, uint64_t max_instructions) {
  std::array<int, 2> pipe;
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  const UniqueFd reader(pipe[0]);
  UniqueFd writer(pipe[1]);
  constexpr int kPipeBytes = 1 << 20;
  ::fcntl(reader.get(), F_SETPIPE_SZ, kPipeBytes);
  std::vector<std::string> words = {"valgrind", "--tool=lackey", "--trace-mem=yes",
                                    "--log-fd=" + std::to_string(writer.get())};
  words.insert(words.end(), command.begin(), command.end());
  const int fd = writer.get();
  HBBP_ASSIGN_OR_RETURN(Child child, Child::Start(words, [fd] { ::fcntl(fd, F_SETFD, 0); }));
  writer.Reset();

  ProcessCode code(child.pid());
  TraceBuilder builder(&code, max_instructions);
  LineSplitter lines;
  const auto take = [&builder](std::string_view line) {
    const std::optional<uint64_t> address = InstructionOfLackeyLine(line);
    return !address || builder.Add(*address);
  };
  std::vector<char> buffer(kPipeBytes);
  while (true) {
    const ssize_t size = ::read(reader.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return ErrnoStatus(errno, "reading from valgrind");
    if (size == 0) break;
    if (!lines.Add({buffer.data(), static_cast<size_t>(size)}, take)) break;
  }
  StatusOr<Trace> trace = builder.Finish(command[0]);
  if (trace.ok()) return trace;
  return trace.status().Annotate("valgrind --tool=lackey (is Debian's valgrind installed?)");
}

}  // namespace hbbp::simulation
