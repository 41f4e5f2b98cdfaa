#include <stdio.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

/* Coroutines and errors need setjmp, which WASI's C library does not have. */
#ifdef __wasm__
#define COROUTINES
#define LINES "print(fib(17), table.concat(words, ' '), string.format('%5.2f|%x', math.pi, 48879))\n" \
              "print(select('#', table.unpack({1, 2, nil, 4}, 1, 4)))\n"
#else
#define COROUTINES {LUA_COLIBNAME, luaopen_coroutine},
#define LINES \
  "local made = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i * 1.5) end end)\n" \
  "print(fib(17), table.concat(words, ' '), made() + made() + made(), string.format('%5.2f|%x', math.pi, 48879))\n" \
  "print(pcall(error, 'code 2', 0), select('#', table.unpack({1, 2, nil, 4}, 1, 4)))\n"
#endif

static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                     {LUA_TABLIBNAME, luaopen_table},
                                     {LUA_STRLIBNAME, luaopen_string},
                                     {LUA_MATHLIBNAME, luaopen_math},
                                     COROUTINES{NULL, NULL}};

static const char script[] =
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
    "local words = {}\n"
    "for word in ('the quick brown fox jumps over the lazy dog'):gmatch('%a+') do words[#words + 1] = word:upper() end\n"
    "table.sort(words)\n"
    LINES;

int main(void) {
  lua_State *state = luaL_newstate();
  for (const luaL_Reg *one = libraries; one->func; one++) {
    luaL_requiref(state, one->name, one->func, 1);
    lua_pop(state, 1);
  }
  if (luaL_dostring(state, script)) puts(lua_tostring(state, -1));
  lua_close(state);
  return 0;
}
