#pragma once
// A server's statistics, as text (--stats) and for programs (JSON).
//
// Threading: pure functions of a copy.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "router/read/reader_stats.hpp"
#include "server/account/stats.hpp"

namespace k2k {

// Compares the ledger of the service threads with the external observer: the difference between the
// ledger's sum and the observer's CPU time, in percent; negative if the ledger's sum is smaller. 0
// if the observer measured nothing.
double ledger_disagreement_percent(const server::Stats& stats);

// Several lines, each ended by a newline.
std::string to_table(const server::Stats& stats);

// One object; the keys of seconds and microseconds end with their unit.
nlohmann::ordered_json to_json(const server::Stats& stats);

// The same as text, and only its part about reads and writes of files.
std::string to_json_text(const server::Stats& stats);
std::string files_json_text(const router::ReaderStats& files);

}  // namespace k2k
