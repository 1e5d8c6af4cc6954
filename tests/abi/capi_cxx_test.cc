// Compiles the same program as C++17.
#include "capi_test.c"
