// Whether writes are possible.

internal import ByteStore
internal import DocumentStore
internal import FirestoreWire

/// The answer to the question whether the server is ready.
struct Readiness {
  /// The reasons why it is not.
  private(set) var reasons: [String] = []

  /// Asks all open stores. Waits for nothing.
  init(_ runner: CallRunner) {
    if runner.streams.isDraining { reasons.append("the server is shutting down") }
    for database in runner.databases.openDatabases {
      if let reason = Self.reason(database.store.health) {
        reasons.append("\(database.name.text): \(reason)")
      }
    }
  }

  var isReady: Bool { reasons.isEmpty }

  var text: String { isReady ? "ready\n" : reasons.map { $0 + "\n" }.joined() }

  /// Why a store accepts no writes; nil if it does.
  static func reason(_ health: StoreHealth) -> String? {
    switch health.writing {
    case .possible: nil
    case .readOnly: "the store is open for reading only"
    case .diskFull: "the disk is full"
    case .flushImpossible(let error): "flushes fail: \(error.description)"
    case .poisoned(let failure): "a write has failed, restart the server: \(failure.description)"
    case .closed: "the store is closed"
    }
  }
}
