#include "io/gpu/gpu_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <vector>

#include "io/file/files_fixture.hpp"
#include "io/gpu/gpu_file_calls.hpp"
#include "io/memory/cuda_memory.hpp"
#include "io/memory/vendor_library_fixture.hpp"

namespace k2k::io {
namespace {

// A /proc with the modules that cuFile reads, and without nvidia-fs.
std::string proc_folder() {
  static const OwnFiles files;
  static_cast<void>(open_file(files.path("modules"), O_WRONLY | O_CREAT));
  return files.path("");
}

GpuFileConfig config_of(GpuFileKind kind) {
  return {kind, vendor_library(), vendor_library(), proc_folder()};
}

class GpuFileTest : public testing::TestWithParam<GpuFileKind> {
 protected:
  void TearDown() override {
    driver_.reset();
    vendor_.failing[0] = '\0';
    EXPECT_EQ(vendor_.opened, 0);
    EXPECT_EQ(vendor_.files, 0);
    EXPECT_EQ(vendor_.ranges, 0);
  }
  [[nodiscard]] Transfer read(std::uint64_t offset, std::size_t bytes) const {
    return {file_.number(), offset, memory_.data(), bytes, 0, Direction::read};
  }

  vendor::Control& vendor_ = vendor_control();
  const OwnFiles files_;
  const std::string path_ = make_file(files_, "content", 64 * page);
  const Opened file_ = open_file(path_, O_RDWR);
  const Pages memory_{64 * page};
  std::shared_ptr<GpuFileDriver> driver_ = GpuFileDriver::open(config_of(GetParam())).value();
};

TEST_P(GpuFileTest, AnEngineReadsAndWrites) {
  const auto engine = make_gpu_file(driver_, 8, 2).value();
  EXPECT_STREQ(engine->capabilities().name, driver_->name());
  EXPECT_TRUE(engine->capabilities().device_memory);
  EXPECT_TRUE(engine->capabilities().asynchronous);
  for (const Direction direction : {Direction::read, Direction::write}) {
    std::vector<Transfer> all;
    for (std::size_t at = 0; at < 8; ++at) {
      all.push_back(
          {file_.number(), at * 8 * page, memory_.data() + at * 8 * page, 8 * page, at, direction});
    }
    ASSERT_EQ(engine->submit(all), 8u);
    std::array<Completion, 8> results;
    ASSERT_EQ(engine->poll(results, 8), 8u);
    for (const Completion& each : results) EXPECT_EQ(each.result, std::int64_t{8 * page});
    if (direction == Direction::read) {
      EXPECT_TRUE(holds_content(memory_.span(), 0));
      fill(memory_.span(), 0x7000);
    }
  }
  const Pages seen(64 * page);
  ASSERT_EQ(::pread(file_.number(), seen.data(), 64 * page, 0), ssize_t{64 * page});
  EXPECT_TRUE(holds_content(seen.span(), 0x7000));
}

TEST_P(GpuFileTest, ThreadsEnterBeforeTheirFirstTransfer) {
  std::atomic<int> entered = 0;
  const auto engine = make_gpu_file(driver_, 8, 3, [&] { ++entered; }).value();
  const Transfer transfer = read(0, page);
  ASSERT_EQ(engine->submit({&transfer, 1}), 1u);
  Completion completion;
  ASSERT_EQ(engine->poll({&completion, 1}, 1), 1u);
  EXPECT_GE(entered, 1);
  EXPECT_FALSE(make_gpu_file(driver_, 0, 1).ok());
  EXPECT_FALSE(make_gpu_file(driver_, 1, 65).ok());
}

TEST_P(GpuFileTest, AFileIsRegisteredOnceAndAgainWhenItsNumberHasAnotherFile) {
  const int before = vendor_.registrations;
  EXPECT_EQ(driver_->transfer(read(0, page)), std::int64_t{page});
  EXPECT_EQ(driver_->transfer(read(page, page)), std::int64_t{page});
  EXPECT_EQ(vendor_.registrations, before + 1);

  const Opened other = open_file(make_file(files_, "other", page / 2), O_RDONLY);
  ASSERT_EQ(::dup3(other.number(), file_.number(), O_CLOEXEC), file_.number());
  EXPECT_EQ(driver_->transfer(read(0, page)), std::int64_t{page / 2});
  EXPECT_EQ(vendor_.registrations, before + 2);
  EXPECT_EQ(vendor_.files, 1);
  driver_->closing(file_.number());
  EXPECT_EQ(vendor_.files, 0);
}

TEST_P(GpuFileTest, TheLeastRecentlyUsedIdleFileMakesRoom) {
  std::vector<Opened> many;
  for (int at = 0; at < 258; ++at) {
    many.push_back(open_file(path_, O_RDONLY));
    ASSERT_GE(many.back().number(), 0);
    Transfer transfer = read(0, page);
    transfer.file = many.back().number();
    ASSERT_EQ(driver_->transfer(transfer), std::int64_t{page});
  }
  EXPECT_EQ(vendor_.files, 256);
}

TEST_P(GpuFileTest, RegisteredMemoryIsNamedByItsBase) {
  ASSERT_TRUE(driver_->register_memory(memory_.data(), 32 * page).ok());
  Transfer transfer = read(0, page);
  transfer.memory += 5 * page;
  EXPECT_EQ(driver_->transfer(transfer), std::int64_t{page});
  EXPECT_EQ(vendor_.last_base, memory_.data());
  EXPECT_EQ(vendor_.last_offset, long{5 * page});
  EXPECT_TRUE(holds_content(memory_.span().subspan(5 * page, page), 0));
  // Partly outside.
  transfer.memory = memory_.data() + 32 * page - 1;
  EXPECT_EQ(driver_->transfer(transfer), std::int64_t{page});
  EXPECT_EQ(vendor_.last_base, transfer.memory);
  EXPECT_EQ(vendor_.last_offset, 0);

  EXPECT_EQ(driver_->unregister_memory(memory_.data() + 1).error().code, ENOENT);
  EXPECT_TRUE(driver_->unregister_memory(memory_.data()).ok());
  EXPECT_EQ(driver_->unregister_memory(memory_.data()).error().code, ENOENT);
}

TEST_P(GpuFileTest, RefusedMemoryHasAReason) {
  vendor_.fail("BufRegister", gpu_file::pinning_failed);
  const Status pinning = driver_->register_memory(memory_.data(), page);
  ASSERT_FALSE(pinning.ok());
  EXPECT_EQ(pinning.error().code, ENOMEM);
  EXPECT_NE(pinning.error().message.find("BAR may be too small"), std::string::npos);
  vendor_.fail("BufRegister", gpu_file::memory_already_registered);
  EXPECT_EQ(driver_->register_memory(memory_.data(), page).error().code, EEXIST);
  vendor_.fail("BufRegister", gpu_file::device_error);
  const Status device = driver_->register_memory(memory_.data(), page);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, EIO);
  EXPECT_NE(device.error().message.find("says 5011, its own 2: the GPU's driver refused"),
            std::string::npos);
  for (std::size_t at = 0; at < 256; ++at) {
    ASSERT_TRUE(driver_->register_memory(memory_.data() + at, 1).ok());
  }
  EXPECT_EQ(driver_->register_memory(memory_.data() + 256, 1).error().code, ENOSPC);
  vendor_.fail("BufDeregister", gpu_file::invalid_value);
  EXPECT_EQ(driver_->unregister_memory(memory_.data()).error().code, EINVAL);
  --vendor_.ranges;  // The library kept that range.
}

TEST_P(GpuFileTest, TransfersFailWithTheirErrno) {
  Transfer closed = read(0, page);
  closed.file = -1;
  EXPECT_EQ(driver_->transfer(closed), -EBADF);
  EXPECT_EQ(driver_->transfer(read(~std::uint64_t{0}, page)), -EINVAL);

  EXPECT_EQ(driver_->refusal(), "");
  vendor_.fail("HandleRegister", gpu_file::io_not_supported);
  EXPECT_EQ(driver_->transfer(read(0, page)), -EOPNOTSUPP);
  EXPECT_NE(driver_->refusal().find("says 5008: it refuses this file"), std::string::npos);
  vendor_.fail("HandleRegister", gpu_file::handle_not_registered);
  EXPECT_EQ(driver_->transfer(read(0, page)), -EOPNOTSUPP) << "the file's, not the descriptor's";
  EXPECT_NE(driver_->refusal().find("says 5027: it does not register this file"),
            std::string::npos);
  EXPECT_NE(driver_->refusal().find("mount /run/udev"), std::string::npos);

  vendor_.fail("Read", EIO);
  EXPECT_EQ(driver_->transfer(read(0, page)), -EIO);
  vendor_.fail("Read", EINTR);
  EXPECT_EQ(driver_->transfer(read(0, page)), std::int64_t{page});
  vendor_.fail("Read", 4999);  // -1 without an errno.
  EXPECT_EQ(driver_->transfer(read(0, page)), -EIO);
  vendor_.fail("Read", gpu_file::pointer_invalid);
  EXPECT_EQ(driver_->transfer(read(0, page)), -EFAULT);
  vendor_.fail("Read", vendor::by_errno + gpu_file::pointer_invalid);
  EXPECT_EQ(driver_->transfer(read(0, page)), -EFAULT) << "its code in errno";
  vendor_.fail("Read", gpu_file::handle_not_registered);
  EXPECT_EQ(driver_->transfer(read(0, page)), -EBADF);
}

TEST_P(GpuFileTest, TheEndOfTheFileShortensAResult) {
  EXPECT_EQ(driver_->transfer(read(62 * page, 8 * page)), std::int64_t{2 * page});
  EXPECT_EQ(driver_->transfer(read(64 * page, page)), 0);
}

TEST_P(GpuFileTest, AChildOfForkMayDestroyIt) {
  auto engine = make_gpu_file(driver_, 4, 1).value();
  ASSERT_EQ(driver_->transfer(read(0, page)), std::int64_t{page});
  const pid_t child = ::fork();
  if (child == 0) {
    engine.reset();
    driver_.reset();
    ::_exit(vendor_.opened == 1 && vendor_.files == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Both, GpuFileTest,
                         testing::Values(GpuFileKind::cufile, GpuFileKind::hipfile),
                         [](const auto& each) {
                           return each.param == GpuFileKind::cufile ? "cufile" : "hipfile";
                         });

TEST(GpuFileOpen, GivesTheReasonOfARefusal) {
  const auto refused = [](const GpuFileConfig& config, int code, const char* text) {
    const auto driver = GpuFileDriver::open(config);
    ASSERT_FALSE(driver.ok()) << text;
    EXPECT_EQ(driver.error().code, code);
    EXPECT_NE(driver.error().message.find(text), std::string::npos) << driver.error().message;
  };
  GpuFileConfig config = config_of(GpuFileKind::cufile);
  config.library = "libcufile-that-is-not-there.so.0";
  refused(config, ENOENT, "pip's nvidia-cufile");
  config.kind = GpuFileKind::hipfile;
  refused(config, ENOENT, "install ROCm's hipfile");
  config.library = "libm.so.6";
  refused(config, ENOSYS, "hipFile: libm.so.6 has no hipFileDriverClose; install a newer one");

  config = config_of(GpuFileKind::cufile);
  config.cuda_library = "libcuda-that-is-not-there.so.1";
  refused(config, ENODEV, "cuFile is not opened: CUDA memory: libcuda-that-is-not-there.so.1");

  config = config_of(GpuFileKind::cufile);
  config.proc = "/proc-that-is-not-there";
  refused(config, ENODEV, "without /proc-that-is-not-there/modules; take staging");

  vendor::Control& vendor = vendor_control();
  config = config_of(GpuFileKind::cufile);
  vendor.fail("DriverOpen", gpu_file::not_initialized);
  refused(config, ENODEV, "cuFile says 5001: its kernel driver is not loaded");
  vendor.fail("DriverOpen", gpu_file::setup_error);
  refused(config, ENODEV, "cuFile says 5033: it does not start");
  vendor.fail("DriverOpen", gpu_file::permission_denied);
  refused(config, EACCES, "may not be used by this user");
  vendor.fail("DriverOpen", 5999);
  refused(config, EIO, "cuFile says 5999: see its log");
}

TEST(GpuFileOpen, ReportsThatItMayCopyThroughTheHost) {
  const OwnFiles files;
  GpuFileConfig config = config_of(GpuFileKind::cufile);
  EXPECT_NE(GpuFileDriver::open(config).value()->note().find("modprobe nvidia-fs"),
            std::string::npos);
  std::filesystem::create_directories(files.path("driver/nvidia-fs"));
  static_cast<void>(open_file(files.path("driver/nvidia-fs/devcount"), O_WRONLY | O_CREAT));
  static_cast<void>(open_file(files.path("modules"), O_WRONLY | O_CREAT));
  config.proc = files.path("");
  EXPECT_EQ(GpuFileDriver::open(config).value()->note(), "");
  EXPECT_EQ(GpuFileDriver::open(config_of(GpuFileKind::hipfile)).value()->note(), "");
}

TEST(GpuFileErrors, EveryCodeHasAnErrnoAndASentence) {
  EXPECT_EQ(gpu_file::errno_of(0), 0);
  for (int code = 5001; code < 5050; ++code) {
    EXPECT_GT(gpu_file::errno_of(code), 0);
    const std::string why = gpu_file::why(GpuFileKind::hipfile, {code, 0});
    EXPECT_EQ(why.find("hipFile says " + std::to_string(code)), 0u);
    EXPECT_GT(why.size(), 25u) << why;
    EXPECT_GT(gpu_file::errno_of_registration(code), 0);
    EXPECT_EQ(gpu_file::why_not_registered(GpuFileKind::hipfile, {code, 0}) == why,
              code != gpu_file::handle_not_registered && code != gpu_file::internal_error);
  }
  for (int code = gpu_file::pointer_invalid; code <= gpu_file::invalid_mapping_range; ++code) {
    EXPECT_EQ(gpu_file::errno_of(code), EFAULT);
  }
}

// NVIDIA's own libcufile, where `./dev check --only cuda` has it: its symbols, and its refusal on a
// machine without a GPU.
TEST(NvidiaLibrary, IsLookedUpAndRefusesWithoutAGpu) {
  const char* const library = std::getenv("K2K_CUFILE_LIBRARY");
  if (library == nullptr) GTEST_SKIP() << "K2K_CUFILE_LIBRARY names no libcufile.so.0";
  const auto calls = gpu_file::Calls::load(GpuFileKind::cufile, library);
  ASSERT_TRUE(calls.ok()) << calls.error().message;
  if (make_cuda_memory().ok()) GTEST_SKIP() << "there is a GPU here";
  const auto driver = GpuFileDriver::open({.library = library});
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, ENODEV);
  EXPECT_NE(driver.error().message.find("cuFile is not opened: CUDA memory: libcuda.so.1"),
            std::string::npos);
}

}  // namespace
}  // namespace k2k::io
