// hbbp.hpp: C++17 over the C ABI. Handles that destroy themselves, errors as exceptions, lists as
// vectors; no behaviour of its own. Everything compiles into the host, so nothing here is ABI.
//
//   hbbp::session session;
//   session.start();
//   work();
//   session.stop();
//   const hbbp::analysis analysis(session.snapshot());
//   for (const hbbp_block& block : analysis.blocks()) ...
//
// Each class has get(), the handle of the C ABI. Options are structs of the C ABI; struct_size is
// set here. `work` may always be left out. Where exceptions are switched off (-fno-exceptions), an
// error ends the program: its message goes to stderr, then std::abort. What may fail is then to be
// asked of the C ABI: hbbp_session_start(session.get(), &failure).
#ifndef HBBP_HBBP_HPP_
#define HBBP_HBBP_HPP_

#if __cplusplus < 201703L
#error "hbbp.hpp needs C++17 or newer (-std=c++17); hbbp.h works with any"
#else

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hbbp.h"

namespace hbbp {
#if defined(HBBP_DISABLE)
inline namespace disabled {
#endif

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

// Options with their size set.
template <typename Options>
Options with_size(Options options) {
  options.struct_size = sizeof(options);
  return options;
}

// All elements of a list.
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

// One element of a list; HBBP_ERROR_NOT_FOUND behind its end.
template <typename Struct, typename Handle>
Struct copy_element(const Handle* handle, std::size_t index,
                    hbbp_status (*copy)(const Handle*, std::size_t, std::size_t, std::size_t,
                                        Struct*, std::size_t*, hbbp_error*)) {
  Struct element = {};
  std::size_t copied = 0;
  check([&](hbbp_error* failure) {
    return copy(handle, index, 1, sizeof(Struct), &element, &copied, failure);
  });
  if (copied == 0) fail(HBBP_ERROR_NOT_FOUND, "the index is behind the end of the list");
  return element;
}

// All elements of a list that each source has.
template <typename Struct, typename Handle>
std::vector<Struct> copy_list_of_source(const Handle* handle, std::size_t source, std::size_t count,
                                        hbbp_status (*copy)(const Handle*, std::size_t, std::size_t,
                                                            std::size_t, std::size_t, Struct*,
                                                            std::size_t*, hbbp_error*)) {
  std::vector<Struct> list(count);
  std::size_t copied = 0;
  check([&](hbbp_error* failure) {
    return copy(handle, source, 0, list.size(), sizeof(Struct), list.data(), &copied, failure);
  });
  list.resize(copied);
  return list;
}

template <typename Struct, typename Handle>
Struct get_struct(Handle* handle, hbbp_status (*get)(Handle*, Struct*, hbbp_error*)) {
  auto value = sized<Struct>();
  check([&](hbbp_error* failure) { return get(handle, &value, failure); });
  return value;
}

// Calls a function of the host for C, through which no exception may go. Returns whether none was
// thrown.
template <typename Call>
bool call_for_c(Call&& call) noexcept {
#if defined(__cpp_exceptions)
  try {
    call();
  } catch (...) {
    return false;
  }
#else
  call();
#endif
  return true;
}

// A handle that is destroyed with its owner.
template <typename Handle, void (*Destroy)(Handle*)>
class owner {
 public:
  // `make` gets a Handle** and a hbbp_error*.
  template <typename Make>
  static owner made_by(Make&& make) {
    Handle* handle = nullptr;
    check([&](hbbp_error* failure) { return make(&handle, failure); });
    return owner(handle);
  }
  explicit owner(Handle* handle = nullptr) noexcept : handle_(handle) {}

  Handle* get() const noexcept { return handle_.get(); }

 private:
  struct destroyer {
    void operator()(Handle* handle) const noexcept { Destroy(handle); }
  };
  std::unique_ptr<Handle, destroyer> handle_;
};

}  // namespace detail

// Cancels the work that it is given to; see host.h. set() may be called in a signal handler.
class cancel_flag {
 public:
  cancel_flag()
      : handle_(handle::made_by([](hbbp_cancel** made, hbbp_error* failure) {
          return hbbp_cancel_create(made, failure);
        })) {}

  void set(bool cancelled = true) noexcept { hbbp_cancel_set(handle_.get(), cancelled ? 1 : 0); }
  bool is_set() const noexcept { return hbbp_cancel_is_set(handle_.get()) != 0; }
  // Returns what the `cancel` of options points to.
  const hbbp_cancel* get() const noexcept { return handle_.get(); }

 private:
  using handle = detail::owner<hbbp_cancel, &hbbp_cancel_destroy>;
  handle handle_;
};

// How a function that may take long works: with a flag that cancels it, or with progress, which
// must live as long as the call.
class work {
 public:
  using progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

  work() = default;
  work(const cancel_flag& cancel)  // NOLINT(google-explicit-constructor): implicit by design
      : work(nullptr, &cancel) {}
  explicit work(const progress* report, const cancel_flag* cancel = nullptr) {
    options_.cancel = cancel != nullptr ? cancel->get() : nullptr;
    if (report == nullptr) return;
    options_.user_data = const_cast<progress*>(report);
    options_.progress = [](std::uint64_t done, std::uint64_t all, void* user_data) {
      (*static_cast<const progress*>(user_data))(done, all);
    };
  }
  const hbbp_work_options* get() const noexcept { return &options_; }

 private:
  hbbp_work_options options_ = detail::sized<hbbp_work_options>();
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
  explicit mix(hbbp_mix* made) : handle_(made) {}

  double total() const { return hbbp_mix_total(get()); }
  // Strings inside the rows live as long as the mix.
  std::vector<hbbp_mix_row> rows() const {
    return detail::copy_list(get(), hbbp_mix_row_count(get()), &hbbp_mix_copy_rows);
  }
  const hbbp_mix* get() const noexcept { return handle_.get(); }

 private:
  detail::owner<hbbp_mix, &hbbp_mix_destroy> handle_;
};

// Named groups of instructions; see pivot.h.
class taxonomy {
 public:
  explicit taxonomy(const std::string& text) : taxonomy(text.c_str(), &hbbp_taxonomy_create) {}
  static taxonomy load(const std::string& path) {
    return taxonomy(path.c_str(), &hbbp_taxonomy_load);
  }
  static taxonomy built_in() { return taxonomy(nullptr, &hbbp_taxonomy_create); }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < hbbp_taxonomy_count(get()); ++i) {
      names.emplace_back(hbbp_taxonomy_name(get(), i));
    }
    return names;
  }
  // Returns the groups of the taxonomy at `index`, without "other".
  std::vector<std::string> groups(std::size_t index) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < hbbp_taxonomy_group_count(get(), index); ++i) {
      names.emplace_back(hbbp_taxonomy_group_name(get(), index, i));
    }
    return names;
  }
  const hbbp_taxonomy* get() const noexcept { return handle_.get(); }

 private:
  using handle = detail::owner<hbbp_taxonomy, &hbbp_taxonomy_destroy>;
  taxonomy(const char* argument, hbbp_status (*make)(const char*, hbbp_taxonomy**, hbbp_error*))
      : handle_(handle::made_by([&](hbbp_taxonomy** made, hbbp_error* failure) {
          return make(argument, made, failure);
        })) {}

  handle handle_;
};

// Sums by the keys of rows and columns. HBBP_PIVOT_ALL stands for all rows, or columns.
class pivot {
 public:
  explicit pivot(hbbp_pivot* made) : handle_(made) {}

  // Names that every query knows.
  static std::vector<std::string> key_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < hbbp_pivot_key_name_count(); ++i) {
      names.emplace_back(hbbp_pivot_key_name(i));
    }
    return names;
  }
  static std::vector<std::string> value_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < hbbp_pivot_value_name_count(); ++i) {
      names.emplace_back(hbbp_pivot_value_name(i));
    }
    return names;
  }

  std::size_t rows() const { return hbbp_pivot_line_count(get(), HBBP_PIVOT_ROWS); }
  std::size_t columns() const { return hbbp_pivot_line_count(get(), HBBP_PIVOT_COLUMNS); }
  // Returns the number of rows, those included that `top` left out.
  std::size_t rows_in_all() const { return hbbp_pivot_line_count_in_all(get(), HBBP_PIVOT_ROWS); }
  std::size_t keys(hbbp_pivot_axis axis) const { return hbbp_pivot_key_count(get(), axis); }
  std::size_t values() const { return hbbp_pivot_value_count(get()); }
  // Strings inside live as long as the pivot.
  hbbp_pivot_label label(hbbp_pivot_axis axis, std::size_t line, std::size_t key = 0) const {
    auto label = detail::sized<hbbp_pivot_label>();
    detail::check([&](hbbp_error* failure) {
      return hbbp_pivot_get_label(get(), axis, line, key, &label, failure);
    });
    return label;
  }
  hbbp_pivot_cell cell(std::size_t row, std::size_t column = HBBP_PIVOT_ALL,
                       std::size_t value = 0) const {
    auto cell = detail::sized<hbbp_pivot_cell>();
    detail::check([&](hbbp_error* failure) {
      return hbbp_pivot_get_cell(get(), row, column, value, &cell, failure);
    });
    return cell;
  }
  const hbbp_pivot* get() const noexcept { return handle_.get(); }

 private:
  detail::owner<hbbp_pivot, &hbbp_pivot_destroy> handle_;
};

class ratios {
 public:
  explicit ratios(hbbp_ratios* made) : handle_(made) {}

  // Strings inside live as long as this object.
  std::vector<hbbp_ratio> list() const {
    return detail::copy_list(get(), hbbp_ratios_count(get()), &hbbp_ratios_copy);
  }
  const hbbp_ratios* get() const noexcept { return handle_.get(); }

 private:
  detail::owner<hbbp_ratios, &hbbp_ratios_destroy> handle_;
};

class loops {
 public:
  explicit loops(hbbp_loops* made) : handle_(made) {}

  std::vector<hbbp_loop> list() const {
    return detail::copy_list(get(), hbbp_loops_count(get()), &hbbp_loops_copy);
  }
  // Returns, for each of the `blocks` blocks of the analysis, the index of the innermost loop
  // around it, or HBBP_NO_INDEX.
  std::vector<std::uint32_t> of_blocks(std::size_t blocks) const {
    std::vector<std::uint32_t> indices(blocks);
    std::size_t copied = 0;
    detail::check([&](hbbp_error* failure) {
      return hbbp_loops_copy_of_blocks(get(), 0, blocks, indices.data(), &copied, failure);
    });
    indices.resize(copied);
    return indices;
  }
  const hbbp_loops* get() const noexcept { return handle_.get(); }

 private:
  detail::owner<hbbp_loops, &hbbp_loops_destroy> handle_;
};

class profile;

// A profile that somebody else owns, and that has to live longer. Strings inside the structs live
// as long as the profile.
class profile_view {
 public:
  explicit profile_view(const hbbp_profile* of) noexcept : profile_(of) {}

  void save(const std::string& path, const work& how = {}) const {
    detail::check([&](hbbp_error* failure) {
      return hbbp_profile_save(get(), path.c_str(), how.get(), failure);
    });
  }

  profile select_thread(std::uint32_t tid, const work& how = {}) const;
  profile select_slice(std::uint32_t slice, const work& how = {}) const;
  profile select(const hbbp_selection& selection, const work& how = {}) const;

  hbbp_profile_info info() const {
    return detail::get_struct<hbbp_profile_info>(get(), &hbbp_profile_get_info);
  }
  std::vector<hbbp_source_info> sources() const {
    return detail::copy_list(get(), hbbp_profile_source_count(get()), &hbbp_profile_copy_sources);
  }
  // `source` is the index of a source.
  std::vector<hbbp_counter> counters(std::size_t source) const {
    return detail::copy_list_of_source(get(), source, hbbp_profile_counter_count(get(), source),
                                       &hbbp_profile_copy_counters);
  }
  std::vector<hbbp_thread> threads() const {
    return detail::copy_list(get(), hbbp_profile_thread_count(get()), &hbbp_profile_copy_threads);
  }
  std::vector<hbbp_module> modules() const {
    return detail::copy_list(get(), hbbp_profile_module_count(get()), &hbbp_profile_copy_modules);
  }
  std::vector<hbbp_slice> slices() const {
    return detail::copy_list(get(), hbbp_profile_slice_count(get()), &hbbp_profile_copy_slices);
  }
  std::vector<hbbp_ibs_bucket> ibs_buckets() const {
    return detail::copy_list(get(), hbbp_profile_ibs_bucket_count(get()),
                             &hbbp_profile_copy_ibs_buckets);
  }
  std::vector<hbbp_ibs_line> ibs_lines() const {
    return detail::copy_list(get(), hbbp_profile_ibs_line_count(get()),
                             &hbbp_profile_copy_ibs_lines);
  }

  const hbbp_profile* get() const noexcept { return profile_; }

 private:
  const hbbp_profile* profile_;
};

// A profile, with all that can be asked of a view of it.
class profile : public profile_view {
 public:
  explicit profile(hbbp_profile* made) noexcept : profile(handle(made)) {}
  profile(profile&& other) noexcept : profile(std::move(other.handle_)) { other.refresh(); }
  profile& operator=(profile&& other) noexcept {
    handle_ = std::move(other.handle_);
    other.refresh();
    refresh();
    return *this;
  }

  static profile load(const std::string& path, const work& how = {}) {
    return made_by([&](hbbp_profile** made, hbbp_error* failure) {
      return hbbp_profile_load(path.c_str(), how.get(), made, failure);
    });
  }
  // A recording of perf.
  static profile import_recording(const std::string& path, const hbbp_import_options& options = {},
                                  const work& how = {}) {
    const hbbp_import_options sized = detail::with_size(options);
    return made_by([&](hbbp_profile** made, hbbp_error* failure) {
      return hbbp_profile_import(path.c_str(), &sized, how.get(), made, failure);
    });
  }
  static profile merge(const std::vector<const profile*>& profiles, const work& how = {}) {
    std::vector<const hbbp_profile*> handles;
    for (const profile* part : profiles) handles.push_back(part->get());
    return made_by([&](hbbp_profile** made, hbbp_error* failure) {
      return hbbp_profile_merge(handles.data(), handles.size(), how.get(), made, failure);
    });
  }

 private:
  friend class merger;
  friend class profile_view;
  using handle = detail::owner<hbbp_profile, &hbbp_profile_destroy>;
  template <typename Make>
  static profile made_by(Make&& make) {
    return profile(handle::made_by(std::forward<Make>(make)));
  }
  explicit profile(handle made) noexcept : profile_view(made.get()), handle_(std::move(made)) {}
  void refresh() noexcept { profile_view::operator=(profile_view(handle_.get())); }

  handle handle_;
};

// A sum of more profiles than fit into memory.
class merger {
 public:
  // `dropped` is HBBP_MERGER_DROP_*, combined by |.
  explicit merger(std::uint32_t dropped = 0)
      : handle_(handle::made_by([&](hbbp_merger** made, hbbp_error* failure) {
          hbbp_merger_options options = {};
          options.dropped = dropped;
          const hbbp_merger_options sized = detail::with_size(options);
          return hbbp_merger_create(&sized, made, failure);
        })) {}

  void add(const profile_view& part, const work& how = {}) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_merger_add(handle_.get(), part.get(), how.get(), failure);
    });
  }
  // Once; needs at least one profile.
  profile finish(const work& how = {}) {
    return profile::made_by([&](hbbp_profile** made, hbbp_error* failure) {
      return hbbp_merger_finish(handle_.get(), how.get(), made, failure);
    });
  }

 private:
  using handle = detail::owner<hbbp_merger, &hbbp_merger_destroy>;

  handle handle_;
};

inline profile profile_view::select_thread(std::uint32_t tid, const work& how) const {
  hbbp_selection selection = {};
  selection.parts = HBBP_SELECT_THREAD;
  selection.tid = tid;
  return select(selection, how);
}

inline profile profile_view::select_slice(std::uint32_t slice, const work& how) const {
  hbbp_selection selection = {};
  selection.parts = HBBP_SELECT_SLICE;
  selection.slice = slice;
  return select(selection, how);
}

inline profile profile_view::select(const hbbp_selection& selection, const work& how) const {
  const hbbp_selection sized = detail::with_size(selection);
  return profile::made_by([&](hbbp_profile** made, hbbp_error* failure) {
    return hbbp_profile_select(get(), &sized, how.get(), made, failure);
  });
}

// The formats that analysis::export_as writes.
inline std::vector<hbbp_export_format> export_formats() {
  std::vector<hbbp_export_format> formats(hbbp_export_format_count());
  std::size_t copied = 0;
  detail::check([&](hbbp_error* failure) {
    return hbbp_export_copy_formats(0, formats.size(), sizeof(hbbp_export_format), formats.data(),
                                    &copied, failure);
  });
  formats.resize(copied);
  return formats;
}

// Strings inside the structs live as long as the analysis. It does not need the profile.
class analysis {
 public:
  explicit analysis(const profile_view& of, const hbbp_analysis_options& options = {},
                    const work& how = {})
      : handle_(handle::made_by([&](hbbp_analysis** made, hbbp_error* failure) {
          const hbbp_analysis_options sized = detail::with_size(options);
          return hbbp_analysis_create(of.get(), &sized, how.get(), made, failure);
        })) {}

  // The profile that it is of, with the kernel files of the options; it belongs to the analysis.
  profile_view get_profile() const noexcept { return profile_view(hbbp_analysis_profile(get())); }
  hbbp_analysis_info info() const {
    return detail::get_struct<hbbp_analysis_info>(get(), &hbbp_analysis_get_info);
  }

  std::vector<hbbp_block> blocks() const {
    return detail::copy_list(get(), hbbp_analysis_block_count(get()), &hbbp_analysis_copy_blocks);
  }
  std::size_t block_count() const noexcept { return hbbp_analysis_block_count(get()); }
  std::vector<hbbp_function> functions() const {
    return detail::copy_list(get(), hbbp_analysis_function_count(get()),
                             &hbbp_analysis_copy_functions);
  }
  std::vector<hbbp_branch> branches() const {
    return detail::copy_list(get(), hbbp_analysis_branch_count(get()),
                             &hbbp_analysis_copy_branches);
  }
  // There are as many as the profile has, in its order, of sources too.
  std::vector<hbbp_module_result> modules() const {
    return detail::copy_list(get(), hbbp_analysis_module_count(get()), &hbbp_analysis_copy_modules);
  }
  std::vector<hbbp_source_result> sources() const {
    return detail::copy_list(get(), hbbp_analysis_source_count(get()), &hbbp_analysis_copy_sources);
  }
  // `source` is the index of a source.
  std::vector<hbbp_counter> unexplained_reasons(std::size_t source) const {
    return detail::copy_list_of_source(get(), source,
                                       hbbp_analysis_unexplained_reason_count(get(), source),
                                       &hbbp_analysis_copy_unexplained_reasons);
  }
  std::vector<hbbp_ip_sum> ip_sums() const {
    return detail::copy_list(get(), hbbp_analysis_ip_sum_count(get()), &hbbp_analysis_copy_ip_sums);
  }
  std::vector<hbbp_ibs_sum> ibs_sums() const {
    return detail::copy_list(get(), hbbp_analysis_ibs_sum_count(get()),
                             &hbbp_analysis_copy_ibs_sums);
  }
  std::vector<hbbp_ibs_object> ibs_objects() const {
    return detail::copy_list(get(), hbbp_analysis_ibs_object_count(get()),
                             &hbbp_analysis_copy_ibs_objects);
  }
  std::vector<hbbp_ibs_latency> ibs_latencies() const {
    return detail::copy_list(get(), hbbp_analysis_ibs_latency_count(get()),
                             &hbbp_analysis_copy_ibs_latencies);
  }
  // hbbp_block_feature_count() numbers a block, one block behind the other.
  std::vector<double> block_features() const {
    const std::size_t blocks = block_count();
    std::vector<double> values(blocks * hbbp_block_feature_count());
    std::size_t copied = 0;
    detail::check([&](hbbp_error* failure) {
      return hbbp_analysis_copy_block_features(get(), 0, blocks, values.data(), &copied, failure);
    });
    return values;
  }

  // The hottest of them first, at most `count`.
  std::vector<hbbp_block> hottest_blocks(std::size_t count,
                                         hbbp_order order = HBBP_ORDER_INSTRUCTIONS) const {
    return hottest(count, block_count(), order, &hbbp_analysis_copy_hottest_blocks);
  }
  std::vector<hbbp_function> hottest_functions(std::size_t count,
                                               hbbp_order order = HBBP_ORDER_INSTRUCTIONS) const {
    return hottest(count, hbbp_analysis_function_count(get()), order,
                   &hbbp_analysis_copy_hottest_functions);
  }

  // Return one element of the lists above, without the others.
  hbbp_block block_at(std::size_t index) const {
    return detail::copy_element(get(), index, &hbbp_analysis_copy_blocks);
  }
  hbbp_function function_at(std::size_t index) const {
    return detail::copy_element(get(), index, &hbbp_analysis_copy_functions);
  }

  hbbp_block find_block(std::uint32_t module, std::uint64_t address) const {
    return find<hbbp_block>(module, address, &hbbp_analysis_find_block);
  }
  hbbp_instruction decode(std::uint32_t module, std::uint64_t address) const {
    return find<hbbp_instruction>(module, address, &hbbp_analysis_decode);
  }
  hbbp_disassembly disassemble(std::uint32_t module, std::uint64_t address) const {
    return find<hbbp_disassembly>(module, address, &hbbp_analysis_disassemble);
  }
  // The same, or nothing where there is no such module or no code.
  std::optional<hbbp_block> try_find_block(std::uint32_t module, std::uint64_t address) const {
    return try_find<hbbp_block>(module, address, &hbbp_analysis_find_block);
  }
  std::optional<hbbp_instruction> try_decode(std::uint32_t module, std::uint64_t address) const {
    return try_find<hbbp_instruction>(module, address, &hbbp_analysis_decode);
  }
  std::optional<hbbp_disassembly> try_disassemble(std::uint32_t module,
                                                  std::uint64_t address) const {
    return try_find<hbbp_disassembly>(module, address, &hbbp_analysis_disassemble);
  }
  // The lines of an address, innermost function first; see hbbp_analysis_find_lines. `range`, which
  // may be NULL, gets for which addresses they hold.
  std::vector<hbbp_line_frame> lines_of(std::uint32_t module, std::uint64_t address,
                                        hbbp_line_range* range = nullptr) const {
    std::vector<hbbp_line_frame> frames(16);
    auto found = detail::sized<hbbp_line_range>();
    const auto find_lines = [&](hbbp_error* failure) {
      return hbbp_analysis_find_lines(get(), module, address, frames.size(),
                                      sizeof(hbbp_line_frame), frames.data(), &found, failure);
    };
    detail::check(find_lines);
    const bool fitted = found.frame_count <= frames.size();
    frames.resize(found.frame_count);
    if (!fitted) detail::check(find_lines);
    if (range != nullptr) *range = found;
    return frames;
  }
  // Empty if nothing is missing or damaged.
  std::string debug_problem(std::uint32_t module) const {
    char problem[1024];
    detail::check([&](hbbp_error* failure) {
      return hbbp_analysis_debug_problem(get(), module, problem, sizeof(problem), failure);
    });
    return problem;
  }

  mix instruction_mix(hbbp_mix_keys keys = HBBP_MIX_BY_MNEMONIC, const work& how = {}) const {
    hbbp_mix* made = nullptr;
    detail::check([&](hbbp_error* failure) {
      return hbbp_mix_create(get(), keys, how.get(), &made, failure);
    });
    return mix(made);
  }
  // The fields of the query that are not set are 0.
  pivot pivot_by(const hbbp_pivot_query& query, const work& how = {}) const {
    const hbbp_pivot_query sized = detail::with_size(query);
    hbbp_pivot* made = nullptr;
    detail::check([&](hbbp_error* failure) {
      return hbbp_pivot_create(get(), &sized, how.get(), &made, failure);
    });
    return pivot(made);
  }
  // `where` and `of` may be NULL.
  ratios ratios_of(const char* where = nullptr, const taxonomy* of = nullptr,
                   const work& how = {}) const {
    hbbp_ratios* made = nullptr;
    detail::check([&](hbbp_error* failure) {
      return hbbp_ratios_create(get(), where, of != nullptr ? of->get() : nullptr, how.get(), &made,
                                failure);
    });
    return ratios(made);
  }
  // Writes it in a format of export_formats(). `write` gets a std::string_view several times,
  // `note` a const char* for all that is left out, and `module` chooses one by its name; see
  // hbbp_export. What they throw is lost: of `write` it ends the export as a failure to write.
  template <typename Write, typename Note>
  void export_as(const std::string& format, Write&& write, Note&& note,
                 const std::string& module = "", const work& how = {}) const {
    std::pair<Write&, Note&> calls(write, note);
    auto options = detail::sized<hbbp_export_options>();
    if (!module.empty()) options.module = module.c_str();
    options.user_data = &calls;
    options.note = [](const char* text, void* user_data) {
      (void)detail::call_for_c([&] { static_cast<decltype(calls)*>(user_data)->second(text); });
    };
    const hbbp_write take = [](const void* bytes, std::size_t size, void* user_data) {
      const std::string_view piece(static_cast<const char*>(bytes), size);
      const bool is_taken =
          detail::call_for_c([&] { static_cast<decltype(calls)*>(user_data)->first(piece); });
      return std::int32_t{is_taken ? 0 : 1};
    };
    detail::check([&](hbbp_error* failure) {
      return hbbp_export(get(), format.c_str(), &options, how.get(), take, &calls, failure);
    });
  }
  loops find_loops(const work& how = {}) const {
    hbbp_loops* made = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_loops_create(get(), how.get(), &made, failure); });
    return loops(made);
  }

  const hbbp_analysis* get() const noexcept { return handle_.get(); }

 private:
  using handle = detail::owner<hbbp_analysis, &hbbp_analysis_destroy>;
  template <typename Struct>
  std::vector<Struct> hottest(std::size_t count, std::size_t all, hbbp_order order,
                              hbbp_status (*copy)(const hbbp_analysis*, hbbp_order, std::size_t,
                                                  std::size_t, std::size_t, Struct*, std::size_t*,
                                                  hbbp_error*)) const {
    std::vector<Struct> list(count < all ? count : all);
    std::size_t copied = 0;
    detail::check([&](hbbp_error* failure) {
      return copy(get(), order, 0, list.size(), sizeof(Struct), list.data(), &copied, failure);
    });
    list.resize(copied);
    return list;
  }
  template <typename Struct>
  Struct find(std::uint32_t module, std::uint64_t address,
              hbbp_status (*function)(const hbbp_analysis*, std::uint32_t, std::uint64_t, Struct*,
                                      hbbp_error*)) const {
    auto found = detail::sized<Struct>();
    detail::check(
        [&](hbbp_error* failure) { return function(get(), module, address, &found, failure); });
    return found;
  }
  template <typename Struct>
  std::optional<Struct> try_find(std::uint32_t module, std::uint64_t address,
                                 hbbp_status (*function)(const hbbp_analysis*, std::uint32_t,
                                                         std::uint64_t, Struct*,
                                                         hbbp_error*)) const {
    auto found = detail::sized<Struct>();
    hbbp_status status = HBBP_OK;
    detail::check([&](hbbp_error* failure) {
      status = function(get(), module, address, &found, failure);
      return status == HBBP_ERROR_NOT_FOUND ? HBBP_OK : status;
    });
    if (status != HBBP_OK) return std::nullopt;
    return found;
  }

  handle handle_;
};

class session {
 public:
  explicit session(const hbbp_session_options& options = {})
      : handle_(handle::made_by([&](hbbp_session** made, hbbp_error* failure) {
          const hbbp_session_options sized = detail::with_size(options);
          return hbbp_session_create(&sized, made, failure);
        })) {}

  void start() {
    detail::check([&](hbbp_error* failure) { return hbbp_session_start(get(), failure); });
  }
  void stop() {
    detail::check([&](hbbp_error* failure) { return hbbp_session_stop(get(), failure); });
  }
  // Of a session with drained_by_host. Returns the time until it should be called again.
  std::chrono::milliseconds drain() {
    std::uint32_t next_ms = 0;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_drain(get(), &next_ms, failure); });
    return std::chrono::milliseconds(next_ms);
  }
  // See source.h. On success the context belongs to the session.
  void add_source(const hbbp_source_ops& ops, void* context) {
    const hbbp_source_ops sized = detail::with_size(ops);
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_add_source(get(), &sized, context, failure);
    });
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
  // Memory of the process that is a block of that name from now on, or, by drop_data, none.
  void add_data(const void* address, std::size_t size, const std::string& name) {
    report_data(address, size, name.c_str());
  }
  void drop_data(const void* address, std::size_t size) { report_data(address, size, nullptr); }
  profile snapshot(const work& how = {}) {
    hbbp_profile* made = nullptr;
    detail::check([&](hbbp_error* failure) {
      return hbbp_session_snapshot(get(), how.get(), &made, failure);
    });
    return profile(made);
  }
  hbbp_session_info info() {
    return detail::get_struct<hbbp_session_info>(get(), &hbbp_session_get_info);
  }
  hbbp_session* get() const noexcept { return handle_.get(); }

 private:
  void report_data(const void* address, std::size_t size, const char* name) {
    auto region = detail::sized<hbbp_data_region>();
    region.address = reinterpret_cast<std::uintptr_t>(address);
    region.size = size;
    region.name = name;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_session_add_data(get(), &region, failure); });
  }

  using handle = detail::owner<hbbp_session, &hbbp_session_destroy>;
  handle handle_;
};

// Calls something with no arguments, and returns the profile of the process during the call. If it
// throws, the exception goes on to the caller.
template <typename Call>
profile profile_call(Call&& call, const hbbp_session_options& options = {}) {
  session running(options);
  running.start();
  std::forward<Call>(call)();
  running.stop();
  return running.snapshot();
}

// What the host observes itself (feed.h).
class feed {
 public:
  explicit feed(const hbbp_feed_options& options = {})
      : handle_(handle::made_by([&](hbbp_feed** made, hbbp_error* failure) {
          const hbbp_feed_options sized = detail::with_size(options);
          return hbbp_feed_create(&sized, made, failure);
        })) {}

  std::uint32_t add_source(const hbbp_feed_source& source) {
    const hbbp_feed_source sized = detail::with_size(source);
    std::uint32_t index = 0;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_feed_add_source(get(), &sized, &index, failure); });
    return index;
  }
  void add_perf_ids(std::uint32_t source, const std::vector<std::uint64_t>& perf_ids) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_feed_add_perf_ids(get(), source, perf_ids.data(), perf_ids.size(), failure);
    });
  }
  // Returns how many of the bytes are whole records; add the rest again with what follows.
  std::size_t add_perf_records(const void* records, std::size_t bytes) {
    std::size_t consumed = 0;
    detail::check([&](hbbp_error* failure) {
      return hbbp_feed_add_perf_records(get(), records, bytes, &consumed, failure);
    });
    return consumed;
  }
  void add_samples(std::uint32_t source, const hbbp_feed_sample* samples, std::size_t count) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_feed_add_samples(get(), source, samples, count, sizeof(*samples), failure);
    });
  }
  void add_samples(std::uint32_t source, const std::vector<hbbp_feed_sample>& samples) {
    add_samples(source, samples.data(), samples.size());
  }
  void add_events(const hbbp_feed_event* events, std::size_t count) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_feed_add_events(get(), events, count, sizeof(*events), failure);
    });
  }
  void add_events(const std::vector<hbbp_feed_event>& events) {
    add_events(events.data(), events.size());
  }
  // What /proc shows of a process; 0 is the calling one.
  void process(std::uint32_t pid) {
    detail::check([&](hbbp_error* failure) { return hbbp_feed_process(get(), pid, failure); });
  }
  void end_round() {
    detail::check([&](hbbp_error* failure) { return hbbp_feed_end_round(get(), failure); });
  }
  void flush(std::uint64_t up_to_ns = HBBP_FEED_ALL) {
    detail::check([&](hbbp_error* failure) { return hbbp_feed_flush(get(), up_to_ns, failure); });
  }
  profile snapshot(const work& how = {}) {
    hbbp_profile* made = nullptr;
    detail::check(
        [&](hbbp_error* failure) { return hbbp_feed_snapshot(get(), how.get(), &made, failure); });
    return profile(made);
  }
  hbbp_feed_info info() { return detail::get_struct<hbbp_feed_info>(get(), &hbbp_feed_get_info); }
  hbbp_feed* get() const noexcept { return handle_.get(); }

 private:
  using handle = detail::owner<hbbp_feed, &hbbp_feed_destroy>;
  handle handle_;
};

// Productions on the whole bursts of profiles; see probe.h. A table is called by its index.
class probe {
 public:
  // Gets each call of the action `call`, and returns whether the burst stops. What it throws is
  // lost, and stops the burst.
  using handler = std::function<bool(const hbbp_probe_call& call)>;

  explicit probe(const std::string& productions, handler on_call = nullptr)
      : probe(with_text(productions), std::move(on_call)) {}
  // `on_call` replaces the handler of the options.
  explicit probe(const hbbp_probe_options& options, handler on_call = nullptr)
      : on_call_(on_call ? std::make_unique<handler>(std::move(on_call)) : nullptr),
        handle_(owner::made_by([&](hbbp_probe** made, hbbp_error* failure) {
          hbbp_probe_options sized = detail::with_size(options);
          if (on_call_ != nullptr) {
            sized.handler = &pass_on;
            sized.user_data = on_call_.get();
          }
          return hbbp_probe_create(&sized, made, failure);
        })) {}

  // Returns next_burst().
  std::uint64_t run(const analysis& of, std::uint64_t first_burst = 0, const work& how = {}) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_probe_run(get(), of.get(), first_burst, how.get(), &next_burst_, failure);
    });
    return next_burst_;
  }
  // Runs the new bursts of the session each `interval_ms`, in a worker, until stop(). The session
  // must live until then.
  void start(session& of, std::uint32_t interval_ms = 1000) {
    detail::check([&](hbbp_error* failure) {
      return hbbp_probe_start(get(), of.get(), interval_ms, failure);
    });
  }
  void stop() {
    detail::check([&](hbbp_error* failure) { return hbbp_probe_stop(get(), failure); });
  }
  // Returns the number of the first burst that the last run did not take, also if it was cancelled:
  // first_burst for a later snapshot of the same session.
  std::uint64_t next_burst() const noexcept { return next_burst_; }

  hbbp_probe_info info() const {
    return detail::get_struct<hbbp_probe_info>(get(), &hbbp_probe_get_info);
  }
  // Strings inside live as long as the probe.
  std::vector<hbbp_probe_production> productions() const {
    return detail::copy_list(get(), hbbp_probe_production_count(get()),
                             &hbbp_probe_copy_productions);
  }
  std::vector<hbbp_probe_table> tables() const {
    return detail::copy_list(get(), hbbp_probe_table_count(get()), &hbbp_probe_copy_tables);
  }
  std::vector<hbbp_probe_field> fields(std::size_t table) const {
    return detail::copy_list_of_source(get(), table, hbbp_probe_field_count(get(), table),
                                       &hbbp_probe_copy_fields);
  }
  std::vector<hbbp_probe_row> rows(std::size_t table) const {
    return detail::copy_list_of_source(get(), table, hbbp_probe_row_count(get(), table),
                                       &hbbp_probe_copy_rows);
  }
  // The values inside live until the next run.
  std::vector<hbbp_probe_stream> streams(std::size_t table) const {
    return detail::copy_list_of_source(get(), table, hbbp_probe_stream_count(get(), table),
                                       &hbbp_probe_copy_streams);
  }
  // Also in the handler.
  hbbp_probe_location locate(std::uint64_t code) const {
    auto location = detail::sized<hbbp_probe_location>();
    detail::check(
        [&](hbbp_error* failure) { return hbbp_probe_locate(get(), code, &location, failure); });
    return location;
  }

  const hbbp_probe* get() const noexcept { return handle_.get(); }
  hbbp_probe* get() noexcept { return handle_.get(); }

 private:
  using owner = detail::owner<hbbp_probe, &hbbp_probe_destroy>;

  static hbbp_probe_options with_text(const std::string& productions) {
    hbbp_probe_options options = {};
    options.productions = productions.c_str();
    return options;
  }
  static hbbp_probe_answer pass_on(const hbbp_probe_call* call, void* user_data) {
    bool stops = true;
    (void)detail::call_for_c([&] { stops = (*static_cast<handler*>(user_data))(*call); });
    return stops ? HBBP_PROBE_STOP_BURST : HBBP_PROBE_GO_ON;
  }

  std::unique_ptr<handler> on_call_;  // which the handle calls
  owner handle_;
  std::uint64_t next_burst_ = 0;
};

// What this machine can do; see capabilities.h.
class capabilities {
 public:
  capabilities()
      : handle_(handle::made_by([](hbbp_capabilities** made, hbbp_error* failure) {
          return hbbp_capabilities_probe(made, failure);
        })) {}

  // Strings inside live as long as this object.
  std::vector<hbbp_capability> list() const {
    return detail::copy_list(handle_.get(), hbbp_capabilities_count(handle_.get()),
                             &hbbp_capabilities_copy);
  }

 private:
  using handle = detail::owner<hbbp_capabilities, &hbbp_capabilities_destroy>;
  handle handle_;
};

inline hbbp_event_code find_event(const std::string& name) {
  auto code = detail::sized<hbbp_event_code>();
  detail::check([&](hbbp_error* failure) { return hbbp_event_find(name.c_str(), &code, failure); });
  return code;
}

// The name of a function as C++ or Rust spells it.
inline std::string demangle(const char* symbol) {
  std::string name(hbbp_demangle(symbol, nullptr, 0), '\0');
  hbbp_demangle(symbol, name.data(), name.size() + 1);
  return name;
}

// The 95 % interval of a count.
struct interval {
  double low;
  double high;
};
inline interval count_interval(double count, double standard_error) noexcept {
  interval ends{};
  hbbp_count_interval(count, standard_error, &ends.low, &ends.high);
  return ends;
}

inline std::vector<std::string> block_feature_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < hbbp_block_feature_count(); ++i) {
    names.emplace_back(hbbp_block_feature_name(i));
  }
  return names;
}

#if defined(HBBP_DISABLE)
}  // namespace disabled
#endif
}  // namespace hbbp

#endif  // C++17
#endif  // HBBP_HBBP_HPP_
