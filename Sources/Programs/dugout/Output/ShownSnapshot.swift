// The age of what a command shows, for a store that another process writes meanwhile.

import ByteStore
import DocumentStore
import Foundation

/// The committed state that a command has read beside a writer.
struct ShownSnapshot: Sendable {
  let age: DocumentStore.ReaderAge
  /// The process that writes the store; nil if it is not known.
  let writer: Int32?

  private static let noted = Locked<ShownSnapshot?>(nil)

  /// The state that the command has read last; nil if it has read no store beside a writer.
  static var last: ShownSnapshot? { noted.withLock { $0 } }

  /// Keeps the age of what `store` shows, if the store has a writer.
  static func note(_ store: DocumentStore) {
    guard let snapshot = ShownSnapshot(of: store) else { return }
    noted.withLock { $0 = snapshot }
  }

  /// The state that `store` shows; nil if the store has no writer.
  init?(of store: DocumentStore) {
    guard let age = store.readerAge, case .held(let holder) = ByteStore.use(of: store.path) else {
      return nil
    }
    self.age = age
    writer = holder
  }

  /// Prints one line to standard error, so that the result alone is on standard output.
  func printAge() { Terminal.printToStandardError(text) }

  var text: String {
    let commit = age.lastCommit.map { "the last commit shown is of \(DocumentText.text(of: $0))" }
    let process = writer.map { "process \($0)" } ?? "another process"
    var line = "Read \(Self.seconds(age.secondsSinceRefresh)) ago, while \(process) has the store open for "
    line += "writing; \(commit ?? "no commit is shown")"
    if age.bytesNotDurable > 0 {
      line += ", and \(Wording.bytes(age.bytesNotDurable)) of later ones are not yet known to be on stable "
      line += "storage"
    }
    return line + "."
  }

  private static func seconds(_ seconds: Double) -> String {
    seconds < 120 ? String(format: "%.1f s", seconds) : Wording.duration(seconds: seconds)
  }

  var object: JSON {
    [
      "lastCommit": age.lastCommit.map { DocumentText.text(of: $0) },
      "secondsSinceRefresh": age.secondsSinceRefresh, "bytesNotDurable": age.bytesNotDurable,
      "writer": writer.map { Int($0) },
    ]
  }
}
