// The lane of commits is bounded, and clients take turns in it.

import ByteStore
import DocumentStore
import OfflineSync
import Testing

@testable import Authority

@Suite struct CommitLaneTests {
  private let store: DocumentStore
  private let order = Locked<[UInt64]>([])
  private let refused = Locked<[UInt64: Int]>([:])

  init() throws { store = try DocumentStore.openInMemory() }

  private func lane(_ change: (inout CommitLane.Limits) -> Void) -> CommitLane {
    var limits = CommitLane.Limits()
    change(&limits)
    return CommitLane(store, limits: limits) { [store] commit, check in
      Result { () throws(RemoteError) in try EmbeddedBackend.commit(commit, after: check, in: store) }
    }
  }

  private func commit(
    _ client: UInt64?, mutations: Int = 1, _ check: BackendCheck? = nil, in lane: CommitLane
  ) {
    let paths = (0..<mutations).map { DocumentPath(unchecked: ["rooms", "\(client ?? 99)-\($0)"]) }
    var commit = BackendCommit(paths.map(increment), check: check)
    commit.client = CommitClient(connection: client)
    let client = client ?? 99
    lane.commit(commit) { [order, refused] outcome in
      switch outcome {
      case .success: order.withLock { $0.append(client) }
      case .failure(let error):
        refused.withLock { $0[client, default: 0] += error.code == .resourceExhausted ? 1 : 1000 }
      }
      order.wakeAll()
    }
  }

  private func increment(_ path: DocumentPath) -> Mutation {
    .patch(
      path, StoredMap(), mask: FieldMask([]),
      transforms: [FieldTransform(StoredFieldPath(unchecked: ["n"]), .increment(.integer(1)))])
  }

  /// A check that waits until the gate is open, so that the lane is busy.
  private func waiting(for gate: Locked<Bool>) -> BackendCheck {
    BackendCheck([]) { _ throws(RemoteError) in
      gate.withLock(when: { $0 }) { _ in }
      return []
    }
  }

  private func wait(for count: Int) -> [UInt64] {
    order.withLock(when: { order in
      order.count + refused.withLock { $0.values.reduce(0, +) } >= count
    }) { $0 }
  }

  /// Regression: the lane took any number of commits of one client, and the others waited behind all of them.
  @Test func clientsTakeTurns() {
    let lane = lane { $0.inProgress = 1 }
    let gate = Locked(false)
    commit(0, waiting(for: gate), in: lane)
    for _ in 0..<100 { commit(1, in: lane) }
    for client in [2, 3] as [UInt64] { for _ in 0..<2 { commit(client, in: lane) } }
    gate.withLock { $0 = true }
    gate.wakeAll()
    let order = wait(for: 105)
    #expect(Array(order.filter { $0 != 0 }.prefix(6)) == [1, 2, 3, 1, 2, 3])
    #expect(order.filter { $0 == 1 }.count == 100)
  }

  /// The clients behind a proxy are not known. They have the room of one client, but each commit has a turn.
  @Test func commitsOfUnknownClientsHaveTurnsOfTheirOwn() {
    let lane = lane { limits in
      limits.inProgress = 1
      limits.space = 200
      limits.waitNanoseconds = 0
    }
    let gate = Locked(false)
    commit(0, waiting(for: gate), in: lane)
    for _ in 0..<3 { commit(nil, in: lane) }
    commit(1, in: lane)
    for _ in 0..<97 { commit(nil, in: lane) }
    gate.withLock { $0 = true }
    gate.wakeAll()
    let order = wait(for: 102)
    #expect(Array(order.filter { $0 != 0 }.prefix(5)) == [99, 99, 99, 1, 99])
    #expect(order.filter { $0 == 99 }.count == 49 && refused.withLock { $0 } == [99: 51])
  }

  @Test func oneClientLeavesRoomForOthers() {
    let lane = lane { limits in
      limits.inProgress = 1
      limits.space = 200
    }
    let gate = Locked(false)
    commit(0, waiting(for: gate), in: lane)
    for _ in 0..<100 { commit(1, in: lane) }
    commit(2, in: lane)
    commit(3, mutations: 150, in: lane)
    gate.withLock { $0 = true }
    gate.wakeAll()
    let order = wait(for: 103)
    let refused = refused.withLock { $0 }
    // Each commit takes two of the places, and the client gets one half of them.
    #expect(order.filter { $0 == 1 }.count == 50)
    #expect(refused[1] == 50)
    #expect(order.contains(2) && refused[2] == nil)
    #expect(refused[3] == 1, "a commit that is larger than the room is refused")
    commit(3, mutations: 1000, in: lane)
    #expect(wait(for: 104).last == 3, "but not by an empty lane")
  }

  @Test func manyClientsCommitAllThatIsAdmitted() throws {
    let lane = lane { $0.inProgress = 7 }
    concurrently(4) { thread in
      for number in 0..<200 { commit(UInt64(thread * 10 + number % 5), in: lane) }
    }
    #expect(wait(for: 800).count == 800)
    var sum: Int64 = 0
    for document in try store.documents(StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))) {
      if case .integer(let number)? = document.fields["n"] { sum += number }
    }
    #expect(sum == 800)
  }
}
