import Testing

@testable import ByteStore

@Suite("How a leader comes to a full group")
struct GatheringTests {
  @Test("a single writer never waits")
  func single() {
    var gathering = Gathering()
    for _ in 0..<10 {
      #expect(gathering.patience(with: 1) == 0)
      gathering.groupEnded(1, queued: 0, syncNanoseconds: 100_000)
    }
  }

  @Test("a leader waits for those that the last group held or kept waiting, for half a sync")
  func several() {
    var gathering = Gathering()
    for _ in 0..<100 { gathering.groupEnded(7, queued: 1, syncNanoseconds: 100_000) }
    #expect(gathering.expected == 8)
    #expect((40_000...50_000).contains(gathering.patience(with: 1)))
    #expect(gathering.patience(with: 8) == 0)
    gathering.groupEnded(8, queued: 0, syncNanoseconds: 1_000_000_000)
    #expect(gathering.patience(with: 1) == 1_000_000, "a slow device does not mean a long wait")
  }

  @Test("what was in vain is tried ever more seldom, until it helps again")
  func inVain() {
    var gathering = Gathering()
    gathering.groupEnded(2, queued: 0, syncNanoseconds: 100_000)
    var waits: [Int] = []
    for leader in 0..<1000 where gathering.patience(with: 1) > 0 {
      waits.append(leader)
      gathering.waited(andGot: 1)
    }
    #expect(waits.prefix(4) == [0, 2, 6, 14])
    #expect(waits.count < 25)
    while gathering.patience(with: 1) == 0 {}
    gathering.waited(andGot: 2)
    #expect(gathering.patience(with: 1) > 0)
    #expect(gathering.patience(with: 1) > 0)
  }
}
