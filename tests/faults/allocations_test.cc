// Makes every allocation behind the C ABI fail once, and then all from each one on: the function
// returns HBBP_ERROR_NO_MEMORY or works without, nothing leaks, and its handle remains usable.
//
// usage: allocations_test [--all] [--only WORD]
//   --all   the n-th allocation for each n; else for each n up to some dozens, and ever fewer of
//           the later ones
//
// Source lines are not tested: libdw ends the process if it has no memory
// (docs/reference/security.md).
//
// The allocator functions below are those of this program and of all its libraries.
#include <execinfo.h>
#include <hbbp/hbbp.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);
}

namespace {

std::atomic<bool> is_armed{false};
std::atomic<bool> fails_on{false};  // true: all later ones fail too
std::atomic<long> allocations_left{0};
std::atomic<long> failed{0};
std::atomic<long> live{0};

bool Fails() {
  if (!is_armed) return false;
  const long left = allocations_left.fetch_sub(1);
  if (left > 1 || (left < 1 && !fails_on)) return false;
  ++failed;
  errno = ENOMEM;
  return true;
}

void* Counted(void* memory) {
  if (memory != nullptr) ++live;
  return memory;
}

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept { return Fails() ? nullptr : Counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) noexcept {
  return Fails() ? nullptr : Counted(__libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) noexcept {
  if (Fails()) return nullptr;
  void* result = __libc_realloc(memory, size);
  if (memory == nullptr) Counted(result);
  if (memory != nullptr && size == 0) --live;
  return result;
}
void* memalign(size_t alignment, size_t size) noexcept {
  return Fails() ? nullptr : Counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  void* result = memalign(alignment, size);
  if (result == nullptr) return ENOMEM;
  *memory = result;
  return 0;
}
void free(void* memory) noexcept {
  if (memory == nullptr) return;
  --live;
  __libc_free(memory);
}

}  // extern "C"

namespace {

int problems = 0;

// Reports where a failure was not caught.
[[noreturn]] void OnTerminate() {
  is_armed = false;
  std::fprintf(stderr, "an exception left the library; it was thrown below:\n");
  constexpr int kFrames = 40;
  void* frames[kFrames];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, kFrames), STDERR_FILENO);
  std::abort();
}

void Report(const std::string& operation, long n, bool persists, const char* what) {
  std::fprintf(stderr, "%s, allocation %ld%s: %s\n", operation.c_str(), n,
               persists ? " and all later ones" : "", what);
  ++problems;
}

struct Subject {
  hbbp_session* session = nullptr;
  hbbp_feed* feed = nullptr;
  hbbp_profile* profile = nullptr;
  hbbp_profile* result = nullptr;
  hbbp_analysis* analysis = nullptr;  // analysis of `profile`
  hbbp_mix* mix = nullptr;
  hbbp_pivot* pivot = nullptr;
  hbbp_taxonomy* taxonomy = nullptr;
  hbbp_ratios* ratios = nullptr;
  hbbp_loops* loops = nullptr;
  hbbp_probe* probe = nullptr;
  hbbp_capabilities* capabilities = nullptr;
  double number = 0;  // the result of the operation

  void Destroy() {
    hbbp_session_destroy(session);
    hbbp_feed_destroy(feed);
    hbbp_profile_destroy(profile);
    hbbp_profile_destroy(result);
    hbbp_analysis_destroy(analysis);
    hbbp_mix_destroy(mix);
    hbbp_pivot_destroy(pivot);
    hbbp_taxonomy_destroy(taxonomy);
    hbbp_ratios_destroy(ratios);
    hbbp_loops_destroy(loops);
    hbbp_probe_destroy(probe);
    hbbp_capabilities_destroy(capabilities);
  }
};

struct Operation {
  std::string name;
  std::function<void(Subject*)> prepare;
  std::function<hbbp_status(Subject*, hbbp_error*)> run;
  // Whether the operation returns the same number each time.
  bool is_exact = true;
  // For a running session the number of allocations depends on its worker.
  bool has_worker = false;
};

void Spin(uint64_t for_ns) {
  timespec begin, now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    for (int i = 0; i < 20000; ++i) asm volatile("");
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<uint64_t>(now.tv_sec - begin.tv_sec) * 1'000'000'000 +
               static_cast<uint64_t>(now.tv_nsec - begin.tv_nsec) <
           for_ns);
}

void Require(hbbp_status status, const hbbp_error& error) {
  if (status == HBBP_OK) return;
  std::fprintf(stderr, "without faults: %s: %s\n", hbbp_status_name(status), error.message);
  std::exit(1);
}

hbbp_session_options OptionsOf(hbbp_source_kind source) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 1'000'000;
  return options;
}

void Create(Subject* subject, hbbp_source_kind source) {
  HBBP_INIT(hbbp_error, error);
  const hbbp_session_options options = OptionsOf(source);
  Require(hbbp_session_create(&options, &subject->session, &error), error);
}

void Start(Subject* subject, hbbp_source_kind source) {
  HBBP_INIT(hbbp_error, error);
  Create(subject, source);
  Require(hbbp_session_start(subject->session, &error), error);
  Spin(3'000'000);
}

// Runs one iteration of an operation. Returns false if nothing failed.
bool RunOnce(const Operation& operation, long n, bool persists, double expected) {
  Subject subject;
  operation.prepare(&subject);
  HBBP_INIT(hbbp_error, error);
  failed = 0;
  fails_on = persists;
  allocations_left = n;
  is_armed = true;
  hbbp_status status = operation.run(&subject, &error);
  is_armed = false;
  const bool has_failed = failed > 0;
  if (status != HBBP_OK && !has_failed) Report(operation.name, n, persists, error.message);
  if (status != HBBP_OK && status != HBBP_ERROR_NO_MEMORY) {
    Report(operation.name, n, persists,
           (std::string(hbbp_status_name(status)) + ": " + error.message).c_str());
  }
  if (status == HBBP_ERROR_NO_MEMORY && std::strstr(error.message, "memory") == nullptr) {
    Report(operation.name, n, persists, "the message does not say that there is no memory");
  }
  // The same handle is used once more, with memory.
  if (status != HBBP_OK) {
    status = operation.run(&subject, &error);
    if (status != HBBP_OK) {
      Report(operation.name, n, persists,
             (std::string("does not work afterwards: ") + error.message).c_str());
    } else if (operation.is_exact && subject.number != expected) {
      Report(operation.name, n, persists,
             ("finds " + std::to_string(subject.number) + " afterwards, and not " +
              std::to_string(expected))
                 .c_str());
    }
  }
  subject.Destroy();
  return has_failed;
}

double Expected(const Operation& operation) {
  Subject subject;
  operation.prepare(&subject);
  HBBP_INIT(hbbp_error, error);
  Require(operation.run(&subject, &error), error);
  const double number = subject.number;
  subject.Destroy();
  return number;
}

void Try(const Operation& operation, bool all) {
  // Allocations that are made once and kept exist after these.
  Expected(operation);
  const double expected = Expected(operation);
  constexpr int kMaxCalm = 3;
  constexpr long kDense = 40, kGrowth = 8, kMaxLeaked = 2;
  long tried = 0;
  for (const bool persists : {false, true}) {
    int calm = 0;
    for (long n = 1; calm < (operation.has_worker ? kMaxCalm : 1);) {
      const long before = live;
      const bool has_failed = RunOnce(operation, n, persists, expected);
      calm = has_failed ? 0 : calm + 1;
      // libraries keep some memory, and a worker may be about to be listed as ended
      if (live - before > kMaxLeaked && !operation.has_worker) {
        const long again = live;
        RunOnce(operation, n, persists, expected);
        if (live - again > kMaxLeaked) {
          Report(operation.name, n, persists,
                 ("leaks " + std::to_string(live - again) + " blocks").c_str());
        }
      }
      ++tried;
      n += all || n < kDense ? 1 : n / kGrowth;
    }
  }
  std::printf("%s: %ld failures\n", operation.name.c_str(), tried);
  std::fflush(stdout);
}

class Operations {
 public:
  explicit Operations(std::string path) : path_(std::move(path)), link_(path_ + ".link") {
    (void)!::symlink(path_.c_str(), link_.c_str());
    AddOfProfiles();
    AddOfResults();
    AddOfFeeds();
  }

  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;
  ~Operations() { ::unlink(link_.c_str()); }

  void AddOfSessions(hbbp_source_kind source) {
    const std::string of = " of source " + std::to_string(source);
    const auto nothing = [](Subject*) {};
    Add("create" + of, nothing, [source](Subject* subject, hbbp_error* error) {
      const hbbp_session_options options = OptionsOf(source);
      return hbbp_session_create(&options, &subject->session, error);
    });
    AddWithWorker(
        "start" + of, [source](Subject* subject) { Create(subject, source); },
        [](Subject* subject, hbbp_error* error) {
          return hbbp_session_start(subject->session, error);
        });
    AddWithWorker(
        "sample" + of, [source](Subject* subject) { Start(subject, source); },
        [](Subject* subject, hbbp_error* error) {
          Spin(5'000'000);
          HBBP_INIT(hbbp_session_info, info);
          return hbbp_session_get_info(subject->session, &info, error);
        });
    AddWithWorker(
        "snapshot" + of, [source](Subject* subject) { Start(subject, source); },
        [](Subject* subject, hbbp_error* error) {
          return hbbp_session_snapshot(subject->session, nullptr, &subject->result, error);
        });
    AddWithWorker(
        "stop" + of, [source](Subject* subject) { Start(subject, source); },
        [](Subject* subject, hbbp_error* error) {
          return hbbp_session_stop(subject->session, error);
        });
  }

  const std::vector<Operation>& all() const { return all_; }

 private:
  using Run = std::function<hbbp_status(Subject*, hbbp_error*)>;

  void Add(const std::string& name, std::function<void(Subject*)> prepare, Run run) {
    all_.push_back({name, std::move(prepare), std::move(run)});
  }
  void AddWithWorker(const std::string& name, std::function<void(Subject*)> prepare, Run run) {
    all_.push_back({name, std::move(prepare), std::move(run), false, true});
  }
  void AddOfProfile(const std::string& name, Run run) {
    Add(
        name, [this](Subject* subject) { Load(subject); }, std::move(run));
  }

  void AddOfAnalysis(const std::string& name, Run run) {
    Add(
        name, [this](Subject* subject) { Analyse(subject); }, std::move(run));
  }

  void Analyse(Subject* subject) const {
    HBBP_INIT(hbbp_error, error);
    Load(subject);
    Require(hbbp_analysis_create(subject->profile, nullptr, nullptr, &subject->analysis, &error),
            error);
  }

  void Load(Subject* subject) const {
    HBBP_INIT(hbbp_error, error);
    Require(hbbp_profile_load(path_.c_str(), nullptr, &subject->profile, &error), error);
  }

  void AddOfProfiles() {
    Add(
        "load", [](Subject*) {},
        [this](Subject* subject, hbbp_error* error) {
          return hbbp_profile_load(path_.c_str(), nullptr, &subject->result, error);
        });
    AddOfProfile("save", [this](Subject* subject, hbbp_error* error) {
      const hbbp_status status = hbbp_profile_save(subject->profile, link_.c_str(), nullptr, error);
      struct stat link;
      // It must still be one, whatever failed.
      if (::lstat(link_.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) subject->number = 1;
      return status;
    });
    AddOfProfile("merge", [](Subject* subject, hbbp_error* error) {
      const hbbp_profile* const both[] = {subject->profile, subject->profile};
      return hbbp_profile_merge(both, 2, nullptr, &subject->result, error);
    });
    AddOfProfile("merge one by one", [](Subject* subject, hbbp_error* error) {
      hbbp_merger* merger = nullptr;
      hbbp_status status = hbbp_merger_create(nullptr, &merger, error);
      if (status != HBBP_OK) return status;
      for (int i = 0; i < 2 && status == HBBP_OK; ++i) {
        status = hbbp_merger_add(merger, subject->profile, nullptr, error);
      }
      if (status == HBBP_OK) {
        status = hbbp_merger_finish(merger, nullptr, &subject->result, error);
      }
      hbbp_merger_destroy(merger);
      return status;
    });
    AddOfProfile("analysis", [](Subject* subject, hbbp_error* error) {
      const hbbp_status status =
          hbbp_analysis_create(subject->profile, nullptr, nullptr, &subject->analysis, error);
      if (status == HBBP_OK) {
        subject->number = static_cast<double>(hbbp_analysis_block_count(subject->analysis));
      }
      return status;
    });
    AddOfAnalysis("blocks", [](Subject* subject, hbbp_error* error) {
      constexpr size_t kBlocks = 16;
      static hbbp_block blocks[kBlocks];
      size_t copied = 0;
      const hbbp_status status = hbbp_analysis_copy_blocks(
          subject->analysis, 0, kBlocks, sizeof(hbbp_block), blocks, &copied, error);
      subject->number = static_cast<double>(copied);
      return status;
    });
    AddOfProfile("select a thread", [](Subject* subject, hbbp_error* error) {
      HBBP_INIT(hbbp_selection, selection);
      hbbp_thread thread;
      size_t copied = 0;
      const hbbp_status status = hbbp_profile_copy_threads(subject->profile, 0, 1, sizeof(thread),
                                                           &thread, &copied, error);
      if (status != HBBP_OK) return status;
      selection.parts = HBBP_SELECT_THREAD;
      selection.tid = thread.tid;
      return hbbp_profile_select(subject->profile, &selection, nullptr, &subject->result, error);
    });
  }

  void AddOfResults() {
    AddOfAnalysis("mix", [](Subject* subject, hbbp_error* error) {
      const hbbp_status status =
          hbbp_mix_create(subject->analysis, HBBP_MIX_BY_MNEMONIC | HBBP_MIX_BY_FUNCTION, nullptr,
                          &subject->mix, error);
      if (status == HBBP_OK) subject->number = hbbp_mix_total(subject->mix);
      return status;
    });
    AddOfAnalysis("pivot", [](Subject* subject, hbbp_error* error) {
      HBBP_INIT(hbbp_pivot_query, query);
      query.rows = "function,mnemonic";
      query.columns = "extension";
      query.where = "memory != none or mnemonic = jmp";
      const hbbp_status status =
          hbbp_pivot_create(subject->analysis, &query, nullptr, &subject->pivot, error);
      if (status == HBBP_OK) {
        subject->number =
            static_cast<double>(hbbp_pivot_line_count(subject->pivot, HBBP_PIVOT_ROWS));
      }
      return status;
    });
    AddOfAnalysis("ratios", [](Subject* subject, hbbp_error* error) {
      return hbbp_ratios_create(subject->analysis, nullptr, nullptr, nullptr, &subject->ratios,
                                error);
    });
    AddOfAnalysis("loops", [](Subject* subject, hbbp_error* error) {
      const hbbp_status status =
          hbbp_loops_create(subject->analysis, nullptr, &subject->loops, error);
      if (status == HBBP_OK) {
        subject->number = static_cast<double>(hbbp_loops_count(subject->loops));
      }
      return status;
    });
    Add(
        "taxonomy", [](Subject*) {},
        [](Subject* subject, hbbp_error* error) {
          return hbbp_taxonomy_create(nullptr, &subject->taxonomy, error);
        });
    Add(
        "capabilities", [](Subject*) {},
        [](Subject* subject, hbbp_error* error) {
          return hbbp_capabilities_probe(&subject->capabilities, error);
        });
  }

  static void AddSource(Subject* subject) {
    HBBP_INIT(hbbp_error, error);
    Require(hbbp_feed_create(nullptr, &subject->feed, &error), error);
    HBBP_INIT(hbbp_feed_source, source);
    source.kind = HBBP_SOURCE_EBS;
    source.event = HBBP_EVENT_INSTRUCTIONS;
    source.period = 1000;
    uint32_t index = 0;
    Require(hbbp_feed_add_source(subject->feed, &source, &index, &error), error);
  }

  // Makes the analysis of a burst of a loop: nop; jmp.
  static void AddBurst(Subject* subject) {
    HBBP_INIT(hbbp_error, error);
    HBBP_INIT(hbbp_feed_options, options);
    options.kept_burst_bytes = HBBP_MIN_KEPT_BURST_BYTES;
    Require(hbbp_feed_create(&options, &subject->feed, &error), error);
    HBBP_INIT(hbbp_feed_source, source);
    source.kind = HBBP_SOURCE_SWBT;
    source.event = HBBP_EVENT_TAKEN_BRANCHES;
    source.period = 1000;
    Require(hbbp_feed_add_source(subject->feed, &source, nullptr, &error), error);
    static constexpr uint8_t kLoop[] = {0x90, 0xeb, 0xfd};
    hbbp_feed_event code = {};
    code.kind = HBBP_FEED_CODE;
    code.address = 0x7000;
    code.size = sizeof(kLoop);
    code.code = kLoop;
    Require(hbbp_feed_add_events(subject->feed, &code, 1, sizeof(code), &error), error);
    const std::vector<hbbp_branch_entry> branches(64, {0x7001, 0x7000, 0});
    hbbp_feed_sample burst = {};
    burst.branches = branches.data();
    burst.branch_count = static_cast<uint32_t>(branches.size());
    Require(hbbp_feed_add_samples(subject->feed, 0, &burst, 1, sizeof(burst), &error), error);
    Require(hbbp_feed_flush(subject->feed, HBBP_FEED_ALL, &error), error);
    Require(hbbp_feed_snapshot(subject->feed, nullptr, &subject->profile, &error), error);
    Require(hbbp_analysis_create(subject->profile, nullptr, nullptr, &subject->analysis, &error),
            error);
  }

  // A probe whose run had no memory cannot run again, so each time another one is made.
  static hbbp_status Probe(Subject* subject, hbbp_error* error) {
    hbbp_probe_destroy(subject->probe);
    subject->probe = nullptr;
    HBBP_INIT(hbbp_probe_options, options);
    options.productions =
        "use framework\np: branch && sample_flag => count(pc, next); trace all(pc), null\n";
    options.min_stream_length = 2;
    hbbp_status status = hbbp_probe_create(&options, &subject->probe, error);
    if (status != HBBP_OK) return status;
    status = hbbp_probe_run(subject->probe, subject->analysis, 0, nullptr, nullptr, error);
    if (status != HBBP_OK) return status;
    hbbp_probe_row row;
    size_t copied = 0;
    status = hbbp_probe_copy_rows(subject->probe, 0, 0, 1, sizeof(row), &row, &copied, error);
    if (status != HBBP_OK) return status;
    subject->number = row.estimate;
    hbbp_probe_stream stream;
    status =
        hbbp_probe_copy_streams(subject->probe, 1, 0, 1, sizeof(stream), &stream, &copied, error);
    if (status != HBBP_OK) return status;
    HBBP_INIT(hbbp_probe_location, location);
    return hbbp_probe_locate(subject->probe, row.values[0], &location, error);
  }

  void AddOfFeeds() {
    Add(
        "create a feed", [](Subject*) {},
        [](Subject* subject, hbbp_error* error) {
          return hbbp_feed_create(nullptr, &subject->feed, error);
        });
    Add("add samples", &AddSource, [](Subject* subject, hbbp_error* error) {
      hbbp_feed_sample samples[100];
      std::memset(samples, 0, sizeof(samples));
      for (size_t i = 0; i < 100; ++i) {
        samples[i].pid = samples[i].tid = static_cast<uint32_t>(::getpid());
        samples[i].time_ns = i + 1;
        samples[i].ip = 0x1000 + i * 8;
      }
      return hbbp_feed_add_samples(subject->feed, 0, samples, 100, sizeof(hbbp_feed_sample), error);
    });
    Add("productions on a burst", &AddBurst, &Probe);
    Add("snapshot of a feed", &AddSource, [](Subject* subject, hbbp_error* error) {
      return hbbp_feed_snapshot(subject->feed, nullptr, &subject->result, error);
    });
  }

  const std::string path_;
  const std::string link_;  // a link to it
  std::vector<Operation> all_;
};

// Traces this program. Returns false if there is no such source here.
bool Record(hbbp_source_kind source, const std::string& path) {
  Subject subject;
  HBBP_INIT(hbbp_error, error);
  const hbbp_session_options options = OptionsOf(source);
  Require(hbbp_session_create(&options, &subject.session, &error), error);
  const bool works = hbbp_session_start(subject.session, &error) == HBBP_OK;
  if (works) {
    Spin(100'000'000);
    Require(hbbp_session_snapshot(subject.session, nullptr, &subject.result, &error), error);
    Require(hbbp_profile_save(subject.result, path.c_str(), nullptr, &error), error);
  } else {
    std::printf("no source %d: %s\n", source, error.message);
  }
  subject.Destroy();
  return works;
}

}  // namespace

int main(int argc, char** argv) {
  bool all = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--all") == 0) all = true;
    if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) only = argv[i + 1];
  }
  std::set_terminate(&OnTerminate);
  char path[] = "/tmp/hbbp-allocations-XXXXXX";
  const int file = ::mkstemp(path);
  if (file < 0) return 1;
  ::close(file);
  const std::string saved = std::string(path) + ".saved";
  constexpr int kSkipped = 77;
  int result = kSkipped;
  if (Record(HBBP_SOURCE_EBS, path)) {
    Operations operations(path);
    operations.AddOfSessions(HBBP_SOURCE_EBS);
    if (Record(HBBP_SOURCE_SWBT, saved)) operations.AddOfSessions(HBBP_SOURCE_SWBT);
    for (const Operation& operation : operations.all()) {
      if (operation.name.find(only) != std::string::npos) Try(operation, all);
    }
    result = problems == 0 ? 0 : 1;
  }
  ::unlink(path);
  ::unlink(saved.c_str());
  return result;
}
