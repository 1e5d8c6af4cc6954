// execs HOW MILLISECONDS FILE [ARGUMENT]: works and then runs FILE, with the one argument.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "work.h"

extern char** environ;

static void Wait(pid_t pid) {
  if (pid > 0) waitpid(pid, NULL, 0);
}

static int ExitUnlessFailedAsItShould(int result) {
  const int error_number = errno;
  if (result != -1 || error_number != ENOENT) exit(90);
  return 0;
}

static void FailEverywhere(void) {
  const char* none = "/nonexistent/program";
  char* const arguments[] = {(char*)none, NULL};
  ExitUnlessFailedAsItShould(execve(none, arguments, environ));
  ExitUnlessFailedAsItShould(execv(none, arguments));
  ExitUnlessFailedAsItShould(execvp(none, arguments));
  ExitUnlessFailedAsItShould(execvpe(none, arguments, environ));
  ExitUnlessFailedAsItShould(execl(none, none, "x", (char*)NULL));
  ExitUnlessFailedAsItShould(execlp(none, none, "x", (char*)NULL));
  ExitUnlessFailedAsItShould(execle(none, none, "x", (char*)NULL, environ));
  ExitUnlessFailedAsItShould(execveat(AT_FDCWD, none, arguments, environ, 0));
}

int main(int argc, char** argv) {
  if (argc < 4) return 99;
  const char* how = argv[1];
  const long milliseconds = atol(argv[2]);
  const char* file = argv[3];
  char* const arguments[] = {argv[3], argc > 4 ? argv[4] : NULL, NULL};
  pid_t child = 0;
  Work(milliseconds);
  if (strcmp(how, "execve") == 0) execve(file, arguments, environ);
  if (strcmp(how, "execv") == 0) execv(file, arguments);
  if (strcmp(how, "execvp") == 0) execvp(file, arguments);
  if (strcmp(how, "execvpe") == 0) execvpe(file, arguments, environ);
  if (strcmp(how, "execl") == 0) execl(file, file, arguments[1], (char*)NULL);
  if (strcmp(how, "execlp") == 0) execlp(file, file, arguments[1], (char*)NULL);
  if (strcmp(how, "execle") == 0) execle(file, file, arguments[1], (char*)NULL, environ);
  if (strcmp(how, "fexecve") == 0) fexecve(open(file, O_RDONLY), arguments, environ);
  if (strcmp(how, "execveat") == 0) execveat(AT_FDCWD, file, arguments, environ, 0);
  if (strcmp(how, "chroot") == 0 && argc > 4) {
    if (chroot(arguments[1]) != 0 || chdir("/") != 0) return 77;
    execve(file, arguments, environ);
    return 90;
  }
  if (strcmp(how, "kernel") == 0) {
    child = fork();
    if (child == 0) {
      syscall(SYS_execve, file, arguments, environ);
      _exit(90);
    }
    Wait(child);
  }
  if (strcmp(how, "clearenv") == 0) {
    clearenv();
    execv(file, arguments);
  }
  if (strcmp(how, "fail") == 0) {
    FailEverywhere();
    Work(milliseconds);
  }
  if (strcmp(how, "posix_spawn") == 0) {
    if (posix_spawn(&child, file, NULL, NULL, arguments, environ) != 0) return 90;
    Wait(child);
  }
  if (strcmp(how, "posix_spawnp") == 0) {
    if (posix_spawnp(&child, file, NULL, NULL, arguments, environ) != 0) return 90;
    Wait(child);
  }
  if (strcmp(how, "system") == 0 || strcmp(how, "popen") == 0) {
    char command[4096];
    snprintf(command, sizeof(command), "'%s' '%s'", file, arguments[1]);
    if (strcmp(how, "system") == 0) {
      if (system(command) != 0) return 90;
    } else {
      FILE* stream = popen(command, "r");
      char line[256];
      while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) fputs(line, stdout);
      if (stream == NULL || pclose(stream) != 0) return 90;
    }
  }
  if (strcmp(how, "vfork") == 0) {
    child = vfork();
    if (child == 0) {
      execv(file, arguments);
      _exit(90);
    }
    Wait(child);
  }
  if (strcmp(how, "vfork_fail") == 0) {
    child = vfork();
    if (child == 0) {
      execv("/nonexistent/program", arguments);
      _exit(7);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) return 90;
    Work(milliseconds);
  }
  if (strncmp(how, "exec", 4) == 0) return 91;
  Report();
  return 0;
}
