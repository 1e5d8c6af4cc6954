// hbbp.hpp: C++17 over the C ABI. Handles that destroy themselves, errors as exceptions, lists as
// ranges; no behaviour of its own. Everything compiles into the host, so nothing here is ABI.
//
//   hbbp::session session;
//   session.start();
//   work();
//   session.stop();
//   for (const hbbp_block& block : session.snapshot().blocks()) ...
//
// Where exceptions are switched off (-fno-exceptions), an error ends the program: its message goes
// to stderr, then std::abort. What may fail is to be asked of the C ABI, by get(), which every
// class has: hbbp_session_start(session.get(), &failure).
#ifndef HBBP_HBBP_HPP_
#define HBBP_HBBP_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hbbp.h"

namespace hbbp {

// what() is the message of hbbp_error.
class error : public std::runtime_error {
 public:
  error(hbbp_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  hbbp_status status() const noexcept { return status_; }

 private:
  hbbp_status status_;
};

namespace detail {

[[noreturn]] inline void fail(hbbp_status status, const char* message) {
#if defined(__cpp_exceptions)
  throw error(status, message);
#else
  std::fprintf(stderr, "%s: %s\n", hbbp_status_name(status), message);
  std::abort();
#endif
}

// Calls a function of the C ABI with a hbbp_error and throws what it reports.
template <typename Function>
void check(Function&& function) {
  hbbp_error failure = {};
  failure.struct_size = sizeof(failure);
  const hbbp_status status = function(&failure);
  if (status != HBBP_OK) fail(status, failure.message);
}

template <typename Struct>
Struct sized() {
  Struct value = {};
  value.struct_size = sizeof(value);
  return value;
}

// All elements of a list that belongs to a source.
template <typename Struct, typename Handle>
std::vector<Struct> read_list_of(const Handle* handle, std::size_t source, std::size_t count,
                                 hbbp_status (*at)(const Handle*, std::size_t, std::size_t, Struct*,
                                                   hbbp_error*)) {
  std::vector<Struct> list(count, sized<Struct>());
  for (std::size_t i = 0; i < count; ++i) {
    check([&](hbbp_error* failure) { return at(handle, source, i, &list[i], failure); });
  }
  return list;
}

// All elements of a list that is read by index.
template <typename Struct, typename Handle>
std::vector<Struct> read_list(const Handle* handle, std::size_t count,
                              hbbp_status (*at)(const Handle*, std::size_t, Struct*, hbbp_error*)) {
  std::vector<Struct> list(count, sized<Struct>());
  for (std::size_t i = 0; i < count; ++i) {
    check([&](hbbp_error* failure) { return at(handle, i, &list[i], failure); });
  }
  return list;
}

// All elements of a list that is copied at once.
template <typename Struct, typename Handle>
std::vector<Struct> copy_list(const Handle* handle, std::size_t count,
                              hbbp_status (*copy)(const Handle*, std::size_t, std::size_t,
                                                  std::size_t, Struct*, std::size_t*,
                                                  hbbp_error*)) {
  std::vector<Struct> list(count);
  std::size_t copied = 0;
  check([&](hbbp_error* failure) {
    return copy(handle, 0, list.size(), sizeof(Struct), list.data(), &copied, failure);
  });
  list.resize(copied);
  return list;
}

}  // namespace detail

// Calls off the work that it is given to; see host.h. set() may be called in a signal handler.
class cancel_flag {
 public:
  cancel_flag() : handle_(nullptr, &hbbp_cancel_destroy) {
    hbbp_cancel* handle = nullptr;
    detail::check([&](hbbp_error* failure) { return hbbp_cancel_create(&handle, failure); });
    handle_.reset(handle);
  }

  void set(bool cancelled = true) noexcept { hbbp_cancel_set(handle_.get(), cancelled ? 1 : 0); }
  bool is_set() const noexcept { return hbbp_cancel_is_set(handle_.get()) != 0; }
  // For the `cancel` of options.
  const hbbp_cancel* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<hbbp_cancel, void (*)(hbbp_cancel*)> handle_;
};

// For the `allocator` of options: memory of `resource`, which must be safe to use from several
// threads and outlive the session.
inline hbbp_allocator allocator_of(std::pmr::memory_resource* resource) {
  auto allocator = detail::sized<hbbp_allocator>();
  allocator.allocate = [](std::size_t size, std::size_t alignment, void* from) -> void* {
    auto* const memory = static_cast<std::pmr::memory_resource*>(from);
#if defined(__cpp_exceptions)
    try {
      return memory->allocate(size, alignment);
    } catch (...) {
      return nullptr;
    }
#else
    return memory->allocate(size, alignment);
#endif
  };
  allocator.deallocate = [](void* memory, std::size_t size, std::size_t alignment, void* to) {
    static_cast<std::pmr::memory_resource*>(to)->deallocate(memory, size, alignment);
  };
  allocator.user_data = resource;
  return allocator;
}

class mix {
 public:
  explicit mix(hbbp_mix* handle) : handle_(handle, &hbbp_mix_destroy) {}

  double total() const { return hbbp_mix_total(handle_.get()); }
  // Strings inside the rows live as long as the mix.
  std::vector<hbbp_mix_row> rows() const {
    return detail::read_list(get(), hbbp_mix_row_count(get()), &hbbp_mix_row_at);
  }
  const hbbp_mix* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<hbbp_mix, void (*)(hbbp_mix*)> handle_;
};

// Named groups of instructions; see pivot.h.
class taxonomy {
 public:
  explicit taxonomy(const std::string& text) : taxonomy(text.c_str(), &hbbp_taxonomy_create) {}
  static taxonomy load(const std::string& path) {
    return taxonomy(path.c_str(), &hbbp_taxonomy_load);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < hbbp_taxonomy_count(get()); ++i) {
      names.emplace_back(hbbp_taxonomy_name_at(get(), i));
    }
    return names;
  }
  const hbbp_taxonomy* get() const noexcept { return handle_.get(); }

 private:
  taxonomy(const char* argument, hbbp_status (*make)(const char*, hbbp_taxonomy**, hbbp_error*))
      : handle_(nullptr, &hbbp_taxonomy_destroy) {
    hbbp_taxonomy* handle = nullptr;
    detail::check([&](hbbp_error* failure) { return make(argument, &handle, failure); });
    handle_.reset(handle);
  }

  std::unique_ptr<hbbp_taxonomy, void (*)(hbbp_taxonomy*)> handle_;
};

// Sums by the keys of rows and columns. HBBP_PIVOT_ALL stands for all rows, or columns.
class pivot {
 public:
  explicit pivot(hbbp_pivot* handle) : handle_(handle, &hbbp_pivot_destroy) {}

  std::size_t rows() const { return hbbp_pivot_line_count(get(), HBBP_PIVOT_ROWS); }
  std::size_t columns() const { return hbbp_pivot_line_count(get(), HBBP_PIVOT_COLUMNS); }
  // Strings inside live as long as the pivot.
  hbbp_pivot_label label(hbbp_pivot_axis axis, std::size_t line, std::size_t key = 0) const {
    auto label = detail::sized<hbbp_pivot_label>();
    detail::check([&](hbbp_error* failure) {
      return hbbp_pivot_label_at(get(), axis, line, key, &label, failure);
    });
    return label;
  }
  hbbp_pivot_cell cell(std::size_t row, std::size_t column = HBBP_PIVOT_ALL,
                       std::size_t value = 0) const {
    auto cell = detail::sized<hbbp_pivot_cell>();
    detail::check([&](hbbp_error* failure) {
      return hbbp_pivot_cell_at(get(), row, column, value, &cell, failure);
    });
    return cell;
  }
  const hbbp_pivot* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<hbbp_pivot, void (*)(hbbp_pivot*)> handle_;
};

// Strings inside the structs live as long as the profile.
class profile {
 public:
  explicit profile(hbbp_profile* handle) : handle_(handle, &hbbp_profile_destroy) {}

  static profile load(const std::string& path) {
    hbbp_profile* handle = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_profile_load(path.c_str(), &handle, failure); });
    return profile(handle);
  }

  // A recording of perf.
  static profile import_recording(const std::string& path) {
    return import_recording(path, detail::sized<hbbp_import_options>());
  }
  // struct_size is set here.
  static profile import_recording(const std::string& path, hbbp_import_options options) {
    options.struct_size = sizeof(options);
    hbbp_profile* handle = nullptr;
    detail::check([&](hbbp_error* failure) {
      return hbbp_profile_import(path.c_str(), &options, &handle, failure);
    });
    return profile(handle);
  }

  // Before anything that needs code; see hbbp_profile_set_kernel.
  void set_kernel(hbbp_kernel_files files) {
    files.struct_size = sizeof(files);
    detail::check([&](hbbp_error* failure) {
      return hbbp_profile_set_kernel(handle_.get(), &files, failure);
    });
  }

  // What the options point to must live as hbbp_source_options says; struct_size is set here.
  void set_source_options(hbbp_source_options options) {
    options.struct_size = sizeof(options);
    detail::check([&](hbbp_error* failure) {
      return hbbp_profile_set_source_options(handle_.get(), &options, failure);
    });
  }

  // See hbbp_profile_set_estimator. `tree` is JSON, and for HBBP_ESTIMATOR_TREE.
  void set_estimator(hbbp_estimator estimator, const char* tree = nullptr) {
    auto options = detail::sized<hbbp_estimator_options>();
    options.estimator = estimator;
    options.tree = tree;
    detail::check([&](hbbp_error* failure) {
      return hbbp_profile_set_estimator(handle_.get(), &options, failure);
    });
  }
  hbbp_estimator_info estimator() const {
    auto info = detail::sized<hbbp_estimator_info>();
    detail::check(
        [&](hbbp_error* failure) { return hbbp_profile_get_estimator(get(), &info, failure); });
    return info;
  }

  void save(const std::string& path) const {
    detail::check(
        [&](hbbp_error* failure) { return hbbp_profile_save(get(), path.c_str(), failure); });
  }

  hbbp_profile_info info() const {
    auto info = detail::sized<hbbp_profile_info>();
    detail::check(
        [&](hbbp_error* failure) { return hbbp_profile_get_info(get(), &info, failure); });
    return info;
  }

  std::vector<hbbp_source_info> sources() const {
    return detail::read_list(get(), hbbp_profile_source_count(get()), &hbbp_profile_source_at);
  }
  // Finds all blocks now; throws HBBP_ERROR_CANCELLED if `cancel` is set meanwhile.
  void resolve(const cancel_flag* cancel = nullptr) const {
    auto work = detail::sized<hbbp_work_options>();
    work.cancel = cancel != nullptr ? cancel->get() : nullptr;
    resolve(work);
  }
  void resolve(const hbbp_work_options& work) const {
    detail::check([&](hbbp_error* failure) { return hbbp_profile_resolve(get(), &work, failure); });
  }

  // By the index of a source.
  std::vector<hbbp_counter> counters(std::size_t source) const {
    return detail::read_list_of(get(), source, hbbp_profile_counter_count(get(), source),
                                &hbbp_profile_counter_at);
  }
  std::vector<hbbp_counter> unexplained_reasons(std::size_t source) const {
    return detail::read_list_of(get(), source, hbbp_profile_unexplained_reason_count(get(), source),
                                &hbbp_profile_unexplained_reason_at);
  }
  std::vector<hbbp_thread> threads() const {
    return detail::read_list(get(), hbbp_profile_thread_count(get()), &hbbp_profile_thread_at);
  }
  std::vector<hbbp_module> modules() const {
    return detail::read_list(get(), hbbp_profile_module_count(get()), &hbbp_profile_module_at);
  }
  std::vector<hbbp_function> functions() const {
    return detail::read_list(get(), hbbp_profile_function_count(get()), &hbbp_profile_function_at);
  }
  std::vector<hbbp_branch> branches() const {
    return detail::read_list(get(), hbbp_profile_branch_count(get()), &hbbp_profile_branch_at);
  }
  std::vector<hbbp_block> blocks() const {
    return detail::copy_list(get(), hbbp_profile_block_count(get()), &hbbp_profile_copy_blocks);
  }
  std::vector<hbbp_ibs_sum> ibs_sums() const {
    return detail::copy_list(get(), hbbp_profile_ibs_sum_count(get()), &hbbp_profile_copy_ibs_sums);
  }
  std::vector<hbbp_ibs_bucket> ibs_buckets() const {
    return detail::copy_list(get(), hbbp_profile_ibs_bucket_count(get()),
                             &hbbp_profile_copy_ibs_buckets);
  }
  std::vector<hbbp_ibs_line> ibs_lines() const {
    return detail::copy_list(get(), hbbp_profile_ibs_line_count(get()),
                             &hbbp_profile_copy_ibs_lines);
  }

  std::vector<hbbp_loop> loops() const {
    return detail::copy_list(get(), hbbp_profile_loop_count(get()), &hbbp_profile_copy_loops);
  }
  // By the index of a block: the innermost loop around it, or HBBP_NO_INDEX.
  std::vector<std::uint32_t> loops_of_blocks() const {
    std::vector<std::uint32_t> loops(hbbp_profile_block_count(get()));
    std::size_t copied = 0;
    detail::check([&](hbbp_error* failure) {
      return hbbp_profile_copy_loops_of_blocks(get(), 0, loops.size(), loops.data(), &copied,
                                               failure);
    });
    return loops;
  }
  std::vector<hbbp_slice> slices() const {
    return detail::read_list(get(), hbbp_profile_slice_count(get()), &hbbp_profile_slice_at);
  }
  profile select_slice(std::size_t index) const {
    hbbp_profile* handle = nullptr;
    detail::check([&](hbbp_error* failure) {
      return hbbp_profile_select_slice(get(), index, &handle, failure);
    });
    return profile(handle);
  }

  mix instruction_mix(hbbp_mix_keys keys = HBBP_MIX_BY_MNEMONIC) const {
    hbbp_mix* handle = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_mix_create(get(), keys, &handle, failure); });
    return mix(handle);
  }

  // The fields of the query that are not set are 0; struct_size is set here.
  pivot pivot_by(hbbp_pivot_query query) const {
    query.struct_size = sizeof(query);
    hbbp_pivot* handle = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_pivot_create(get(), &query, &handle, failure); });
    return pivot(handle);
  }

  // The source of an address, innermost function first; see hbbp_profile_find_source.
  std::vector<hbbp_source_frame> source_of(std::uint32_t module, std::uint64_t address) const {
    std::vector<hbbp_source_frame> frames(16);
    auto place = detail::sized<hbbp_source_place>();
    const auto find = [&](hbbp_error* failure) {
      return hbbp_profile_find_source(get(), module, address, frames.size(),
                                      sizeof(hbbp_source_frame), frames.data(), &place, failure);
    };
    detail::check(find);
    const bool fitted = place.frame_count <= frames.size();
    frames.resize(place.frame_count);
    if (!fitted) detail::check(find);
    return frames;
  }

  const hbbp_profile* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<hbbp_profile, void (*)(hbbp_profile*)> handle_;
};

class session {
 public:
  session() : session(detail::sized<hbbp_session_options>()) {}
  explicit session(const hbbp_session_options& options) : handle_(nullptr, &hbbp_session_destroy) {
    hbbp_session* handle = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_create(&options, &handle, failure); });
    handle_.reset(handle);
  }

  void start() {
    detail::check([&](hbbp_error* failure) { return hbbp_session_start(get(), failure); });
  }
  void stop() {
    detail::check([&](hbbp_error* failure) { return hbbp_session_stop(get(), failure); });
  }
  // Code that the process has generated, there from now on; its bytes are read where they run.
  void add_code(const void* address, std::size_t size, const std::string& name) {
    auto region = detail::sized<hbbp_code_region>();
    region.address = reinterpret_cast<std::uintptr_t>(address);
    region.size = size;
    region.name = name.c_str();
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_add_code(get(), &region, failure); });
  }
  profile snapshot() {
    hbbp_profile* handle = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_snapshot(get(), &handle, failure); });
    return profile(handle);
  }
  // Throws HBBP_ERROR_CANCELLED if `cancel` is set meanwhile.
  profile snapshot(const cancel_flag& cancel) {
    auto work = detail::sized<hbbp_work_options>();
    work.cancel = cancel.get();
    return snapshot(work);
  }
  profile snapshot(const hbbp_work_options& work) {
    hbbp_profile* handle = nullptr;
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_snapshot_with(get(), &work, &handle, failure);
    });
    return profile(handle);
  }
  hbbp_session_info info() {
    auto info = detail::sized<hbbp_session_info>();
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_get_info(get(), &info, failure); });
    return info;
  }
  hbbp_session* get() const noexcept { return handle_.get(); }

 protected:
  // Takes over a handle.
  explicit session(hbbp_session* handle) : handle_(handle, &hbbp_session_destroy) {}

 private:
  std::unique_ptr<hbbp_session, void (*)(hbbp_session*)> handle_;
};

// A session of what the host observes itself (feed.h). start and stop always throw.
class fed_session : public session {
 public:
  fed_session() : fed_session(detail::sized<hbbp_feed_options>()) {}
  explicit fed_session(const hbbp_feed_options& options) : session(create(options)) {}

  std::uint32_t add_source(const hbbp_feed_source& source) {
    std::uint32_t index = 0;
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_add_fed_source(get(), &source, &index, failure);
    });
    return index;
  }
  void add_ids(std::uint32_t source, const std::vector<std::uint64_t>& perf_ids) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_add_fed_ids(get(), source, perf_ids.data(), perf_ids.size(), failure);
    });
  }
  // Returns how many of the bytes are whole records; feed the rest again with what follows.
  std::size_t feed_perf_records(const void* records, std::size_t bytes) {
    std::size_t consumed = 0;
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_feed_perf_records(get(), records, bytes, &consumed, failure);
    });
    return consumed;
  }
  void feed(std::uint32_t source, const hbbp_feed_sample* samples, std::size_t count) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_feed_samples(get(), source, samples, count, sizeof(*samples), failure);
    });
  }
  void feed(std::uint32_t source, const std::vector<hbbp_feed_sample>& samples) {
    feed(source, samples.data(), samples.size());
  }
  void feed(const hbbp_feed_event* events, std::size_t count) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_feed_events(get(), events, count, sizeof(*events), failure);
    });
  }
  void feed(const std::vector<hbbp_feed_event>& events) { feed(events.data(), events.size()); }
  void finish_round() {
    detail::check([&](hbbp_error* failure) { return hbbp_session_feed_round(get(), failure); });
  }
  void flush(std::uint64_t up_to_ns = HBBP_FEED_ALL) {
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_feed_flush(get(), up_to_ns, failure); });
  }

 private:
  static hbbp_session* create(const hbbp_feed_options& options) {
    hbbp_session* handle = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_create_fed(&options, &handle, failure); });
    return handle;
  }
};

}  // namespace hbbp

#endif  // HBBP_HBBP_HPP_
