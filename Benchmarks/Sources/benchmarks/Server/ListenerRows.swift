// The way of a change to a listener: its time, and its bytes.

#if Server
import Foundation
import GRPCClients

enum ListenerRows {
  private static let changes = 200
  private static let changesOfEmulator = 15
  private static let documents = 2_000
  private static let bytesBesideDocument = 200

  static func parts(_ server: LocalServer, _ peers: ServerPeers) throws -> [RowPart] {
    let small = try WatchedCollection(server.port, "one", documents: 1)
    let large = try WatchedCollection(server.port, "many", documents: documents)
    let one = "our server, answer of 1 document"
    let many = "our server, answer of \(documents) documents"
    let ours = [
      RowSubject(name: one, unit: "µs") { try small.medianTime(changes) },
      RowSubject(name: many, unit: "µs") { try large.medianTime(changes) },
    ]
    let document = FirestoreMessages.document("many/d0", mark: WatchedCollection.mark(0)).count
    var bytes = [
      RowSubject(name: "the document alone", unit: "B") { Double(document) },
      RowSubject(name: one, unit: "B") { try small.bytesOfChange(changes) },
      RowSubject(name: many, unit: "B") { try large.bytesOfChange(changes) },
    ]
    var beside: [RowPart] = []
    var same = RowPart(
      title: "a change until its listener has it, median", subjects: ours,
      goals: [RowGoal(subject: many, ratioMax: 1.3)])
    if let port = peers.emulatorPort {
      let smallEmulator = try WatchedCollection(port, "one", documents: 1)
      let largeEmulator = try WatchedCollection(port, "many", documents: documents)
      beside = [
        RowPart(
          title: "a change until its listener has it, answer of 1 document, median",
          subjects: [
            RowSubject(name: "emulator", unit: "µs") { try smallEmulator.medianTime(changes) }, ours[0],
          ], goals: [RowGoal(subject: one, ratioMax: 0.5)])
      ]
      same.subjects.append(
        RowSubject(name: "emulator, answer of \(documents) documents", unit: "µs") {
          try largeEmulator.medianTime(changesOfEmulator)
        })
      bytes += [
        RowSubject(name: "emulator, answer of 1 document", unit: "B") {
          try smallEmulator.bytesOfChange(changes)
        },
        RowSubject(name: "emulator, answer of \(documents) documents", unit: "B") {
          try largeEmulator.bytesOfChange(changesOfEmulator)
        },
      ]
    }
    let limit = Double(document + bytesBesideDocument) / Double(document)
    return beside + [
      same,
      RowPart(
        title: "bytes of the connection about a change", subjects: bytes,
        goals: [RowGoal(subject: many, ratioMax: limit)]),
    ]
  }
}

/// A collection with a listener, and a writer on another connection.
private final class WatchedCollection: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the awaited mark, and the thread that measures
  // uses all else.
  private static let secondsMax = 60

  private let writer: GRPCClient
  private let listener: GRPCClient
  private let stream: GRPCStream
  private let collection: String
  private let documents: Int
  private let arrivals: Arrivals
  private var number = 0

  static func mark(_ number: Int) -> String { "mark \(1_000_000 + number)." }

  init(_ port: Int, _ collection: String, documents: Int) throws {
    self.collection = collection
    self.documents = documents
    writer = try GRPCClient(rows: port)
    listener = try GRPCClient(rows: port)
    let paths = (0..<documents).map { "\(collection)/d\($0)" }
    for start in stride(from: 0, to: documents, by: 500) {
      let part = Array(paths[start..<min(start + 500, documents)])
      try writer.answer("Commit", FirestoreMessages.commit(part, mark: "initial"))
    }
    let arrivals = Arrivals()
    self.arrivals = arrivals
    arrivals.await("initial")
    stream = listener.open(FirestoreMessages.service + "Listen") {
      arrivals.take($0)
    } onEnd: {
      Progress.say("a watch stream ends with \($0)")
    }
    stream.send(FirestoreMessages.listen(collection))
    try arrivals.wait(seconds: Self.secondsMax)
    // Whatever else belongs to the beginning comes before the first change.
    for _ in 0..<3 { _ = try change() }
  }

  /// The time from the begin of a commit until the snapshot with it, in microseconds.
  private func change() throws -> Double {
    number += 1
    let mark = Self.mark(number)
    arrivals.await(mark)
    let start = ContinuousClock.now
    let path = "\(collection)/d\(number % documents)"
    writer.call(FirestoreMessages.service + "Commit", FirestoreMessages.commit(path, mark: mark)) { reply in
      if !reply.end.isOK { Progress.say("a commit ends with \(reply.end)") }
    }
    try arrivals.wait(seconds: Self.secondsMax)
    return (ContinuousClock.now - start) / .microseconds(1)
  }

  func medianTime(_ changes: Int) throws -> Double {
    try (0..<changes).map { _ in try change() }.sorted()[changes / 2]
  }

  func bytesOfChange(_ changes: Int) throws -> Double {
    let before = listener.bytesReceived
    for _ in 0..<changes { _ = try change() }
    return Double(listener.bytesReceived - before) / Double(changes)
  }
}

/// Waits for the snapshot that has a document with a mark.
private final class Arrivals: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the state.
  private let lock = NSLock()
  private var mark: [UInt8] = []
  private var isSeen = false
  private let arrived = DispatchSemaphore(value: 0)

  func await(_ mark: String) {
    lock.withLock {
      self.mark = Array(mark.utf8)
      isSeen = false
    }
  }

  func take(_ message: [UInt8]) {
    let isComplete = lock.withLock {
      guard !mark.isEmpty else { return false }
      if FirestoreMessages.isTargetChange(message) {
        guard isSeen else { return false }
        mark = []
        return true
      }
      if !isSeen { isSeen = message.firstRange(of: mark) != nil }
      return false
    }
    if isComplete { arrived.signal() }
  }

  func wait(seconds: Int) throws {
    guard arrived.wait(timeout: .now() + .seconds(seconds)) == .success else {
      throw BenchmarkFailure("a change does not arrive after \(seconds) s")
    }
  }
}
#endif
