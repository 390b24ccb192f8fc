#include "apps/memcached/client.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <system_error>
#include <thread>

#include "base/clock.hpp"

namespace k2k::memcached {

namespace {

constexpr int set_tries = 5;

Error failed_to(const char* what) {
  return Error{errno, fmt::format("{}: {}", what, std::strerror(errno))};
}

// The value of a key, the same in every run.
std::string load_value(std::uint32_t key, std::uint32_t bytes) {
  std::string value(bytes, static_cast<char>('a' + key % 26));
  const std::string number = std::to_string(key);
  return value.replace(0, std::min(value.size(), number.size()), number, 0, value.size());
}

std::string load_key(std::uint32_t key) { return fmt::format("key-{}", key); }

Status store_all(const LoadOptions& options) {
  auto client = Client::connect(options.port);
  if (!client) return client.error();
  for (std::uint32_t key = 0; key < options.keys; ++key) {
    Result<Answer> answer = Error{};
    for (int tried = 0; tried < set_tries && !answer; ++tried) {
      answer = client->set(load_key(key), load_value(key, options.value_bytes));
    }
    if (!answer) return answer.error();
    if (answer->code != 0) {
      return Error{ENOSPC, fmt::format("the server refuses key {} of {}: {}", key + 1, options.keys,
                                       answer->value)};
    }
  }
  return {};
}

void ask_until(Instant end, const LoadOptions& options, std::uint64_t seed, Client& client,
               LoadResult& result) {
  std::mt19937_64 random(seed);
  while (now() < end) {
    const auto key = static_cast<std::uint32_t>(random() % options.keys);
    const bool sets = static_cast<double>(random() % 10'000) < options.set_share * 10'000;
    const Instant begin = now();
    const auto answer = sets ? client.set(load_key(key), load_value(key, options.value_bytes))
                             : client.get(load_key(key));
    if (!answer) {
      ++result.lost;
      continue;
    }
    result.latencies_us.push_back(static_cast<double>((now() - begin).count()) / 1e3);
    ++result.requests;
    if (sets) continue;
    if (answer->code != 0) {
      ++result.misses;
    } else if (answer->value != load_value(key, options.value_bytes)) {
      ++result.wrong;
    }
  }
}

}  // namespace

std::string request_of(std::uint16_t number, std::uint8_t opcode, const std::string& extras,
                       const std::string& key, const std::string& value, std::uint64_t cas) {
  std::string datagram(frame_bytes + header_bytes, '\0');
  auto* const bytes = reinterpret_cast<unsigned char*>(datagram.data());
  put16(bytes, number);
  put16(bytes + 4, 1);
  unsigned char* const header = bytes + frame_bytes;
  header[0] = magic_request;
  header[1] = opcode;
  put16(header + 2, static_cast<std::uint16_t>(key.size()));
  header[4] = static_cast<unsigned char>(extras.size());
  put32(header + 8, static_cast<std::uint32_t>(extras.size() + key.size() + value.size()));
  put32(header + 12, number);
  put64(header + 16, cas);
  return datagram + extras + key + value;
}

Result<Client> Client::connect(std::uint32_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return failed_to("no UDP socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    return failed_to("no connection");
  }
  return Client(std::move(socket));
}

Result<Answer> Client::get(const std::string& key) { return ask(opcode_get, "", key, "", 0); }

Result<Answer> Client::set(const std::string& key, const std::string& value, std::uint32_t flags,
                           std::uint64_t cas, std::uint32_t expiration) {
  std::string extras(set_extras_bytes, '\0');
  put32(reinterpret_cast<unsigned char*>(extras.data()), flags);
  put32(reinterpret_cast<unsigned char*>(extras.data()) + 4, expiration);
  return ask(opcode_set, extras, key, value, cas);
}

void Client::send_bytes(const std::string& bytes) const {
  static_cast<void>(::send(socket_.number(), bytes.data(), bytes.size(), 0));
}

Result<Answer> Client::ask(std::uint8_t opcode, const std::string& extras, const std::string& key,
                           const std::string& value, std::uint64_t cas) {
  const std::string datagram = request_of(++number_, opcode, extras, key, value, cas);
  if (::send(socket_.number(), datagram.data(), datagram.size(), 0) < 0) {
    return failed_to("cannot send");
  }
  return receive();
}

Result<Answer> Client::receive() {
  const Instant end = now() + limit;
  unsigned char datagram[65536];
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now()).count();
    pollfd watched{socket_.number(), POLLIN, 0};
    if (left <= 0 || ::poll(&watched, 1, static_cast<int>(left)) == 0) {
      return Error{ETIMEDOUT, "no answer; is a server there?"};
    }
    const ssize_t got = ::recv(socket_.number(), datagram, sizeof(datagram), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got < 0) return failed_to("cannot receive");
    if (static_cast<std::size_t>(got) < frame_bytes + header_bytes) {
      return Error{EBADMSG, fmt::format("an answer of {} bytes", got)};
    }
    const unsigned char* const header = datagram + frame_bytes;
    if (word16(datagram) != number_) continue;  // To an earlier request.
    const std::size_t body = word32(header + 8);
    const std::size_t extras = header[4];
    if (header[0] != magic_answer || word16(datagram + 4) != 1 || word32(header + 12) != number_ ||
        body != static_cast<std::size_t>(got) - frame_bytes - header_bytes || extras > body) {
      return Error{EBADMSG, "an answer with a wrong header"};
    }
    Answer answer;
    answer.opcode = header[1];
    answer.code = word16(header + 6);
    answer.cas = word64(header + 16);
    if (extras == get_extras_bytes) answer.flags = word32(header + header_bytes);
    answer.value.assign(reinterpret_cast<const char*>(header) + header_bytes + extras,
                        body - extras);
    return answer;
  }
}

Result<LoadResult> make_load(const LoadOptions& options) {
  if (Status stored = store_all(options); !stored) return stored.error();
  std::vector<LoadResult> results(options.clients);
  std::vector<Client> clients;
  for (std::uint32_t number = 0; number < options.clients; ++number) {
    auto client = Client::connect(options.port);
    if (!client) return client.error();
    client->limit = Nanoseconds{200'000'000};
    clients.push_back(std::move(client).value());
  }
  const Instant begin = now();
  const Instant end = begin + std::chrono::duration_cast<Nanoseconds>(
                                  std::chrono::duration<double>(options.seconds));
  std::vector<std::thread> threads;
  Status started;
  try {
    for (std::uint32_t number = 0; number < options.clients; ++number) {
      threads.emplace_back([&, number] {
        ask_until(end, options, options.seed + number, clients[number], results[number]);
      });
    }
  } catch (const std::system_error& failure) {
    started =
        Error{EAGAIN, fmt::format("no thread for a client ({}); raise ulimit -u", failure.what())};
  }
  for (std::thread& thread : threads) thread.join();
  if (!started) return started.error();
  LoadResult sum;
  sum.seconds = seconds_since(begin);
  for (const LoadResult& each : results) {
    sum.requests += each.requests;
    sum.misses += each.misses;
    sum.lost += each.lost;
    sum.wrong += each.wrong;
    sum.latencies_us.insert(sum.latencies_us.end(), each.latencies_us.begin(),
                            each.latencies_us.end());
  }
  return sum;
}

}  // namespace k2k::memcached
