// Tests reading, writing and mapping files (base/files.h) with real files in a temporary directory:
// sizes around those of buffers, permissions, links, devices, failing and concurrent writers.
// Content(), FilesIn() and ModeOf() read what a test has written by other means.
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

size_t FilesIn(const TemporaryFolder& directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory.File("")),
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
  const TemporaryFolder directory;
  const std::string path = directory.File("file");
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
  const TemporaryFolder directory;
  for (size_t size : {0, 1, 4095, 4096, 4097, 8192, 100000}) {
    CAPTURE(size);
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
    const std::string path = directory.Write("file", text);
    const StatusOr<std::vector<uint8_t>> bytes = ReadFile(path);
    REQUIRE(bytes.ok());
    CHECK(*bytes == BytesOf(text));
    const StatusOr<std::string> same = ReadTextFile(path);
    REQUIRE(same.ok());
    CHECK(*same == text);
  }
}

TEST_CASE("the limit itself is allowed and one byte more is not") {
  const TemporaryFolder directory;
  const std::string path = directory.Write("file", std::string(10000, 'x'));
  CHECK(ReadFile(path, 10000).ok());
  const StatusOr<std::vector<uint8_t>> refused = ReadFile(path, 9999);
  CHECK(refused.status().code() == StatusCode::kBadFormat);
  CHECK(refused.status().message() == path + ": larger than 9999 bytes");
  CHECK(ReadTextFile("/proc/self/maps", 10).status().code() == StatusCode::kBadFormat);
}

TEST_CASE("the error of a file that cannot be read names its path") {
  const TemporaryFolder directory;
  const StatusOr<std::vector<uint8_t>> missing = ReadFile(directory.File("missing"));
  CHECK(missing.status().code() == StatusCode::kNotFound);
  CHECK(missing.status().message().starts_with(directory.File("missing")));
  CHECK(ReadFile(directory.File("")).status().code() == StatusCode::kIo);
}

TEST_CASE("a new file has the permissions that the umask leaves") {
  const TemporaryFolder directory;
  for (mode_t mask : {mode_t{022}, mode_t{077}, mode_t{0}}) {
    CAPTURE(mask);
    const std::string path = directory.File("file" + std::to_string(mask));
    const mode_t previous = ::umask(mask);
    const Status status = WriteFileAtomically(path, BytesOf("content"));
    ::umask(previous);
    REQUIRE(status.ok());
    CHECK(ModeOf(path) == (0666 & ~mask));
    CHECK(Content(path) == "content");
  }
}

TEST_CASE("an existing file is replaced, not written into") {
  const TemporaryFolder directory;
  const std::string path = directory.Write("file", "old content that is longer");
  std::ifstream reader(path);
  REQUIRE(WriteFileAtomically(path, BytesOf("new")).ok());
  CHECK(Content(path) == "new");
  const std::string seen((std::istreambuf_iterator<char>(reader)), {});
  CHECK(seen == "old content that is longer");
  CHECK(FilesIn(directory) == 1);
}

TEST_CASE("a brief file is replaced in the same way, and is there at any moment") {
  const TemporaryFolder directory;
  const std::string path = directory.File("file");
  REQUIRE(WriteBriefFile(path, BytesOf("first"), 0600).ok());
  CHECK(Content(path) == "first");
  CHECK(ModeOf(path) == 0600);
  std::ifstream reader(path);
  std::atomic<bool> ends{false}, is_there{true};
  std::thread watcher([&] {
    while (!ends) is_there = is_there && std::filesystem::exists(path);
  });
  for (int i = 0; i < 200; ++i) CHECK(WriteBriefFile(path, BytesOf(std::to_string(i)), 0600).ok());
  ends = true;
  watcher.join();
  CHECK(is_there);
  CHECK(Content(path) == "199");
  const std::string seen((std::istreambuf_iterator<char>(reader)), {});
  CHECK(seen == "first");
  std::filesystem::create_directory(directory.File("target"));
  CHECK_FALSE(WriteBriefFile(directory.File("target"), BytesOf("x"), 0600).ok());
  CHECK(std::filesystem::is_directory(directory.File("target")));
  CHECK(FilesIn(directory) == 2);
}

TEST_CASE("an empty file can be written") {
  const TemporaryFolder directory;
  REQUIRE(WriteFileAtomically(directory.File("file"), {}).ok());
  CHECK(std::filesystem::file_size(directory.File("file")) == 0);
}

TEST_CASE("the error of a missing directory names the file") {
  const TemporaryFolder directory;
  const Status status = WriteFileAtomically(directory.File("none/file"), BytesOf("x"));
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().starts_with(directory.File("none/file")));
  CHECK(FilesIn(directory) == 0);
}

TEST_CASE("a directory at the target stays, and no temporary file is left") {
  const TemporaryFolder directory;
  std::filesystem::create_directory(directory.File("target"));
  CHECK_FALSE(WriteFileAtomically(directory.File("target"), BytesOf("x")).ok());
  CHECK(std::filesystem::is_directory(directory.File("target")));
  CHECK(FilesIn(directory) == 1);
}

TEST_CASE("a device is written to, not replaced") {
  const TemporaryFolder directory;
  const std::string pipe = directory.File("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader.valid());
  REQUIRE(WriteFileAtomically(pipe, BytesOf("content")).ok());
  CHECK(std::filesystem::is_fifo(pipe));
  char buffer[16] = {};
  CHECK(::read(reader.get(), buffer, sizeof(buffer)) == 7);
  CHECK(std::string(buffer) == "content");
  CHECK(FilesIn(directory) == 1);
}

TEST_CASE("a symbolic link stays and its target is replaced") {
  const TemporaryFolder directory;
  const std::string target = directory.Write("target", "old");
  std::filesystem::create_symlink("target", directory.File("link"));
  REQUIRE(WriteFileAtomically(directory.File("link"), BytesOf("new")).ok());
  CHECK(std::filesystem::is_symlink(directory.File("link")));
  CHECK(Content(target) == "new");
  CHECK(FilesIn(directory) == 2);
}

TEST_CASE("what others put into a shared directory is not written through") {
  if (::geteuid() != 0) HBBP_SKIP("only root can give files to others");
  constexpr uid_t kOther = 65534;
  const TemporaryFolder directory;
  const std::string shared = directory.File("shared");
  std::filesystem::create_directory(shared);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  const std::string secret = directory.Write("secret", "old");
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
  // Links of this user, and links where no other user writes, are followed.
  REQUIRE(::lchown(link.c_str(), 0, 0) == 0);
  CHECK(WriteFileAtomically(link, BytesOf("new")).ok());
  REQUIRE(::chmod(shared.c_str(), 0755) == 0);
  REQUIRE(::lchown(link.c_str(), kOther, kOther) == 0);
  CHECK(WriteFileAtomically(link, BytesOf("newer")).ok());
  CHECK(Content(secret) == "newer");
}

TEST_CASE("a write that fails leaves the old content and no temporary file") {
  const TemporaryFolder directory;
  const std::string path = directory.Write("file", "old");
  // A child does this, because not every user can raise the limit on file sizes again.
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
  CHECK(FilesIn(directory) == 1);
}

TEST_CASE("of many writers at once one wins, and a reader never sees a part") {
  const TemporaryFolder directory;
  const std::string path = directory.Write("file", std::string(50000, 'A'));
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
  CHECK(FilesIn(directory) == 1);
}

TEST_CASE("a mapped file has the bytes of the file") {
  const TemporaryFolder directory;
  const std::string path = directory.Write("file", "mapped bytes");
  StatusOr<MappedFile> file = MappedFile::Open(path);
  REQUIRE(file.ok());
  // The mapping outlives the name and the descriptor.
  std::filesystem::remove(path);
  CHECK(std::string(file->bytes().begin(), file->bytes().end()) == "mapped bytes");
  MappedFile moved = *std::move(file);
  CHECK(moved.bytes().size() == 12);
  CHECK(file->bytes().empty());
  StatusOr<MappedFile> other = MappedFile::Open(directory.Write("other", "xyz"));
  REQUIRE(other.ok());
  moved = *std::move(other);
  CHECK(moved.bytes().size() == 3);
}

TEST_CASE("an empty file maps to no bytes") {
  const TemporaryFolder directory;
  const StatusOr<MappedFile> file = MappedFile::Open(directory.Write("file", ""));
  REQUIRE(file.ok());
  CHECK(file->bytes().empty());
}

TEST_CASE("only regular files can be mapped") {
  const TemporaryFolder directory;
  CHECK(MappedFile::Open(directory.File("missing")).status().code() == StatusCode::kNotFound);
  CHECK(MappedFile::Open(directory.File("")).status().code() == StatusCode::kBadFormat);
  CHECK(MappedFile::Open("/dev/null").status().code() == StatusCode::kBadFormat);
  CHECK_FALSE(MappedFile::FromFd(-1, "name").ok());
  CHECK(MappedFile::FromFd(-1, "name").status().message().starts_with("name"));
}

TEST_CASE("mapping an open file leaves its descriptor to the caller") {
  const TemporaryFolder directory;
  const UniqueFd fd(::open(directory.Write("file", "abc").c_str(), O_RDONLY | O_CLOEXEC));
  {
    const StatusOr<MappedFile> file = MappedFile::FromFd(fd.get(), "file");
    REQUIRE(file.ok());
    CHECK(file->bytes().size() == 3);
  }
  CHECK(::fcntl(fd.get(), F_GETFD) != -1);
}

}  // namespace
}  // namespace hbbp
