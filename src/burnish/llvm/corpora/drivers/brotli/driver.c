/* Round trips through brotli; one line each: quality, window, sizes, digest of the compressed bytes. */
#include "inputs.h"

#include <brotli/decode.h>
#include <brotli/encode.h>

static void one_call(enum kind kind, const uint8_t *input, size_t size, int quality, int window) {
  size_t packed_size = BrotliEncoderMaxCompressedSize(size), output_size = size;
  uint8_t *packed = allocate(packed_size), *output = allocate(size);
  BrotliEncoderMode mode = kind == TEXT ? BROTLI_MODE_TEXT : BROTLI_MODE_GENERIC;
  if (!BrotliEncoderCompress(quality, window, mode, size, input, &packed_size, packed))
    fail("compress");
  if (BrotliDecoderDecompress(packed_size, packed, &output_size, output) != BROTLI_DECODER_RESULT_SUCCESS)
    fail("decompress");
  if (output_size != size || memcmp(input, output, size))
    fail("round trip");
  printf("%-7s q%-2d w%d %7zu -> %7zu  %016llx\n", kind_names[kind], quality, window, size, packed_size,
         (unsigned long long)digest(packed, packed_size));
  free(packed);
  free(output);
}

/* Compress and decompress in pieces, flushing after each. */
static void stream(enum kind kind, const uint8_t *input, size_t size, int quality) {
  enum { PIECE = 7001 };
  BrotliEncoderState *encoder = BrotliEncoderCreateInstance(NULL, NULL, NULL);
  BrotliDecoderState *decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);
  BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, (uint32_t)quality);
  size_t room = size * 2 + 100000, packed_size = 0, written = 0;
  uint8_t *packed = allocate(room), *output = allocate(size + 1);
  for (size_t at = 0; at <= size; at += PIECE) {
    int last = at + PIECE > size;
    size_t in = last ? size - at : PIECE;
    const uint8_t *next = input + at;
    do {
      size_t out = room - packed_size;
      uint8_t *to = packed + packed_size;
      if (!BrotliEncoderCompressStream(encoder, last ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_FLUSH, &in, &next,
                                       &out, &to, NULL))
        fail("stream: compress");
      packed_size = room - out;
    } while (in || BrotliEncoderHasMoreOutput(encoder));
  }
  for (size_t at = 0; at < packed_size; at += PIECE) {
    size_t in = packed_size - at < PIECE ? packed_size - at : PIECE, out = size + 1 - written;
    const uint8_t *next = packed + at;
    uint8_t *to = output + written;
    if (BrotliDecoderDecompressStream(decoder, &in, &next, &out, &to, NULL) == BROTLI_DECODER_RESULT_ERROR)
      fail("stream: decompress");
    written = size + 1 - out;
  }
  if (!BrotliDecoderIsFinished(decoder) || written != size || memcmp(input, output, size))
    fail("stream: round trip");
  printf("%-7s stream q%-2d %7zu -> %7zu  %016llx\n", kind_names[kind], quality, size, packed_size,
         (unsigned long long)digest(packed, packed_size));
  BrotliEncoderDestroyInstance(encoder);
  BrotliDecoderDestroyInstance(decoder);
  free(packed);
  free(output);
}

/* brotli SIZE... */
int main(int argc, char **argv) {
  for (int kind = 0; kind < KINDS; ++kind)
    for (int i = 1; i < argc; ++i) {
      size_t size = read_size(argv[i]);
      uint8_t *input = make_input((enum kind)kind, size, 11);
      for (int quality = 0; quality <= 11; ++quality)
        one_call((enum kind)kind, input, size, quality, quality % 2 ? 22 : 16);
      stream((enum kind)kind, input, size, 1);
      stream((enum kind)kind, input, size, 6);
      free(input);
    }
  puts("every round trip returned its input");
  return 0;
}
