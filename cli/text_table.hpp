#pragma once
// Rows of text as aligned columns. The last column is not padded.

#include <string>
#include <vector>

namespace k2k::cli {

// The first row is the heading, bold if `color`.
std::string text_table(const std::vector<std::vector<std::string>>& rows, bool color);

std::string bold(const std::string& text, bool color);

// "2.0 MiB"; exact below 10 KiB.
std::string in_bytes(std::size_t bytes);

}  // namespace k2k::cli
