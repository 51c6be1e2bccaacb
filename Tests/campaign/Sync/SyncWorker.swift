// A client of a server, as a process that is killed and started again.
//
//   1. It writes words until a file asks it to finish. Each word increments a counter and joins a list, in
//      one batch. The journal has a line before each write, and another one when the write is in the outbox,
//      from which it must not be lost.
//   2. It waits until its outbox is empty, and says so by a file.
//   3. Until another file asks it to end, it notes each confirmed state that its listener shows. In all of
//      them, the counter is the number of words, because the server never had another state.

#if Server
import ByteStore
import FirebaseFirestore
import FirestoreRemote
import Foundation
import Harness
import ServerHarness

enum SyncWorker {
  static let word = "sync-worker"

  /// The files of one client.
  struct Place {
    let folder: URL

    var database: URL { folder.appendingPathComponent("database") }
    var journal: URL { folder.appendingPathComponent("journal.txt") }
    /// Exists when the client has to stop writing.
    var finish: URL { folder.appendingPathComponent("finish") }
    /// Exists when the outbox of a client that finishes is empty.
    var drained: URL { folder.appendingPathComponent("drained") }
    /// The last state that the client has shown after that.
    var shown: URL { folder.appendingPathComponent("shown.json") }
    /// Exists when the client has to end.
    var end: URL { folder.appendingPathComponent("end") }
  }

  static let totals = "totals/words"

  /// The counter and the list.
  struct State: Codable, Equatable {
    var count: Int
    var words: [String]
  }

  static let issued = "issued"
  static let queued = "queued"

  static func start(_ place: Place, port: Int, name: String, seed: UInt64) throws -> Process {
    try FileManager.default.createDirectory(at: place.folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [word, place.folder.path, "\(port)", name, "\(seed)"]
    try process.runWithoutBlockedSignals()
    return process
  }

  static func main(_ words: [String]) async -> Never {
    guard words.count == 4, let port = Int(words[1]), let seed = UInt64(words[3]) else { exit(2) }
    do {
      let place = Place(folder: URL(fileURLWithPath: words[0]))
      var worker = try SyncWriter(place, port: port, name: words[2], seed: seed)
      try await worker.run()
      exit(0)
    } catch {
      complain("\(word): \(error)")
      exit(1)
    }
  }
}

private struct SyncWriter {
  private let place: SyncWorker.Place
  private let name: String
  private let firestore: Firestore
  private let journal: FileHandle
  /// The last confirmed state of the listener, or one before it that no server had.
  private let shown = Locked<SyncWorker.State?>(nil)
  private var random: SeededRandom
  private var number: Int

  init(_ place: SyncWorker.Place, port: Int, name: String, seed: UInt64) throws {
    self.place = place
    self.name = name
    random = SeededRandom(seed: seed)
    number = Int(seed % 1_000_000) * 10_000
    var options = FirestoreRemoteOptions(project: LiveServer.project)
    options.host = "127.0.0.1:\(port)"
    options.isSSLEnabled = false
    options.credentials = { request in request.user.map { .unsigned(for: $0) } }
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "sync-worker")
    settings.acknowledgement = .local
    settings.remote = FirestoreRemote(options)
    firestore = try Firestore.open(at: place.database, settings: settings)
    if !FileManager.default.fileExists(atPath: place.journal.path) {
      _ = FileManager.default.createFile(atPath: place.journal.path, contents: nil)
    }
    journal = try FileHandle(forWritingTo: place.journal)
    try journal.seekToEnd()
  }

  mutating func run() async throws {
    let totals = firestore.document(SyncWorker.totals)
    let listener = totals.addSnapshotListener(includeMetadataChanges: true) { [shown] snapshot, _ in
      guard let snapshot, !snapshot.metadata.isFromCache, !snapshot.metadata.hasPendingWrites else { return }
      shown.withLock { if $0?.isPossible ?? true { $0 = SyncWorker.State(snapshot) } }
    }
    defer { listener.remove() }
    while try !exists(place.finish) {
      try await write()
      if random.oneIn(12) { try await beOffline() }
      try await Task.sleep(for: .milliseconds(random.below(60)))
    }
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    _ = FileManager.default.createFile(atPath: place.drained.path, contents: nil)
    try await show()
    try await firestore.terminate()
  }

  private func exists(_ file: URL) throws -> Bool {
    if let state = shown.withLock({ $0 }), !state.isPossible {
      throw Violation("the counter is \(state.count), and the list has \(state.words.count) words")
    }
    return FileManager.default.fileExists(atPath: file.path)
  }

  /// Notes what the listener shows, until the end.
  private func show() async throws {
    var noted: SyncWorker.State?
    while try !exists(place.end) {
      if let state = shown.withLock({ $0 }), state != noted {
        try JSONEncoder().encode(state).write(to: place.shown, options: .atomic)
        noted = state
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private mutating func write() async throws {
    number += 1
    let word = "\(name)-\(number)"
    try note(SyncWorker.issued, word)
    try await firestore.document(SyncWorker.totals).setData(
      ["count": FieldValue.increment(Int64(1)), "words": FieldValue.arrayUnion([word])], merge: true)
    try note(SyncWorker.queued, word)
  }

  private mutating func beOffline() async throws {
    try await firestore.disableNetwork()
    for _ in 0..<random.below(8) { try await write() }
    try await firestore.enableNetwork()
  }

  /// Writes a line with one call, so that it survives the end of the process.
  private func note(_ event: String, _ word: String) throws {
    try journal.write(contentsOf: Data("\(event) \(word)\n".utf8))
  }
}

extension SyncWorker.State {
  fileprivate var isPossible: Bool { count == words.count }

  fileprivate init(_ snapshot: DocumentSnapshot) {
    count = (snapshot.get("count") as? NSNumber)?.intValue ?? 0
    words = snapshot.get("words") as? [String] ?? []
  }
}
#endif
