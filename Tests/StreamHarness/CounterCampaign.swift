// Compares counters with the numbers of stored records.
//
// Clients of one authority create and destroy records under a few shared keys, go offline and online, and can
// be killed at any time. Their apps also write directly to fields that no counter uses. At the end, the
// campaign counts the records.
//
// The folder contains the authority's store in `authority`, and the clients' caches with their outboxes.

import Authority
import DocumentStore
import FirebaseFirestore
package import Foundation
import Harness
import OfflineSync
import StreamBaseKit

package enum CounterCampaign {
  private static let boards = ["one", "two"]
  private static let keysPerBoard = 12
  private static let clientCount = 2

  package struct Outcome: Sendable {
    package var records = 0
    /// The number of records that match the predicate of the second counter.
    package var high = 0
    /// The number of pending batches that the remote refused.
    package var refused = 0
    package var problem: String?
  }

  // MARK: Records

  private final class Board: BaseItem {}

  /// A record whose updates change whether it matches the predicate.
  private final class Note: BaseItem {
    var text = 0
    var rank = 0

    override func update(_ dict: [String: Any]?) {
      text = dict?["text"] as? Int ?? 0
      rank = dict?["rank"] as? Int ?? 0
    }

    override var dict: [String: Any] { ["text": text, "rank": rank] }

    static func isHigh(_ rank: Int) -> Bool { rank >= 10 }
  }

  private final class Base: ResourceBase {
    var inProgress = 0 {
      didSet { if inProgress < oldValue { ended.add() } }
    }
    /// Receives an event when an operation ends.
    let ended = EventCount()

    override func didCreateAndPersistInstance(
      _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
    ) { end(error) }

    override func didUpdateAndPersistInstance(
      _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
    ) { end(error) }

    override func didDestroyAndPersistInstance(
      _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
    ) { end(error) }

    private func end(_ error: NSError?) { if !Self.isUnread(error) { inProgress -= 1 } }

    /// Returns whether the error means that an offline read had no result. The error handler receives this
    /// error even if no hook does.
    static func isUnread(_ error: NSError?) -> Bool {
      error?.code == FirestoreErrorCode.Code.unavailable.rawValue
    }
  }

  /// Used only on its queue.
  private final class Client: @unchecked Sendable {
    let app: FirebaseApp
    let firestore: Firestore
    let queue = DispatchQueue(label: "dugout.campaign.counters")
    let base: Base
    let contexts: [ResourceContext]
    var isOnline = true
    /// The number of writes that the remote refused.
    var refused = 0

    init(_ folder: URL, _ number: Int, _ remote: (any Remote)?) {
      let name = "counters-\(number)"
      FirebaseApp.configure(
        name: name, options: FirebaseOptions(directory: folder.appendingPathComponent(name)))
      guard let app = FirebaseApp.app(name: name) else { preconditionFailure("the app was just made") }
      self.app = app
      firestore = Firestore.firestore(app: app)
      let settings = FirestoreSettings()
      settings.dispatchQueue = queue
      settings.remote = remote
      // The first client's completions run as soon as a write is pending. The completions of the other
      // clients run after the remote has answered, and the other clients retry refused writes.
      settings.acknowledgement = number == 0 ? .local : .server
      firestore.settings = settings
      base = Base(firebase: firestore)
      base.resource(Board.self, path: "/boards/@")
      base.resource(Note.self, path: "/notes/$board/@")
      base.counter(Board.self, name: "count", countingType: Note.self)
      base.counter(Board.self, name: "high", countingType: Note.self) {
        ($0 as? Note).map { Note.isHigh($0.rank) } ?? false
      }
      base.errorHandler = { [unowned base] error in if Base.isUnread(error) { base.inProgress -= 1 } }
      let root = ResourceContext(base: base, resources: nil)
      contexts = CounterCampaign.boards.map { root.push(["board": Board(key: $0)]) }
      firestore.addWriteQueueListener { [unowned self] progress, _ in
        refused = progress?.rejectedCount ?? refused
      }
    }

    func setOnline(_ isOnline: Bool) async throws {
      self.isOnline = isOnline
      if isOnline { try await firestore.enableNetwork() } else { try await firestore.disableNetwork() }
    }

    /// Waits until at most this many operations are pending. Goes online first, because operations that wait
    /// for an answer never end offline.
    func drain(to pendingMax: Int) async throws {
      while queue.sync(execute: { base.inProgress > pendingMax }) {
        if !isOnline { try await setOnline(true) }
        guard await base.ended.next() else { throw CancellationError() }
      }
    }

    /// Writes directly, bypassing the base, as an app may do. The only precondition of the write is that the
    /// note exists.
    func mark(_ board: Int, _ key: Int, _ number: Int) {
      firestore.document("notes/\(CounterCampaign.boards[board])/items/\(key)")
        .updateData(["mark": number]) { _ in }
    }

    func close() async { await withCheckedContinuation { done in app.delete { _ in done.resume() } } }
  }

  // MARK: The life of a process

  /// Opens the folder and performs `operations` operations. If `operations` is nil, runs until the process is
  /// killed. Without a remote there is one client and no authority. Calls `began` when everything is open.
  /// Returns the number of refused batches.
  @discardableResult
  package static func live(
    in folder: URL, hasRemote: Bool, operations: Int?, seed: UInt64, _ began: () -> Void = {}
  ) async throws -> Int {
    var random = SeededRandom(seed: seed)
    let (authority, remote) = try open(folder, hasRemote)
    let clients = (0..<(hasRemote ? clientCount : 1)).map { Client(folder, $0, remote) }
    began()
    var done = 0
    while done < operations ?? .max {
      let client = clients[random.below(clients.count)]
      if hasRemote, random.oneIn(25) {
        try await client.setOnline(!client.isOnline)
      }
      let (board, key, kind) = (random.below(boards.count), random.below(keysPerBoard), random.below(7))
      let rank = random.below(20)
      client.queue.sync {
        if kind == 6 { return client.mark(board, key, done) }
        client.base.inProgress += 1
        let note = Note(key: "\(key)")
        (note.text, note.rank) = (done, rank)
        switch kind {
        case 0, 1: client.contexts[board].create(note)
        case 2, 3: client.contexts[board].update(note)
        default: client.contexts[board].destroy(note)
        }
      }
      try await client.drain(to: 8)
      done += 1
    }
    var refused = 0
    for client in clients {
      try await client.drain(to: 0)
      refused += client.queue.sync { client.refused }
      await client.close()
    }
    try authority?.close()
    return refused
  }

  private static func open(_ folder: URL, _ hasRemote: Bool) throws -> (DocumentStore?, LoopbackRemote?) {
    guard hasRemote else { return (nil, nil) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let authority = try DocumentStore.open(folder.appendingPathComponent("authority").path)
    return (authority, try LoopbackRemote(authority: authority))
  }

  // MARK: Final count

  /// Sends the outboxes, counts the records, and compares the counts with the counters.
  package static func recount(in folder: URL, hasRemote: Bool) async throws -> Outcome {
    let (authority, remote) = try open(folder, hasRemote)
    let clients = (0..<(hasRemote ? clientCount : 1)).map { Client(folder, $0, remote) }
    for client in clients where hasRemote {
      try await client.firestore.enableNetwork()
      try await client.firestore.waitForPendingWrites()
    }
    var outcome = Outcome()
    for board in boards {
      let source = hasRemote ? FirestoreSource.server : .default
      let firestore = clients[0].firestore
      let notes = try await firestore.collection("notes/\(board)/items").getDocuments(source: source)
        .documents
      let counted = try await firestore.document("boards/\(board)").getDocument(source: source)
      let high = notes.count { Note.isHigh($0.get("rank") as? Int ?? 0) }
      let expected = [notes.count, high]
      let found = ["count", "high"].map { counted.get($0) as? Int ?? 0 }
      outcome.records += notes.count
      outcome.high += high
      if found != expected, outcome.problem == nil {
        outcome.problem = "board \(board) says \(found), and a recount \(expected)"
      }
    }
    for client in clients {
      outcome.refused += client.queue.sync { client.refused }
      await client.close()
    }
    try authority?.close()
    return outcome
  }
}
