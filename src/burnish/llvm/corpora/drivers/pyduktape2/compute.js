// Numbers, typed arrays, strings and objects: sieve, sort, matrix, queens, words, towers.
"use strict";
var sieve = new Uint8Array(20001), primes = 0;
for (var i = 2; i <= 20000; i++) {
  if (sieve[i]) continue;
  primes++;
  for (var j = i * i; j <= 20000; j += i) sieve[j] = 1;
}
print("primes", primes);

var seed = 12345;
function random() { return (seed = (seed * 1103515 + 12345) % 2147483648); }
var numbers = [];
for (i = 0; i < 3000; i++) numbers.push(random());
numbers.sort(function (a, b) { return a - b; });
print("sorted", numbers[0], numbers[1500], numbers[2999]);

function matrix(n, f) {
  var rows = [];
  for (var y = 0; y < n; y++) {
    rows.push([]);
    for (var x = 0; x < n; x++) rows[y].push(f(y, x));
  }
  return rows;
}
var a = matrix(24, function (y, x) { return (y * 24 + x) % 17 - 8; });
var b = matrix(24, function (y, x) { var sum = 0; for (var k = 0; k < 24; k++) sum += a[y][k] * a[k][x]; return sum; });
print("matrix", b[3][5], b[23][0]);

function queens(n, row, columns, left, right) {
  if (row === n) return 1;
  var count = 0;
  for (var free = ~(columns | left | right) & ((1 << n) - 1); free; free &= free - 1) {
    var place = free & -free;
    count += queens(n, row + 1, columns | place, (left | place) << 1, (right | place) >> 1);
  }
  return count;
}
print("queens", queens(7, 0, 0, 0, 0));

var words = {}, text = "";
for (i = 0; i < 3000; i++) text += "abcde".charAt(random() % 5) + (random() % 3 ? "" : " ");
text.split(" ").forEach(function (word) { words[word] = (words[word] || 0) + 1; });
print("words", Object.keys(words).length, words.a || 0);

function towers(n, from, to, by) { return n ? towers(n - 1, from, by, to) + 1 + towers(n - 1, by, to, from) : 0; }
print("towers", towers(11, "a", "b", "c"));
