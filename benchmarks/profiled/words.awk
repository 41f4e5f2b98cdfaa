# Counts words, fields and numbers, and rewrites lines.
{
  fields += NF
  for (i = 1; i <= NF; i++) {
    word = tolower($i)
    gsub(/[^a-z_]/, "", word)
    if (word != "") count[word]++
  }
}
/^ *def / { split($2, part, "("); defined[part[1]] = NR }
/[0-9]+/ { n = $0; gsub(/[^0-9]+/, " ", n); m = split(n, number, " "); for (j = 1; j <= m; j++) total += number[j] % 1000 }
length($0) > 70 { long++; text = substr($0, 60); sub(/ +$/, "", text); size += length(text) * index(text, "e") }
END {
  for (word in count) { kinds++; if (count[word] > most) { most = count[word]; best = word } }
  for (name in defined) last += defined[name]
  printf "%d %d %s %d %d %d %.3f\n", fields, kinds, best, most, last, long, total + size
}
