#pragma once
// The known word nearest to a misspelt one, for "did you mean ...?".
//
// Distance: insertions, deletions, substitutions and swaps of neighbours (Damerau, restricted).

#include <string>
#include <string_view>
#include <vector>

namespace k2k {

// The number of edits that turn one word into the other. O(n × m); words are option names.
std::size_t edit_distance(std::string_view left, std::string_view right);

// The nearest of `known`, or "" if none is close: more than a third of the word would have to
// change. A known word that continues `word` (of three letters or more) counts as one edit. Of
// several equally near words, the first.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace k2k
