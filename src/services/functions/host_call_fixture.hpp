#pragma once
// For tests of host calls: requests as a device would make them, and a run that counts.
//
// Threading: of the test.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "calls/host_call.hpp"
#include "calls/rows.hpp"
#include "services/functions/host_run.hpp"
#include "services/functions/host_signature.hpp"
#include "services/request.hpp"

namespace k2k::services {

class CountingRun : public HostRun {
 public:
  bool begins() override {
    ++begun;
    return opens;
  }
  bool ends() override {
    ++ended;
    return stays;
  }
  int begun = 0;
  int ended = 0;
  bool opens = true;
  bool stays = true;
};

// A call, with its frame in memory of the test.
class HostCallOf {
 public:
  HostCallOf(std::string_view name, std::string_view signature_text)
      : signature(parse_host_signature(signature_text).value()),
        frame((signature.layout.frame_bytes() + 7) / 8) {
    request.number = calls::host_call_number;
    request.row = static_cast<std::int16_t>(calls::find(calls::host_call_number));
    word(calls::host_id_word) = calls::host_id(std::string(name).c_str());
    word(calls::host_signature_word) = signature.id;
    word(calls::host_shape_word) = signature.layout.shape();
    if (!signature.layout.in_slot()) {
      word(calls::host_frame_word) = reinterpret_cast<std::uint64_t>(frame.data());
      word(calls::host_frame_bytes_word) = signature.layout.frame_bytes();
    }
  }
  HostCallOf(const HostCallOf&) = delete;  // The request has the frame's address.
  HostCallOf& operator=(const HostCallOf&) = delete;
  HostCallOf& with_buffer(std::size_t index, const void* memory, std::uint64_t bytes,
                          calls::Direction direction) {
    frame[2 * index] = reinterpret_cast<std::uint64_t>(memory);
    frame[2 * index + 1] = bytes << 2 | static_cast<std::uint64_t>(direction);
    return *this;
  }
  std::uint64_t& word(int index) { return request.arguments[index]; }

  HostSignature signature;
  std::vector<std::uint64_t> frame;
  Request request;
};

}  // namespace k2k::services
