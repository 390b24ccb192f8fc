#pragma once
// The known word nearest to a misspelt one, for "did you mean ...?".
//
// Distance: insertions, deletions, substitutions and swaps of neighbours (Damerau, restricted).

#include <string>
#include <string_view>
#include <vector>

namespace k2k {

// Edits that turn one word into the other. O(n × m); words are option names.
std::size_t edit_distance(std::string_view left, std::string_view right);

// The nearest of `known`, or "" if none is near enough to be meant: more than a third of the word
// would have to change. A known word that goes on where `word` ends (three letters or more) counts
// as one edit. The first of several equally near ones.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace k2k
