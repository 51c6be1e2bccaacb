// Writes that depend on the results of earlier pending writes.
//
// A transaction can require that a document is unchanged since the transaction read it. If writes of the
// document are pending, the read returned the result of the last pending write, which has no update time yet.
// The precondition is then `asRead`, and the write follows the earlier pending writes of the document:
//
//   0. the queue accepts the write if the pending writes still give the result that was read, even if some of
//      them were answered or the remote's version changed since the read. The precondition then becomes
//      `afterPendingWrites`, and the base of the batch records the ground, which is the remote's version
//      below all pending writes
//   1. the write is not sent before the writes that it follows are answered
//   2. when the remote accepts the last followed write that leaves the document in place, the update time of
//      that write becomes the precondition
//   3. if one of the writes that it follows is refused or cancelled, the precondition can no longer hold, and
//      the write is refused, too. It is not refused if a later write that it follows replaces the whole
//      document or has its own precondition
//   4. the write is also refused if the remote applied a write that it follows to a version other than the
//      one below the read. The remote checks preconditions, and sets and deletions do not depend on the
//      earlier version, so this applies only to patches without a precondition. The remote reports the
//      version to which it applied the patch, and this version must equal the ground. If the remote reports
//      no version, or an earlier release did not record the ground, the two versions count as equal
//   5. when a write is accepted, its result becomes the ground of the remaining writes
//   6. the watch stream may deliver the result of a write before the answer to that write. The ground then
//      already includes the answered write, and the read applied that write twice. If the pending writes are
//      idempotent, their result still equals the read unless other clients wrote in between. If another
//      client wrote between two of the pending writes, step 4 detects this at the next answer. If another
//      client wrote after all of them, the remote detects this

internal import DocumentStore

/// A remote's answer to an accepted batch.
struct Acceptance {
  let version: SnapshotVersion
  let results: [WriteResult]
}

extension PendingMutation {
  static func ground(of path: DocumentPath, _ ground: PendingPrecondition) -> PendingMutation {
    PendingMutation(.verify(path, .none), requiring: ground)
  }
}

extension PendingBatch {
  /// Whether this batch depends on the result of earlier batches in the document.
  func follows(_ path: DocumentPath) -> Bool {
    mutations(of: path).contains { $0.mutation.precondition == .afterPendingWrites }
  }

  /// Whether this batch depends on the result of the other one.
  func follows(_ other: PendingBatch) -> Bool {
    mutations.contains { mutation in
      mutation.precondition == .afterPendingWrites && other.paths.contains(mutation.path)
    }
  }

  /// Whether the document exists after this batch, so that a later batch can follow it.
  func producesDocument(_ path: DocumentPath) -> Bool {
    guard let last = mutations(of: path).last?.mutation, last.precondition != .impossible else {
      return false
    }
    switch last.change {
    case .set, .patch: return true
    case .delete, .verify, .place: return false
    }
  }

  /// Whether this batch changes the document, so that it affects batches that follow.
  func changes(_ path: DocumentPath) -> Bool {
    let mutations = mutations(of: path)
    return mutations.last?.mutation.precondition != .impossible
      && mutations.contains { $0.mutation.change != .verify }
  }

  /// Whether this batch has no effect on an existing document.
  func hasNoEffect(_ path: DocumentPath) -> Bool {
    mutations(of: path).allSatisfy {
      $0.mutation.change == .verify || $0.mutation.precondition == .exists(false)
    }
  }

  ///  Returns this batch with the precondition `afterPendingWrites` of its writes to `path` replaced by the
  ///  update time `version`. If `version` is nil, the precondition becomes `impossible`.
  func following(_ path: DocumentPath, acceptedAt version: SnapshotVersion?) -> PendingBatch {
    let precondition = version.map { PendingPrecondition.updateTime($0.timestamp) } ?? .impossible
    let mutations = mutations.map { mutation in
      guard mutation.path == path, mutation.precondition == .afterPendingWrites else { return mutation }
      return mutation.requiring(precondition)
    }
    return replacing(mutations: mutations)
  }

  // MARK: The ground

  /// Returns the ground of this batch: the version below the pending writes that the batch follows. The
  /// ground is set when the batch is created and updated after answers. Returns nil if an earlier release
  /// wrote the batch without a ground.
  private func ground(of path: DocumentPath) -> PendingPrecondition? {
    base(of: path).first { $0.change == .verify }?.precondition
  }

  fileprivate func moved(_ path: DocumentPath, onto ground: PendingPrecondition) -> PendingBatch {
    let others = base.filter { $0.path != path || $0.change != .verify }
    return replacing(base: others + [.ground(of: path, ground)])
  }

  /// Whether the remote applied this accepted batch to the state described by `known`. Returns nil if the
  /// remote's answer does not determine that.
  func wasAppliedTo(of known: PendingPrecondition?, _ path: DocumentPath, results: [WriteResult]) -> Bool? {
    if replacesDocument(path) { return true }
    for (place, mutation) in mutations(of: path) {
      let before = place < results.count ? results[place].versionBefore : nil
      switch mutation.precondition {
      case .updateTime, .asRead, .afterPendingWrites, .impossible: return true
      case .exists(let exists):
        guard let known, before != nil else { return nil }
        guard exists == (known != .exists(false)) else { return false }
        if !exists { return true }
      case .none: break
      }
      switch mutation.change {
      case .set, .delete, .place: return true
      case .patch:
        guard let known, let before else { return nil }
        return known == (before == .none ? .exists(false) : .updateTime(before.timestamp))
      case .verify: continue
      }
    }
    return true
  }

  /// Whether applying this batch twice gives the result of applying it once.
  fileprivate func isIdempotent(_ path: DocumentPath) -> Bool {
    !mutations(of: path).contains { _, mutation in
      mutation.transforms.contains { if case .increment = $0.operation { true } else { false } }
    }
  }

  /// Whether this accepted batch gave the result that the follower is based on. An unknown state counts
  /// as equal.
  fileprivate func wasAppliedTo(for follower: PendingBatch, _ path: DocumentPath, answer: Acceptance)
    -> Bool
  {
    wasAppliedTo(of: follower.ground(of: path), path, results: answer.results) ?? true
  }

  /// Whether the watch stream had delivered this batch's result, or a later version, before the follower
  /// was created.
  fileprivate func wasDelivered(to follower: PendingBatch, _ path: DocumentPath, answer: Acceptance) -> Bool {
    guard case .updateTime(let time)? = follower.ground(of: path) else { return false }
    return SnapshotVersion(time) >= version(of: path, answer)
  }

  /// Whether the result of this batch, if accepted, is independent of the earlier state.
  func pins(_ path: DocumentPath) -> Bool { wasAppliedTo(of: nil, path, results: []) ?? false }

  /// Whether this batch replaces the whole document without a precondition.
  func replacesDocument(_ path: DocumentPath) -> Bool {
    mutations(of: path).contains { _, mutation in
      guard mutation.precondition == .none else { return false }
      return switch mutation.change {
      case .set, .delete: true
      case .patch, .verify, .place: false
      }
    }
  }

  /// Returns the ground for later batches after this one was accepted.
  private func ground(of path: DocumentPath, after answer: Acceptance) -> PendingPrecondition {
    guard producesDocument(path) else { return .exists(false) }
    let version = version(of: path, answer)
    return version == .none ? .impossible : .updateTime(version.timestamp)
  }

  private func version(of path: DocumentPath, _ answer: Acceptance) -> SnapshotVersion {
    guard let last = mutations(of: path).last?.place, last < answer.results.count,
      answer.results[last].version != .none
    else { return answer.version }
    return answer.results[last].version
  }

  /// Returns this batch, updated after the remote accepted a batch that it follows and that is not the last
  /// such batch.
  fileprivate func moved(behind batch: PendingBatch, _ path: DocumentPath, answer: Acceptance)
    -> PendingBatch
  {
    moved(path, onto: batch.ground(of: path, after: answer))
  }

  /// Returns this batch, updated after the remote accepted the last batch that it follows.
  fileprivate func rebased(
    behind batch: PendingBatch, _ path: DocumentPath, answer: Acceptance
  ) -> PendingBatch {
    // If the remote gave no version, no precondition can express the result.
    let version = batch.version(of: path, answer)
    return following(path, acceptedAt: version == .none ? nil : version)
  }
}

/// The changes that an answer causes in the batches that follow the answered one.
struct FollowerUpdates {
  /// The batches that changed.
  private(set) var changed: [PendingBatch] = []
  /// The earlier versions of those changed batches whose effect may be visible. A change of the ground alone
  /// is not visible.
  private(set) var before: [BatchID: PendingBatch] = [:]

  fileprivate mutating func move(_ batch: PendingBatch) { changed.append(batch) }

  fileprivate mutating func replace(_ batch: PendingBatch, by new: PendingBatch) {
    changed.append(new)
    before[batch.id] = batch
  }
}

extension WriteQueue {
  /// Updates the batches that follow an answered batch. `answer` is nil if the answered batch was refused or
  /// cancelled.
  mutating func updateFollowers(
    of batch: PendingBatch, _ path: DocumentPath, answer: Acceptance?
  ) -> FollowerUpdates {
    guard hasFollowers(of: path), batch.changes(path) else { return FollowerUpdates() }
    let followerUpdates = followerUpdates(of: batch, path, answer: answer)
    for changed in followerUpdates.changed { replace(changed) }
    return followerUpdates
  }

  /// Computes the updates of the batches that follow `batch`. The cost of an answer must not grow with the
  /// number of later patches. Batches between the answered one and its next follower are therefore examined
  /// only if the remote applied the answered batch to a version other than the expected one.
  private func followerUpdates(
    of batch: PendingBatch, _ path: DocumentPath, answer: Acceptance?
  ) -> FollowerUpdates {
    var followerUpdates = FollowerUpdates()
    var answer = answer
    var isNext = batch.producesDocument(path)
    var areRepeatable = batch.isIdempotent(path)
    var last = batch.id
    while let next = next(after: last, about: path) {
      last = next.id
      if next.follows(path) {
        if let accepted = answer,
          batch.wasAppliedTo(for: next, path, answer: accepted)
            || (areRepeatable && batch.wasDelivered(to: next, path, answer: accepted))
        {
          if isNext {
            followerUpdates.replace(next, by: next.rebased(behind: batch, path, answer: accepted))
          } else {
            followerUpdates.move(next.moved(behind: batch, path, answer: accepted))
          }
          // All later followers depend on this batch, so no further batch changes.
          break
        }
        answer = nil
        followerUpdates.replace(next, by: next.following(path, acceptedAt: nil))
      } else if !next.changes(path) || (answer != nil && next.hasNoEffect(path)) {
        // This batch does not change the state that later batches depend on.
        continue
      } else if next.pins(path) {
        break
      } else if let accepted = answer {
        if let follower = follower(behind: last, of: path),
          batch.wasAppliedTo(for: follower, path, answer: accepted)
        {
          followerUpdates.move(follower.moved(behind: batch, path, answer: accepted))
          break
        }
        isNext = false
        areRepeatable = areRepeatable && next.isIdempotent(path)
      }
    }
    return followerUpdates
  }
}
