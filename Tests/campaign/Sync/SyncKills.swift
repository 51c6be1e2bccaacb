// Histories of a server and its clients as processes, all of which are killed by turns.
//
//   1. A server and its clients start. The clients write words, and go offline now and then.
//   2. Again and again, one of the processes is killed, or the server is asked to end. It starts again.
//   3. All processes run. The clients send what is in their outboxes.
//   4. The server has each word that was in an outbox, once. It has no other word but those that were issued.
//      The counter is the number of words.
//   5. The listeners of all clients come to show what the server has.

#if Server
import ByteStore
import DocumentStore
import FirestoreRemote
import Foundation
import Harness
import OfflineSync
import ServerHarness

struct SyncKills {
  struct Counts {
    var clientKills = 0
    var serverKills = 0
    var serverEnds = 0
    var words = 0
    var unknownWords = 0

    mutating func add(_ other: Counts) {
      clientKills += other.clientKills
      serverKills += other.serverKills
      serverEnds += other.serverEnds
      words += other.words
      unknownWords += other.unknownWords
    }

    var details: [(name: String, value: Int)] {
      [
        ("processes.clientKills", clientKills), ("processes.serverKills", serverKills),
        ("processes.serverEnds", serverEnds), ("processes.words", words),
        ("processes.wordsAtAKill", unknownWords),
      ]
    }
  }

  private static let startSeconds = 30.0
  /// A client that has met no server several times waits for up to 90 seconds before it tries again.
  private static let endSeconds = 240.0

  private let server: ServedProgram
  private let folder: URL
  private var random: SeededRandom
  private var clients: [Client] = []
  private var port = 0
  private(set) var counts = Counts()

  private struct Client {
    let name: String
    let place: SyncWorker.Place
    var process: Process
  }

  /// Runs one history in a folder of its own.
  static func run(_ program: URL, in folder: URL, seed: UInt64) -> (counts: Counts, failure: String?) {
    defer { try? FileManager.default.removeItem(at: folder) }
    var kills = SyncKills(program, in: folder, seed: seed)
    defer { kills.end() }
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try kills.run()
      return (kills.counts, nil)
    } catch {
      return (kills.counts, "\(error)")
    }
  }

  private init(_ program: URL, in folder: URL, seed: UInt64) {
    self.folder = folder
    random = SeededRandom(seed: seed)
    server = ServedProgram(program: program, folder: folder.appendingPathComponent("server"))
  }

  private func end() {
    for client in clients where client.process.isRunning {
      kill(client.process.processIdentifier, SIGKILL)
      client.process.waitUntilExit()
    }
    server.kill()
  }

  private mutating func run() throws {
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("server"), withIntermediateDirectories: true)
    try server.start()
    port = try server.waitUntilReady(seconds: Self.startSeconds).port
    for number in 0..<2 + random.below(2) {
      let place = SyncWorker.Place(folder: folder.appendingPathComponent("client-\(number)"))
      let name = "client\(number)"
      clients.append(Client(name: name, place: place, process: try start(place, name)))
    }
    for _ in 0..<6 + random.below(8) {
      Thread.sleep(forTimeInterval: 0.05 + Double(random.below(300)) / 1000)
      try act()
    }
    try check(finish())
  }

  private mutating func start(_ place: SyncWorker.Place, _ name: String) throws -> Process {
    try SyncWorker.start(place, port: port, name: name, seed: random.next() >> 1)
  }

  private mutating func act() throws {
    switch random.below(5) {
    case 0:
      counts.serverKills += 1
      guard server.kill() else { throw Violation("the server has ended by itself: \(server.printed)") }
      try startServer()
    case 1:
      counts.serverEnds += 1
      try server.terminate(seconds: Self.startSeconds)
      try startServer()
    default:
      counts.clientKills += 1
      let place = random.below(clients.count)
      let process = clients[place].process
      guard process.isRunning else { throw ended(clients[place]) }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      clients[place].process = try start(clients[place].place, clients[place].name)
    }
  }

  private mutating func startServer() throws {
    // The clients meet a port at which nothing listens.
    Thread.sleep(forTimeInterval: Double(random.below(100)) / 1000)
    try server.start()
    _ = try server.waitUntilReady(seconds: Self.startSeconds)
  }

  private func ended(_ client: Client) -> Violation {
    Violation("\(client.name) has ended with \(client.process.terminationStatus) by itself")
  }

  /// Waits until a condition holds for each client.
  private func wait(
    _ purpose: String, until isDone: (Client) throws -> Bool, failed: (Client) -> String = { _ in "" }
  ) throws {
    let end = Date().addingTimeInterval(Self.endSeconds)
    for client in clients {
      while try !isDone(client) {
        guard client.process.isRunning else { throw ended(client) }
        guard Date() < end else {
          throw Violation("\(client.name) does not \(purpose) in \(Int(Self.endSeconds)) s\(failed(client))")
        }
        Thread.sleep(forTimeInterval: 0.01)
      }
    }
  }

  /// Has the clients send what they have. Returns the state of the server.
  private func finish() throws -> SyncWorker.State {
    for client in clients {
      _ = FileManager.default.createFile(atPath: client.place.finish.path, contents: nil)
    }
    try wait("send its outbox", until: { FileManager.default.fileExists(atPath: $0.place.drained.path) })
    let state = try served()
    try wait(
      "show the state of the server", until: { shown(by: $0) == state },
      failed: { client in
        guard let shown = shown(by: client) else { return ": it shows nothing" }
        return ": it shows \(shown.count) and \(shown.words.count) words"
          + " instead of \(state.count) and \(state.words.count)"
      })
    for client in clients {
      _ = FileManager.default.createFile(atPath: client.place.end.path, contents: nil)
    }
    let end = Date().addingTimeInterval(Self.endSeconds)
    for client in clients {
      while client.process.isRunning {
        guard Date() < end else { throw Violation("\(client.name) does not end") }
        Thread.sleep(forTimeInterval: 0.01)
      }
      guard client.process.terminationStatus == 0 else { throw ended(client) }
    }
    return state
  }

  private func shown(by client: Client) -> SyncWorker.State? {
    guard let data = try? Data(contentsOf: client.place.shown) else { return nil }
    return try? JSONDecoder().decode(SyncWorker.State.self, from: data)
  }

  /// The state of the server, read without a cache.
  private func served() throws -> SyncWorker.State {
    var options = FirestoreRemoteOptions(project: LiveServer.project)
    options.host = "127.0.0.1:\(port)"
    options.isSSLEnabled = false
    let remote = FirestoreRemote(options)
    let answer = Locked<Result<[RemoteDocument], RemoteError>?>(nil)
    let path = DocumentPath(unchecked: SyncWorker.totals.split(separator: "/").map(String.init))
    remote.documents(at: [path], as: nil) { result in
      answer.withLock { $0 = result }
      answer.wakeAll()
    }
    let fields = try answer.withLock(when: { $0 != nil }) { $0 }?.get().first?.fields
    var state = SyncWorker.State(count: 0, words: [])
    if case .integer(let count) = fields?["count"] { state.count = Int(count) }
    if case .array(let words) = fields?["words"] {
      state.words = words.compactMap { if case .string(let word) = $0 { word } else { nil } }
    }
    return state
  }

  // MARK: What must be

  private mutating func check(_ state: SyncWorker.State) throws {
    var issued: Set<String> = []
    var queued: Set<String> = []
    for client in clients {
      let text = String(decoding: try Data(contentsOf: client.place.journal), as: UTF8.self)
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 2 else { continue }
        if words[0] == SyncWorker.issued { issued.insert(words[1]) } else { queued.insert(words[1]) }
      }
    }
    let listed = Set(state.words)
    counts.words += queued.count
    counts.unknownWords += listed.subtracting(queued).count
    if listed.count != state.words.count { throw Violation("a word is in the list twice") }
    if !queued.isSubset(of: listed) {
      throw Violation("lost words: \(queued.subtracting(listed).sorted().prefix(5))")
    }
    if !listed.isSubset(of: issued) {
      throw Violation("words that were never issued: \(listed.subtracting(issued).sorted().prefix(5))")
    }
    if state.count != listed.count {
      throw Violation("the counter is \(state.count), and the list has \(listed.count) words")
    }
  }
}
#endif
