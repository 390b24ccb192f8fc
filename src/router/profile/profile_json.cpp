#include "router/profile/profile_json.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

namespace k2k::router {

namespace {

using nlohmann::ordered_json;
using namespace nlohmann::literals;

constexpr std::size_t text_bytes_max = 256;

// FNV-1a.
std::string sum_of(const std::string& text) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char letter : text) {
    sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", sum);
}

std::string dumped(const ordered_json& object, int indent = -1) {
  return object.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json describe(const std::vector<Point>& points) {
  ordered_json list = ordered_json::array();
  for (const Point& point : points) list.push_back({point.bytes, point.us});
  return list;
}

// Reads fields one after another; reports the first wrong one.
class Fields {
 public:
  explicit Fields(const ordered_json& object) : object_(object) {}

  void read(const char* path, std::string& into) {
    const ordered_json* const value = find(path);
    if (value == nullptr) return;
    if (!value->is_string() || value->get_ref<const std::string&>().size() > text_bytes_max) {
      return wrong(path, fmt::format("a text of at most {} bytes", text_bytes_max));
    }
    into = value->get<std::string>();
  }
  void read(const char* path, double& into) {
    const ordered_json* const value = find(path);
    if (value == nullptr) return;
    if (!value->is_number() || !std::isfinite(value->get<double>())) {
      return wrong(path, "a finite number");
    }
    into = value->get<double>();
  }
  template <class Integer>
  void read_integer(const char* path, Integer& into) {
    const ordered_json* const value = find(path);
    if (value == nullptr) return;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > INT64_MAX) {
      return wrong(path, "a whole number from 0");
    }
    into = value->get<Integer>();
  }
  void read(const char* path, std::vector<Point>& into) {
    const ordered_json* const value = find(path);
    if (value == nullptr) return;
    if (!value->is_array() || value->size() > points_max) {
      return wrong(path, fmt::format("a list of at most {} points", points_max));
    }
    for (const ordered_json& one : *value) {
      const bool pair =
          one.is_array() && one.size() == 2 && one[0].is_number() && one[1].is_number();
      if (!pair) return wrong(path, "a list of [bytes, microseconds]");
      into.push_back({one[0].get<double>(), one[1].get<double>()});
    }
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const ordered_json* find(const char* path) {
    const ordered_json::json_pointer pointer(path);
    if (object_.contains(pointer)) return &object_[pointer];
    wrong(path, "missing");
    return nullptr;
  }
  void wrong(const char* path, const std::string& wanted) {
    if (!problem_.empty()) return;
    problem_ = wanted == "missing" ? fmt::format("{} is missing", path)
                                   : fmt::format("{} is not {}", path, wanted);
  }

  const ordered_json& object_;
  std::string problem_;
};

Error damaged(const std::string& message) { return {EINVAL, message}; }

std::string out_of_range(const Profile& profile) {
  if (const Result<Costs> costs = costs_of(profile.fit.model); !costs) return costs.error().message;
  if (!(profile.fit.direct_r2 <= 1) || !(profile.fit.cache_r2 <= 1)) return "an R^2 is above 1";
  for (const auto* points : {&profile.direct, &profile.cache}) {
    double before = 0;
    for (const Point& point : *points) {
      const bool finite = std::isfinite(point.bytes) && std::isfinite(point.us);
      if (!finite || point.us <= 0 || point.bytes <= before) {
        return fmt::format("there is a point of {:g} bytes in {:g} us", point.bytes, point.us);
      }
      before = point.bytes;
    }
  }
  return "";
}

}  // namespace

std::string to_json(const Profile& profile) {
  const Identity& identity = profile.identity;
  const Model& model = profile.fit.model;
  ordered_json all = {
      {"format", profile_format},
      {"k2k", profile.version},
      {"made_s", profile.made_s},
      {"identity",
       {{"file_system", identity.file_system},
        {"file_system_id", identity.file_system_id},
        {"device", identity.device},
        {"device_model", identity.device_model},
        {"device_bytes", identity.device_bytes},
        {"engine", identity.engine},
        {"kernel", identity.kernel}}},
      {"model",
       {{"call_us", model.call_us},
        {"cutoff_bytes", model.cutoff_bytes},
        {"direct_gbs", model.direct_gbs},
        {"cache_gbs", model.cache_gbs},
        {"next_us", model.next_us}}},
      {"r2", {{"direct", profile.fit.direct_r2}, {"cache", profile.fit.cache_r2}}},
      {"points", {{"direct", describe(profile.direct)}, {"cache", describe(profile.cache)}}},
  };
  // The output equals a reader's own output: invalid UTF-8 has been replaced by then.
  all = ordered_json::parse(dumped(all));
  all["sum"] = sum_of(dumped(all));
  return dumped(all, 1) + "\n";
}

Result<Parsed> parse_profile(std::string_view text) {
  ordered_json all = ordered_json::parse(text, nullptr, false);
  if (all.is_discarded() || !all.is_object()) return damaged("it is no JSON object");
  Parsed parsed;
  Fields fields(all);
  fields.read_integer("/format", parsed.format);
  if (!fields.problem().empty()) return damaged(fields.problem());
  if (parsed.format != profile_format) return parsed;

  std::string sum;
  fields.read("/sum", sum);
  Profile& profile = parsed.profile;
  fields.read("/k2k", profile.version);
  fields.read_integer("/made_s", profile.made_s);
  Identity& identity = profile.identity;
  fields.read("/identity/file_system", identity.file_system);
  fields.read("/identity/file_system_id", identity.file_system_id);
  fields.read("/identity/device", identity.device);
  fields.read("/identity/device_model", identity.device_model);
  fields.read_integer("/identity/device_bytes", identity.device_bytes);
  fields.read("/identity/engine", identity.engine);
  fields.read("/identity/kernel", identity.kernel);
  Model& model = profile.fit.model;
  fields.read("/model/call_us", model.call_us);
  fields.read("/model/cutoff_bytes", model.cutoff_bytes);
  fields.read("/model/direct_gbs", model.direct_gbs);
  fields.read("/model/cache_gbs", model.cache_gbs);
  // Profiles of earlier versions lack it.
  if (all.contains("/model/next_us"_json_pointer)) fields.read("/model/next_us", model.next_us);
  fields.read("/r2/direct", profile.fit.direct_r2);
  fields.read("/r2/cache", profile.fit.cache_r2);
  fields.read("/points/direct", profile.direct);
  fields.read("/points/cache", profile.cache);
  if (!fields.problem().empty()) return damaged(fields.problem());
  if (const std::string problem = out_of_range(profile); !problem.empty()) return damaged(problem);
  all.erase("sum");
  if (sum != sum_of(dumped(all))) return damaged("its sum is not that of its contents");
  return parsed;
}

}  // namespace k2k::router
