// plugins FILE...: loads each plugin, runs it, unloads it and removes its file.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* plugin = dlopen(argv[i], RTLD_NOW);
    if (plugin == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 90;
    }
    void (*run)(void);
    *(void**)&run = dlsym(plugin, "RunPlugin");
    if (run == NULL) return 91;
    run();
    dlclose(plugin);
    if (unlink(argv[i]) != 0) return 92;
  }
  return 0;
}
