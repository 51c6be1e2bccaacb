// Many threads commit to one store: every acknowledged commit is present and has a unique time.

import ByteStore
import Dispatch
import DocumentStore
import Foundation
import Harness
import Testing

@Suite struct ConcurrentCommitTests {
  private static let threads = 8
  private static let commitsPerThread = 40

  /// The observations of a thread after one commit.
  private struct Witness {
    var name: String
    var time: StoredTimestamp
    /// The shared document's update time right after the commit.
    var sharedTime: StoredTimestamp?
    var failure: DocumentStoreError?
  }

  private static let shared = path("shared", "document")

  private static func commit(_ name: String, to store: DocumentStore) -> Witness {
    let fields = StoredMap([("by", .string(name))])
    let stamp = [FieldTransform(field("at"), .serverTimestamp)]
    do throws(DocumentStoreError) {
      let time = try store.commit([
        .set(path("unique", name), fields, transforms: stamp), .set(shared, fields, transforms: stamp),
      ])
      return Witness(name: name, time: time, sharedTime: try store.document(at: shared)?.updateTime)
    } catch {
      return Witness(name: name, time: .first, failure: error)
    }
  }

  /// Runs all threads concurrently and returns their observations.
  private static func run(_ store: DocumentStore) -> [Witness] {
    let witnesses = Locked<[Witness]>([])
    let gate = DispatchSemaphore(value: 0)
    let finished = DispatchGroup()
    for thread in 0..<threads {
      finished.enter()
      Thread.detachNewThread {
        gate.wait()
        for number in 0..<commitsPerThread {
          let witness = commit("\(thread)-\(number)", to: store)
          witnesses.withLock { $0.append(witness) }
        }
        finished.leave()
      }
    }
    for _ in 0..<threads { gate.signal() }
    finished.wait()
    return witnesses.withLock { $0 }
  }

  /// With `standsStill`, the clock never advances, so each commit time is an increment of the last commit
  /// time.
  @Test(arguments: [true, false]) func allCommitsOfAllThreadsArePresent(standsStill: Bool) throws {
    let directory = TemporaryDirectory()
    let clock = HandClock(1_700_000_000_000_000)
    let store =
      standsStill ? try DocumentStore.open(directory, clock) : try DocumentStore.open(directory.path)
    let witnesses = Self.run(store)
    let total = Self.threads * Self.commitsPerThread
    #expect(witnesses.compactMap(\.failure) == [])
    #expect(Set(witnesses.map(\.time)).count == total, "a time was given out twice")
    #expect(store.count == total + 1)
    if standsStill {
      let times = witnesses.map { $0.time.microseconds - 1_700_000_000_000_000 }
      #expect(times.sorted() == (0..<total).map(Int64.init))
    }
    // Times follow the commit order: a thread never finds the shared document older than its own commit.
    #expect(witnesses.allSatisfy { ($0.sharedTime ?? .first) >= $0.time })

    try check(store, witnesses)
    try store.close()
    let again = try DocumentStore.open(directory.path)
    #expect(again.recoveryReport.commitsReplayed == total)
    try check(again, witnesses)
    try again.close()
  }

  private func check(_ store: DocumentStore, _ witnesses: [Witness]) throws {
    let documents = try witnesses.compactMap { try store.document(at: path("unique", $0.name)) }
    let expected = witnesses.map { witness in
      StoredDocument(
        path: path("unique", witness.name), createTime: witness.time, updateTime: witness.time,
        fields: StoredMap([("at", .timestamp(witness.time)), ("by", .string(witness.name))]))
    }
    #expect(documents == expected)
    let first = try #require(witnesses.min { $0.time < $1.time })
    let last = try #require(witnesses.max { $0.time < $1.time })
    let shared = try #require(try store.document(at: Self.shared))
    #expect(shared.createTime == first.time)
    #expect(shared.updateTime == last.time)
    #expect(shared.fields["at"] == .timestamp(last.time))
    #expect(shared.fields["by"] == .string(last.name))
  }
}
