#pragma once
// A workload's data, allocated on demand: values that the host keeps, and a region with copies of
// them. The first access of device code to a page copies it, as with the inputs of HISS (section
// III).
//
// Threading: confined to one thread; kernels read and write through data().

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "k2k/demand_region.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::generators {

inline constexpr std::size_t page_bytes = 4096;

template <class T>
constexpr std::size_t whole_pages(std::size_t count) {
  const std::size_t bytes = count * sizeof(T);
  return (bytes == 0 ? 1 : (bytes + page_bytes - 1) / page_bytes) * page_bytes;
}

template <class T>
class Input {
 public:
  // Errors: as DemandRegion::copy_of().
  static Result<Input> create(Runtime& runtime, std::vector<T> values, const std::string& name) {
    const std::size_t count = values.size();
    const std::size_t bytes = whole_pages<T>(count);
    values.resize((bytes + sizeof(T) - 1) / sizeof(T));
    Result<DemandRegion> region =
        DemandRegion::copy_of(runtime, values.data(), bytes, {.name = name});
    if (!region) return region.error();
    return Input(std::move(values), count, std::move(region.value()));
  }

  // For kernels.
  [[nodiscard]] const T* data() const { return region_.as<const T>(); }
  // For the reference: never faults.
  [[nodiscard]] const T& operator[](std::size_t place) const { return values_[place]; }
  [[nodiscard]] const DemandRegion* region() const { return &region_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t pages() const { return region_.bytes() / page_bytes; }

 private:
  Input(std::vector<T> values, std::size_t count, DemandRegion region)
      : values_(std::move(values)), count_(count), region_(std::move(region)) {}

  std::vector<T> values_;  // Outlives the region, which copies its pages from here.
  std::size_t count_;
  DemandRegion region_;
};

// Zeros that kernels write to. Errors: as DemandRegion::zero().
template <class T>
Result<DemandRegion> zeros(Runtime& runtime, std::size_t count, const std::string& name) {
  return DemandRegion::zero(runtime, whole_pages<T>(count), {.name = name});
}

}  // namespace k2k::labs::generators
