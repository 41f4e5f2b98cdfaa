/* As firmware/images/lua.c, without errors and coroutines: this C library has no setjmp. */
#include <stdio.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                     {LUA_TABLIBNAME, luaopen_table},
                                     {LUA_STRLIBNAME, luaopen_string},
                                     {LUA_MATHLIBNAME, luaopen_math},
                                     {NULL, NULL}};

static const char script[] =
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
    "local words = {}\n"
    "for word in ('the quick brown fox jumps over the lazy dog'):gmatch('%a+') do words[#words + 1] = word:upper() end\n"
    "table.sort(words)\n"
    "print(fib(17), table.concat(words, ' '), string.format('%5.2f|%x', math.pi, 48879))\n"
    "print(select('#', table.unpack({1, 2, nil, 4}, 1, 4)))\n";

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
