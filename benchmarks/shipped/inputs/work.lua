-- Recursion, tables, sorting, closures, strings and patterns, coroutines: prints figures that must not change.
local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
print("fib", fib(27))

local seed = 42
local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % limit
end

local numbers = {}
for i = 1, 60000 do numbers[i] = random(1000000) end
table.sort(numbers)
local byDescending = { table.unpack(numbers, 1, 2000) }
table.sort(byDescending, function(a, b) return a > b end)
print("sorted", numbers[1], numbers[30000], numbers[60000], byDescending[1])

local words, counts = {}, {}
for i = 1, 30000 do
  local length, letters = 2 + random(5), {}
  for j = 1, length do letters[j] = string.char(97 + random(7)) end
  words[i] = table.concat(letters)
end
local text = table.concat(words, " ")
for word in text:gmatch("%a+") do counts[word] = (counts[word] or 0) + 1 end
local distinct = {}
for word in pairs(counts) do distinct[#distinct + 1] = word end
table.sort(distinct, function(a, b)
  if counts[a] ~= counts[b] then return counts[a] > counts[b] end
  return a < b
end)
print("words", #distinct, distinct[1], counts[distinct[1]])
local replaced, times = text:gsub("(a)(%a-)(b)", "%3%2%1")
print("replaced", times, #replaced, replaced:sub(1, 60))
print("formatted", string.format("%5.3f|%-8s|%08d|%q", math.sqrt(2), "left", 1234, "quoted\n\"text\""))

local function matrix(n, f)
  local m = {}
  for i = 1, n do
    m[i] = {}
    for j = 1, n do m[i][j] = f(i, j) end
  end
  return m
end
local a = matrix(90, function(i, j) return (i * j) % 17 end)
local b = matrix(90, function(i, j) return (i + 2 * j) % 13 end)
local product = matrix(90, function(i, j)
  local sum = 0
  for k = 1, 90 do sum = sum + a[i][k] * b[k][j] end
  return sum
end)
print("matrix", product[1][1], product[28][31], product[90][90])

local Stack = {}
Stack.__index = Stack
function Stack.new() return setmetatable({ size = 0 }, Stack) end
function Stack:push(value) self.size = self.size + 1; self[self.size] = value end
function Stack:pop() local value = self[self.size]; self[self.size] = nil; self.size = self.size - 1; return value end
local stack, total = Stack.new(), 0
for i = 1, 150000 do
  stack:push(i)
  if i % 3 == 0 then total = total + stack:pop() * stack:pop() % 1009 end
end
print("stack", stack.size, total)

local producer = coroutine.wrap(function()
  for i = 1, 20000 do coroutine.yield(i * i % 7919) end
end)
local sum = 0
for _ = 1, 20000 do sum = sum + producer() end
print("coroutine", sum)
local ok, message = pcall(function() error({ code = 7 }) end)
print("error", ok, message.code, select("#", load("return 1, 2, nil")()))
