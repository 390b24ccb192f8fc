#pragma once
// Text for a page: letters that HTML reads as markup are written as their entities.
//
// Threading: reentrant.

#include <string>

namespace k2k::telemetry {

inline std::string in_html(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

}  // namespace k2k::telemetry
