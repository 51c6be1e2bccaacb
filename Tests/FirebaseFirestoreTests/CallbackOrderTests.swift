// The order of completions, and their delivery while all threads are blocked.

import ByteStore
import FirebaseFirestore
import Foundation
import Testing

@Suite struct CallbackOrderTests {
  private final class Heard: Sendable {
    private let lines = Locked<[String]>([])

    func note(_ line: String) {
      lines.withLock { $0.append(line) }
      lines.wakeAll()
    }

    func all(_ count: Int) -> [String] { lines.withLock(when: { $0.count >= count }) { $0 } }
  }

  /// A value beyond the depth limit of the encoder. A write of the value fails before anything is written.
  private static var tooDeep: [String: Any] { (0..<120).reduce(["n": 1]) { map, _ in ["m": map] } }

  @Test func waitForPendingWritesEndsAfterWriteCompletions() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    var wrong: [String] = []
    for round in 0..<10 {
      let heard = Heard()
      for number in 0..<5 {
        firestore.document("a/\(number)").setData(number == 3 ? Self.tooDeep : ["n": round]) { error in
          heard.note("\(number)\(error == nil ? "" : " failed")")
        }
      }
      firestore.waitForPendingWrites { _ in heard.note("all") }
      let order = heard.all(6)
      if order != ["0", "1", "2", "3 failed", "4", "all"] { wrong.append("\(round): \(order)") }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func answersComeInTheOrderOfTheQuestions() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let heard = Heard()
    var asked: [String] = []
    for number in 0..<20 {
      let document = firestore.document("a/\(number)")
      if number % 3 == 0 { document.setData(["n": number], completion: nil) }
      document.getDocument { snapshot, _ in heard.note("\(number) \(snapshot?["n"] as? Int ?? -1)") }
      asked.append("\(number) \(number % 3 == 0 ? number : -1)")
      firestore.collection("a").order(by: FieldPath.documentID()).limit(to: 1).getDocuments { _, _ in
        heard.note("query")
      }
      asked.append("query")
    }
    #expect(heard.all(asked.count) == asked)
    await database.close()
  }

  @Test func terminationCompletesAfterAllEarlierCalls() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("a/b")
    try await document.setData(["n": 1])
    let heard = Heard()
    let isEnding = DispatchSemaphore(value: 0)
    firestore.runTransaction({ transaction, _ in
      isEnding.wait()
      // If `terminate` did not wait for the transaction, it would finish during this sleep.
      Thread.sleep(forTimeInterval: 0.2)
      return (try? transaction.getDocument(document))?.get("n")
    }) { value, _ in heard.note("transaction \(value as? Int ?? -1)") }
    for _ in 0..<20 {
      document.getDocument { snapshot, _ in heard.note("read \(snapshot?["n"] as? Int ?? -1)") }
    }
    document.parent.whereField("n", isEqualTo: 1).order(by: "m").getDocuments { _, error in
      heard.note("query\(error == nil ? "" : " failed")")
    }
    firestore.terminate { _ in heard.note("end") }
    isEnding.signal()
    let lines = heard.all(23)
    #expect(lines.last == "end")
    #expect(lines.count { $0 == "read 1" } == 20)
    #expect(lines.contains("transaction 1") && lines.contains("query"))
    await database.close()
  }

  /// Starts more tasks than the cooperative pool has threads.
  @Test func completionsRunWhileAllPoolThreadsWait() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(["n": 1])
    let answered = await withTaskGroup(of: Bool.self) { group in
      for _ in 0...ProcessInfo.processInfo.activeProcessorCount {
        group.addTask { Self.waits { done in document.getDocument { _, _ in done() } } }
        group.addTask {
          Self.waits { done in document.parent.count.getAggregation(source: .server) { _, _ in done() } }
        }
        group.addTask {
          Self.waits { done in
            document.firestore.runTransaction({ transaction, _ in
              try? transaction.getDocument(document).data()
            }) { _, _ in done() }
          }
        }
      }
      return await group.reduce(into: [Bool]()) { $0.append($1) }
    }
    #expect(answered.allSatisfy { $0 })
    await database.close()
  }

  private static func waits(_ body: (@escaping @Sendable () -> Void) -> Void) -> Bool {
    let isDone = DispatchSemaphore(value: 0)
    body { isDone.signal() }
    return isDone.wait(timeout: .now() + 20) == .success
  }
}
