#pragma once
// The options and the results that k2k-bpt and k2k-xsbench share. Included by their command.cpp.
//
// Threading: one thread.

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/common/core_shares.hpp"
#include "apps/common/lookups.hpp"
#include "apps/common/parts_options.hpp"
#include "apps/common/run_json.hpp"
#include "cli/command.hpp"

namespace k2k::cli {

struct LookupFlags {
  std::string file;
  std::string by = "kernel";
  std::string mode = "demand";
  std::string generated;  // A folder.
  apps::LookupSettings settings;
};

// `what`: comes into memory, as "tree".
inline void add_lookup_options(CommandLine& line, LookupFlags& flags, const std::string& what) {
  apps::LookupSettings& settings = flags.settings;
  line.option("FILE", flags.file, fmt::format("File of a {} that --generate made", what));
  line.option("--by", flags.by,
              "Who looks up: a kernel, or threads of the host by the same code, without a device")
      .one_of({"kernel", "threads"})
      .show_default()
      .last_wins();
  line.option("--mode", flags.mode,
              fmt::format("When the {} comes into memory: at the first access (demand), or before "
                          "the launch (pinned: pages of 4 KiB; huge: of 2 MiB)",
                          what))
      .one_of(apps::mode_words())
      .show_default()
      .last_wins();
  add_parts_options(line, settings);
  line.flag("--resident", settings.sampled,
            "With --json: resident memory all the time, not only before and after the lookups");
  line.option("--generate", flags.generated,
              fmt::format("Make this new folder, with the same {} and lookups in the files sorted "
                          "and unsorted, and look nothing up",
                          what))
      .type("FOLDER");
}

// Expects the words that the parser permits.
inline void take_words(LookupFlags& flags) {
  flags.settings.by = flags.by == "threads" ? apps::By::threads : apps::By::kernel;
  flags.settings.mode = apps::mode_of(flags.mode);
}

// What is common to the results.
inline void add_run(nlohmann::ordered_json& object, const apps::LookupOutcome& outcome) {
  object["bits"] = fmt::format("{:016x}", outcome.totals.bits);
  object["seconds"] = outcome.seconds;
  object["read_seconds"] = outcome.read_seconds;
  object["kernel_seconds"] = outcome.kernel_seconds;
  object["fault_requests"] = outcome.requests;
  object["demand_pages"] = outcome.pages;
  object["huge_bytes"] = outcome.huge_bytes;
  object["begin"] = apps::json_of(outcome.begin);
  object["end"] = apps::json_of(outcome.end);
  object["resident"] = apps::json_of(outcome.resident);
}

}  // namespace k2k::cli
