#include "unit/image/test_programs.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hbbp::test {
namespace {

// An ELF file that a compiler made, which can be changed.
struct ElfBytes {
  explicit ElfBytes(const std::string& path) : bytes(ReadAll(path)) {
    Elf64_Ehdr elf;
    std::memcpy(&elf, bytes.data(), sizeof(elf));
    headers.resize(elf.e_shnum);
    headers_at = elf.e_shoff;
    std::memcpy(headers.data(), bytes.data() + headers_at, headers.size() * sizeof(Elf64_Shdr));
    names_at = headers.at(elf.e_shstrndx).sh_offset;
  }

  // Returns null if there is none.
  Elf64_Shdr* Find(const std::string& name) {
    const auto* const names = reinterpret_cast<const char*>(bytes.data() + names_at);
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const Elf64_Shdr& each) {
      return name == names + each.sh_name;
    });
    return found == headers.end() ? nullptr : &*found;
  }

  void Write(const std::string& path) {
    std::memcpy(bytes.data() + headers_at, headers.data(), headers.size() * sizeof(Elf64_Shdr));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  }

  std::vector<uint8_t> bytes;
  std::vector<Elf64_Shdr> headers;
  size_t headers_at = 0;
  size_t names_at = 0;
};

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "hbbp-image-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data()) == nullptr ? std::string() : pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::File(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

std::optional<std::vector<std::string>> RunCommand(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::vector<std::string> lines(1);
  std::array<char, 65536> buffer;
  size_t got;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0) {
    for (char character : std::string_view(buffer.data(), got)) {
      if (character == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += character;
      }
    }
  }
  if (lines.back().empty()) lines.pop_back();
  if (::pclose(pipe) != 0) return std::nullopt;
  return lines;
}

bool Compile(const TemporaryDirectory& directory, std::string_view source, const std::string& flags,
             const std::string& output) {
  bool is_assembly = flags.find("assembler") != std::string::npos;
  std::string path = directory.File(is_assembly ? "source.S" : "source.cc");
  std::ofstream(path) << source;
  return RunCommand("g++ " + flags + " " + path + " -o " + output).has_value();
}

const std::string_view kProgram = R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

[[gnu::noinline, gnu::cold]] static void Complain(const char* what) {
  std::fprintf(stderr, "%s\n", what);
}

[[gnu::noinline]] static int Helper(int value) { return value * 3 + 1; }

int Checked(int value, const std::string& text) {
  if (__builtin_expect(value < 0, 0)) {
    Complain(text.c_str());
    Complain("negative");
    throw std::runtime_error(text);
  }
  return Helper(value) + static_cast<int>(text.size());
}

struct Shape {
  virtual ~Shape() = default;
  virtual int Area() const;
};

int Shape::Area() const { return std::rand(); }

int main(int argc, char** argv) {
  Shape shape;
  Shape* volatile known_at_run_time = &shape;
  try {
    std::printf("%d\n", Checked(argc, argv[0]) + known_at_run_time->Area());
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
  return 0;
}
)";

std::vector<uint8_t> ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::optional<std::vector<uint8_t>> BytesOfSection(const std::string& path,
                                                   const std::string& section) {
  ElfBytes elf(path);
  const Elf64_Shdr* const header = elf.Find(section);
  if (header == nullptr) return std::nullopt;
  const auto start = elf.bytes.begin() + static_cast<ptrdiff_t>(header->sh_offset);
  return std::vector<uint8_t>(start, start + static_cast<ptrdiff_t>(header->sh_size));
}

bool ChangeSection(const std::string& path, const SectionChange& change) {
  ElfBytes elf(path);
  Elf64_Shdr* const header = elf.Find(change.name);
  if (header == nullptr) return false;
  header->sh_offset = elf.bytes.size();
  header->sh_size = change.claimed_size == 0 ? change.bytes.size() : change.claimed_size;
  header->sh_flags &= ~uint64_t{SHF_COMPRESSED};
  header->sh_addralign = 1;
  elf.bytes.insert(elf.bytes.end(), change.bytes.begin(), change.bytes.end());
  elf.Write(path);
  return true;
}

std::vector<std::string> RecordedBinaries() {
  const char* root = std::getenv("HBBP_TEST_DATA");
  if (root == nullptr) return {};
  std::vector<std::string> files;
  for (const char* name :
       {"autofdo/test.binary", "autofdo/propeller_sample.bin", "profgen/inline-noprobe.perfbin",
        "profgen/multi-load-segs.perfbin", "profgen/noprobe.perfbin",
        "profgen/recursion-compression-noprobe.perfbin"}) {
    std::string path = std::string(root) + "/" + name;
    if (std::filesystem::exists(path)) files.push_back(path);
  }
  return files;
}

std::string ToHex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

}  // namespace hbbp::test
