// Turns of concurrent calls about the same run, so that a batch which arrives twice at once is applied once.

internal import ByteStore
internal import DocumentStore

/// The documents of the ledger that a call is changing.
final class RunTurns: Sendable {
  private let taken = Locked(Set<DocumentPath>())

  /// Runs `body` while no other call has one of these documents. `body` must not ask for more.
  func during<Value, Failure: Error>(
    _ paths: Set<DocumentPath>, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    taken.withLock(when: { $0.isDisjoint(with: paths) }) { $0.formUnion(paths) }
    defer {
      taken.withLock { $0.subtract(paths) }
      taken.wakeAll()
    }
    return try body()
  }
}
