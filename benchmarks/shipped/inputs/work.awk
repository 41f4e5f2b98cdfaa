# Words counted, lengths, fields, substitutions, numbers: over a generated text.
{
  for (i = 1; i <= NF; i++) {
    word = tolower($i)
    gsub(/[^a-z]/, "", word)
    if (word == "") continue
    count[word]++
    letters += length(word)
    if (word ~ /^(th|an|in).*[aeiou]/) begun++
  }
  if (match($0, /[a-z]+ing/)) endings[substr($0, RSTART, RLENGTH)]++
  sum += NR * NF % 97
  line = $0
  if (sub(/of/, "<&>", line)) marked++
  checksum = (checksum * 31 + length(line) + index(line, "the")) % 1000003
}
END {
  for (word in count) {
    distinct++
    if (count[word] > most || (count[word] == most && word < often)) { most = count[word]; often = word }
  }
  for (word in endings) more += endings[word]
  printf "%d words, %d distinct, most often %s (%d)\n", letters, distinct, often, most
  printf "%d begun, %d marked, %d endings, sum %d, checksum %d\n", begun, marked, more, sum, checksum
  for (i = 1; i <= 60000; i++) { x = (x * 16807 + i) % 2147483647; y += sqrt(x) ; if (x % 2) odd++ }
  printf "%.3f %d %s\n", y, odd, sprintf("%x %o %5.2e", x, x, y)
}
