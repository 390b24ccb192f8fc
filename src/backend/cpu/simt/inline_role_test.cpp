#include "backend/cpu/simt/inline_role.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/simt/running.hpp"

namespace k2k::backend::cpu {
namespace {

using Found = InlineService::Found;
using Reach = InlineService::Reach;

constexpr std::uint32_t unit = 3;

class InlineRoleTest : public testing::Test {
 protected:
  // Finds the requests of `answers`, one after another, then nothing.
  class Service final : public InlineService {
   public:
    explicit Service(const InlineRoleTest& test) : test_(test) {}
    Found serve(std::uint32_t who, Reach reach) noexcept override {
      EXPECT_EQ(who, unit);
      EXPECT_TRUE(test_.role.serves());
      EXPECT_EQ(running, nullptr);
      reaches.push_back(reach);
      return reaches.size() > answers.size() ? Found::nothing : answers[reaches.size() - 1];
    }
    void rest(std::uint32_t who) noexcept override {
      EXPECT_EQ(who, unit);
      EXPECT_TRUE(test_.role.serves());
      ++rests;
    }

    std::vector<Found> answers;
    std::vector<Reach> reaches;
    int rests = 0;

   private:
    const InlineRoleTest& test_;
  };

  void serve_from_now_on() { plan.inline_service.store(&service); }

  UnitPlan plan;
  InlineRole role{unit, plan};
  Service service{*this};
};

TEST_F(InlineRoleTest, WithoutAServiceItFindsNothing) {
  EXPECT_FALSE(role.may_serve());
  EXPECT_EQ(role.serve(Reach::all), Found::nothing);
  role.rest();
  role.end_launch();
  EXPECT_FALSE(role.serves());
}

TEST_F(InlineRoleTest, IsInsideTheServiceOnlyDuringACall) {
  serve_from_now_on();
  service.answers = {Found::served};
  EXPECT_TRUE(role.may_serve());
  EXPECT_EQ(role.serve(Reach::own), Found::served);
  EXPECT_FALSE(role.serves());
  role.rest();
  EXPECT_FALSE(role.serves());
  EXPECT_EQ(service.reaches, std::vector{Reach::own});
  EXPECT_EQ(service.rests, 1);
}

TEST_F(InlineRoleTest, ALaunchEndsWhenNoRequestIsLeft) {
  serve_from_now_on();
  service.answers = {Found::served, Found::busy, Found::served};
  role.end_launch();
  EXPECT_EQ(service.reaches, std::vector(4, Reach::all));
  EXPECT_EQ(service.rests, 1);
}

TEST_F(InlineRoleTest, ALaunchDoesNotWaitForeverForAnotherThread) {
  serve_from_now_on();
  service.answers.assign(100'000, Found::busy);
  role.end_launch();
  EXPECT_LE(service.reaches.size(), 1'000u);
  EXPECT_EQ(service.rests, 1);
}

}  // namespace
}  // namespace k2k::backend::cpu
