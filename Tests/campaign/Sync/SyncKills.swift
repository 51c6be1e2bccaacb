// Histories of a server and its clients as processes, all of which are killed by turns.
//
//   1. A server and its clients start. The clients write words, and go offline now and then.
//   2. Again and again, one of the processes is killed, or the server is asked to end. It starts again.
//   3. All processes run. The clients are asked to come to their end, and show what the server has.
//   4. Each word that was in an outbox is in the list, once. No other word is there but those that were
//      issued. The counter is the number of words.

#if Server
import Foundation
import Harness
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
  static func run(_ program: URL, in folder: URL, seed: UInt64) throws -> (counts: Counts, failure: String?) {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var kills = SyncKills(program, in: folder, seed: seed)
    defer { kills.end() }
    do {
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
    try finish()
    try check()
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

  private func finish() throws {
    for client in clients {
      _ = FileManager.default.createFile(atPath: client.place.request.path, contents: nil)
    }
    let end = Date().addingTimeInterval(Self.endSeconds)
    for client in clients {
      while client.process.isRunning {
        guard Date() < end else {
          throw Violation("\(client.name) does not come to its end in \(Int(Self.endSeconds)) s")
        }
        Thread.sleep(forTimeInterval: 0.01)
      }
      guard client.process.terminationStatus == 0 else { throw ended(client) }
    }
  }

  // MARK: What must be

  private mutating func check() throws {
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
    // The client that ends last shows the writes of all.
    let results = try clients.map { client in
      try JSONDecoder().decode(SyncWorker.Result.self, from: Data(contentsOf: client.place.result))
    }
    guard let last = results.max(by: { $0.words.count < $1.words.count }) else { return }
    let listed = Set(last.words)
    counts.words += queued.count
    counts.unknownWords += listed.subtracting(queued).count
    if listed.count != last.words.count { throw Violation("a word is in the list twice") }
    if !queued.isSubset(of: listed) {
      throw Violation("lost words: \(queued.subtracting(listed).sorted().prefix(5))")
    }
    if !listed.isSubset(of: issued) {
      throw Violation("words that were never issued: \(listed.subtracting(issued).sorted().prefix(5))")
    }
    if last.count != listed.count {
      throw Violation("the counter is \(last.count), and the list has \(listed.count) words")
    }
    for result in results where !Set(result.words).isSubset(of: listed) {
      throw Violation("a client shows a word that another one does not")
    }
  }
}
#endif
