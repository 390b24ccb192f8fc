// Goal: a loaded profile is the stored one, or an error that names the file and the remedy; never
// wrong data.

#include "router/profile/profile.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>

#include "router/profile/profile_json.hpp"

namespace k2k::router {
namespace {

constexpr std::int64_t now_s = 1'800'000'000;
constexpr std::int64_t day_s = 24 * 60 * 60;

Profile example() {
  Profile profile;
  profile.identity = {"ext4", "0123456789abcdef", "254:0", "Disk \"5\"\xff", 1ull << 40, "pread",
                      "6.1.0"};
  profile.fit.model = {80.125, 16384, 1.2345678901234567, 8.1, 2.375};
  profile.fit.direct_r2 = 0.995;
  profile.fit.cache_r2 = 0.99;
  profile.direct = {{4096, 80}, {65536, 130.5}, {1 << 20, 1000}};
  profile.cache = {{4096, 2}, {65536, 9.25}};
  profile.made_s = now_s - day_s;
  profile.version = "0.1.0";
  return profile;
}

class ProfileFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "k2k_profile_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    folder_ = top_ + "/state/k2k/io-profiles";
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  [[nodiscard]] Result<Loaded> loaded(const Identity& identity, std::int64_t now = now_s) const {
    return load(folder_, identity, now, "/data");
  }
  // The answer after the stored file's text was replaced.
  [[nodiscard]] Result<Loaded> with_text(const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(profile_path(folder_, example().identity)) << text;
    return loaded(example().identity);
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string top_;
  std::string folder_;
};

TEST_F(ProfileFile, is_found_as_it_was_stored) {
  const Profile profile = example();
  const Result<std::string> path = store(folder_, profile);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path.value(), folder_ + "/254-0_ext4_0123456789abcdef_pread.json");
  struct stat facts{};
  ASSERT_EQ(::stat(path.value().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(folder_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  EXPECT_EQ(files(), 1u);

  Identity identity = profile.identity;
  identity.device_model = "Disk \"5\"\uFFFD";  // The form that JSON can store.
  Result<Loaded> found = loaded(identity);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->state, ProfileState::measured);
  EXPECT_EQ(found->says, "");
  EXPECT_EQ(found->path, path.value());
  EXPECT_EQ(found->model.call_us, profile.fit.model.call_us);
  EXPECT_EQ(found->model.cutoff_bytes, profile.fit.model.cutoff_bytes);
  EXPECT_EQ(found->model.direct_gbs, profile.fit.model.direct_gbs);
  EXPECT_EQ(found->model.cache_gbs, profile.fit.model.cache_gbs);
  EXPECT_EQ(found->model.next_us, profile.fit.model.next_us);
  EXPECT_EQ(found->profile.identity, identity);
  EXPECT_EQ(found->profile.direct, profile.direct);
  EXPECT_EQ(found->profile.cache, profile.cache);
  EXPECT_EQ(found->profile.fit.direct_r2, 0.995);
  EXPECT_EQ(found->profile.made_s, profile.made_s);
  EXPECT_EQ(found->profile.version, "0.1.0");
}

TEST_F(ProfileFile, of_a_descriptors_device_plans_its_reads) {
  const char* const name = "K2K_PROFILE_DIR";
  const char* const before = std::getenv(name);
  const std::string kept = before == nullptr ? "" : before;
  ::setenv(name, folder_.c_str(), 1);
  const int descriptor = ::open(top_.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(calibrated_model(descriptor), std::nullopt);
  Profile profile = example();
  profile.identity = identify(descriptor).value();
  const Result<std::string> path = store(folder_, profile);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(calibrated_model(descriptor), profile.fit.model);
  std::ofstream(path.value()) << "{";
  EXPECT_EQ(calibrated_model(descriptor), std::nullopt) << "damaged";
  ::close(descriptor);
  EXPECT_EQ(calibrated_model(descriptor), std::nullopt);
  kept.empty() ? ::unsetenv(name) : ::setenv(name, kept.c_str(), 1);
}

TEST_F(ProfileFile, is_replaced_as_a_whole) {
  Profile profile = example();
  profile.identity.device_model = "disk";
  ASSERT_TRUE(store(folder_, profile));
  profile.fit.model.call_us = 7;
  ASSERT_TRUE(store(folder_, profile));
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(loaded(profile.identity)->model.call_us, 7);
}

TEST_F(ProfileFile, that_is_absent_gives_the_papers_numbers_and_the_command_to_measure) {
  Result<Loaded> found = loaded(example().identity);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, ProfileState::absent);
  EXPECT_EQ(found->model.call_us, Model{}.call_us);
  EXPECT_EQ(found->says,
            "this device was not measured: these are SPIN's numbers of another one; run 'k2k "
            "calibrate /data'");
}

TEST_F(ProfileFile, that_is_stale_names_the_differences) {
  Profile profile = example();
  profile.identity.device_model = "disk";
  ASSERT_TRUE(store(folder_, profile));
  const auto says = [&](const Identity& identity, std::int64_t now = now_s) {
    Result<Loaded> found = loaded(identity, now);
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->state, ProfileState::stale);
    EXPECT_EQ(found->model.call_us, profile.fit.model.call_us);  // Nearer than another device's.
    return found->says;
  };
  const std::string fix = "; run 'k2k calibrate /data'";
  Identity other = profile.identity;
  other.kernel = "6.18";
  EXPECT_EQ(says(other), "the profile is stale: Linux was 6.1.0 and is 6.18" + fix);
  other.device_model = "other";
  EXPECT_EQ(says(other),
            "the profile is stale: Linux was 6.1.0 and is 6.18, the device's model was 'disk' "
            "and is 'other'" +
                fix);
  other = profile.identity;
  other.device_bytes *= 2;
  EXPECT_NE(says(other).find("the device's size was 1099511627776 and is 2199023255552"),
            std::string::npos);
  EXPECT_EQ(says(profile.identity, now_s + 90 * day_s),
            "the profile is stale: it is 91 days old, more than 90" + fix);
  EXPECT_NE(says(profile.identity, now_s - 9 * day_s).find("it was made in the future"),
            std::string::npos);
  // A profile of another identity under this name: a copied file.
  other = profile.identity;
  other.engine = "uring";
  std::filesystem::copy(profile_path(folder_, profile.identity), profile_path(folder_, other));
  EXPECT_NE(says(other).find("the engine was pread and is uring"), std::string::npos);
}

TEST_F(ProfileFile, of_plain_preads_is_stale) {
  Profile former = example();
  former.identity.engine = "pread";
  former.identity.device_model = "disk";
  ASSERT_TRUE(store(folder_, former));
  Identity wanted = former.identity;
  wanted.engine = direct_engine();
  Result<Loaded> found = loaded(wanted);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->state, ProfileState::stale);
  EXPECT_EQ(found->model, former.fit.model);
  EXPECT_EQ(found->says, "the profile is stale: the engine was pread and is " + wanted.engine +
                             "; run 'k2k calibrate /data'");
  Identity cuda = wanted;
  cuda.engine = "cuda-staging-uring";
  EXPECT_EQ(loaded(cuda)->state, ProfileState::absent)
      << "another kind of transfer has its own profile";

  Profile now = example();
  now.identity = wanted;
  now.fit.model.call_us = 7;
  ASSERT_TRUE(store(folder_, now));
  EXPECT_EQ(loaded(wanted)->state, ProfileState::measured);
  EXPECT_EQ(loaded(wanted)->model.call_us, 7);
}

TEST_F(ProfileFile, of_another_format_is_stale_and_its_numbers_are_not_used) {
  Result<Loaded> found = with_text(R"({"format": 2, "model": "something new"})");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->state, ProfileState::stale);
  EXPECT_EQ(found->model.call_us, Model{}.call_us);
  EXPECT_NE(found->says.find("has format 2 and this k2k reads 1"), std::string::npos);
}

TEST_F(ProfileFile, that_is_damaged_is_an_error_with_its_name_and_the_fix) {
  const std::string path = profile_path(folder_, example().identity);
  const auto message = [&](const std::string& text) {
    const Result<Loaded> found = with_text(text);
    EXPECT_FALSE(found) << text;
    const std::string all = found ? "" : found.error().message;
    EXPECT_EQ(all.find(path + " is "), 0u) << all;
    const std::string fix = "; remove it and run 'k2k calibrate /data'";
    EXPECT_EQ(all.substr(all.size() - std::min(all.size(), fix.size())), fix);
    return all;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = to_json(example());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return message(text.replace(at, from.size(), to));
  };
  const auto contains = [](const std::string& all, const char* part) {
    EXPECT_NE(all.find(part), std::string::npos) << all;
  };
  contains(message(""), "is damaged: it is no JSON object");
  contains(message("[1]"), "it is no JSON object");
  contains(message(std::string(60'000, '[')), "it is no JSON object");
  contains(message("{}"), "/format is missing");
  contains(message(R"({"format": "1"})"), "/format is not a whole number from 0");
  contains(with("80.125", "\"fast\""), "/model/call_us is not a finite number");
  contains(with("80.125", "1e999"), "is damaged");
  contains(with("80.125", "-80.125"), "the time of a direct transfer (C) is -80.125 us");
  contains(with("80.125", "81.125"), "its sum is not that of its contents");
  contains(with("\"kernel\"", "\"colonel\""), "/identity/kernel is missing");
  contains(with("\"pread\"", "\"" + std::string(300, 'p') + "\""), "a text of at most 256 bytes");
  contains(with("130.5", "null"), "/points/direct is not a list of [bytes, microseconds]");
  contains(with("130.5", "-1"), "a point of 65536 bytes in -1 us");
  contains(with("0.995", "1.5"), "an R^2 is above 1");
  std::string many = "[1,1]";
  for (int at = 0; at < 300; ++at) many += ",[1,1]";
  contains(message(R"({"format": 1, "points": {"direct": [)" + many + "]}}"), "/sum is missing");
  contains(message(std::string(profile_bytes_max + 1, ' ')), "is longer than 65536 bytes");
}

TEST_F(ProfileFile, that_is_no_file_is_an_error_without_a_wait) {
  std::filesystem::create_directories(folder_);
  const std::string path = profile_path(folder_, example().identity);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(loaded(example().identity).error().message,
            path + " is no regular file; remove it and run 'k2k calibrate /data'");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  EXPECT_NE(loaded(example().identity).error().message.find("is no regular file"),
            std::string::npos);
}

TEST_F(ProfileFile, cannot_be_stored_where_no_folder_can_be_made) {
  std::ofstream(top_ + "/state") << "a file";
  const Result<std::string> path = store(folder_, example());
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ENOTDIR);
  EXPECT_NE(path.error().message.find("; name a folder of your own that can be written in "
                                      "K2K_PROFILE_DIR or XDG_STATE_HOME"),
            std::string::npos);
  EXPECT_EQ(store(top_ + "/state", example()).error().code, ENOTDIR);
  // The obstacle to the rename is reported, and no temporary file remains.
  std::filesystem::create_directories(profile_path(top_ + "/in_the_way", example().identity) +
                                      "/x");
  EXPECT_FALSE(store(top_ + "/in_the_way", example()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(top_ + "/in_the_way"), {}), 1);
}

// A damaged file is refused, or reads as the intact one.
void expect_same_or_refused(const std::string& text, const Profile& good, const char* what,
                            std::size_t at) {
  const Result<Parsed> parsed = parse_profile(text);
  if (!parsed) {
    EXPECT_NE(parsed.error().message, "");
    return;
  }
  if (parsed.value().format != profile_format) return;  // Stale: none of its numbers is used.
  const Profile& read = parsed.value().profile;
  EXPECT_TRUE(costs_of(read.fit.model)) << what << " " << at;
  EXPECT_EQ(read.fit.model.call_us, good.fit.model.call_us) << what << " " << at;
  EXPECT_EQ(read.fit.model.cutoff_bytes, good.fit.model.cutoff_bytes) << what << " " << at;
  EXPECT_EQ(read.fit.model.direct_gbs, good.fit.model.direct_gbs) << what << " " << at;
  EXPECT_EQ(read.fit.model.cache_gbs, good.fit.model.cache_gbs) << what << " " << at;
  EXPECT_EQ(read.identity, good.identity) << what << " " << at;
}

TEST(ProfileText, cut_off_anywhere_is_refused) {
  const std::string text = to_json(example());
  const Profile good = parse_profile(text).value().profile;
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(parse_profile(text.substr(0, length))) << length;
  }
  EXPECT_TRUE(parse_profile(text.substr(0, text.size() - 1)));  // The last newline.
}

TEST(ProfileText, with_any_byte_changed_is_refused_or_means_the_same) {
  const std::string text = to_json(example());
  const Profile good = parse_profile(text).value().profile;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1u << bit));
      expect_same_or_refused(flipped, good, "byte", at);
    }
    for (const char other : {'\0', '9', '"', '{', ']', '-', '\xff'}) {
      std::string changed = text;
      changed[at] = other;
      expect_same_or_refused(changed, good, "byte", at);
    }
  }
}

TEST(ProfileText, shuffled_is_refused_or_means_the_same) {
  const std::string text = to_json(example());
  const Profile good = parse_profile(text).value().profile;
  std::mt19937_64 random(1);
  for (std::size_t round = 0; round < 5000; ++round) {
    std::string other = text;
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % other.size();
      const std::size_t count = random() % 20;
      if (random() % 2 == 0)
        other.erase(at, count);
      else
        other.insert(at, text.substr(random() % text.size(), count));
      if (other.empty()) break;
    }
    expect_same_or_refused(other, good, "round", round);
  }
}

TEST(ProfileFolder, is_named_by_the_environment) {
  const auto with = [](const char* own, const char* state, const char* home) {
    const std::pair<const char*, const char*> all[] = {
        {"K2K_PROFILE_DIR", own}, {"XDG_STATE_HOME", state}, {"HOME", home}};
    std::vector<std::string> before;
    for (const auto& [name, value] : all) {
      const char* const old = std::getenv(name);
      before.emplace_back(old == nullptr ? "" : old);
      value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
    }
    Result<std::string> folder = profile_folder();
    for (std::size_t at = 0; at < before.size(); ++at) {
      before[at].empty() ? ::unsetenv(all[at].first)
                         : ::setenv(all[at].first, before[at].c_str(), 1);
    }
    return folder ? folder.value() : folder.error().message;
  };
  EXPECT_EQ(with("/own", "/state", "/home"), "/own");
  EXPECT_EQ(with(nullptr, "/state", "/home"), "/state/k2k/io-profiles");
  EXPECT_EQ(with(nullptr, "relative", "/home"), "/home/.local/state/k2k/io-profiles");
  EXPECT_EQ(with(nullptr, nullptr, nullptr),
            "no place for profiles: neither K2K_PROFILE_DIR, XDG_STATE_HOME nor HOME names a "
            "folder; set HOME");
}

class Sys : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "k2k_sys_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    descriptor_ = ::open(top_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    device_ = identify(descriptor_).value().device;
    std::filesystem::create_directories(top_ + "/disk/part");
    std::filesystem::create_directories(top_ + "/disk/device");
    std::filesystem::create_directories(top_ + "/dev/block");
    std::filesystem::create_symlink("../../disk/part", top_ + "/dev/block/" + device_);
  }
  void TearDown() override {
    ::close(descriptor_);
    std::filesystem::remove_all(top_);
  }

  std::string top_;
  std::string device_;
  int descriptor_ = -1;
};

TEST_F(Sys, tells_size_and_model_of_a_partitions_disk) {
  std::ofstream(top_ + "/disk/part/size") << "2048\n";
  std::ofstream(top_ + "/disk/device/model") << "  Some Disk 5  \n";
  const Identity identity = identify(descriptor_, "uring", top_).value();
  EXPECT_EQ(identity.device_bytes, 2048u * 512);
  EXPECT_EQ(identity.device_model, "Some Disk 5");
  EXPECT_EQ(identity.engine, "uring");
  EXPECT_EQ(identity.file_system_id.size(), 16u);
  EXPECT_FALSE(identity.kernel.empty());
}

TEST_F(Sys, tells_a_driver_where_there_is_no_model_and_nothing_where_there_is_no_device) {
  std::filesystem::create_symlink("../../drivers/virtio_blk", top_ + "/disk/device/driver");
  EXPECT_EQ(identify(descriptor_, "pread", top_).value().device_model, "virtio_blk");
  const Identity none = identify(descriptor_, "pread", top_ + "/none").value();
  EXPECT_EQ(none.device_model, "");
  EXPECT_EQ(none.device_bytes, 0u);
}

TEST_F(Sys, names_file_systems) {
  const int memory = ::open("/dev/shm", O_RDONLY | O_CLOEXEC);
  if (memory < 0) GTEST_SKIP() << "no /dev/shm";
  EXPECT_EQ(identify(memory).value().file_system, "tmpfs");
  ::close(memory);
  const int proc = ::open("/proc", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(identify(proc).value().file_system, "0x9fa0");
  ::close(proc);
  EXPECT_EQ(identify(-1).error().code, EBADF);
}

TEST(Profile, without_measurements_of_further_transfers_is_readable) {
  const Result<Parsed> parsed = parse_profile(
      R"({"format":1,"k2k":"0.1.0","made_s":1800000000,"identity":{"file_system":"ext4",)"
      R"("file_system_id":"0123456789abcdef","device":"254:0","device_model":"Disk",)"
      R"("device_bytes":1000,"engine":"pread","kernel":"6.1.0"},"model":{"call_us":80.5,)"
      R"("cutoff_bytes":65536.0,"direct_gbs":2.5,"cache_gbs":8.25},"r2":{"direct":0.999,)"
      R"("cache":0.998},"points":{"direct":[[4096.0,80.5]],"cache":[[4096.0,2.5]]},)"
      R"("sum":"78cbfe1931ab2c38"})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed.value().profile.fit.model.call_us, 80.5);
  EXPECT_EQ(parsed.value().profile.fit.model.next_us, 0);
}

}  // namespace
}  // namespace k2k::router
