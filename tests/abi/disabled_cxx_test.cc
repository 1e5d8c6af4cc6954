// Compiles the same program as C++17.
#include "disabled_test.c"
