// What the C library believes of the number of threads.
#ifndef HBBP_TOOLS_PRELOAD_LIBC_THREADS_H_
#define HBBP_TOOLS_PRELOAD_LIBC_THREADS_H_

namespace hbbp::preload {

// The C library takes no locks and fewer atomic instructions until it makes a second thread, which
// is a good part of the time of a program that allocates much. It counts our worker as one. So that
// the program stays as it is, the C library is made to believe again what it did before. That is
// right as long as the worker uses nothing that this is about:
//   malloc and what allocates (own_memory.cc, base/directory.h, ErrnoStatus),
//   mutexes that are taken without atomic instructions (base/mutex.h),
//   thread-local variables that are looked up (exception_memory.cc), and stdio,
//   the dynamic linker.
// `one_thread_test` runs a program that ends where the worker allocates. Where the program, or
// another library that is preloaded, has functions of its own in place of those of the C library,
// these may use it all, and nothing is changed.
//
// While an object lives, the C library believes something else, or what it likes; then what it did
// before, but that there are more threads if that is so by then. Before glibc 2.36, and in a child
// of vfork, nothing is changed. Async-signal-safe.
class ScopedThreadBelief {
 public:
  ScopedThreadBelief();
  explicit ScopedThreadBelief(bool has_one_thread);
  ~ScopedThreadBelief();
  ScopedThreadBelief(const ScopedThreadBelief&) = delete;
  ScopedThreadBelief& operator=(const ScopedThreadBelief&) = delete;

  // Returns whether it can be changed.
  static bool IsPossible();
  static bool HasOneThread();

 private:
  const bool is_possible_;
  const bool had_one_thread_;
};

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_LIBC_THREADS_H_
