/* Render markdown: the given files as HTML in full, and random mixtures of their lines in every format. */
#include "inputs.h"

#include "cmark-gfm-core-extensions.h"
#include "cmark-gfm-extension_api.h"
#include "cmark-gfm.h"

enum { FORMATS = 6, LINES_OF_A_MIXTURE = 600, MOST_LINES = 4096 };

static const char *const formats[FORMATS] = {"html", "xml", "man", "commonmark", "plaintext", "latex"};
static const char *lines[MOST_LINES];
static size_t line_count;

static char *render(cmark_node *document, int format, int options, cmark_llist *extensions) {
  int width = options & CMARK_OPT_SMART ? 60 : 0;
  switch (format) {
  case 0:
    return cmark_render_html(document, options, extensions);
  case 1:
    return cmark_render_xml(document, options);
  case 2:
    return cmark_render_man(document, options, width);
  case 3:
    return cmark_render_commonmark(document, options, width);
  case 4:
    return cmark_render_plaintext(document, options, width);
  default:
    return cmark_render_latex(document, options, width);
  }
}

/* The caller frees the text. */
static char *convert(const char *text, int format, int options) {
  static const char *const extensions[] = {"table", "strikethrough", "autolink", "tagfilter", "tasklist"};
  cmark_parser *parser = cmark_parser_new(options);
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; ++i) {
    cmark_syntax_extension *extension = cmark_find_syntax_extension(extensions[i]);
    if (!extension || !cmark_parser_attach_syntax_extension(parser, extension))
      fail(extensions[i]);
  }
  cmark_parser_feed(parser, text, strlen(text));
  cmark_node *document = cmark_parser_finish(parser);
  char *made = render(document, format, options, cmark_parser_get_syntax_extensions(parser));
  cmark_node_free(document);
  cmark_parser_free(parser);
  return made;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail(path);
  char *text = allocate(1 << 20);
  size_t size = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  text[size] = 0;
  return text;
}

static void remember_lines(const char *text) {
  for (char *at = strdup(text); at && *at && line_count < MOST_LINES;) {
    lines[line_count++] = at;
    char *end = strchr(at, '\n');
    if (end)
      *end++ = 0;
    at = end;
  }
}

static char *mix_lines(uint64_t seed) {
  size_t room = 1 << 20, used = 0;
  char *text = allocate(room);
  for (int i = 0; i < LINES_OF_A_MIXTURE; ++i) {
    int depth = (int)(next_random(&seed) % 8); /* now and then quoted or indented */
    const char *prefix = depth == 0 ? "> " : depth == 1 ? "    " : depth == 2 ? "- " : "";
    used += (size_t)snprintf(text + used, room - used, "%s%s\n", prefix, lines[next_random(&seed) % line_count]);
  }
  return text;
}

/* cmarkgfm MIXTURES FILE... */
int main(int argc, char **argv) {
  cmark_gfm_core_extensions_ensure_registered();
  uint64_t mixtures = argc > 1 ? read_size(argv[1]) : 0;
  for (int i = 2; i < argc; ++i) {
    char *text = read_file(argv[i]);
    remember_lines(text);
    char *html = convert(text, 0, CMARK_OPT_FOOTNOTES | CMARK_OPT_UNSAFE);
    printf("document %d\n%s", i - 1, html);
    free(html);
    free(text);
  }
  if (!line_count)
    fail("usage: cmarkgfm MIXTURES FILE...");
  size_t sizes[FORMATS] = {0};
  uint64_t digests[FORMATS] = {0};
  for (uint64_t seed = 0; seed < mixtures; ++seed) {
    char *text = mix_lines(seed);
    for (int format = 0; format < FORMATS; ++format) {
      int options = CMARK_OPT_FOOTNOTES | (seed % 2 ? CMARK_OPT_SMART : CMARK_OPT_SOURCEPOS);
      char *made = convert(text, format, options);
      sizes[format] += strlen(made);
      digests[format] = digests[format] * 31 + digest(made, strlen(made));
      free(made);
    }
    free(text);
  }
  for (int format = 0; format < FORMATS; ++format)
    printf("%llu mixtures as %-10s %9zu bytes  %016llx\n", (unsigned long long)mixtures, formats[format], sizes[format],
           (unsigned long long)digests[format]);
  return 0;
}
