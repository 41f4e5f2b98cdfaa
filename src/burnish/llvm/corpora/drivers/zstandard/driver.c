/* Round trips through Zstandard; one line each: way, level, sizes, digest of the compressed bytes. */
#include "inputs.h"

#define ZSTD_STATIC_LINKING_ONLY
#include "zdict.h"
#include "zstd.h"

enum { PIECE = 5003, SAMPLES = 200, SAMPLE_BYTES = 400, DICTIONARY_BYTES = 4096 };

static void check_code(size_t code) {
  if (ZSTD_isError(code))
    fail(ZSTD_getErrorName(code));
}

static void report(const char *way, int level, enum kind kind, size_t size, const void *packed, size_t packed_size) {
  printf("%-10s %3d %-7s %7zu -> %7zu  %016llx\n", way, level, kind_names[kind], size, packed_size,
         (unsigned long long)digest(packed, packed_size));
}

static void one_call(enum kind kind, const unsigned char *input, size_t size, int level) {
  size_t room = ZSTD_compressBound(size);
  unsigned char *packed = allocate(room), *output = allocate(size);
  size_t packed_size = ZSTD_compress(packed, room, input, size, level);
  check_code(packed_size);
  size_t output_size = ZSTD_decompress(output, size, packed, packed_size);
  check_code(output_size);
  if (output_size != size || memcmp(input, output, size))
    fail("round trip");
  if (packed_size > 1 && !ZSTD_isError(ZSTD_decompress(output, size, packed, packed_size - 1)))
    fail("a truncated frame was accepted");
  report("one call", level, kind, size, packed, packed_size);
  free(packed);
  free(output);
}

/* In pieces, with a checksum and long distances. */
static void stream(enum kind kind, const unsigned char *input, size_t size, int level) {
  ZSTD_CCtx *coder = ZSTD_createCCtx();
  ZSTD_DCtx *decoder = ZSTD_createDCtx();
  check_code(ZSTD_CCtx_setParameter(coder, ZSTD_c_compressionLevel, level));
  check_code(ZSTD_CCtx_setParameter(coder, ZSTD_c_checksumFlag, 1));
  check_code(ZSTD_CCtx_setParameter(coder, ZSTD_c_enableLongDistanceMatching, 1));
  check_code(ZSTD_CCtx_setParameter(coder, ZSTD_c_windowLog, 18));
  size_t room = ZSTD_compressBound(size) + size / PIECE * 16 + 64;
  unsigned char *packed = allocate(room), *output = allocate(size);
  ZSTD_outBuffer made = {packed, room, 0}, read = {output, size, 0};
  for (size_t at = 0; at <= size; at += PIECE) {
    int last = at + PIECE > size;
    ZSTD_inBuffer in = {input + at, last ? size - at : PIECE, 0};
    size_t left;
    do {
      left = ZSTD_compressStream2(coder, &made, &in, last ? ZSTD_e_end : ZSTD_e_flush);
      check_code(left);
    } while (left || in.pos < in.size);
  }
  for (size_t at = 0; at < made.pos; at += PIECE) {
    ZSTD_inBuffer in = {packed + at, made.pos - at < PIECE ? made.pos - at : PIECE, 0};
    while (in.pos < in.size)
      check_code(ZSTD_decompressStream(decoder, &read, &in));
  }
  if (read.pos != size || memcmp(input, output, size))
    fail("stream: round trip");
  report("stream", level, kind, size, packed, made.pos);
  ZSTD_freeCCtx(coder);
  ZSTD_freeDCtx(decoder);
  free(packed);
  free(output);
}

/* Small records with a dictionary that is trained on others. */
static void with_dictionary(size_t records) {
  static size_t sizes[SAMPLES];
  unsigned char *samples = make_input(RECORDS, SAMPLES * SAMPLE_BYTES, 17), *dictionary = allocate(DICTIONARY_BYTES);
  for (int i = 0; i < SAMPLES; ++i)
    sizes[i] = SAMPLE_BYTES;
  size_t size = ZDICT_trainFromBuffer(dictionary, DICTIONARY_BYTES, samples, sizes, SAMPLES);
  check_code(size);
  ZSTD_CCtx *coder = ZSTD_createCCtx();
  ZSTD_DCtx *decoder = ZSTD_createDCtx();
  size_t total = 0, room = ZSTD_compressBound(SAMPLE_BYTES);
  unsigned char *packed = allocate(room), output[SAMPLE_BYTES];
  for (size_t i = 0; i < records; ++i) {
    unsigned char *record = make_input(RECORDS, SAMPLE_BYTES, 1000 + i);
    size_t made = ZSTD_compress_usingDict(coder, packed, room, record, SAMPLE_BYTES, dictionary, size, 3);
    check_code(made);
    size_t back = ZSTD_decompress_usingDict(decoder, output, SAMPLE_BYTES, packed, made, dictionary, size);
    if (back != SAMPLE_BYTES || memcmp(output, record, SAMPLE_BYTES))
      fail("dictionary: round trip");
    total += made;
    free(record);
  }
  report("dictionary", 3, RECORDS, records * SAMPLE_BYTES, dictionary, size);
  printf("%zu records in %zu bytes\n", records, total);
  ZSTD_freeCCtx(coder);
  ZSTD_freeDCtx(decoder);
  free(samples);
  free(dictionary);
  free(packed);
}

/* zstandard SIZE... */
int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    size_t size = read_size(argv[i]);
    for (int kind = 0; kind < KINDS; ++kind) {
      unsigned char *input = make_input((enum kind)kind, size, 13);
      for (int level = -5; level <= 19; level += level < 1 ? 3 : 6)
        one_call((enum kind)kind, input, size, level);
      stream((enum kind)kind, input, size, 1);
      stream((enum kind)kind, input, size, 7);
      free(input);
    }
    if (size >= 1000)
      with_dictionary(size / 1000);
  }
  puts("every round trip returned its input");
  return 0;
}
