// A program of an app, whose results are lines of text that do not depend on the server.

import FirebaseFirestore
import FirestoreRemote
import Foundation

/// Runs against the server of an address. Two clients have a database each. Every step has documents of its
/// own.
final class ClientProgram {
  /// A step, and its lines.
  struct Step: Equatable {
    var name: String
    var lines: [String]
  }

  private let address: String
  private let project: String
  private let folder: URL
  private(set) var steps: [Step] = []
  private(set) var one: Firestore
  let two: Firestore

  init(_ address: String, project: String, in folder: URL) throws {
    (self.address, self.project, self.folder) = (address, project, folder)
    one = try Self.open("one", address, project, folder)
    two = try Self.open("two", address, project, folder)
  }

  private static func open(
    _ name: String, _ address: String, _ project: String, _ folder: URL
  ) throws -> Firestore {
    var options = FirestoreRemoteOptions(project: project)
    options.host = address
    options.isSSLEnabled = false
    options.credentials = { _ in .unsigned(for: "ann") }
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "program.\(name)")
    settings.remote = FirestoreRemote(options)
    return try Firestore.open(at: folder.appendingPathComponent(name), settings: settings)
  }

  /// Ends the first client, and opens its database again.
  func restart() async throws {
    try await one.terminate()
    one = try Self.open("one", address, project, folder)
  }

  func close() async throws {
    try await one.terminate()
    try await two.terminate()
  }

  /// Runs all steps. An error of a step is a line of it.
  func run() async {
    await step("values", values)
    await step("writes", writes)
    await step("queries", queries)
    await step("aggregates", aggregates)
    await step("listeners", listeners)
    await step("limits", limits)
    await step("transactions", transactions)
    await step("rejected writes", rejectedWrites)
    await step("offline", offline)
    await step("restart", restartWithWrites)
    await step("limbo", limbo)
  }

  private func step(_ name: String, _ body: (Lines) async throws -> Void) async {
    let lines = Lines()
    do { try await body(lines) } catch { lines.add("ends with \(Self.text(of: error))") }
    steps.append(Step(name: name, lines: lines.all))
  }

  // MARK: Texts

  /// The lines of a step.
  final class Lines {
    private(set) var all: [String] = []

    func add(_ line: String) { all.append(line) }

    /// Adds the error of an operation, or that there was none.
    func add(_ name: String, errorOf body: () async throws -> Void) async {
      do {
        try await body()
        add("\(name): done")
      } catch {
        add("\(name): \(ClientProgram.text(of: error))")
      }
    }
  }

  static func text(of error: any Error) -> String {
    let error = error as NSError
    return error.domain == FirestoreErrorDomain ? "code \(error.code)" : "\(error)"
  }

  static func text(of snapshot: QuerySnapshot) -> String {
    let documents = snapshot.documents.map { "\($0.documentID) \(text(of: $0.data()))" }
    return "\(documents) \(text(of: snapshot.metadata))"
  }

  static func text(of snapshot: DocumentSnapshot) -> String {
    "\(snapshot.data().map { text(of: $0) } ?? "absent") \(text(of: snapshot.metadata))"
  }

  private static func text(of metadata: SnapshotMetadata) -> String {
    (metadata.isFromCache ? "cached" : "confirmed") + (metadata.hasPendingWrites ? ", pending" : "")
  }

  /// Times that servers choose are left out.
  static func text(of value: Any) -> String {
    switch value {
    case let map as [String: Any]:
      "{" + map.keys.sorted().map { "\($0): \(text(of: map[$0] ?? "?"))" }.joined(separator: ", ") + "}"
    case let list as [Any]: "[" + list.map { text(of: $0) }.joined(separator: ", ") + "]"
    case let time as Timestamp:
      time.seconds > 1_000_000_000 ? "a time" : "\(time.seconds).\(time.nanoseconds)"
    case let point as GeoPoint: "(\(point.latitude), \(point.longitude))"
    case let reference as DocumentReference: reference.path
    case let bytes as Data: "bytes \(Array(bytes))"
    default: "\(value)"
    }
  }
}
