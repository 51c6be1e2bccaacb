// The arrival of a write with an identity at the authority, and what it may do.

import Authority
import DocumentStore
import OfflineSync

extension AuthorityHistory {
  /// Passes a message to the ledger. The answer reaches the queue unless it is lost or the message is a copy.
  mutating func arrive(
    _ write: RemoteWrite, at number: Int, isStray: Bool, isForged: Bool = false
  ) throws {
    let text = "queue \(number): \(isStray ? "copy of " : "")write \(write.id.batch) of \(write.id.run)"
    let verdict: String
    do {
      verdict = try take(write, as: isForged ? "mallory" : writers[number].user, isForged: isForged)
    } catch {
      throw Violation("\(text): \(error)")
    }
    log.note("\(text) \(verdict)")
    guard !isStray else { return }
    if random.oneIn(6) {
      count(.lostAnswers)
      writers[number].disconnect(keepsMessages: random.oneIn(2))
    } else {
      writers[number].takeAnswer(to: write.id)
    }
  }

  private mutating func take(_ write: RemoteWrite, as user: String?, isForged: Bool) throws -> String {
    let wasAnswered = ledger.isAnswered(write.id)
    let guardsHold = write.guards.allSatisfy { holds($0.value, truth.current[$0.key]) }
    // A batch of another user is another batch.
    let first = isForged ? nil : ledger.accepted[write.id]
    let outcome = Swift.Result { () throws(RemoteError) in try host.authority.take(write, as: user) }
    let changed = try noteChanges(of: write.mutations.map(\.path), at: (try? outcome.get())?.version)
    switch outcome {
    case .success(nil):
      guard first == nil, changed.isEmpty, !guardsHold else { throw Violation("is overtaken") }
      count(.overtakenWrites)
      return "is overtaken"
    case .success(let answer?):
      if let first {
        try requireSame(answer, first, write, changed, wasAnswered: wasAnswered)
        return "was accepted before"
      }
      guard !isForged else { throw Violation("is accepted with the registration of another user") }
      guard guardsHold else { throw Violation("is accepted although a guard does not hold") }
      try requireNew(answer, write)
      ledger.accept(write, answer)
      count(.acceptedWrites)
      return "is accepted at \(answer.version.microseconds)"
    case .failure(let error):
      guard changed.isEmpty else { throw Violation("is refused with \(error), and has changed \(changed)") }
      guard isRefusable(write, first, wasAnswered: wasAnswered, isForged: isForged) else {
        throw Violation("is refused: \(error)")
      }
      count(.refusedWrites)
      return "is refused: \(error)"
    }
  }

  // MARK: What an answer must be

  /// A write that is accepted for the first time has counted once, at the time of its commit.
  private func requireNew(
    _ answer: (version: SnapshotVersion, results: [WriteResult]), _ write: RemoteWrite
  ) throws {
    guard answer.version == truth.time else {
      throw Violation("is answered with \(answer.version.microseconds), not \(truth.time.microseconds)")
    }
    guard answer.results.count == write.mutations.count else {
      throw Violation("has \(answer.results.count) results for \(write.mutations.count) mutations")
    }
    let counter = truth.current[write.mutations[0].path]
    guard Self.words(of: counter).contains(ModelWriter.word(write.id)) else {
      throw Violation("is accepted and was not applied")
    }
    try requireCount(counter)
    guard answer.results[0].transformResults == [counter?.fields["n"] ?? .null, .null] else {
      throw Violation("has the results \(answer.results[0].transformResults)")
    }
  }

  /// A repeated write changes nothing. Its answer is the first one, as long as the client may need it.
  private func requireSame(
    _ answer: (version: SnapshotVersion, results: [WriteResult]), _ first: LedgerModel.Accepted,
    _ write: RemoteWrite, _ changed: Set<DocumentPath>, wasAnswered: Bool
  ) throws {
    guard changed.isEmpty else { throw Violation("counts twice, and has changed \(changed)") }
    guard first.write.mutations == write.mutations else {
      throw Violation("is answered as accepted, and was accepted with other writes")
    }
    guard !wasAnswered, !ledger.isFinished(write.id), let old = first.answer else { return }
    let floor = host.floor ?? .none
    guard answer.version == max(old.version, floor),
      answer.results.map(\.transformResults) == old.results.map(\.transformResults)
    else {
      throw Violation("is answered with \(answer), and was answered with \(old), floor \(floor)")
    }
  }

  /// Whether the authority has a reason to refuse the write.
  private func isRefusable(
    _ write: RemoteWrite, _ first: LedgerModel.Accepted?, wasAnswered: Bool, isForged: Bool
  ) -> Bool {
    let registered = registrationTimes[write.registration] ?? PointInHistory()
    // The run may be forgotten for its age.
    if registered.longPauses < point.longPauses { return true }
    // A copy of the files may have gone on before a client showed that commits are lost. As far as the
    // authority knows, the run may then have been forgotten, too.
    if first == nil, registered.copiesPutInPlace < point.copiesPutInPlace { return true }
    if let first, first.write.mutations != write.mutations { return true }
    if first != nil { return wasAnswered || ledger.isFinished(write.id) }
    return wasAnswered || ledger.isFinished(write.id) || isForged || !hasValidContent(write)
  }

  /// Whether the rules and preconditions allow the write.
  private func hasValidContent(_ write: RemoteWrite) -> Bool {
    var exists: [DocumentPath: Bool] = [:]
    for mutation in write.mutations {
      if case .set(let fields, _) = mutation.change, fields[Self.forbiddenField] != nil { return false }
      let isThere = exists[mutation.path] ?? (truth.current[mutation.path] != nil)
      if case .exists(let required) = mutation.precondition, required != isThere { return false }
      switch mutation.change {
      case .delete: exists[mutation.path] = false
      case .set, .patch, .place: exists[mutation.path] = true
      case .verify: break
      }
    }
    return true
  }

  private func holds(_ precondition: Precondition, _ document: StoredDocument?) -> Bool {
    switch precondition {
    case .none: true
    case .exists(let exists): (document != nil) == exists
    case .updateTime(let time):
      document.map { [$0.updateTime, max($0.updateTime, (host.floor ?? .none).stored)].contains(time) }
        ?? false
    }
  }

  // MARK: Counters

  static func words(of counter: StoredDocument?) -> [String] {
    guard case .array(let words)? = counter?.fields["words"] else { return [] }
    return words.compactMap { if case .string(let word) = $0 { word } else { nil } }
  }

  /// Every accepted write has added one to its counter.
  private func requireCount(_ counter: StoredDocument?) throws {
    let words = Self.words(of: counter).count
    guard counter?.fields["n"] ?? .integer(0) == .integer(Int64(words)) else {
      throw Violation("the counter is \(counter?.fields["n"] ?? .null), and \(words) writes were accepted")
    }
  }

  /// Checks that exactly the accepted writes have been applied.
  func requireCounters() throws {
    for writer in writers {
      let counter = truth.current[writer.counter]
      try requireCount(counter)
      let accepted = ledger.accepted.keys.filter { $0.queue == writer.queue }.map(ModelWriter.word)
      let words = Self.words(of: counter)
      guard Set(words) == Set(accepted) else {
        throw Violation(
          "\(writer.queue): lost \(Set(accepted).subtracting(words).sorted()), "
            + "strange \(Set(words).subtracting(accepted).sorted())")
      }
    }
  }
}
