#include "bench/command/input_modes.hpp"

#include <algorithm>
#include <cerrno>
#include <random>

namespace k2k::bench {

namespace {

constexpr const char* orders[] = {"sorted", "unsorted"};

double mib_of(double bytes) { return rounded(bytes / static_cast<double>(mib)); }

// Does Linux give huge pages? Errors: those of a run for another reason.
Result<bool> has_huge_pages(const AppRun& app, const std::string& file) {
  const auto result = app.run({"--mode", "huge", file});
  if (result) return true;
  if (result.error().message.find("Linux gave no huge page") != std::string::npos) return false;
  return result.error();
}

}  // namespace

Result<InputModes> InputModes::create(ModeProgram program, AppRun app, std::string folder,
                                      const std::vector<std::string>& others) {
  InputModes made(std::move(program), std::move(app), std::move(folder));
  const auto given = has_huge_pages(made.app_, made.folder_ + "/sorted");
  if (!given) return given.error();
  made.huge_ = *given;
  for (const char* const order : orders) {
    for (const char* const mode : {"demand", "pinned", "huge"}) {
      if (made.huge_ || mode != std::string("huge")) made.rows_.push_back({order, "kernel", mode});
    }
    for (const std::string& by : others) {
      for (const char* const mode : {"demand", "pinned"}) made.rows_.push_back({order, by, mode});
    }
  }
  return Result<InputModes>(std::move(made));
}

Status InputModes::run(ModeRow& row) {
  std::vector<std::string> words = program_.work;
  words.insert(words.end(), {"--by", row.by, "--mode", row.mode, folder_ + "/" + row.order});
  const auto result = app_.run(words);
  if (!result) return result.error();
  row.last = program_.read(*result);
  nlohmann::ordered_json& right = answers_[row.order];
  if (right.is_null()) right = row.last.answer;
  if (row.last.answer != right) {
    return Error{EIO, std::string(program_.name) + " by " + row.by +
                          " has another answer in mode " + row.mode + " than in the other modes"};
  }
  row.seconds.add(row.last.seconds);
  row.device_seconds.add(row.last.device_seconds);
  row.grown_most = std::max(row.grown_most, row.last.grown_bytes);
  row.more.resize(row.last.more.size());
  for (std::size_t place = 0; place < row.more.size(); ++place) {
    row.more[place].add(row.last.more[place].second);
  }
  return {};
}

Status InputModes::run_round(std::uint32_t seed) {
  std::vector<ModeRow*> turns;
  for (ModeRow& row : rows_) turns.push_back(&row);
  std::mt19937 random(seed);
  std::shuffle(turns.begin(), turns.end(), random);
  for (ModeRow* const row : turns) {
    if (Status done = run(*row); !done) return done;
  }
  return {};
}

const ModeRow& InputModes::row(const std::string& order, const std::string& by,
                               const std::string& mode) const {
  return *std::find_if(rows_.begin(), rows_.end(), [&](const ModeRow& row) {
    return row.order == order && row.by == by && row.mode == mode;
  });
}

void InputModes::add_ratios(Ratios& ratios) const {
  for (const std::string order : orders) {
    const std::string input = program_.name + (" " + order) + ": ";
    const ModeRun& pinned = row(order, "kernel", "pinned").last;
    ratios[input + "demand / pinned"].push_back(row(order, "kernel", "demand").last.seconds /
                                                pinned.seconds);
    if (!huge_) continue;
    ratios[input + "pinned / huge"].push_back(pinned.work_seconds /
                                              row(order, "kernel", "huge").last.work_seconds);
  }
}

void InputModes::add_rows(nlohmann::ordered_json& table) const {
  for (const ModeRow& row : rows_) {
    nlohmann::ordered_json line = {{"program", program_.name},
                                   {"order", row.order},
                                   {"by", row.by},
                                   {"mode", row.mode},
                                   {"ms", rounded(row.seconds.median() * 1e3)},
                                   {"sd_ms", rounded(row.seconds.deviation() * 1e3)},
                                   {"device_ms", rounded(row.device_seconds.median() * 1e3)},
                                   {"grown_mib", mib_of(row.grown_most)},
                                   {"demand_pages", row.last.demand_pages},
                                   {"huge_mib", mib_of(static_cast<double>(row.last.huge_bytes))}};
    for (std::size_t place = 0; place < row.more.size(); ++place) {
      line[row.last.more[place].first] = rounded(row.more[place].median());
    }
    table.push_back(line);
  }
}

}  // namespace k2k::bench
