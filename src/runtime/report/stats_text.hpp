#pragma once
// A server's statistics, for people (--stats) and for programs (JSON).
//
// Threading: pure functions of a copy.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "router/read/reader_stats.hpp"
#include "server/account/stats.hpp"

namespace k2k {

// The ledger of the service threads against the observer outside it: by how much of the observer's
// CPU time the ledger's sum differs, in percent; negative when the ledger knows of less. 0 when the
// observer saw nothing.
double ledger_disagreement_percent(const server::Stats& stats);

// Several lines, each ended by a newline.
std::string to_table(const server::Stats& stats);

// One object; seconds and microseconds say so in their keys.
nlohmann::ordered_json to_json(const server::Stats& stats);

// The same as text, and its part about reads and writes of files.
std::string to_json_text(const server::Stats& stats);
std::string files_json_text(const router::ReaderStats& files);

}  // namespace k2k
