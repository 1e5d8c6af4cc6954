// Runs a fuzz target once over each file of the given directories and files.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesOf(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

bool Replay(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    std::cerr << path.string() << ": cannot be read\n";
    return false;
  }
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  // The name is printed before the run, so the last one is that of a crash.
  std::cout << path.string() << std::endl;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  // A corpus cannot contain the empty input.
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& path : FilesOf(argv[i])) {
      if (!Replay(path)) return 1;
      ++count;
    }
  }
  std::cout << count << " files\n";
  return count == 0 ? 1 : 0;
}
