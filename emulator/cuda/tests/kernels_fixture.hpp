#pragma once
// Runs PTX in a test: a module of text, memory that its kernels may touch, a launch and its fault.
//
// Threading: a test's thread.

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/cuda/exec/check/races.hpp"
#include "emulator/cuda/exec/device.hpp"
#include "emulator/cuda/exec/ops/program.hpp"
#include "emulator/cuda/ptx/refusal.hpp"

namespace k2k::emulator {

inline const std::string ptx_head = ".version 9.0\n.target sm_90\n.address_size 64\n";

// One for all tests of the program: its threads never end.
inline exec::Device& test_device() {
  static auto* const device = new exec::Device(2, {});
  return *device;
}

struct Outcome {
  exec::Fault fault = exec::Fault::none;
  std::string report;
};

struct Shape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;
  std::uint64_t dynamic_shared = 0;
  std::uint64_t limit_ms = 20'000;
  std::uint32_t cluster = 1;  // Blocks.
};

class Kernels {
 public:
  explicit Kernels(const std::string& body, const std::string& name = "test.ptx")
      : Kernels(Whole{ptx_head + body}, name) {}
  // `text` has a head of its own.
  static Kernels of_module(const std::string& text, const std::string& name) {
    return Kernels(Whole{text}, name);
  }

  // Words that kernels may read and write until this object ends.
  template <class Word>
  void share(std::vector<Word>& words) {
    const auto begin = reinterpret_cast<std::uint64_t>(words.data());
    memory_.add({begin, begin + words.size() * sizeof(Word)});
  }

  void share(void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uint64_t>(memory);
    memory_.add({begin, begin + bytes});
  }

  // Every launch from now on.
  using Watch = std::function<std::shared_ptr<exec::GridWatch>(const exec::Grid&)>;
  void watch(Watch by) { watch_ = std::move(by); }
  void watch(exec::check::Races& races) {
    watch_ = [&races](const exec::Grid& grid) { return races.begin(grid); };
    memory_.on_remove([&races](exec::Range gone) { races.forget(gone.begin, gone.end); });
  }

  // A launch that did not start.
  std::shared_ptr<exec::Grid> grid(const std::string& entry, Shape shape) const {
    auto grid = std::make_shared<exec::Grid>();
    grid->entry = program_->entry(entry);
    grid->blocks = {shape.blocks, 1, 1};
    grid->threads = {shape.threads, 1, 1};
    grid->cluster = {shape.cluster, 1, 1};
    grid->has_clusters = shape.cluster != 1;
    grid->dynamic_shared_bytes = shape.dynamic_shared;
    grid->shared_bytes = program_->shared_bytes(shape.dynamic_shared);
    grid->memory = &memory_;
    return grid;
  }

  // Every parameter has 64 bits.
  Outcome run(const std::string& entry, Shape shape, const std::vector<std::uint64_t>& parameters,
              exec::Device& device = test_device()) {
    const std::shared_ptr<exec::Grid> grid = this->grid(entry, shape);
    grid->deadline_ns = exec::now_ns() + shape.limit_ms * 1'000'000;
    grid->parameters.resize(parameters.size() * 8);
    if (!parameters.empty()) {
      std::memcpy(grid->parameters.data(), parameters.data(), grid->parameters.size());
    }
    if (watch_) grid->watch = watch_(*grid);
    device.start(grid);
    device.wait(grid);
    if (grid->watch != nullptr) grid->watch->end();
    return {grid->fault(), grid->report()};
  }

  [[nodiscard]] const exec::Program& program() const { return *program_; }

 private:
  struct Whole {
    std::string text;
  };
  Kernels(const Whole& whole, const std::string& name)
      : program_(std::make_unique<exec::Program>(whole.text, name, memory_)) {}

  exec::MemoryMap memory_;
  Watch watch_;
  std::unique_ptr<exec::Program> program_;
};

inline std::uint64_t address_of(const auto& words) {
  return reinterpret_cast<std::uint64_t>(words.data());
}

// The sentence with which a module is refused; empty if it is loaded.
inline std::string refusal_of(const std::string& text) {
  exec::MemoryMap memory;
  try {
    const exec::Program program(text, "test.ptx", memory);
    return "";
  } catch (const ptx::Refusal& refusal) {
    return std::to_string(refusal.line) + ": " + refusal.what();
  }
}

}  // namespace k2k::emulator
