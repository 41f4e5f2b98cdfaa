// ECMAScript 5: closures, prototypes, exceptions, regular expressions, JSON, dates, sorting.
"use strict";
function Shape(sides) { this.sides = sides; }
Shape.prototype.toString = function () { return "Shape(" + this.sides + ")"; };
function Square() { Shape.call(this, 4); }
Square.prototype = Object.create(Shape.prototype, { constructor: { value: Square } });
print(new Square(), new Square() instanceof Shape, Object.keys({ b: 1, a: 2 }));

var value = { list: [1, [2, { three: 3 }]], text: 'q"\n', nothing: null, date: new Date(86400000) };
print(JSON.stringify(value), JSON.stringify(JSON.parse(JSON.stringify(value)), null, 1).length);
print("a,b;c d".split(/[,; ]/).join("|"), "The quick brown fox".replace(/(\w+) (\w+)/g, "$2 $1"), /(a+)+$/.test("aaaaab"));
print(encodeURIComponent("\u00fc&"), "\u6f22\u5b57".length, escape("\u00fc"), "abc".charCodeAt(1), "x y z".split(" ").length);

["null.x", "let = ", "[].reduce(function (a) { return a; })", "undefinedName", "new Array(-1)"].forEach(function (code) {
  try {
    (0, eval)(code);
  } catch (error) {
    print(error.name);
  }
});

var log = [], object = { get size() { log.push("get"); return 7; }, set size(value) { log.push("set " + value); } };
object.size = 3;
print(object.size + object.size, log, [3, 1, 2].sort(), [1, 2, 3, 4].filter(function (x) { return x % 2; }));
print([10, 9, 1].sort(function (a, b) { return a - b; }), [1, 2, 3].map(Math.sqrt).map(function (x) { return x.toFixed(6); }));
print(new Date(0).toISOString(), new Date(Date.UTC(2024, 1, 29)).toISOString(), typeof null, void 0, 0.1 + 0.2, 1 / 3, 5e-324, -0);
print((function counter(n) { return n ? n + counter(n - 1) : 0; })(100), parseInt("ff", 16), (255).toString(2), 1e21, isNaN("x"));
