// A client of a server, as a process that is killed and started again.
//
// The process writes words until a file asks it to come to an end. Each word increments a counter and joins a
// list, in one batch. The journal has a line before each write, and another one when the write is in the
// outbox, from which it must not be lost.

#if Server
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
    /// Exists when the client has to come to its end.
    var request: URL { folder.appendingPathComponent("finish") }
    /// The words that the client shows at its end.
    var result: URL { folder.appendingPathComponent("words.json") }
  }

  struct Result: Codable, Equatable {
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
  private static let totals = "totals/words"

  private let place: SyncWorker.Place
  private let name: String
  private let firestore: Firestore
  private let journal: FileHandle
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
    let listener = firestore.document(Self.totals).addSnapshotListener { _, _ in }
    defer { listener.remove() }
    while !FileManager.default.fileExists(atPath: place.request.path) {
      try await write()
      if random.oneIn(12) { try await beOffline() }
      try await Task.sleep(for: .milliseconds(random.below(60)))
    }
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    try await finish()
  }

  private mutating func write() async throws {
    number += 1
    let word = "\(name)-\(number)"
    try note(SyncWorker.issued, word)
    try await firestore.document(Self.totals).setData(
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

  private func finish() async throws {
    let snapshot = try await firestore.document(Self.totals).getDocument(source: .server)
    let words = snapshot.get("words") as? [String] ?? []
    let count = (snapshot.get("count") as? NSNumber)?.intValue ?? 0
    let data = try JSONEncoder().encode(SyncWorker.Result(count: count, words: words))
    try data.write(to: place.result, options: .atomic)
    try await firestore.terminate()
  }
}
#endif
