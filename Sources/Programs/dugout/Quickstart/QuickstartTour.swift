// The steps of the tour: each performs an operation and prints what it did.

import Authority
import Ballcap
import ByteStore
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import StoreTools

struct QuickstartTour {
  private let users: FirebaseFirestore.CollectionReference

  static func run(keepsStore: Bool) async throws {
    let folder = Foundation.FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-quickstart-\(UUID().uuidString)")
    defer { if !keepsStore { try? Foundation.FileManager.default.removeItem(at: folder) } }
    try killWriter(in: folder)
    QuickstartApp.configure(folder)
    let tour = QuickstartTour(users: Firestore.firestore().collection("users"))
    try await tour.recover()
    try await tour.query()
    try await tour.listen()
    try await tour.addUp()
    try await tour.goOffline()
    let directory = Firestore.firestore().storeDirectory
    _ = await FirebaseApp.app()?.delete()
    try tour.check(directory)
    guard keepsStore else { return }
    printLine("Look again: \(program) get \(ShellWord.quoted(directory)) users/ada")
    printLine("Or stay:    \(program) shell \(ShellWord.quoted(directory))")
  }

  /// The command that calls this program from any folder. It is the plain name only if the user called the
  /// program by its plain name.
  private static var program: String {
    let called = CommandLine.arguments[0]
    return called.contains("/") ? ShellWord.quoted(Bundle.main.executablePath ?? called) : called
  }

  // MARK: The steps

  private static func killWriter(in folder: URL) throws {
    headline("1. Another process opens a new store, saves a document, and kills itself (SIGKILL)")
    headline("   right after the write was acknowledged.")
    let process = Process()
    process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = [QuickstartCommand.name, QuickstartCommand.writerWord, folder.path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let printed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
      throw CommandFailure(
        code: .checkFailed, message: "the writer ended with status \(process.terminationStatus).")
    }
    printLine("It said: \(printed.trimmingCharacters(in: .whitespacesAndNewlines))")
  }

  private func recover() async throws {
    Self.headline(
      "2. This process opens the store and reads the document, as a Codable struct and as fields.")
    let clock = ContinuousClock()
    var found: Document<QuickstartUser>?
    let time = try await clock.measure { found = try await Document<QuickstartUser>.get(id: "ada") }
    guard let user = found?.data else {
      throw CommandFailure(code: .checkFailed, message: "the acknowledged document is not there.")
    }
    let milliseconds = String(format: "%.1f", time / .milliseconds(1))
    Self.printLine("users/ada: \(user.name), \(user.age), \(user.tags), read in \(milliseconds) ms")
    let snapshot = try await users.document("ada").getDocument(source: .cache)
    for (field, value) in (snapshot.data() ?? [:]).sorted(by: { $0.key < $1.key }) {
      Self.printLine("\(field) = \((value as? Timestamp)?.dateValue() ?? value)")
    }
  }

  private func query() async throws {
    Self.headline(
      "3. A batch writes four more; a query selects some of them. Its index is built on demand.")
    let batch = Firestore.firestore().batch()
    for (name, age, tag) in [
      ("Blaise", 39, "mathematics"), ("Grace", 85, "compilers"), ("Hedy", 85, "radio"),
      ("Kurt", 71, "mathematics"),
    ] {
      batch.setData(
        ["name": name, "age": age, "tags": [tag]], forDocument: users.document(name.lowercased()))
    }
    try await batch.commit()
    let query = users.whereField("tags", arrayContains: "mathematics").order(by: "age", descending: true)
    for document in try await query.getDocuments().documents {
      Self.printLine("\(document.reference.path): \(document["name"] ?? ""), \(document["age"] ?? "")")
    }
    let count = try await users.count.getAggregation(source: .server).count
    Self.printLine("\(count) users in all")
  }

  private func listen() async throws {
    Self.headline("4. A listener gets the current documents, and then every change, as it is committed.")
    var isFirst = true
    // The loop ends with the second snapshot, and the end of the loop removes the listener.
    for try await snapshot in users.whereField("age", isGreaterThan: 80).snapshots {
      for change in snapshot.documentChanges {
        Self.printLine(
          "\(Self.word(change.type)) \(change.document.documentID): \(change.document["age"] ?? "")")
      }
      guard isFirst else { break }
      isFirst = false
      Self.printLine("(now another write: Ada is 86)")
      try await users.document("ada").updateData(["age": 86])
    }
  }

  private func addUp() async throws {
    Self.headline("5. A hundred tasks at once add one to the same field, and nothing is lost.")
    let counter = Firestore.firestore().document("counters/visits")
    try await counter.setData(["count": 0])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask { try await counter.updateData(["count": FieldValue.increment(Int64(1))]) }
      }
      try await group.waitForAll()
    }
    let count = try await counter.getDocument()["count"] as? Int
    guard count == 100 else {
      throw CommandFailure(code: .checkFailed, message: "the counter is \(count.map { "\($0)" } ?? "gone").")
    }
    Self.printLine("counters/visits: 100")
  }

  /// The remote is another database in this process, without a network.
  private func goOffline() async throws {
    Self.headline("6. A client of a server goes offline, keeps writing, and comes back.")
    let server = try DocumentStore.openInMemory()
    let settings = FirestoreSettings()
    settings.remote = try LoopbackRemote(authority: server)
    settings.dispatchQueue = DispatchQueue(label: "dugout.quickstart.client")
    settings.acknowledgement = .local
    let client = Firestore.memory()
    client.settings = settings
    try await client.disableNetwork()
    let note = client.document("notes/1")
    try await note.setData(["text": "written on a train"])
    let here = try await note.getDocument(source: .cache)
    let path = try DocumentPath(["notes", "1"])
    let waiting = try await client.pendingWrites().count
    let isThere = try server.document(at: path) != nil
    Self.printLine(
      "offline: the client reads \"\(here["text"] ?? "")\", pending: \(here.metadata.hasPendingWrites),")
    Self.printLine(
      "         \(waiting) write waits in the queue, and the server has \(isThere ? "it" : "nothing")")
    try await client.enableNetwork()
    try await client.waitForPendingWrites()
    guard let arrived = try server.document(at: path), case .string(let text)? = arrived.fields["text"] else {
      throw CommandFailure(code: .checkFailed, message: "the write did not reach the server.")
    }
    Self.printLine("online:  the server has \"\(text)\", and no write is pending")
    try await client.terminate()
    try server.close()
  }

  private func check(_ directory: String) throws {
    Self.headline("7. Every byte of the store is verified.")
    let report = try StoreAccess.check(directory) { _ in }
    guard report.isSound else {
      throw CommandFailure(code: .checkFailed, message: "\(report.findings[0].line)")
    }
    Self.printLine(
      "\(Wording.count(report.files, "file")), \(Wording.bytes(report.bytesVerified)), no damage")
    Self.headline("Everything that was acknowledged is there.")
  }

  // MARK: Words

  private static func word(_ change: DocumentChangeType) -> String {
    switch change {
    case .added: "added   "
    case .modified: "modified"
    case .removed: "removed "
    }
  }

  private static func headline(_ text: String) { Terminal.print(Terminal.emphasised(text)) }

  private static func printLine(_ text: String) { Terminal.print("   " + text) }
}
