// Writes of what the writes before them make.
//
// Whoever changes a document depending on what is in it can ask that it is unchanged since it was read. While writes of
// it wait, what was read has no time yet: it is what the last of them makes. Then the condition is `asRead`, and the write
// follows those before it that are about the document:
//
//   0. it is taken if they make just what was read; meanwhile one may have been answered, and others may have changed
//      what is under the next one. From then on its condition is `asMadeBefore`; and its base says what lies under all
//      of them, the ground
//   1. it is sent when they were answered, and not sooner
//   2. when the last of them that makes something of the document was accepted, its time takes the place of the condition
//   3. if one of them is refused or cancelled, nothing can satisfy the condition any more, and the write is refused too;
//      unless one behind that leaves nothing of what was before, or has a condition of its own which says what it was
//   4. the same if one of them was accepted that has changed something else than was read. A write with a condition has
//      not, and what is set or deleted was read as it is now. A patch without one changes what others have made, too:
//      what it was made on, as the remote says, has to be the ground. If the remote does not say that, or an earlier
//      program not what the ground was, nobody knows, and it is taken for what was read
//   5. what was accepted is the ground of what is left
//   6. the watch stream may have been faster than the answer: then the ground was made of what is answered now, and what
//      was read is what they all make of that once more. If twice is as good as once, it is as it was read, unless others
//      came between two of them, which 4 finds with the next answer, or behind them, which the remote finds

package import DocumentStore

extension Precondition {
  /// What documents with pending writes have as their time, and what no remote has.
  package static let asMadeBefore = Precondition.updateTime(SnapshotVersion.none.timestamp)
  /// The same for who has read these fields: whoever takes the write compares. Only for this process.
  package static func asRead(_ fields: StoredMap) -> Precondition {
    var bytes: [UInt8] = []
    BatchCodec.append(fields, to: &bytes)
    var hasher = Hasher()
    hasher.combine(bytes)
    // Before all times that documents have, and behind the two that mean something else.
    let mark = Int64(truncatingIfNeeded: hasher.finalize()) & (1 << 48 - 1)
    return .updateTime(SnapshotVersion(microseconds: -2 - mark).timestamp)
  }

  /// It is about what writes make that wait.
  var isAboutPending: Bool {
    if case .updateTime(let time) = self { time.microseconds <= 0 && self != .impossible } else { false }
  }

  /// Nothing was ever changed then, and what waits has no such time either.
  package static let impossible = Precondition.updateTime(SnapshotVersion(microseconds: -1).timestamp)
}

/// What a remote has answered to a batch that it has taken.
struct Acceptance {
  let version: SnapshotVersion
  let results: [WriteResult]
}

extension PendingBatch {
  /// Whether it is for what batches before it make of the document.
  func follows(_ path: DocumentPath) -> Bool {
    mutations(of: path).contains { $0.mutation.precondition == .asMadeBefore }
  }

  /// Whether this batch is one of those.
  func follows(_ other: PendingBatch) -> Bool {
    mutations.contains { mutation in
      mutation.precondition == .asMadeBefore && other.paths.contains(mutation.path)
    }
  }

  /// Whether there is a document behind it that a batch can follow.
  func makes(_ path: DocumentPath) -> Bool {
    guard let last = mutations(of: path).last?.mutation, last.precondition != .impossible else {
      return false
    }
    switch last.change {
    case .set, .patch: return true
    case .delete, .verify, .place: return false
    }
  }

  /// Whether there is something in it that can go wrong for those that follow.
  func changes(_ path: DocumentPath) -> Bool {
    let mutations = mutations(of: path)
    return mutations.last?.mutation.precondition != .impossible
      && mutations.contains { $0.mutation.change != .verify }
  }

  /// Whether it changes nothing of a document that is there.
  func leavesAlone(_ path: DocumentPath) -> Bool {
    mutations(of: path).allSatisfy {
      $0.mutation.change == .verify || $0.mutation.precondition == .exists(false)
    }
  }

  /// The same batch, once what it is for has a time, or will never be.
  func following(_ path: DocumentPath, madeAt version: SnapshotVersion?) -> PendingBatch {
    let settled = version.map { Precondition.updateTime($0.timestamp) } ?? .impossible
    let mutations = mutations.map { mutation in
      guard mutation.path == path, mutation.precondition == .asMadeBefore else { return mutation }
      return mutation.requiring(settled)
    }
    return PendingBatch(id: id, run: run, time: time, base: base, mutations: mutations)
  }

  // MARK: What lies under it

  /// What lay under the writes that it follows when it was made, or lies there by now; nil if an earlier program has
  /// made it, which did not say.
  private func ground(of path: DocumentPath) -> Precondition? {
    base(of: path).first { $0.change == .verify }?.precondition
  }

  fileprivate func moved(_ path: DocumentPath, onto ground: Precondition) -> PendingBatch {
    let others = base.filter { $0.path != path || $0.change != .verify }
    return PendingBatch(
      id: id, run: run, time: time, base: others + [.verify(path, ground)], mutations: mutations)
  }

  /// Whether the remote, which has accepted it, has made of the document what this batch makes of one for which `known`
  /// holds. Nil if that is not said.
  func wasMade(of known: Precondition?, _ path: DocumentPath, _ results: [WriteResult]) -> Bool? {
    if beginsAnew(path) { return true }
    for (place, mutation) in mutations(of: path) {
      let before = place < results.count ? results[place].versionBefore : nil
      switch mutation.precondition {
      case .updateTime: return true
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

  /// Whether twice is as good as once.
  fileprivate func isRepeatable(_ path: DocumentPath) -> Bool {
    !mutations(of: path).contains { _, mutation in
      mutation.transforms.contains { if case .increment = $0.operation { true } else { false } }
    }
  }

  /// The same of those that follow it, which have read more than this.
  fileprivate func wasMade(for follower: PendingBatch, _ path: DocumentPath, _ answer: Acceptance) -> Bool {
    wasMade(of: follower.ground(of: path), path, answer.results) ?? true
  }

  /// Whether the watch stream had told what it has made, or more, before a batch was made that follows it.
  fileprivate func wasTold(to follower: PendingBatch, _ path: DocumentPath, _ answer: Acceptance) -> Bool {
    guard case .updateTime(let time)? = follower.ground(of: path) else { return false }
    return SnapshotVersion(time) >= version(of: path, answer)
  }

  /// Whether what it makes, if it is accepted, is the same whatever was made before it.
  func pins(_ path: DocumentPath) -> Bool { wasMade(of: nil, path, []) ?? false }

  /// Whether it leaves nothing of what was before it.
  func beginsAnew(_ path: DocumentPath) -> Bool {
    mutations(of: path).contains { _, mutation in
      guard mutation.precondition == .none else { return false }
      return switch mutation.change {
      case .set, .delete: true
      case .patch, .verify, .place: false
      }
    }
  }

  /// The document as this batch has left it.
  private func ground(of path: DocumentPath, after answer: Acceptance) -> Precondition {
    guard makes(path) else { return .exists(false) }
    let version = version(of: path, answer)
    return version == .none ? .impossible : .updateTime(version.timestamp)
  }

  private func version(of path: DocumentPath, _ answer: Acceptance) -> SnapshotVersion {
    guard let last = mutations(of: path).last?.place, last < answer.results.count,
      answer.results[last].version != .none
    else { return answer.version }
    return answer.results[last].version
  }

  /// The same batch, once one of those that it follows was accepted, and not the last one.
  fileprivate func moved(behind batch: PendingBatch, _ path: DocumentPath, _ answer: Acceptance)
    -> PendingBatch
  {
    moved(path, onto: batch.ground(of: path, after: answer))
  }

  /// The same batch, once the last of those that it follows was accepted.
  fileprivate func settled(
    behind batch: PendingBatch, _ path: DocumentPath, _ answer: Acceptance
  ) -> PendingBatch {
    // The remote may have given no time: nothing can be made for that.
    let version = batch.version(of: path, answer)
    return following(path, madeAt: version == .none ? nil : version)
  }
}

/// What an answer has made of batches that follow the answered one.
struct Settlement {
  /// Those that are others now.
  private(set) var changed: [PendingBatch] = []
  /// What those of them were that may be seen: a ground is not.
  private(set) var before: [BatchID: PendingBatch] = [:]

  fileprivate mutating func move(_ batch: PendingBatch) { changed.append(batch) }

  fileprivate mutating func settle(_ batch: PendingBatch, _ settled: PendingBatch) {
    changed.append(settled)
    before[batch.id] = batch
  }
}

extension WriteQueue {
  /// Settles the batches that follow this one, which was accepted, or refused if there is no answer.
  mutating func settleFollowers(
    of batch: PendingBatch, _ path: DocumentPath, _ answer: Acceptance?
  ) -> Settlement {
    guard hasFollowers(of: path), batch.changes(path) else { return Settlement() }
    let settlement = settlement(of: batch, path, answer)
    for changed in settlement.changed { replace(changed) }
    return settlement
  }

  /// An answer to one of many patches must not cost as much as all of them: those between it and its follower are looked
  /// at only if it is not as it was read.
  private func settlement(
    of batch: PendingBatch, _ path: DocumentPath, _ answer: Acceptance?
  ) -> Settlement {
    var settlement = Settlement()
    var answer = answer
    var isNext = batch.makes(path)
    var areRepeatable = batch.isRepeatable(path)
    var last = batch.id
    while let next = next(after: last, about: path) {
      last = next.id
      if next.follows(path) {
        if let accepted = answer,
          batch.wasMade(for: next, path, accepted)
            || (areRepeatable && batch.wasTold(to: next, path, accepted))
        {
          if isNext {
            settlement.settle(next, next.settled(behind: batch, path, accepted))
          } else {
            settlement.move(next.moved(behind: batch, path, accepted))
          }
          // Those behind it follow it.
          break
        }
        answer = nil
        settlement.settle(next, next.following(path, madeAt: nil))
      } else if !next.changes(path) || (answer != nil && next.leavesAlone(path)) {
        // It has made nothing for those behind it.
        continue
      } else if next.pins(path) {
        break
      } else if let accepted = answer {
        if let follower = follower(behind: last, of: path), batch.wasMade(for: follower, path, accepted) {
          settlement.move(follower.moved(behind: batch, path, accepted))
          break
        }
        isNext = false
        areRepeatable = areRepeatable && next.isRepeatable(path)
      }
    }
    return settlement
  }
}
