// A phone: it keeps the conversation in a directory, and reads and writes it with and without a server.
//
// Commands are lines of standard input:
//
//   say NUMBER TEXT   writes a message; answered with "written NUMBER" when it is on stable storage
//   show              answered with a line about what is on the screen and in the outbox
//   show cached       the same, once the phone knows that it is offline
//   offline, online   airplane mode; answered with the word
//   list COUNT        waits until the server has confirmed this number of messages; answered with one
//                     message a line, the numbers that the server has counted, and "end"
//   quit

import FirebaseFirestore
import Foundation

struct Phone: Sendable {
  private static let secondsMax = 300

  private let name: String
  private let firestore: Firestore
  private let messages: CollectionReference
  /// Counts the messages of each phone by increments. A write that took effect twice would show here.
  private let counts: DocumentReference

  static func run(_ name: String, in directory: String, port: Int) async throws {
    let phone = Phone(name, in: directory, port: port)
    // While there is a listener, the cache has the whole conversation.
    let following = phone.query.addSnapshotListener { @Sendable _, _ in }
    Lines.write("ready")
    for await line in Lines.read() {
      guard try await phone.obey(line) else { break }
    }
    following.remove()
    try await phone.firestore.terminate()
  }

  private init(_ name: String, in directory: String, port: Int) {
    self.name = name
    let options = FirebaseOptions(directory: URL(fileURLWithPath: directory))
    options.projectID = "two-phones"
    FirebaseApp.configure(options: options)
    firestore = Firestore.firestore()
    let settings = firestore.settings
    // A write returns when it is in the outbox, before the server has acknowledged it.
    settings.acknowledgement = .local
    firestore.settings = settings
    firestore.useEmulator(withHost: "127.0.0.1", port: port)
    messages = firestore.collection("conversations/kitchen/messages")
    counts = firestore.document("conversations/kitchen")
  }

  /// Returns false if the phone is to end.
  private func obey(_ line: String) async throws -> Bool {
    let words = line.split(separator: " ", maxSplits: 2).map(String.init)
    switch (words.first, words.count) {
    case ("say", 3):
      try await say(words[2], id: "\(name)-\(words[1])")
      Lines.write("written \(words[1])")
    case ("show", 1): try await show()
    case ("show", 2): try await show(isCached: true)
    case ("offline", 1):
      try await firestore.disableNetwork()
      Lines.write(line)
    case ("online", 1):
      try await firestore.enableNetwork()
      Lines.write(line)
    case ("list", 2): try await list(count: Int(words[1]) ?? 0)
    default: return false
    }
    return true
  }

  /// Writes a message unless it is there already. A phone that was killed during a write may have it in its
  /// outbox, or not.
  private func say(_ text: String, id: String) async throws {
    let message = messages.document(id)
    if (try? message.read().exists) == true { return }
    let batch = firestore.batch()
    batch.setData(["from": name, "text": text, "sent": FieldValue.serverTimestamp()], forDocument: message)
    batch.setData(["count": [name: FieldValue.increment(Int64(1))]], forDocument: counts, merge: true)
    try await batch.commit()
  }

  private func show(isCached: Bool = false) async throws {
    let waiting = try await firestore.pendingWrites().count
    for try await screen in query.snapshots(includeMetadataChanges: true)
    where screen.metadata.isFromCache || !isCached {
      let last = screen.documents.last.map(Self.line) ?? "nothing"
      let source = screen.metadata.isFromCache ? "from the cache" : "from the server"
      // Documents keep the mark after their writes have left the outbox, until they arrive from the server.
      let mark = screen.metadata.hasPendingWrites ? ", some of them pending" : ""
      let count = screen.count == 1 ? "1 message" : "\(screen.count) messages"
      Lines.write("\(count) \(source)\(mark), \(Self.outbox(waiting)); the last one is \(last)")
      return
    }
  }

  private static func outbox(_ count: Int) -> String {
    switch count {
    case 0: "no write waits"
    case 1: "1 write waits"
    default: "\(count) writes wait"
    }
  }

  private var query: Query { messages.order(by: "sent") }

  private static func line(_ message: QueryDocumentSnapshot) -> String {
    "\(message["from"] ?? "?"): \(message["text"] ?? "?")"
  }

  // MARK: The whole conversation

  private func list(count: Int) async throws {
    for line in try await latest({ try await conversation(count: count) }) { Lines.write(line) }
    for line in try await latest({ try await confirmedCounts() }) { Lines.write(line) }
    Lines.write("end")
  }

  /// Runs `body`, and cancels it when it has taken too long.
  private func latest(_ body: @escaping @Sendable () async throws -> [String]) async throws -> [String] {
    let waiting = Task { try await body() }
    let limit = Task {
      try await Task.sleep(for: .seconds(Self.secondsMax))
      waiting.cancel()
    }
    defer { limit.cancel() }
    return try await waiting.value
  }

  /// The messages that the server has confirmed. When the task is cancelled, those that are shown by then.
  private func conversation(count: Int) async throws -> [String] {
    var lines: [String] = []
    for try await screen in query.snapshots(includeMetadataChanges: true) {
      lines = screen.documents.map { "message \(Self.line($0))" }
      if screen.isConfirmed, screen.count == count { break }
    }
    return lines
  }

  private func confirmedCounts() async throws -> [String] {
    for try await counts in counts.snapshots(includeMetadataChanges: true)
    where !counts.metadata.isFromCache && !counts.metadata.hasPendingWrites {
      let numbers = counts["count"] as? [String: Int] ?? [:]
      return numbers.map { "count \($0.key) \($0.value)" }.sorted()
    }
    return []
  }
}

extension QuerySnapshot {
  fileprivate var isConfirmed: Bool { !metadata.isFromCache && !metadata.hasPendingWrites }
}
