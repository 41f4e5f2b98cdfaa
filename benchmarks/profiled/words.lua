-- Counts the words of the file in arg[1], sorts them, and formats tables of the most frequent ones.
local counts, order = {}, {}
for line in io.lines(arg[1]) do
  for word in line:gmatch("[%w_]+") do
    if not counts[word] then
      counts[word] = 0
      order[#order + 1] = word
    end
    counts[word] = counts[word] + 1
  end
end
table.sort(order, function(a, b)
  if counts[a] ~= counts[b] then return counts[a] > counts[b] end
  return a < b
end)
local Entry = {}
Entry.__index = Entry
function Entry.new(word, count) return setmetatable({ word = word, count = count }, Entry) end
function Entry:row(width) return string.format("%-" .. width .. "s %8d %5.2f", self.word, self.count, self.count / #order) end
local sum = 0
for i = 1, #order do
  local entry = Entry.new(order[i], counts[order[i]])
  if i <= 200 then print(entry:row(30)) end
  for c in entry.word:gmatch(".") do sum = (sum * 31 + c:byte()) % 1000003 end
end
local parts = {}
for i = 1, #order do parts[#parts + 1] = order[i]:upper():rep(i % 3) end
print(sum, #table.concat(parts, ","):gsub("A", "aa"))
