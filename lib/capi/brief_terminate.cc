// Replaces what libstdc++ does with an exception that is not caught: it writes its name to standard
// error, and the code that demangles names is a tenth of libhbbp-collect.so. This handler does
// nothing, and std::terminate aborts.
namespace __gnu_cxx {  // NOLINT(bugprone-reserved-identifier): replaces the handler of that name

__attribute__((visibility("hidden"))) void __verbose_terminate_handler() {}

}  // namespace __gnu_cxx
