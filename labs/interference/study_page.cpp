#include "labs/interference/study_page.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "telemetry/html.hpp"

namespace k2k::labs {

namespace {

using nlohmann::ordered_json;
using telemetry::in_html;

Error cannot_write(const std::string& path, int error) {
  return {error, fmt::format("cannot write {}: {}; name another file with --html", path,
                             std::strerror(error))};
}

// Around the study's own rules. A chart keeps its size: on a phone it moves within its own frame,
// because text that shrinks with the screen cannot be read there.
constexpr const char* rules_before = R"(
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:70rem;padding:1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}
.wide{overflow-x:auto}table{border-collapse:collapse;min-width:100%}
td,th{border-bottom:1px solid #d0d7de;padding:.4rem .6rem;text-align:left;vertical-align:top}
td.number{text-align:right;white-space:nowrap}
.reproduced{color:#116329;font-weight:600}.not-reproduced{color:#a40e26;font-weight:600}
)";
constexpr const char* rules_after =
    R"(svg{height:auto}svg text{font:12px system-ui,sans-serif;fill:#1b1f24}
)";

}  // namespace

std::string study_page(const std::string& title, const std::string& rules,
                       const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
      "<meta name=viewport content=\"width=device-width, initial-scale=1\">"
      "<link rel=icon href=\"data:,\">"
      "<title>{}</title><style>{}{}{}</style></head><body>\n{}</body></html>\n",
      title, rules_before, rules, rules_after, body);
}

std::string class_of_verdict(std::string verdict) {
  std::replace(verdict.begin(), verdict.end(), ' ', '-');
  return verdict;
}

std::string machine_list(const ordered_json& machine) {
  std::string rows;
  for (const auto& [key, value] : machine.items()) {
    rows += fmt::format("<tr><th>{}<td>{}</tr>\n", in_html(key),
                        in_html(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return "<div class=wide><table>" + rows + "</table></div>\n";
}

Status may_write_page(const std::string& path) {
  if (::access(path.c_str(), W_OK) == 0) return {};
  if (errno != ENOENT) return cannot_write(path, errno);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0) return {};
  return cannot_write(path, errno);
}

Status write_page(const std::string& path, const std::string& page) {
  errno = 0;
  std::ofstream file(path);
  file << page;
  file.close();
  if (file) return {};
  return cannot_write(path, errno == 0 ? EIO : errno);
}

}  // namespace k2k::labs
