#pragma once
// The parts that the HTML pages of all studies share. A page needs no other file.
//
// Threading: pure functions, but for write_page(): one thread a path.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.hpp"

namespace k2k::labs {

// The page around `body`. `rules` are the study's own lines of style, each with its end.
std::string study_page(const std::string& title, const std::string& rules, const std::string& body);

// A verdict as a class of the style: "cannot tell" is "cannot-tell".
std::string class_of_verdict(std::string verdict);

// The facts of the machine, an object of texts and numbers.
std::string machine_list(const nlohmann::ordered_json& machine);

// Before a study of minutes: can its page be written? No file is made. Errors: as write_page().
Status may_write_page(const std::string& path);

// Writes a page to the file that --html names. Errors: as open(2) and write(2).
Status write_page(const std::string& path, const std::string& page);

}  // namespace k2k::labs
