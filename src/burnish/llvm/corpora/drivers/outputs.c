/* Linked to programs of datasets: standard error and the files that a program writes become standard output,
   which is compared. OUTPUTS has the files' names, each followed by a comma. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const char *const outputs[] = {OUTPUTS 0};

__attribute__((constructor)) static void merge_streams(void) { dup2(STDOUT_FILENO, STDERR_FILENO); }

__attribute__((destructor)) static void print_outputs(void) {
  char bytes[1 << 14];
  fflush(NULL);
  for (const char *const *name = outputs; *name; ++name) {
    int file = open(*name, O_RDONLY);
    ssize_t count;
    while (file >= 0 && (count = read(file, bytes, sizeof bytes)) > 0)
      if (write(STDOUT_FILENO, bytes, count) != count)
        _exit(1);
    if (file >= 0)
      close(file);
  }
}
