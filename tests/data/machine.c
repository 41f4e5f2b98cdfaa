/* A tokenizer as a state machine, and a stack machine. */
enum state { START, WORD, NUMBER, STRING, ESCAPE, COMMENT, FAILED };

enum state next_state(enum state state, char c) {
  switch (state) {
  case START:
    if (c >= '0' && c <= '9')
      return NUMBER;
    if ((c >= 'a' && c <= 'z') || c == '_')
      return WORD;
    switch (c) {
    case '"': return STRING;
    case '#': return COMMENT;
    case ' ':
    case '\n':
    case ';': return START;
    default: return FAILED;
    }
  case WORD: return (c >= 'a' && c <= 'z') || c == '_' ? WORD : START;
  case NUMBER: return c >= '0' && c <= '9' ? NUMBER : START;
  case STRING: return c == '"' ? START : c == '\\' ? ESCAPE : STRING;
  case ESCAPE: return STRING;
  case COMMENT: return c == '\n' ? START : COMMENT;
  case FAILED: break;
  }
  return FAILED;
}

int tokens(const char *text) {
  enum state state = START;
  int count = 0;
  for (; *text; ++text) {
    enum state next = next_state(state, *text);
    if (next == FAILED)
      return -1;
    count += state == START && next != START;
    state = next;
  }
  return count;
}

int execute(const unsigned char *code, int input) {
  int stack[16], top = 0;
  stack[top] = input;
  for (;;)
    switch (*code++) {
    case 0: return stack[top];
    case 1: stack[++top & 15] = *code++; break;
    case 2: --top; stack[top & 15] += stack[(top + 1) & 15]; break;
    case 3: --top; stack[top & 15] -= stack[(top + 1) & 15]; break;
    case 4: --top; stack[top & 15] *= stack[(top + 1) & 15]; break;
    case 5: stack[top & 15] = -stack[top & 15]; break;
    case 6: code += stack[top & 15] ? (signed char)*code : 1; break;
    default: return -1;
    }
}
