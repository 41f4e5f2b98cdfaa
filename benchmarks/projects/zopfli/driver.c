/* Compress seeded inputs in every format into files of a folder, beside the inputs; one line each. */
#include "inputs.h"
#include "zopfli.h"

static void save(const char *folder, const char *name, const char *suffix, const void *bytes, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
    fail(path);
}

static void compress(const char *folder, enum kind kind, size_t size, int iterations) {
  static const char *const suffixes[] = {"gzip", "zlib", "deflate"}; /* in the order of ZopfliFormat */
  unsigned char *input = make_input(kind, size, 3);
  char name[64];
  snprintf(name, sizeof name, "%s-%zu-%d", kind_names[kind], size, iterations);
  save(folder, name, "input", input, size);
  for (int format = ZOPFLI_FORMAT_GZIP; format <= ZOPFLI_FORMAT_DEFLATE; ++format) {
    ZopfliOptions options;
    ZopfliInitOptions(&options);
    options.numiterations = iterations;
    options.blocksplitting = iterations > 1;
    unsigned char *packed = NULL;
    size_t packed_size = 0;
    ZopfliCompress(&options, (ZopfliFormat)format, input, size, &packed, &packed_size);
    save(folder, name, suffixes[format], packed, packed_size);
    printf("%-16s %-7s %6zu -> %6zu  %016llx\n", name, suffixes[format], size, packed_size,
           (unsigned long long)digest(packed, packed_size));
    free(packed);
  }
  free(input);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {0, 1, 300, 5000, 40000};
  if (argc != 2)
    fail("usage: zopfli FOLDER");
  for (int kind = 0; kind < KINDS; ++kind)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
      for (int iterations = 1; iterations <= 5; iterations += 4)
        compress(argv[1], (enum kind)kind, sizes[i], iterations);
  return 0;
}
