// Classifies programs before exec. ClassifyProgram opens the file, follows "#!" to the interpreter,
// and reads the headers of the ELF file: its machine, its interpreter and the libraries that it
// needs. The interposed exec functions call it with FindProgram, and hbbp record calls it before it
// starts a program. Everything is read into buffers on the stack.
#include "preload/exec_target.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>

namespace hbbp::preload {
namespace {

// Limits of the kernel: BINPRM_BUF_SIZE, and how many scripts may be interpreters of scripts.
constexpr size_t kLineBytes = 256;
constexpr int kMaxScripts = 5;

constexpr char kLoaderName[] = "ld-linux-x86-64.so.2";
constexpr char kLoader[] = "/lib64/ld-linux-x86-64.so.2";

bool StartsWith(const char* text, const char* prefix) {
  return ::strncmp(text, prefix, ::strlen(prefix)) == 0;
}

const char* BaseName(const char* path) {
  const char* slash = ::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool IsEmulator(const char* name) {
  const char* const base = BaseName(name);
  return ::strcmp(base, "valgrind") == 0 || ::strcmp(base, "valgrind.bin") == 0 ||
         StartsWith(base, "qemu-");
}

// Compares files, not names. A glibc of another version may lack what the library needs.
bool IsOwnLoader(const char* path) {
  if (::strcmp(BaseName(path), kLoaderName) != 0) return false;
  struct stat one, other;
  if (::stat(path, &one) != 0 || ::stat(kLoader, &other) != 0) return true;
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// FileParts reads small parts of a file, which lie close together, by few system calls.
class FileParts {
 public:
  explicit FileParts(int fd) : fd_(fd) {}

  // Returns how much it has read, less than `size` at the end of the file.
  size_t Read(uint64_t offset, void* to, size_t size) {
    if (size > kWindowBytes - kAlignment) return ReadPast(offset, to, size);
    const Window& window = WindowWith(offset, size);
    const uint64_t skipped = offset - window.begin;
    if (skipped >= window.bytes) return 0;
    const size_t got = window.bytes - skipped < size ? window.bytes - skipped : size;
    ::memcpy(to, window.data + skipped, got);
    return got;
  }

 private:
  static constexpr size_t kWindowBytes = 1024;
  static constexpr size_t kAlignment = 256;
  static constexpr unsigned kWindows = 4;

  struct Window {
    uint64_t begin = UINT64_MAX;
    size_t bytes = 0;
    uint8_t data[kWindowBytes];
  };

  size_t ReadPast(uint64_t offset, void* to, size_t size) const {
    const ssize_t got = ::pread(fd_, to, size, static_cast<off_t>(offset));
    return got < 0 ? 0 : static_cast<size_t>(got);
  }

  const Window& WindowWith(uint64_t offset, size_t size) {
    for (const Window& window : windows_) {
      const uint64_t skipped = offset - window.begin;
      if (offset >= window.begin && skipped < kWindowBytes && size <= kWindowBytes - skipped) {
        return window;
      }
    }
    Window& window = windows_[next_++ % kWindows];
    window.begin = offset & ~uint64_t{kAlignment - 1};
    window.bytes = ReadPast(window.begin, window.data, kWindowBytes);
    return window;
  }

  const int fd_;
  unsigned next_ = 0;
  Window windows_[kWindows];
};

class ElfFile {
 public:
  explicit ElfFile(int fd) : parts_(fd) {}

  ExecTarget Classify() {
    if (!Read(0, &header_)) return ExecTarget::kOrdinary;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != EM_X86_64) {
      return ExecTarget::kOtherMachine;
    }
    Elf64_Phdr program_header;
    char interpreter[PATH_MAX] = "";
    Elf64_Phdr dynamic = {};
    size_t i = 0;
    for (; ReadProgramHeader(i, &program_header); ++i) {
      if (program_header.p_type == PT_DYNAMIC) dynamic = program_header;
      if (program_header.p_type != PT_INTERP) continue;
      if (program_header.p_filesz >= sizeof(interpreter)) return ExecTarget::kOrdinary;
      if (!Read(program_header.p_offset, interpreter, program_header.p_filesz)) {
        return ExecTarget::kOrdinary;
      }
    }
    // Headers that cannot be read may contain an interpreter.
    if (i < header_.e_phnum) return ExecTarget::kOrdinary;
    if (*interpreter == '\0') return ExecTarget::kStatic;
    if (!IsOwnLoader(interpreter)) return ExecTarget::kOtherLibc;
    return HasSanitizer(dynamic) ? ExecTarget::kSanitizer : ExecTarget::kOrdinary;
  }

 private:
  bool Read(uint64_t offset, void* to, size_t size) {
    return parts_.Read(offset, to, size) == size;
  }
  template <typename Object>
  bool Read(uint64_t offset, Object* object) {
    return Read(offset, object, sizeof(*object));
  }

  bool ReadProgramHeader(size_t index, Elf64_Phdr* program_header) {
    return index < header_.e_phnum && header_.e_phentsize == sizeof(Elf64_Phdr) &&
           Read(header_.e_phoff + index * sizeof(Elf64_Phdr), program_header);
  }

  // Returns UINT64_MAX for an address outside of the file.
  uint64_t FileOffset(uint64_t address) {
    Elf64_Phdr program_header;
    for (size_t i = 0; ReadProgramHeader(i, &program_header); ++i) {
      if (program_header.p_type != PT_LOAD) continue;
      const uint64_t inside = address - program_header.p_vaddr;
      if (inside < program_header.p_filesz) return program_header.p_offset + inside;
    }
    return UINT64_MAX;
  }

  // Reads a string, cut to the size of the buffer.
  template <size_t size>
  bool ReadString(uint64_t offset, char (&text)[size]) {
    const size_t got = parts_.Read(offset, text, size - 1);
    if (got == 0) return false;
    text[got] = '\0';
    return true;
  }

  bool HasSanitizer(const Elf64_Phdr& dynamic) {
    uint64_t hash = 0;
    const size_t count = dynamic.p_filesz / sizeof(Elf64_Dyn);
    Elf64_Dyn entry;
    for (size_t i = 0; i < count && ReadDynamic(dynamic, i, &entry); ++i) {
      if (entry.d_tag == DT_STRTAB) strings_ = FileOffset(entry.d_un.d_ptr);
      if (entry.d_tag == DT_SYMTAB) symbols_ = FileOffset(entry.d_un.d_ptr);
      if (entry.d_tag == DT_GNU_HASH) hash = FileOffset(entry.d_un.d_ptr);
    }
    char name[64];
    for (size_t i = 0; i < count && ReadDynamic(dynamic, i, &entry); ++i) {
      if (entry.d_tag != DT_NEEDED) continue;
      if (ReadString(strings_ + entry.d_un.d_val, name) && IsSanitizerLibrary(name)) return true;
    }
    for (const char* symbol :
         {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init"}) {
      if (hash != 0 && Defines(hash, symbol)) return true;
    }
    return false;
  }

  bool ReadDynamic(const Elf64_Phdr& dynamic, size_t index, Elf64_Dyn* entry) {
    return Read(dynamic.p_offset + index * sizeof(Elf64_Dyn), entry) && entry->d_tag != DT_NULL;
  }

  // Looks a symbol up in the table DT_GNU_HASH, without its filter.
  bool Defines(uint64_t table, const char* symbol) {
    struct {
      uint32_t bucket_count, first_symbol, filter_words, filter_shift;
    } head;
    if (!Read(table, &head) || head.bucket_count == 0) return false;
    uint32_t hash = 5381;
    for (const char* c = symbol; *c != '\0'; ++c) hash = hash * 33 + static_cast<uint8_t>(*c);
    const uint64_t buckets = table + sizeof(head) + uint64_t{8} * head.filter_words;
    const uint64_t chains = buckets + uint64_t{4} * head.bucket_count;
    uint32_t index;
    if (!Read(buckets + uint64_t{4} * (hash % head.bucket_count), &index)) return false;
    constexpr int kMaxChain = 1000;
    for (int i = 0; i < kMaxChain && index >= head.first_symbol; ++i, ++index) {
      uint32_t hash_of_symbol;
      if (!Read(chains + uint64_t{4} * (index - head.first_symbol), &hash_of_symbol)) return false;
      if ((hash_of_symbol | 1) == (hash | 1) && HasName(index, symbol)) return true;
      if ((hash_of_symbol & 1) != 0) return false;
    }
    return false;
  }

  bool HasName(uint32_t index, const char* symbol) {
    Elf64_Sym entry;
    char name[32];
    return Read(symbols_ + uint64_t{index} * sizeof(entry), &entry) &&
           ReadString(strings_ + entry.st_name, name) && ::strcmp(name, symbol) == 0;
  }

  FileParts parts_;
  Elf64_Ehdr header_ = {};
  uint64_t strings_ = UINT64_MAX;
  uint64_t symbols_ = UINT64_MAX;
};

// Cuts the path out of "#! PATH ARGUMENT".
bool CutInterpreter(char* line, const char** path) {
  char* begin = line + 2;
  begin += ::strspn(begin, " \t");
  begin[::strcspn(begin, " \t\n")] = '\0';
  *path = begin;
  return *begin != '\0';
}

ExecTarget ClassifyPath(const char* path, int scripts);

ExecTarget ClassifyOpen(int fd, const char* name, int scripts) {
  if (name != nullptr && IsEmulator(name)) return ExecTarget::kEmulator;
  char line[kLineBytes + 1];
  const ssize_t got = ::pread(fd, line, kLineBytes, 0);
  if (got < 4) return ExecTarget::kOrdinary;
  line[got] = '\0';
  if (::memcmp(line, ELFMAG, SELFMAG) == 0) return ElfFile(fd).Classify();
  const char* interpreter;
  if (!StartsWith(line, "#!") || scripts == 0 || !CutInterpreter(line, &interpreter)) {
    return ExecTarget::kOrdinary;
  }
  return ClassifyPath(interpreter, scripts - 1);
}

ExecTarget ClassifyPath(const char* path, int scripts) {
  const int saved_errno = errno;
  // Opening must not block, since it may be a pipe.
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ExecTarget target = ExecTarget::kOrdinary;
  if (fd >= 0) {
    target = ClassifyOpen(fd, path, scripts);
    ::close(fd);
  }
  errno = saved_errno;
  return target;
}

bool IsExecutable(const char* path) {
  struct stat status;
  return ::stat(path, &status) == 0 && S_ISREG(status.st_mode) && ::access(path, X_OK) == 0;
}

}  // namespace

bool IsSanitizerLibrary(const char* name) {
  for (const char* prefix :
       {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan",
        "libclang_rt.tsan", "libclang_rt.lsan", "libclang_rt.hwasan"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

ExecTarget ClassifyProgram(const char* path) { return ClassifyPath(path, kMaxScripts); }

ExecTarget ClassifyFile(int fd, const char* name) {
  const int saved_errno = errno;
  const ExecTarget target = ClassifyOpen(fd, name, kMaxScripts);
  errno = saved_errno;
  return target;
}

ExecTarget WithArguments(ExecTarget target, char* const* arguments) {
  if (target != ExecTarget::kOrdinary || arguments == nullptr) return target;
  for (; *arguments != nullptr; ++arguments) {
    if (::strcmp(*arguments, "--type=zygote") == 0) return ExecTarget::kZygote;
  }
  return target;
}

const char* Describe(ExecTarget target) {
  switch (target) {
    case ExecTarget::kOrdinary:
      break;
    case ExecTarget::kStatic:
      return "static";
    case ExecTarget::kOtherMachine:
      return "32-bit or of another architecture";
    case ExecTarget::kOtherLibc:
      return "linked with another C library than that of hbbp";
    case ExecTarget::kSanitizer:
      return "built with a sanitizer";
    case ExecTarget::kEmulator:
      return "an emulator, whose program would get it too";
    case ExecTarget::kZygote:
      return "a zygote, which must not have a second thread";
  }
  return "";
}

bool IsHarmedByPreload(ExecTarget target) {
  return target != ExecTarget::kOrdinary && target != ExecTarget::kStatic;
}

bool FindProgram(const char* name, char* path, size_t size) {
  const int saved_errno = errno;
  const size_t length = ::strlen(name);
  bool is_found = false;
  if (::strchr(name, '/') != nullptr) {
    is_found = length < size;
    if (is_found) ::memcpy(path, name, length + 1);
    return is_found;
  }
  const char* directories = ::getenv("PATH");
  if (directories == nullptr) directories = "/bin:/usr/bin";
  while (!is_found) {
    const size_t directory_length = ::strcspn(directories, ":");
    if (directory_length + length + 2 <= size) {
      char* end = path;
      ::memcpy(end, directories, directory_length);
      end += directory_length;
      if (directory_length > 0) *end++ = '/';
      ::memcpy(end, name, length + 1);
      is_found = length > 0 && IsExecutable(path);
    }
    if (directories[directory_length] == '\0') break;
    directories += directory_length + 1;
  }
  errno = saved_errno;
  return is_found;
}

}  // namespace hbbp::preload
