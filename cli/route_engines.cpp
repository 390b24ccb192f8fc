// k2k route engines: the engines that can transfer file data to each kind of memory on this
// machine, and why others cannot.

#include <nlohmann/json.hpp>

#include "cli/route.hpp"
#include "cli/running.hpp"
#include "cli/text_table.hpp"
#include "io/gpu/device_engines.hpp"
#include "io/memory/cuda_memory.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

struct Memory {
  std::string name;
  std::string missing;  // The reason why this memory is missing here; otherwise empty.
  std::vector<io::EngineChoice> engines;
};

std::vector<Memory> memories() {
  io::MappedMemory mapped;
  std::vector<Memory> all = {{"mapped", "", io::engines_for(mapped)}};
  const auto cuda = io::make_cuda_memory();
  if (cuda) {
    all.push_back({"cuda", "", io::engines_for(*cuda.value())});
  } else {
    all.push_back({"cuda", cuda.error().message, {}});
  }
  return all;
}

ordered_json as_json(const std::vector<Memory>& all) {
  ordered_json list = ordered_json::array();
  for (const Memory& memory : all) {
    ordered_json engines = ordered_json::array();
    for (const io::EngineChoice& each : memory.engines) {
      engines.push_back({{"name", each.name}, {"there", each.there}, {"says", each.says}});
    }
    list.push_back({{"memory", memory.name},
                    {"there", memory.missing.empty()},
                    {"says", memory.missing},
                    {"engines", engines}});
  }
  return {{"memories", list}};
}

std::string engines_text(const std::vector<Memory>& all, bool color) {
  std::vector<std::vector<std::string>> rows = {{"memory", "engine", "there", "says"}};
  for (const Memory& memory : all) {
    if (!memory.missing.empty()) {
      rows.push_back({memory.name, "", "no", harmless(memory.missing)});
    }
    for (const io::EngineChoice& each : memory.engines) {
      rows.push_back({memory.name, each.name, each.there ? "yes" : "no", harmless(each.says)});
    }
  }
  return text_table(rows, color);
}

}  // namespace

int list_engines(const Context& context) {
  const std::vector<Memory> all = memories();
  return print(context.json
                   ? as_json(all).dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
                         "\n"
                   : engines_text(all, context.color));
}

}  // namespace k2k::cli
