// The reads of a call: at a time, or in a transaction, whose locks they wait for.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// The reads of one call, in one or several steps.
struct Reading: Sendable {
  private enum Source: Sendable {
    case snapshot(ReadView)
    case transaction(OpenTransaction, isNew: Bool)
  }

  private let database: ServedDatabase
  private let owner: TransactionTable.Owner
  private let source: Source
  private let waits: CallWaits

  /// Opens the documents at the time that a request selects.
  init(
    _ database: ServedDatabase, _ selector: ReadSelector, for context: CallContext
  ) throws(RemoteError) {
    let owner = context.owner
    self.database = database
    waits = context.waits
    self.owner = owner
    switch selector {
    case .now: source = .snapshot(ReadView(try database.snapshotNow()))
    case .readTime(let time): source = .snapshot(ReadView(try database.snapshot(at: time)))
    case .transaction(let id):
      source = .transaction(try database.transactions.use(id, by: owner) { $0 }, isNew: false)
    case .newTransaction(let options):
      source = .transaction(try database.begin(options, for: owner), isNew: true)
    }
  }

  /// Sends the id of the transaction that the call has begun, if it has begun one.
  func announce(_ send: (_ id: [UInt8]) throws(RemoteError) -> Bool) throws(RemoteError) {
    guard case .transaction(let transaction, isNew: true) = source else { return }
    try endingOnFailure { () throws(RemoteError) in
      guard try send(transaction.id.bytes) else { throw ReadView.cancelled }
    }
  }

  /// Runs a step that reads these documents, and perhaps more. In a transaction, it first waits for
  /// transactions that are about to change them.
  func afterLocking(
    _ paths: [DocumentPath] = [], _ step: @escaping AnswerStep
  ) throws(RemoteError) -> AnswerProgress {
    guard case .transaction(let transaction, _) = source, let locks = transaction.locks else {
      return try step()
    }
    let wait = LockWait()
    locks.beforeReading(paths, of: waits) { wait.end($0) }
    // Most reads do not wait. They go on in this step.
    if let end = wait.ended { return try afterWaiting(end, step) }
    return .waiting { resume in
      wait.whenEnded { end in resume { () throws(RemoteError) in try afterWaiting(end, step) } }
    }
  }

  private func afterWaiting(
    _ end: LockWait.End, _ step: AnswerStep
  ) throws(RemoteError) -> AnswerProgress {
    if let error = end.error { try endingOnFailure { () throws(RemoteError) in throw error } }
    return try step()
  }

  /// Runs a step. The transaction does not expire meanwhile, and can expire before the next step. One that
  /// the call began ends if the step fails, because the caller may not know its id.
  func perform<Result>(
    _ step: (ReadView) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    switch source {
    case .snapshot(let view): return try step(view)
    case .transaction(let transaction, _):
      return try endingOnFailure { () throws(RemoteError) in
        try database.transactions.use(transaction.id.bytes, by: owner) { transaction throws(RemoteError) in
          try step(try ReadView(transaction, in: database))
        }
      }
    }
  }

  private func endingOnFailure<Result>(
    _ step: () throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    do throws(RemoteError) { return try step() } catch {
      if case .transaction(let transaction, isNew: true) = source {
        try database.transactions.remove(transaction.id.bytes, by: owner)?.end()
      }
      throw error
    }
  }
}

extension CallContext {
  /// The documents at the time that a request selects.
  func reading(_ database: ServedDatabase, _ selector: ReadSelector) throws(RemoteError) -> Reading {
    try Reading(database, selector, for: self)
  }
}
