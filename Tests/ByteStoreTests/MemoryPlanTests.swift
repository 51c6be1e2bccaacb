// The division of a memory budget.

import Testing

@testable import ByteStore

@Suite struct MemoryPlanTests {
  @Test func theRestAfterWhatIsFixedIsDivided() {
    let plan = MemoryPlan(accountedBytes: 180 << 20, fixedBytes: 50 << 20, checkpointBytes: 0)
    #expect(plan.cacheBytes == 20 << 20 && plan.evictableBytes == 20 << 20 && plan.logBytes == 10 << 20)
  }

  @Test func aStoreThatIsLargerThanItsBudgetKeepsTheLeastOfEachPart() {
    let plan = MemoryPlan(accountedBytes: 16 << 20, fixedBytes: 50 << 20, checkpointBytes: 0)
    #expect(plan.cacheBytes == 1 << 20 && plan.evictableBytes == 0 && plan.logBytes == 1 << 20)
  }

  @Test func aLargeCheckpointIsNotWrittenForALittleLog() {
    let plan = MemoryPlan(accountedBytes: 64 << 20, fixedBytes: 60 << 20, checkpointBytes: 160 << 20)
    #expect(plan.logBytes == 10 << 20)
  }
}
