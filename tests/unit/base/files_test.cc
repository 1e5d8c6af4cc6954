#include "base/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "support/catch.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

std::vector<uint8_t> BytesOf(const std::string& text) { return {text.begin(), text.end()}; }

std::string Content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

size_t FilesIn(const TemporaryFolder& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.File("")),
                                           std::filesystem::directory_iterator()));
}

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  ::stat(path.c_str(), &status);
  return status.st_mode & 07777;
}

TEST_CASE("what was read takes no more memory than it needs") {
  StatusOr<std::string> name = ReadTextFile("/proc/self/comm", 4096);
  REQUIRE(name.ok());
  CHECK(name->capacity() < 64);
  const TemporaryFolder folder;
  const std::string path = folder.File("file");
  std::ofstream(path) << std::string(100'000, 'x');
  StatusOr<std::vector<uint8_t>> content = ReadFile(path);
  REQUIRE(content.ok());
  CHECK(content->size() == 100'000);
  CHECK(content->capacity() < 101'000);
}

TEST_CASE("a file of /proc, which claims to be empty, is read whole") {
  const StatusOr<std::string> maps = ReadTextFile("/proc/self/maps");
  REQUIRE(maps.ok());
  CHECK(maps->find("[stack]") != std::string::npos);
  CHECK(maps->ends_with('\n'));
  const StatusOr<std::vector<uint8_t>> arguments = ReadFile("/proc/self/cmdline");
  REQUIRE(arguments.ok());
  CHECK_FALSE(arguments->empty());
}

TEST_CASE("files of every size around the sizes of buffers are read whole") {
  const TemporaryFolder folder;
  for (size_t size : {0, 1, 4095, 4096, 4097, 8192, 100000}) {
    CAPTURE(size);
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
    const std::string path = folder.Write("file", text);
    const StatusOr<std::vector<uint8_t>> bytes = ReadFile(path);
    REQUIRE(bytes.ok());
    CHECK(*bytes == BytesOf(text));
    const StatusOr<std::string> same = ReadTextFile(path);
    REQUIRE(same.ok());
    CHECK(*same == text);
  }
}

TEST_CASE("the limit itself is allowed and one byte more is not") {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string(10000, 'x'));
  CHECK(ReadFile(path, 10000).ok());
  const StatusOr<std::vector<uint8_t>> refused = ReadFile(path, 9999);
  CHECK(refused.status().code() == StatusCode::kBadFormat);
  CHECK(refused.status().message() == path + ": larger than 9999 bytes");
  CHECK(ReadTextFile("/proc/self/maps", 10).status().code() == StatusCode::kBadFormat);
}

TEST_CASE("what cannot be read is told with its path") {
  const TemporaryFolder folder;
  const StatusOr<std::vector<uint8_t>> missing = ReadFile(folder.File("missing"));
  CHECK(missing.status().code() == StatusCode::kNotFound);
  CHECK(missing.status().message().starts_with(folder.File("missing")));
  CHECK(ReadFile(folder.File("")).status().code() == StatusCode::kIo);
}

TEST_CASE("a new file has the permissions that the umask leaves") {
  const TemporaryFolder folder;
  for (mode_t mask : {mode_t{022}, mode_t{077}, mode_t{0}}) {
    CAPTURE(mask);
    const std::string path = folder.File("file" + std::to_string(mask));
    const mode_t previous = ::umask(mask);
    const Status status = WriteFileAtomically(path, BytesOf("content"));
    ::umask(previous);
    REQUIRE(status.ok());
    CHECK(ModeOf(path) == (0666 & ~mask));
    CHECK(Content(path) == "content");
  }
}

TEST_CASE("an existing file is replaced, not written into") {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", "old content that is longer");
  std::ifstream reader(path);
  REQUIRE(WriteFileAtomically(path, BytesOf("new")).ok());
  CHECK(Content(path) == "new");
  const std::string seen((std::istreambuf_iterator<char>(reader)), {});
  CHECK(seen == "old content that is longer");
  CHECK(FilesIn(folder) == 1);
}

TEST_CASE("an empty file can be written") {
  const TemporaryFolder folder;
  REQUIRE(WriteFileAtomically(folder.File("file"), {}).ok());
  CHECK(std::filesystem::file_size(folder.File("file")) == 0);
}

TEST_CASE("a folder that is not there is told of") {
  const TemporaryFolder folder;
  const Status status = WriteFileAtomically(folder.File("none/file"), BytesOf("x"));
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().starts_with(folder.File("none/file")));
  CHECK(FilesIn(folder) == 0);
}

TEST_CASE("a folder at the target stays, and no temporary file is left") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.File("target"));
  CHECK_FALSE(WriteFileAtomically(folder.File("target"), BytesOf("x")).ok());
  CHECK(std::filesystem::is_directory(folder.File("target")));
  CHECK(FilesIn(folder) == 1);
}

TEST_CASE("a device is written to, not replaced") {
  const TemporaryFolder folder;
  const std::string pipe = folder.File("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader.valid());
  REQUIRE(WriteFileAtomically(pipe, BytesOf("content")).ok());
  CHECK(std::filesystem::is_fifo(pipe));
  char buffer[16] = {};
  CHECK(::read(reader.get(), buffer, sizeof(buffer)) == 7);
  CHECK(std::string(buffer) == "content");
  CHECK(FilesIn(folder) == 1);
}

TEST_CASE("a symbolic link stays and its target is replaced") {
  const TemporaryFolder folder;
  const std::string target = folder.Write("target", "old");
  std::filesystem::create_symlink("target", folder.File("link"));
  REQUIRE(WriteFileAtomically(folder.File("link"), BytesOf("new")).ok());
  CHECK(std::filesystem::is_symlink(folder.File("link")));
  CHECK(Content(target) == "new");
  CHECK(FilesIn(folder) == 2);
}

TEST_CASE("what others put into a shared directory is not written through") {
  if (::geteuid() != 0) HBBP_SKIP("only root can give files to others");
  constexpr uid_t kOther = 65534;
  const TemporaryFolder folder;
  const std::string shared = folder.File("shared");
  std::filesystem::create_directory(shared);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  const std::string secret = folder.Write("secret", "old");
  const std::string link = shared + "/link", pipe = shared + "/pipe";
  std::filesystem::create_symlink(secret, link);
  REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
  for (const std::string& planted : {link, pipe}) {
    REQUIRE(::lchown(planted.c_str(), kOther, kOther) == 0);
    const Status status = WriteFileAtomically(planted, BytesOf("new"));
    CHECK(status.code() == StatusCode::kPermission);
    CHECK(status.message().find(planted) != std::string::npos);
  }
  CHECK(Content(secret) == "old");
  // Of this user, and where nobody else writes, links are followed.
  REQUIRE(::lchown(link.c_str(), 0, 0) == 0);
  CHECK(WriteFileAtomically(link, BytesOf("new")).ok());
  REQUIRE(::chmod(shared.c_str(), 0755) == 0);
  REQUIRE(::lchown(link.c_str(), kOther, kOther) == 0);
  CHECK(WriteFileAtomically(link, BytesOf("newer")).ok());
  CHECK(Content(secret) == "newer");
}

TEST_CASE("a write that fails leaves the old content and no temporary file") {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", "old");
  // In a child: the limit on file sizes cannot be raised again by all users.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::vector<uint8_t> large(100000, 'x');
    ::_exit(WriteFileAtomically(path, large).code() == StatusCode::kIo ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(Content(path) == "old");
  CHECK(FilesIn(folder) == 1);
}

TEST_CASE("of many writers at once one wins, and a reader never sees a part") {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string(50000, 'A'));
  std::atomic<int> failures{0};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      const std::vector<uint8_t> bytes(50000 + static_cast<size_t>(writer),
                                       static_cast<uint8_t>('a' + writer));
      for (int round = 0; round < 25; ++round) {
        if (!WriteFileAtomically(path, bytes).ok()) ++failures;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const std::string content = Content(path);
    const size_t extra =
        content.empty() || content[0] == 'A' ? 0 : static_cast<size_t>(content[0] - 'a');
    if (content != std::string(50000 + extra, content[0])) ++failures;
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(failures == 0);
  CHECK(FilesIn(folder) == 1);
}

TEST_CASE("a mapped file has the bytes of the file") {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", "mapped bytes");
  StatusOr<MappedFile> file = MappedFile::Open(path);
  REQUIRE(file.ok());
  // It outlives the name and the descriptor.
  std::filesystem::remove(path);
  CHECK(std::string(file->bytes().begin(), file->bytes().end()) == "mapped bytes");
  MappedFile moved = *std::move(file);
  CHECK(moved.bytes().size() == 12);
  CHECK(file->bytes().empty());
  StatusOr<MappedFile> other = MappedFile::Open(folder.Write("other", "xyz"));
  REQUIRE(other.ok());
  moved = *std::move(other);
  CHECK(moved.bytes().size() == 3);
}

TEST_CASE("an empty file maps to no bytes") {
  const TemporaryFolder folder;
  const StatusOr<MappedFile> file = MappedFile::Open(folder.Write("file", ""));
  REQUIRE(file.ok());
  CHECK(file->bytes().empty());
}

TEST_CASE("only regular files can be mapped") {
  const TemporaryFolder folder;
  CHECK(MappedFile::Open(folder.File("missing")).status().code() == StatusCode::kNotFound);
  CHECK(MappedFile::Open(folder.File("")).status().code() == StatusCode::kBadFormat);
  CHECK(MappedFile::Open("/dev/null").status().code() == StatusCode::kBadFormat);
  CHECK_FALSE(MappedFile::FromFd(-1, "name").ok());
  CHECK(MappedFile::FromFd(-1, "name").status().message().starts_with("name"));
}

TEST_CASE("mapping an open file leaves its descriptor to the caller") {
  const TemporaryFolder folder;
  const UniqueFd fd(::open(folder.Write("file", "abc").c_str(), O_RDONLY | O_CLOEXEC));
  {
    const StatusOr<MappedFile> file = MappedFile::FromFd(fd.get(), "file");
    REQUIRE(file.ok());
    CHECK(file->bytes().size() == 3);
  }
  CHECK(::fcntl(fd.get(), F_GETFD) != -1);
}

}  // namespace
}  // namespace hbbp
