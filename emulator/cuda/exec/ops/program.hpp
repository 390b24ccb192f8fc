#pragma once
// A loaded module: code that runs, and variables with addresses.
//
// Threading: constant after load(); find() from any thread.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/cuda/exec/lane.hpp"
#include "emulator/cuda/exec/memory_map.hpp"
#include "emulator/cuda/ptx/module.hpp"

namespace k2k::emulator::exec {

class Program {
 public:
  // Decodes everything, or throws ptx::Refusal. `name` is for reports. Variables become part of
  // `memory` until the program is destroyed.
  Program(const std::string& text, std::string name, MemoryMap& memory);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // An entry, or nullptr.
  [[nodiscard]] const Code* entry(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> entry_names() const;
  struct Place {
    std::byte* address = nullptr;
    std::uint64_t bytes = 0;
  };
  // A variable of the space .global or .const; no address if there is none of the name.
  [[nodiscard]] Place variable(const std::string& name) const;
  [[nodiscard]] const ptx::Module& module() const { return module_; }
  // Of a block with so much dynamic shared memory, which begins behind the static one.
  [[nodiscard]] std::uint64_t shared_bytes(std::uint64_t dynamic = 0) const {
    return dynamic == 0 ? module_.shared_bytes : dynamic_shared_begin() + dynamic;
  }

  // --- For Decoding.
  [[nodiscard]] std::uint64_t address_of(std::uint32_t variable) const;
  [[nodiscard]] Code* code_of(std::uint32_t function) { return codes_[function].get(); }
  [[nodiscard]] const std::vector<const Code*>& code_addresses() const { return addresses_; }

 private:
  [[nodiscard]] std::uint64_t dynamic_shared_begin() const {
    return (module_.shared_bytes + 15) / 16 * 16;
  }
  void place_variables();
  void fill_variables();
  void decode(std::uint32_t function);

  ptx::Module module_;
  std::string name_;
  MemoryMap& memory_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::vector<std::byte*> places_;  // By variable; nullptr in other spaces.
  std::vector<std::unique_ptr<Code>> codes_;
  std::vector<const Code*> addresses_;
};

// The host's own functions that a kernel may call: vprintf and __assertfail.
Handler host_function(const std::string& name);

}  // namespace k2k::emulator::exec
