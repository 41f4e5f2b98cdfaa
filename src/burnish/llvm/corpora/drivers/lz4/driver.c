/* Round trips through LZ4's interfaces; one line each: what, sizes, digest of the compressed bytes. */
#include "inputs.h"
#include "lz4.h"
#include "lz4frame.h"
#include "lz4hc.h"

static void report(const char *way, int level, enum kind kind, size_t size, const void *packed, size_t packed_size) {
  printf("%-9s %2d %-7s %7zu -> %7zu  %016llx\n", way, level, kind_names[kind], size, packed_size,
         (unsigned long long)digest(packed, packed_size));
}

static void check_same(const char *way, const void *before, const void *after, size_t size) {
  if (memcmp(before, after, size))
    fail(way);
}

static void block(enum kind kind, const char *input, int size, int high, int level) {
  int room = LZ4_compressBound(size);
  char *packed = allocate((size_t)room), *output = allocate((size_t)size);
  int packed_size =
      high ? LZ4_compress_HC(input, packed, size, room, level) : LZ4_compress_fast(input, packed, size, room, level);
  if (packed_size <= 0 || LZ4_decompress_safe(packed, output, packed_size, size) != size)
    fail("block");
  check_same("block", input, output, (size_t)size);
  int part = size / 3;
  memset(output, 0, (size_t)size);
  if (LZ4_decompress_safe_partial(packed, output, packed_size, part, size) < part)
    fail("partial block");
  check_same("partial block", input, output, (size_t)part);
  if (packed_size > 1 && LZ4_decompress_safe(packed, output, packed_size - 1, size) == size)
    fail("a truncated block was accepted");
  report(high ? "block-hc" : "block", level, kind, (size_t)size, packed, (size_t)packed_size);
  free(packed);
  free(output);
}

static void stream(enum kind kind, const char *input, int size, int step) {
  LZ4_stream_t *coder = LZ4_createStream();
  LZ4_streamDecode_t *decoder = LZ4_createStreamDecode();
  char *packed = allocate((size_t)(LZ4_compressBound(step) + 8) * (size_t)(size / step + 1));
  char *output = allocate((size_t)size);
  size_t total = 0;
  for (int at = 0; at < size; at += step) {
    int length = size - at < step ? size - at : step;
    int made = LZ4_compress_fast_continue(coder, input + at, packed + total, length, LZ4_compressBound(length), 1);
    if (made <= 0 || LZ4_decompress_safe_continue(decoder, packed + total, output + at, made, length) != length)
      fail("stream");
    total += (size_t)made;
  }
  check_same("stream", input, output, (size_t)size);
  report("stream", step > 5000, kind, (size_t)size, packed, total);
  LZ4_freeStream(coder);
  LZ4_freeStreamDecode(decoder);
  free(packed);
  free(output);
}

static void frame(enum kind kind, const char *input, size_t size, int level, LZ4F_blockSizeID_t blocks) {
  LZ4F_preferences_t wanted = LZ4F_INIT_PREFERENCES;
  wanted.compressionLevel = level;
  wanted.frameInfo.blockSizeID = blocks;
  wanted.frameInfo.blockMode = level > 2 ? LZ4F_blockIndependent : LZ4F_blockLinked;
  wanted.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  wanted.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
  size_t room = LZ4F_compressFrameBound(size, &wanted);
  char *packed = allocate(room), *output = allocate(size + 1);
  size_t packed_size = LZ4F_compressFrame(packed, room, input, size, &wanted);
  LZ4F_dctx *decoder;
  if (LZ4F_isError(packed_size) || LZ4F_isError(LZ4F_createDecompressionContext(&decoder, LZ4F_VERSION)))
    fail("frame");
  size_t read = 0, written = 0, left = 1;
  while (left && read < packed_size) { /* in small pieces, as from a network */
    size_t in = packed_size - read < 1021 ? packed_size - read : 1021, out = size + 1 - written;
    left = LZ4F_decompress(decoder, output + written, &out, packed + read, &in, NULL);
    if (LZ4F_isError(left))
      fail(LZ4F_getErrorName(left));
    read += in;
    written += out;
  }
  if (left || written != size)
    fail("frame: length");
  check_same("frame", input, output, size);
  report("frame", level, kind, size, packed, packed_size);
  LZ4F_freeDecompressionContext(decoder);
  free(packed);
  free(output);
}

/* lz4 SIZE... */
int main(int argc, char **argv) {
  for (int kind = 0; kind < KINDS; ++kind)
    for (int i = 1; i < argc; ++i) {
      int size = (int)read_size(argv[i]);
      char *input = (char *)make_input((enum kind)kind, (size_t)size, 7);
      for (int acceleration = 1; acceleration < 20; acceleration += 6)
        block((enum kind)kind, input, size, 0, acceleration);
      for (int level = 2; level <= LZ4HC_CLEVEL_MAX; level += 2)
        block((enum kind)kind, input, size, 1, level);
      stream((enum kind)kind, input, size, 1000);
      stream((enum kind)kind, input, size, 20000);
      for (int level = 0; level <= 12; level += 4)
        frame((enum kind)kind, input, (size_t)size, level, level % 8 ? LZ4F_max64KB : LZ4F_max256KB);
      free(input);
    }
  puts("every round trip returned its input");
  return 0;
}
