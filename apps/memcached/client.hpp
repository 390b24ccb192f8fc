#pragma once
// A client of the binary UDP protocol, for tests and for load; it speaks to any memcached.
//
// Threading: one thread each.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/memcached/protocol.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace k2k::memcached {

struct Answer {
  std::uint16_t code = 0;
  std::uint8_t opcode = 0;
  std::uint32_t flags = 0;
  std::uint64_t cas = 0;
  std::string value;  // Of an error: its text.
  bool operator==(const Answer&) const = default;
};

class Client {
 public:
  // To a port of the loopback address. Errors: those of socket(2) and connect(2).
  static Result<Client> connect(std::uint32_t port);

  // Errors of all: ETIMEDOUT (no answer within `limit`: UDP loses datagrams); those of send(2) and
  // recv(2); EBADMSG (the answer is none).
  Result<Answer> get(const std::string& key);
  Result<Answer> set(const std::string& key, const std::string& value, std::uint32_t flags = 0,
                     std::uint64_t cas = 0, std::uint32_t expiration = 0);
  // Sends a request of any kind and waits for its answer.
  Result<Answer> ask(std::uint8_t opcode, const std::string& extras, const std::string& key,
                     const std::string& value, std::uint64_t cas);
  // Sends any bytes, and waits for nothing.
  void send_bytes(const std::string& bytes) const;

  Nanoseconds limit{2'000'000'000};

 private:
  explicit Client(Descriptor socket) : socket_(std::move(socket)) {}
  Result<Answer> receive();

  Descriptor socket_;
  std::uint16_t number_ = 0;  // Of the latest request: answers to earlier ones are dropped.
};

// The datagram of a request.
std::string request_of(std::uint16_t number, std::uint8_t opcode, const std::string& extras,
                       const std::string& key, const std::string& value, std::uint64_t cas);

struct LoadOptions {
  std::uint32_t port = 11211;
  std::uint32_t clients = 4;
  std::uint32_t keys = 10'000;
  std::uint32_t value_bytes = 1000;
  double seconds = 2;
  double set_share = 0;  // Of the requests, 0 to 1.
  std::uint64_t seed = 1;
};

struct LoadResult {
  std::uint64_t requests = 0;
  std::uint64_t misses = 0;
  std::uint64_t lost = 0;   // Requests without an answer.
  std::uint64_t wrong = 0;  // Answers with another value than the key's.
  double seconds = 0;
  std::vector<double> latencies_us;  // Of all answered requests, in no order.
};

// Stores all keys, then measures: each client asks, waits for the answer, and asks again. Errors:
// as Client; EAGAIN (no thread); ENOSPC (the server refuses a key).
Result<LoadResult> make_load(const LoadOptions& options);

}  // namespace k2k::memcached
