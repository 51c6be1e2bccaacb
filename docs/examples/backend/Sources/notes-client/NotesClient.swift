// A client of the backend that works offline: it has the notes in a directory of its own.
//
//   notes-client DIRECTORY list              the notes, newest first, and what is pending
//   notes-client DIRECTORY add ID TEXT       a new note
//   notes-client DIRECTORY like ID           one like more
//   notes-client DIRECTORY send              waits until the backend has all pending writes
//
//   BACKEND_SYNC     the host and port of the backend, 127.0.0.1:8081 by default
//   BACKEND_SECRET   the secret of the backend
//   BACKEND_TLS=1    encrypts the connection

import FirebaseFirestore
import FirestoreRemote
import Foundation

@main
struct NotesClient {
  static let help = "usage: notes-client DIRECTORY list | add ID TEXT | like ID | send"

  static func main() async {
    let words = CommandLine.arguments.dropFirst()
    guard let directory = words.first, words.count > 1 else { fail(help, 2) }
    do {
      let firestore = try open(URL(fileURLWithPath: directory))
      try await run(Array(words.dropFirst()), firestore)
      // Pending writes stay in the directory. The next command sends them.
      try await firestore.terminate()
    } catch {
      fail(error.localizedDescription, 1)
    }
  }

  private static func open(_ directory: URL) throws -> Firestore {
    let environment = ProcessInfo.processInfo.environment
    var options = FirestoreRemoteOptions(project: "notes")
    options.host = environment["BACKEND_SYNC"] ?? "127.0.0.1:8081"
    options.isSSLEnabled = environment["BACKEND_TLS"] == "1"
    // An app gets a token of its user here, and a new one if the server has refused the last one.
    options.credentials = { _ in environment["BACKEND_SECRET"].map { FirestoreToken($0) } }
    let settings = FirestoreSettings()
    settings.remote = FirestoreRemote(options)
    // A write returns when it is in the outbox. It does not wait for the backend.
    settings.acknowledgement = .local
    return try Firestore.open(at: directory, settings: settings)
  }

  private static func run(_ words: [String], _ firestore: Firestore) async throws {
    let notes = firestore.collection("notes")
    switch (words[0], words.count) {
    case ("list", 1): try await list(notes)
    case ("add", 3):
      try await note(words[1], in: firestore).setData([
        "text": words[2], "tags": [String](), "likes": 0, "made": FieldValue.serverTimestamp(),
      ])
    case ("like", 2):
      try await note(words[1], in: firestore).updateData(["likes": FieldValue.increment(Int64(1))])
    case ("send", 1): try await send(firestore)
    default: fail(help, 2)
    }
    let pending = try await firestore.pendingWrites().count
    print(pending == 0 ? "Nothing is pending." : "Pending: \(pending)")
  }

  /// Waits until the backend has all pending writes. Reports meanwhile why it cannot be reached, such as for
  /// a wrong secret.
  private static func send(_ firestore: Firestore) async throws {
    let reporting = Task {
      var last: NSError?
      for try await progress in firestore.syncProgress where progress.error != last {
        last = progress.error
        if let last { report(last.localizedDescription) }
      }
    }
    defer { reporting.cancel() }
    try await firestore.waitForPendingWrites()
  }

  /// Throws `invalidArgument` for an invalid ID.
  private static func note(_ id: String, in firestore: Firestore) throws -> DocumentReference {
    try firestore.validated { $0.collection("notes").document(id) }
  }

  /// The notes as the backend has them, or those in the cache if it cannot be reached.
  private static func list(_ notes: CollectionReference) async throws {
    let all = try await notes.order(by: "made", descending: true).getDocuments()
    for note in all.documents {
      let mark = note.metadata.hasPendingWrites ? " (pending)" : ""
      print("\(note.documentID): \(note["text"] ?? ""), likes: \(note["likes"] ?? 0)\(mark)")
    }
    print(all.metadata.isFromCache ? "From the cache." : "From the backend.")
  }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    report(text)
    exit(code)
  }

  private static func report(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
