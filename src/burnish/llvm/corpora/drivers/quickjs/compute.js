"use strict";
// Numbers, typed arrays, big integers, sorting, closures.
function* primes(limit) {
  const sieve = new Uint8Array(limit + 1);
  for (let i = 2; i <= limit; i++) {
    if (sieve[i]) continue;
    yield i;
    for (let j = i * i; j <= limit; j += i) sieve[j] = 1;
  }
}
const found = [...primes(20000)];
print("primes", found.length, found[found.length - 1]);

let seed = 12345;
const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648);
const numbers = Array.from({ length: 5000 }, random);
numbers.sort((a, b) => a - b);
print("sorted", numbers[0], numbers[2500], numbers[4999]);

let product = 1n;
for (let i = 1n; i <= 200n; i++) product *= i;
print("200!", product.toString(36), product % 1000003n);

const a = Array.from({ length: 24 }, (_, i) => Array.from({ length: 24 }, (_, j) => Math.sin(i * 24 + j)));
const square = a.map((row) => a.map((_, j) => row.reduce((sum, x, k) => sum + x * a[k][j], 0)));
print("matrix", square[3][5].toFixed(9), square[23][0].toExponential(6));
print("floats", 0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0, Math.hypot(3, 4), (255).toString(2), 1e21, 123.456e-10);
print("dates", new Date(0).toISOString(), new Date(Date.UTC(2024, 1, 29)).toISOString());

const towers = (n, from, to, by) => (n ? towers(n - 1, from, by, to) + 1 + towers(n - 1, by, to, from) : 0);
print("towers", towers(12, "a", "b", "c"));
