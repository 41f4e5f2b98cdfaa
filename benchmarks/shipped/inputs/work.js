// Objects, closures, arrays, strings, regular expressions, JSON, dates and exceptions: prints what must not change.
var seed = 42
function random(limit) {
	seed = (seed * 1103515245 + 12345) % 2147483648
	return seed % limit
}

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
print("fib", fib(20))

var numbers = []
for (var i = 0; i < 5000; i++) numbers.push(random(100000))
numbers.sort(function (a, b) { return a - b })
print("sorted", numbers[0], numbers[2500], numbers[4999])
print("folded", numbers.map(function (n) { return n % 97 }).filter(function (n) { return n > 48 }).reduce(function (a, b) { return a + b }))

var words = []
for (i = 0; i < 3000; i++) words.push(String.fromCharCode(97 + random(7), 97 + random(7), 97 + random(5)))
var text = words.join(" "), counts = {}
text.replace(/[a-e]+/g, function (word) { counts[word] = (counts[word] || 0) + 1; return word })
var names = Object.keys(counts).sort(function (a, b) { return counts[b] - counts[a] || (a < b ? -1 : 1) })
print("words", names.length, names[0], counts[names[0]], text.split(/\s+/).length)
print("matched", text.match(/(?:ab|ba)[^ ]/g).length, text.replace(/(\w)(\w)(\w)/g, "$3$2$1").substring(0, 47))
print("searched", text.search(/fa(?=d)/), /^(a|b)*?c\1?$/.exec("abac"), encodeURIComponent("é & ü"))

function Shape(name) { this.name = name }
Shape.prototype.area = function () { return 0 }
function Circle(r) { Shape.call(this, "circle"); this.r = r }
Circle.prototype = Object.create(Shape.prototype)
Circle.prototype.area = function () { return Math.PI * this.r * this.r }
print("shapes", new Circle(2).area().toFixed(6), new Shape("none").area(), new Circle(1) instanceof Shape)

var record = { id: 7, list: [1, null, true, "two"], deep: { e: 1.5e-7, big: 1e21, text: "a\u00e9\n" } }
print("json", JSON.stringify(record), JSON.stringify(JSON.parse(JSON.stringify(record)), null, 1).length)
print("dates", new Date(Date.UTC(2001, 1, 28, 23, 59, 59)).toISOString(), Date.parse("1970-01-02T00:00:00Z"))
print("figures", (255).toString(16), (0.1 + 0.2).toPrecision(17), (1e-7).toExponential(3), parseInt("077", 8), -7 % 3, 1 / 3)

var caught = 0
for (i = 0; i < 200; i++) {
	try {
		if (i % 3 == 0) undefined.name
		if (i % 3 == 1) throw new RangeError("of " + i)
	} catch (error) {
		caught += error instanceof TypeError ? 1 : 100
	} finally {
		caught += 0.5
	}
}
print("caught", caught)

var matrix = []
for (i = 0; i < 40; i++) { matrix[i] = []; for (var j = 0; j < 40; j++) matrix[i][j] = (i * j) % 17 }
var sum = 0
for (i = 0; i < 40; i++) for (j = 0; j < 40; j++) for (var k = 0; k < 40; k++) sum += matrix[i][k] * matrix[k][j]
print("matrix", sum, sum >>> 3, sum ^ 12345, ~sum)
