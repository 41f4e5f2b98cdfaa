"use strict";
// Strings, regular expressions, objects, exceptions, proxies, promises.
const text = "The quick brown fox jumps over the lazy dog. Der schnelle Fuchs: größer, ÄÖÜ. 漢字かな 🙂";
print(text.replace(/(\w+) (\w+)/g, "$2 $1"));
print(text.match(/\p{Script=Han}+/u)[0], text.toUpperCase(), [...text].length, text.normalize("NFD").length);
print(/(?<year>\d{4})-(?<month>\d\d)(?!-)/.exec("2023-1 2024-02 x").groups.month, /(a+)+$/.test("aaaaaaaaaaaaab"));
print("a,b;c d".split(/[,; ]/).join("|"), "abc".padStart(6, "-"), "x".repeat(5), escape("ü"), encodeURIComponent("ü&"));

class Shape {
  #sides;
  constructor(sides) { this.#sides = sides; }
  get sides() { return this.#sides; }
  toString() { return `${this.constructor.name}(${this.#sides})`; }
}
class Square extends Shape {
  constructor() { super(4); }
}
print(String(new Square()), new Square() instanceof Shape, Object.keys({ b: 1, a: 2, 1: 0 }));

const value = { list: [1, [2, { three: 3 }]], text: 'q"\n', nothing: null, date: new Date(86400000) };
print(JSON.stringify(value), JSON.stringify(JSON.parse(JSON.stringify(value)), null, 1).length);

const log = [];
const proxy = new Proxy({}, { get: (_, name) => (log.push(String(name)), 7), has: () => true });
print(proxy.x + proxy.y, "z" in proxy, log);

for (const code of ["null.x", "let 1", "[].reduce((a) => a)", "undefinedName", "new Array(-1)", "BigInt(1.5)"]) {
  try {
    (0, eval)(code);
  } catch (error) {
    print(error.name, error.message);
  }
}

const map = new Map([["a", 1], [NaN, 2]]);
print(map.get(NaN), [...new Set([3, 1, 3, 2])], Symbol("s").description, [1, [2, [3, [4]]]].flat(Infinity));
const { list: [first, ...others], ...rest } = value;
print(first, others.length, Object.keys(rest), ((a, b = a * 2, ...c) => a + b + c.length)(1, undefined, 3, 4));

const later = async (n) => (n ? (await later(n - 1)) + n : 0);
later(20).then((sum) => print("promise", sum));
Promise.allSettled([Promise.reject(new Error("no")), 1]).then((all) => print(all.map((one) => one.status)));
print("end of script");
