#include "labs/interference/generators/lab.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/text_table.hpp"
#include "labs/interference/generators/measure.hpp"
#include "labs/interference/generators/record.hpp"

namespace k2k::labs::generators {

namespace {

using nlohmann::ordered_json;

constexpr double rate_min = 1;
constexpr double rate_max = 1e7;
constexpr std::uint64_t seed_max = 1'000'000'000;

// Option values as given; empty: not given.
struct Options {
  std::vector<std::string> names;
  std::string scale = "medium";
  std::string per;
  std::string rate;
  std::string seed;
  std::string record;  // A folder for traces; empty: measured instead.
};

template <class Number>
bool read(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

std::vector<std::string> names_of_all() {
  std::vector<std::string> names;
  for (const Generator& generator : all_generators()) names.emplace_back(generator.name);
  return names;
}

// In the table's order, without duplicates; all if no name is given.
Result<std::vector<const Generator*>> chosen(const std::vector<std::string>& names) {
  const std::vector<std::string> known = names_of_all();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error{EINVAL,
                 fmt::format("'{}' does not exist; there are {}", name, fmt::join(known, ", "))};
  }
  std::vector<const Generator*> list;
  for (const Generator& generator : all_generators()) {
    const bool named = std::find(names.begin(), names.end(), generator.name) != names.end();
    if (names.empty() || named) list.push_back(&generator);
  }
  return list;
}

Status read_scale(const std::string& text, Scale& scale) {
  if (text == "small") {
    scale = Scale::small;
  } else if (text == "medium") {
    scale = Scale::medium;
  } else if (text == "large") {
    scale = Scale::large;
  } else {
    return Error{EINVAL,
                 fmt::format("--scale is '{}'; permitted are small, medium and large", text)};
  }
  return {};
}

Status read_per(const std::string& text, Per& per) {
  if (!text.empty() && text != "fault" && text != "call") {
    return Error{EINVAL, fmt::format("--per is '{}'; permitted are fault and call", text)};
  }
  if (text == "call") per = Per::call;
  return {};
}

Status read_rate(const std::string& text, double& rate) {
  if (text.empty() || text == "inf") return {};
  if (read(text, rate) && rate >= rate_min && rate <= rate_max) return {};
  return Error{EINVAL,
               fmt::format("--rate is '{}'; permitted are {:g} to {:g} accesses a second, or inf",
                           text, rate_min, rate_max)};
}

Status read_seed(const std::string& text, std::uint64_t& seed) {
  if (text.empty()) return {};
  if (read(text, seed) && seed <= seed_max) return {};
  return Error{EINVAL, fmt::format("--seed is '{}'; permitted are 0 to {}", text, seed_max)};
}

Result<Settings> settings_of(const Options& options) {
  Settings settings;
  if (Status status = read_scale(options.scale, settings.scale); !status) return status.error();
  if (Status status = read_per(options.per, settings.per); !status) return status.error();
  if (Status status = read_rate(options.rate, settings.rate); !status) return status.error();
  if (Status status = read_seed(options.seed, settings.seed); !status) return status.error();
  const auto is_ubench = [](const std::string& name) { return name == "ubench"; };
  const bool runs_ubench =
      options.names.empty() || std::any_of(options.names.begin(), options.names.end(), is_ubench);
  if (!runs_ubench && !(options.per + options.rate).empty()) {
    return Error{EINVAL, fmt::format("{} applies only to ubench; omit it, or name ubench",
                                     options.per.empty() ? "--rate" : "--per")};
  }
  return settings;
}

std::string verdict(const Row& row) {
  if (row.skipped) return "skipped";
  return row.agrees() ? "yes"
                      : fmt::format("NO: {} of {}", row.answers.wrong, row.answers.compared);
}

std::string table(const std::vector<Row>& rows, bool color) {
  std::vector<std::vector<std::string>> lines = {{"generator", "requests", "pages", "faults",
                                                  "calls", "elapsed", "requests/s", "service CPU",
                                                  "a request", "agrees"}};
  std::string notes;
  for (const Row& row : rows) {
    const auto requests = static_cast<double>(row.requests());
    lines.push_back(
        {row.generator->name, row.generator->row, fmt::format("{}", row.pages),
         fmt::format("{}", row.faults), fmt::format("{}", row.calls),
         fmt::format("{:.3f} s", row.elapsed_s), fmt::format("{:.0f}", requests / row.elapsed_s),
         fmt::format("{:.3f} s", row.service_cpu_s),
         requests == 0 ? "-" : fmt::format("{:.2f} us", row.service_cpu_s * 1e6 / requests),
         verdict(row)});
    if (!row.note.empty()) notes += fmt::format("{}: {}\n", row.generator->name, row.note);
  }
  return cli::text_table(lines, color) + notes;
}

int show(const cli::Context& context, const std::vector<Row>& rows) {
  if (!context.json) return cli::print(table(rows, context.color));
  ordered_json list = ordered_json::array();
  for (const Row& row : rows) list.push_back(json_of(row));
  return cli::print(ordered_json{{"rows", list}}.dump() + "\n");
}

}  // namespace

int run_table(const cli::Context& context, const std::vector<const Generator*>& generators,
              const Settings& settings) {
  const auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  std::vector<Row> rows;
  for (const Generator* const generator : generators) {
    const Result<Row> row = measure(*generator, loaded.value().config, settings);
    if (!row) {
      return cli::complain(
          fmt::format("lab generators: {}: {}", generator->name, row.error().message),
          row.error().code == EINVAL ? cli::exit_usage : cli::exit_failure);
    }
    rows.push_back(row.value());
  }
  int status = show(context, rows);
  for (const Row& row : rows) {
    if (row.skipped || row.agrees()) continue;
    status = cli::complain(fmt::format("lab generators: {}: {} of {} answers are wrong; {}",
                                       row.generator->name, row.answers.wrong, row.answers.compared,
                                       row.answers.first));
  }
  return status;
}

// Writes NAME.trace for each generator into a folder. A trace that stands there is replaced.
int record_all(const cli::Context& context, const std::vector<const Generator*>& generators,
               const Settings& settings, const std::string& folder) {
  const auto complain = [](const std::string& about, const Error& error) {
    return cli::complain(fmt::format("lab generators: {}: {}", about, error.message),
                         error.code == EINVAL ? cli::exit_usage : cli::exit_failure);
  };
  const auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return complain("--record",
                    {errno, fmt::format("cannot write into '{}': {}; name a folder that exists",
                                        folder, std::strerror(errno))});
  }
  for (const Generator* const generator : generators) {
    const Result<Trace> trace = record(*generator, loaded.value().config, settings);
    if (!trace) return complain(generator->name, trace.error());
    const std::string path = fmt::format("{}/{}.trace", folder, generator->name);
    if (Status status = write_trace(path, trace.value()); !status) {
      return complain(generator->name, status.error());
    }
    const int printed = cli::print(
        context.json ? ordered_json{{"trace", path}, {"events", trace->events()}}.dump() + "\n"
                     : fmt::format("{}: {} requests\n", path, trace->events()));
    if (printed != cli::exit_ok) return printed;
  }
  return cli::exit_ok;
}

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  line.option(
          "NAME", options->names,
          fmt::format("Generators: {}; all if no name is given", fmt::join(names_of_all(), ", ")))
      .offer(names_of_all());
  line.option("--scale", options->scale,
              "Amount of work: small (a test), medium, large (up to 1 GiB; medium)")
      .offer({"small", "medium", "large"});
  line.option("--per", options->per, "ubench: an access is a page fault or a system call (fault)")
      .offer({"fault", "call"});
  line.option("--rate", options->rate,
              "ubench: accesses a second, 1 to 1e7, at most for 5 s, or inf (inf)")
      .offer({"inf"});
  line.option("--seed", options->seed,
              "Seed of the inputs: the same number gives the same inputs (1)");
  line.option("--record", options->record,
              "Write the requests of each generator to NAME.trace in this folder, for "
              "k2k lab trace and k2k lab interference --source");
  return [&context, options] {
    const auto generators = chosen(options->names);
    const Result<Settings> settings = settings_of(*options);
    for (const auto* error : {generators.ok() ? nullptr : &generators.error(),
                              settings.ok() ? nullptr : &settings.error()}) {
      if (error != nullptr) {
        return cli::complain(fmt::format("lab generators: {}", error->message), cli::exit_usage);
      }
    }
    if (!options->record.empty()) {
      return record_all(context, generators.value(), settings.value(), options->record);
    }
    return run_table(context, generators.value(), settings.value());
  };
}

}  // namespace k2k::labs::generators
