#if Server
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import ServerHarness
import Testing

/// Commits outside the queue reach a server that is killed, through a proxy that cuts, delays, loses and
/// repeats requests. Each one increments a document of its own.
@Suite struct CommitHistoryTests {
  private struct Outcomes: CustomStringConvertible {
    var applied = 0
    var refused = 0
    /// Commits with an unknown outcome.
    var unknown = 0

    var description: String { "\(applied) applied, \(refused) refused, \(unknown) unknown" }
  }

  @Test func eachCommitIsAppliedOnceOrHasFailed() async throws {
    // The server needs the threads of tasks.
    try await onThread {
      var outcomes = Outcomes()
      for number in 1...6 as ClosedRange<UInt64> { try Self.run(number, &outcomes) }
      #expect(outcomes.applied > 20 && outcomes.refused > 10, "\(outcomes)")
    }
  }

  private static func run(_ number: UInt64, _ outcomes: inout Outcomes) throws {
    var random = SeededRandom(seed: SeededRandom.seed(4711, number))
    let world = try NetworkSyncWorld(random: &random)
    defer { world.close() }
    let remote = world.makeRemote()
    let answers = Locked<[Int: Result<SnapshotVersion, RemoteError>]>([:])
    var count = 0
    for round in 0..<12 {
      // The run is registered without faults.
      if round > 0 { world.chooseFaults(&random) }
      let started = 1 + random.below(4)
      for commit in count..<count + started {
        // A refused commit must not be applied by a request that arrives late.
        let isRefused = random.oneIn(5)
        remote.commit(mutations(commit, isRefused: isRefused), as: random.oneIn(2) ? "ann" : nil) { answer in
          answers.withLock { $0[commit] = answer }
        }
      }
      count += started
      if round % 3 == 2 {
        world.play(for: Int64(random.below(1_000_000))) { false }
        world.setReachable(false)
        try world.restartIfDue()
        world.setReachable(true)
      }
      world.play(for: 20_000_000) { answers.withLock { $0.count } == count }
    }
    world.endFaults()
    world.play(for: 2_000_000) { false }
    #expect(answers.withLock { $0.count } == count)
    for commit in 0..<count {
      let applied = try world.authority.document(at: path(commit))?.fields["n"] ?? .integer(0)
      let answer = try #require(answers.withLock { $0[commit] })
      switch answer {
      case .success:
        outcomes.applied += 1
        #expect(applied == .integer(1), "\(commit): \(answer)")
      case .failure(let error) where error.code == .deadlineExceeded:
        outcomes.unknown += 1
        #expect(applied == .integer(0) || applied == .integer(1), "\(commit)")
      case .failure:
        outcomes.refused += 1
        #expect(applied == .integer(0), "\(commit): \(answer)")
      }
    }
  }

  private static func path(_ commit: Int) -> DocumentPath {
    DocumentPath(unchecked: ["commits", "\(commit)"])
  }

  private static func mutations(_ commit: Int, isRefused: Bool) -> [Mutation] {
    let increment = FieldTransform(StoredFieldPath(unchecked: ["n"]), .increment(.integer(1)))
    let own = Mutation.patch(path(commit), StoredMap(), mask: FieldMask([]), transforms: [increment])
    let none = DocumentPath(unchecked: ["commits", "none"])
    return isRefused ? [own, .delete(none, precondition: .exists(true))] : [own]
  }
}
#endif
