#include "io/memory/cuda_memory.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "io/file/files_fixture.hpp"
#include "io/gpu/device_engines.hpp"
#include "io/memory/cuda_calls.hpp"
#include "io/memory/vendor_library_fixture.hpp"

namespace k2k::io {
namespace {

// Against a driver of the tests' own; the header lists the limits of such a test.
class CudaMemoryTest : public testing::Test {
 protected:
  void TearDown() override {
    vendor_.failing[0] = '\0';
    vendor_.recorded = 0;
    EXPECT_EQ(vendor_.contexts, 0);
    EXPECT_EQ(vendor_.pushed, 0);
    EXPECT_EQ(vendor_.streams, 0);
    EXPECT_EQ(vendor_.events, 0);
    EXPECT_EQ(vendor_.pinned, 0);
  }

  static std::unique_ptr<DeviceMemory> made() {
    return make_cuda_memory(0, vendor_library()).value();
  }
  // The error of make_cuda_memory(), or of its queue.
  [[nodiscard]] Error refused(const char* name, int code, int call = 0) const {
    vendor_.fail(name, code, call);
    const auto memory = make_cuda_memory(0, vendor_library());
    if (!memory) return memory.error();
    const auto queue = memory.value()->make_queue(3, page);
    EXPECT_FALSE(queue.ok()) << name;
    return queue ? Error{} : queue.error();
  }

  vendor::Control& vendor_ = vendor_control();
};

TEST_F(CudaMemoryTest, StagingReadsAndWritesThroughIt) {
  const OwnFiles files;
  const Opened file = open_file(make_file(files, "content", 64 * page), O_RDWR);
  const Pages device(64 * page);
  const auto memory = made();
  EXPECT_STREQ(memory->name(), "cuda");
  EXPECT_FALSE(memory->kernel_reaches());
  const auto engine = make_staging(*memory, make_direct(4).value(), {8, 4, 2 * page}).value();
  EXPECT_EQ(vendor_.events, 4);
  EXPECT_EQ(vendor_.pinned, 1);
  for (const Direction direction : {Direction::read, Direction::write}) {
    const Transfer transfer{file.number(), 0, device.data(), 64 * page, 0, direction};
    ASSERT_EQ(engine->submit({&transfer, 1}), 1u);
    Completion completion;
    ASSERT_EQ(engine->poll({&completion, 1}, 1), 1u);
    EXPECT_EQ(completion.result, std::int64_t{64 * page});
    if (direction == Direction::read) {
      EXPECT_TRUE(holds_content(device.span(), 0));
      fill(device.span(), 0x3000);
    }
  }
  const Pages seen(64 * page);
  ASSERT_EQ(::pread(file.number(), seen.data(), 64 * page, 0), ssize_t{64 * page});
  EXPECT_TRUE(holds_content(seen.span(), 0x3000));
}

TEST_F(CudaMemoryTest, ErrorsOfCopiesAreTheirErrno) {
  const Pages device(page);
  const auto memory = made();
  const auto queue = memory->make_queue(2, page).value();
  vendor_.fail("cuMemcpyHtoDAsync_v2", cuda::illegal_address);
  EXPECT_EQ(queue->copy_in(0, device.data(), page), EFAULT);
  vendor_.fail("cuMemcpyHtoDAsync_v2", cuda::invalid_value);
  EXPECT_EQ(queue->copy_in(0, device.data(), page), EFAULT);
  vendor_.fail("cuMemcpyDtoHAsync_v2", cuda::out_of_memory);
  EXPECT_EQ(queue->copy_out(0, device.data(), page), ENOMEM);
  vendor_.fail("cuCtxPushCurrent_v2", cuda::deinitialized);
  EXPECT_EQ(queue->copy_out(0, device.data(), page), ENODEV);

  ASSERT_EQ(queue->copy_in(1, device.data(), page), 0);
  EXPECT_FALSE(queue->look(1).done);
  vendor_.fail("cuCtxPushCurrent_v2", 999);
  vendor_.context_for_queries = true;
  EXPECT_EQ(queue->look(1).code, EIO) << "neither without a context nor with one";
  vendor_.context_for_queries = false;
}

// The first answers of a copy are that it is in flight.
CopyQueue::Look looked(CopyQueue& queue, std::uint32_t buffer) {
  EXPECT_FALSE(queue.look(buffer).done);
  CopyQueue::Look look;
  while (!look.done) look = queue.look(buffer);
  return look;
}

TEST_F(CudaMemoryTest, ACopyAloneIsFourCallsOfTheDriver) {
  const Pages device(page);
  const auto memory = made();
  const auto queue = memory->make_queue(2, page).value();
  const int pushes = vendor_.pushes;
  const int queries = vendor_.queries;
  for (std::uint32_t at = 0; at < 2; ++at) {
    fill(queue->buffer(at), at);
    ASSERT_EQ(queue->copy_in(at, device.data(), page), 0);
    EXPECT_EQ(looked(*queue, at).code, 0);
    EXPECT_TRUE(holds_content(device.span(), at));
  }
  EXPECT_EQ(vendor_.pushes, pushes + 2);
  EXPECT_EQ(vendor_.queries, queries + 2 * 4) << "three times: in flight";
  EXPECT_EQ(vendor_.recorded, 0);
}

TEST_F(CudaMemoryTest, ACopyThatIsFollowedHasAnEvent) {
  const Pages device(3 * page);
  const auto memory = made();
  const auto queue = memory->make_queue(3, page).value();
  for (std::uint32_t at = 0; at < 3; ++at) {
    fill(queue->buffer(at), at);
    ASSERT_EQ(queue->copy_in(at, device.data() + at * page, page), 0);
  }
  EXPECT_EQ(vendor_.recorded, 2);
  EXPECT_EQ(looked(*queue, 0).code, 0);
  EXPECT_TRUE(holds_content(device.span().first(page), 0));
  EXPECT_FALSE(holds_content(device.span().subspan(page, page), 1)) << "its event is the first's";
  EXPECT_EQ(looked(*queue, 2).code, 0);
  EXPECT_TRUE(holds_content(device.span().subspan(2 * page, page), 2));
  EXPECT_EQ(looked(*queue, 1).code, 0);
  // A buffer is used again, first as the last one.
  ASSERT_EQ(queue->copy_out(0, device.data() + page, page), 0);
  ASSERT_EQ(queue->copy_out(1, device.data(), page), 0);
  EXPECT_EQ(vendor_.recorded, 3);
  EXPECT_EQ(looked(*queue, 0).code, 0);
  EXPECT_TRUE(holds_content(queue->buffer(0), 1));
  EXPECT_EQ(looked(*queue, 1).code, 0);
  EXPECT_TRUE(holds_content(queue->buffer(1), 0));
}

TEST_F(CudaMemoryTest, AQueryIsMadeWithAContextWhereItNeedsOne) {
  const Pages device(2 * page);
  const auto memory = made();
  const auto queue = memory->make_queue(2, page).value();
  vendor_.context_for_queries = true;
  for (std::uint32_t at = 0; at < 2; ++at) {
    ASSERT_EQ(queue->copy_in(at, device.data() + at * page, page), 0);
  }
  EXPECT_EQ(looked(*queue, 0).code, 0) << "of an event";
  EXPECT_EQ(looked(*queue, 1).code, 0) << "of the stream";
  vendor_.context_for_queries = false;
}

TEST_F(CudaMemoryTest, ACopyThatCannotBeToldFromTheOneBeforeIsRefused) {
  const Pages device(2 * page);
  const auto memory = made();
  const auto queue = memory->make_queue(2, page).value();
  fill(queue->buffer(0), 5);
  ASSERT_EQ(queue->copy_in(0, device.data(), page), 0);
  vendor_.fail("cuEventRecord", 999);
  EXPECT_EQ(queue->copy_in(1, device.data() + page, page), EIO);
  EXPECT_EQ(looked(*queue, 0).code, 0);
  EXPECT_TRUE(holds_content(device.span().first(page), 5));
  EXPECT_EQ(device.span()[page], std::byte{0});
}

TEST_F(CudaMemoryTest, GivesTheReasonOfARefusal) {
  const auto missing = make_cuda_memory(0, "libcuda-that-is-not-there.so.1");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENODEV);
  EXPECT_NE(missing.error().message.find("install NVIDIA's driver"), std::string::npos);

  const auto other = make_cuda_memory(0, "libm.so.6");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("libm.so.6 has no cuInit; install a newer driver"),
            std::string::npos);

  EXPECT_NE(refused("cuInit", 100)
                .message.find("the driver does not start: an error without a "
                              "name (100); see nvidia-smi"),
            std::string::npos);
  EXPECT_EQ(refused("cuDeviceGetCount", 2).code, ENODEV);
  vendor_.devices = 0;
  EXPECT_NE(refused("", 0).message.find("the driver shows no device"), std::string::npos);
  vendor_.devices = 1;
  const auto second = make_cuda_memory(1, vendor_library());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("there is no device 1"), std::string::npos);
  EXPECT_EQ(cuda_context_setter(1, vendor_library()).error().code, ENODEV);
}

TEST_F(CudaMemoryTest, AFailedStartGivesAllBack) {
  EXPECT_EQ(refused("cuDevicePrimaryCtxRetain", 2).code, ENOMEM);
  EXPECT_EQ(refused("cuCtxPushCurrent_v2", 4).code, ENODEV);
  const Error pinning = refused("cuMemHostAlloc", 2);
  EXPECT_EQ(pinning.code, ENOMEM);
  EXPECT_EQ(pinning.message,
            "CUDA memory: the driver could not pin 12288 bytes; take fewer or shorter buffers: "
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(refused("cuStreamCreate", 2).code, ENOMEM);
  EXPECT_EQ(refused("cuEventCreate", 2).code, ENOMEM);
  EXPECT_EQ(refused("cuEventCreate", 999, 2).code, EIO);
}

TEST_F(CudaMemoryTest, DeviceMemoryIsTakenAndGivenBack) {
  auto allocated = allocate_cuda(3 * page, 0, vendor_library());
  ASSERT_TRUE(allocated.ok()) << allocated.error().message;
  EXPECT_EQ(vendor_.allocations, 1);
  const auto memory = made();
  const auto queue = memory->make_queue(1, page).value();
  EXPECT_EQ(queue->copy_in(0, allocated.value().get(), page), 0);
  EXPECT_EQ(queue->copy_in(0, allocated.value().get() + 3 * page, page), EFAULT) << "beyond it";
  allocated = Error{};
  EXPECT_EQ(vendor_.allocations, 0);

  vendor_.fail("cuMemAlloc_v2", cuda::out_of_memory);
  const auto none = allocate_cuda(page, 0, vendor_library());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ENOMEM);
  EXPECT_EQ(none.error().message,
            "CUDA memory: 4096 bytes of device 0 are not to be had: CUDA_ERROR_OUT_OF_MEMORY (out "
            "of memory); see who uses it with nvidia-smi");
  vendor_.fail("cuCtxPushCurrent_v2", cuda::deinitialized);
  EXPECT_EQ(allocate_cuda(page, 0, vendor_library()).error().code, ENODEV);
  EXPECT_EQ(allocate_cuda(page, 0, "libnowhere.so.9").error().code, ENODEV);
}

TEST_F(CudaMemoryTest, IsNotMapped) {
  const auto memory = made();
  EXPECT_EQ(memory->map(nullptr, 1).error().code, EOPNOTSUPP);
  const auto bar = make_bar(*memory, 8);
  ASSERT_FALSE(bar.ok());
  EXPECT_EQ(bar.error().code, EOPNOTSUPP);
  EXPECT_NE(bar.error().message.find("take staging"), std::string::npos);
}

TEST_F(CudaMemoryTest, AThreadEntersItsContext) {
  const auto enter = cuda_context_setter(0, vendor_library()).value();
  const int before = vendor_.current_set;
  enter();
  EXPECT_EQ(vendor_.current_set, before + 1);
}

}  // namespace
}  // namespace k2k::io
