// A crash before any call to the disk, while writes are taken, answered and swapped: the queue loses nothing, and no
// number of a batch is used twice.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct QueueCrashTests {
  /// What had been done when the disk had seen so many calls.
  private struct Mark {
    var calls: Int
    var finished: Set<BatchID>
    var answered: Set<BatchID>
    /// Of these, whoever asked was told that they will never happen.
    var rejected: Set<BatchID> = []
  }

  private static func open(_ disk: SimulatedDisk, _ user: String?) throws -> LocalStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    return try LocalStore(store, user: user, collector: .lru, client: "client")
  }

  private func mutation(_ number: Int) throws -> Mutation {
    let path = try DocumentPath(["rooms", "\(number % 3)"])
    let field = try StoredFieldPath(["n"])
    return number % 2 == 0
      ? .set(path, StoredMap([("n", .integer(Int64(number)))]))
      : .patch(
        path, StoredMap(), mask: FieldMask([]),
        transforms: [FieldTransform(field, .increment(.integer(1)))])
  }

  @Test func everyWriteThatReturnedIsInTheQueueUntilItIsAnswered() throws {
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    let disk = SimulatedDisk(DiskImage(), options: options)
    let local = try Self.open(disk, nil)
    let time = try #require(StoredTimestamp(seconds: 1000, nanoseconds: 0))
    var marks = [Mark(calls: disk.history.count, finished: [], answered: [])]
    var (finished, answered, rejected) = (Set<BatchID>(), Set<BatchID>(), Set<BatchID>())
    let begin = { (begun: Set<BatchID>) in
      // From here on, what is being answered may be gone.
      marks.append(
        Mark(
          calls: disk.history.count, finished: finished, answered: answered.union(begun), rejected: rejected))
    }
    for number in 0..<8 {
      if number == 4 { _ = try local.changeUser("ann") }
      finished.insert(try local.write([try mutation(number)], at: time).batch.id)
      begin([])
      guard number % 3 == 2, let first = local.queue.first else { continue }
      begin([first.id])
      if number == 2 {
        let version = SnapshotVersion(microseconds: 5000)
        _ = try local.acknowledge(first.id, version, [WriteResult(version: version)], token: [7])
      } else {
        _ = try local.reject(first.id)
        rejected.insert(first.id)
      }
      answered.insert(first.id)
      begin([])
    }
    #expect(finished.count == 8 && answered.count == 2 && rejected.count == 1)
    let history = disk.history
    var opened = 0
    for (index, moment) in history.enumerated() {
      guard let mark = marks.last(where: { $0.calls <= index }) else { continue }
      for crash in [Crash.kill, .powerLoss(.nothing, seed: 0), .powerLoss(.random, seed: UInt64(index))] {
        try check(SimulatedDisk(moment.image.after(crash)), mark, "call \(index), \(crash)")
        opened += 1
      }
    }
    #expect(opened > 50)
  }

  private func check(_ disk: SimulatedDisk, _ mark: Mark, _ place: String) throws {
    var found = Set<BatchID>()
    let local = try Self.open(disk, nil)
    for user in [nil, "ann"] {
      _ = try local.changeUser(user)
      for path in local.queue.paths {
        #expect(try local.store.document(at: path) == local.document(path).stored, "\(place): \(path)")
      }
      found.formUnion(local.queue.ids)
    }
    #expect(found.isSuperset(of: mark.finished.subtracting(mark.answered)), "\(place): a write is lost")
    #expect(found.isDisjoint(with: mark.rejected), "\(place): a rejected write has come back")
    let time = try #require(StoredTimestamp(seconds: 2000, nanoseconds: 0))
    let next = try local.write([try mutation(0)], at: time).batch.id
    #expect(mark.finished.union(found).allSatisfy { $0 < next }, "\(place): a number is used twice")
    try local.store.close()
  }
}
