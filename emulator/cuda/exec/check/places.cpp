#include "emulator/cuda/exec/check/places.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "emulator/cuda/exec/block.hpp"

namespace k2k::emulator::exec::check {

namespace {

struct Places {
  std::mutex mutex;
  struct Place {
    std::string text;
    std::string function;
  };
  std::vector<Place> places{{}};  // The number 0 is none.
  std::map<std::string, std::uint32_t> calls;
};

Places& places() {
  static auto* const all = new Places;  // Never destroyed: multiprocessors live as long.
  return *all;
}

}  // namespace

std::uint32_t place_of(const Lane& lane, const Op& op) {
  const std::atomic_ref<std::uint32_t> number(op.place);
  if (const std::uint32_t known = number.load(std::memory_order_acquire); known != 0) return known;
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  if (const std::uint32_t known = number.load(std::memory_order_relaxed); known != 0) return known;
  all.places.push_back({place_text(*lane.code, op), lane.code->name});
  const auto made = static_cast<std::uint32_t>(all.places.size() - 1);
  number.store(made, std::memory_order_release);  // Pairs with the load above.
  return made;
}

std::uint32_t place_of_call(const std::string& name) {
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  const auto [found, fresh] =
      all.calls.try_emplace(name, static_cast<std::uint32_t>(all.places.size()));
  if (fresh) all.places.push_back({name, ""});
  return found->second;
}

std::string text_of_place(std::uint32_t place, const std::string& kernel) {
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  const Places::Place& of = all.places.at(place);
  return of.function == kernel ? of.text : of.text + " in " + of.function;
}

}  // namespace k2k::emulator::exec::check
