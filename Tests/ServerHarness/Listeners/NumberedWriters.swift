// Writers that replace the documents of collections in turn, at a steady rate.

#if Server
import ByteStore
import DocumentStore
import FirestoreWire
import Foundation
import Harness

/// Usable from any thread.
final class NumberedWriters: Sendable {
  private static let threads = 5
  private static let agingThreads = 16
  /// A collection that no listener follows.
  private static let agingCollection = -1
  private static let text = String(repeating: "a change of a document. ", count: 6)

  private let board: ListenerBoard
  private let collections: Int
  private let client: FirestoreClient
  private let state = Locked((isStopped: false, running: NumberedWriters.threads))

  /// Starts to write.
  init(_ target: AbuseTarget, _ board: ListenerBoard, _ options: ListenerOptions) throws {
    self.board = board
    collections = options.collections
    client = try target.client()
    let seconds = Double(Self.threads) / options.commitsPerSecond
    for number in 0..<Self.threads {
      Thread.detachNewThread { [self] in
        run(number, nanoseconds: UInt64(seconds * 1e9))
        state.withLock { $0.running -= 1 }
        state.wakeAll()
      }
    }
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    state.withLock(when: { $0.running == 0 }) { _ in }
    client.close()
  }

  /// Creates all documents.
  static func prepare(_ target: AbuseTarget, _ board: ListenerBoard, _ options: ListenerOptions) throws {
    let client = try target.client()
    defer { client.close() }
    for collection in 0..<options.collections {
      let numbers = 1...ListenerOptions.documents
      try commit(numbers.map { mutation(collection, $0, at: 0) }, client)
      board.noteCommit(collection, numbers.upperBound)
    }
  }

  /// Replaces documents that no listener follows, as fast as the server takes it.
  static func age(_ target: AbuseTarget, commits: Int) throws {
    let state = Locked((left: commits, running: agingThreads, error: String?.none))
    for _ in 0..<agingThreads {
      Thread.detachNewThread {
        do {
          let client = try target.client()
          defer { client.close() }
          while let number = state.withLock({ state -> Int? in
            guard state.left > 0, state.error == nil else { return nil }
            state.left -= 1
            return state.left
          }) {
            try commit([mutation(agingCollection, number, at: 0)], client)
          }
        } catch {
          state.withLock { $0.error = "\(error)" }
        }
        state.withLock { $0.running -= 1 }
        state.wakeAll()
      }
    }
    if let error = state.withLock(when: { $0.running == 0 }, { $0.error }) {
      throw Violation("a commit before the first listener ends with \(error)")
    }
  }

  private func run(_ number: Int, nanoseconds: UInt64) {
    let own = Array(stride(from: number, to: collections, by: Self.threads))
    guard !own.isEmpty else { return }
    var counts = own.map { board.committed[$0] }
    var turn = 0
    var due = ListenerBoard.now + nanoseconds * UInt64(number) / UInt64(Self.threads)
    while !state.withLock({ $0.isStopped }), board.violation == nil {
      let now = ListenerBoard.now
      if now < due { Thread.sleep(forTimeInterval: Double(due - now) / 1e9) }
      // A writer that is late does not catch up with a burst.
      due = max(due + nanoseconds, ListenerBoard.now - min(nanoseconds, ListenerBoard.now))
      let place = turn % own.count
      (turn, counts[place]) = (turn + 1, counts[place] + 1)
      do {
        let mutation = Self.mutation(own[place], counts[place], at: Int64(ListenerBoard.now))
        try Self.commit([mutation], client)
        board.noteCommit(own[place], counts[place])
      } catch {
        return board.fail("the commit \(counts[place]) of changes-\(own[place]) ends with \(error)")
      }
    }
  }

  private static func mutation(_ collection: Int, _ number: Int, at time: Int64) -> Mutation {
    let id = "\(number % ListenerOptions.documents)"
    return .set(
      FirestoreClient.path(ListenerOptions.collection(collection), id),
      StoredMap([("n", .integer(Int64(number))), ("at", .integer(time)), ("text", .string(text))]))
  }

  private static func commit(_ mutations: [Mutation], _ client: FirestoreClient) throws(GRPCEnd) {
    var request = Wire.CommitRequest()
    request.database = client.database.text
    request.writes = try client.writes(mutations)
    let reply = client.connection.call(
      "/google.firestore.v1.Firestore/Commit", try FirestoreClient.bytes(request))
    guard reply.end.isOK else { throw reply.end }
  }
}
#endif
