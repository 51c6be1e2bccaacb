// One creation, update or deletion of a record.
//
//   1. The hook before the write runs. Then the fields to write are captured.
//   2. The write waits for its turn among the writes of the same record.
//   3. An update or deletion reads the stored record, and the owners of the counters to decrement.
//   4. One batch with the record and the counters is committed.
//   5. While the commit is pending, the log action and the hook after the write run.
//   6. When the batch is durable or refused, the last hook runs. If the batch was refused because a document
//      had changed since it was read, the write is instead retried from step 2. The retry skips step 5. It
//      also leaves out the fields that later writes have written.
//
// The user of a write is determined when the write is requested. Later steps, such as a commit after a read,
// run only while this user is the current user. Otherwise they wait. After a write has begun, the database
// may be terminated at any time. In this case the write fails.

import FirebaseFirestore
import Foundation

struct ResourceWrite {
  private static let attemptsMax = 5

  private let base: ResourceBase
  private let instance: any BaseItemProtocol
  private let context: ResourceContext
  private let inflight = Inflight()
  private let call = Call()

  init(_ base: ResourceBase, _ instance: any BaseItemProtocol, context: ResourceContext) {
    self.base = base
    self.instance = instance
    self.context = context
  }

  /// The app's call that requests the write.
  private final class Call {
    /// Whether the call has returned. Until then, no other call of the app can run between the steps of the
    /// write.
    private(set) var hasReturned = false
    /// The user of the write; nil until the user is known. An inner nil means that there is no user.
    private var user: String??
    private var userHandler: ((String?) -> Void)?

    func run(in firebase: Firestore, _ body: () -> Void) {
      firebase.followUser { [self] result in
        guard case .success(let user) = result else { return true }
        self.user = .some(user)
        userHandler?(user)
        return true
      }
      body()
      hasReturned = true
    }

    func whenUserKnown(_ body: @escaping (String?) -> Void) {
      if let user { body(user) } else { userHandler = body }
    }
  }

  /// One attempt.
  private struct Attempt {
    let place: ResourcePlace
    let draft: ResourceDraft
    let turn: ResourceLanes.Turn
    var number = 1
    var leave: () -> Void = {}

    var isFirst: Bool { number == 1 }
  }

  /// Appends a turn to the record's lane. When the lane is free for the turn, calls `body` with the first
  /// attempt.
  private func begin(_ place: ResourcePlace, _ body: @escaping (Attempt) -> Void) {
    let lanes = base.kitLanes
    let turn = lanes.turn(at: place.path)
    call.whenUserKnown { lanes.note(turn, isOwnedBy: $0) }
    var attempt = Attempt(place: place, draft: ResourceDraft(base, instance), turn: turn)
    lanes.enter(turn) { leave in
      attempt.leave = leave
      body(attempt)
    }
  }

  private typealias End = (NSError?) -> Void

  private func retry(_ attempt: Attempt, orEnd end: @escaping End, _ body: @escaping (Attempt) -> Void) {
    var next = attempt
    next.number += 1
    wait(next, orEnd: end, body)
  }

  /// Waits before a retry. Calls `body` when the results of the user's later writes are known and the user of
  /// the write is the current user.
  private func wait(_ attempt: Attempt, orEnd end: @escaping End, _ body: @escaping (Attempt) -> Void) {
    var attempt = attempt
    let (firebase, lanes, turn) = (base.firebase, base.kitLanes, attempt.turn)
    lanes.refuse(turn) { leave in
      attempt.leave = leave
      body(attempt)
    } whenFree: {
      firebase.followUser { result in
        switch result {
        case .success(let user):
          guard turn.mayBelongTo(user) else { return false }
          lanes.resume(turn)
        case .failure(let error):
          if lanes.withdraw(turn) { fail(attempt, error as NSError, end: end) }
        }
        return true
      }
    }
  }

  /// Calls `commit` at once if the app's call has not returned, or if there is no remote. Otherwise
  /// determines the current user first. If the current user is not the user of the write, the attempt waits.
  private func issue(
    _ attempt: Attempt, _ written: ResourceLanes.Written, orEnd end: @escaping End,
    retry body: @escaping (Attempt) -> Void, _ commit: @escaping () -> Void
  ) {
    let (lanes, turn) = (base.kitLanes, attempt.turn)
    // Without a remote, a write belongs to no user.
    guard call.hasReturned, base.firebase.hasRemote else {
      lanes.issue(turn, written)
      return commit()
    }
    base.firebase.followUser { result in
      switch result {
      case .success(let user) where turn.mayBelongTo(user):
        lanes.issue(turn, written)
        commit()
      case .success:
        wait(attempt, orEnd: end, body)
        attempt.leave()
      case .failure(let error):
        fail(attempt, error as NSError, end: end)
        attempt.leave()
      }
      return true
    }
  }

  /// Ends a failed write. If the first attempt was not issued, only reports the error and does not call the
  /// last hook.
  private func fail(_ attempt: Attempt, _ error: NSError?, end: End) {
    guard attempt.isFirst else { return end(error) }
    base.kitLanes.end(attempt.turn, hasHappened: false)
    base.kitReport(error)
  }

  // MARK: Creating

  func create() {
    withPlace { () throws(ResourceError) in
      let needsKey = try base.kitPath(of: Swift.type(of: instance), context).usesKey
      return try base.kitPlace(
        of: instance, needsKey ? instance.key ?? ChronologicalID.next() : instance.key, context: context)
    } then: { place in
      let path = try? base.kitPath(of: Swift.type(of: instance), context)
      // If the path does not contain the key, the last component is the key of the record.
      let key = path?.key(in: place.components) ?? place.components[place.components.count - 1]
      after {
        base.willCreateInstance(instance, key: key, context: context, done: $0)
      } then: {
        instance.key = key
        begin(place, attemptCreation)
      }
    }
  }

  private func attemptCreation(_ attempt: Attempt) {
    let isUnique = base.kitIsCounted(instance) || base.kitOwnsCounters(instance)
    let batch = base.firebase.batch()
    let document = base.kitDocument(attempt.place)
    write(attempt.draft, to: batch) { fields in
      for name in ownCounters where fields.has(name) { fields.set(name, to: 0) }
      batch.makeFields(fields, forDocument: document, requiring: isUnique ? .absent : .nothing)
    }
    count(in: batch, [:], attempt: attempt, before: { _ in false }, after: attempt.draft.counts)
    issue(attempt, .all, orEnd: endCreation(attempt), retry: attemptCreation) {
      batch.commitOrFail { error in
        let error = error.map { $0 as NSError }
        // An earlier write of the record may also have been refused. That write must be retried first.
        if isRetryable(error, attempt), base.kitLanes.hasPendingPredecessor(attempt.turn) {
          return retry(attempt, orEnd: endCreation(attempt), attemptCreation)
        }
        endCreation(attempt)(error)
      }
      if attempt.isFirst {
        log(attempt.place, old: nil, new: instance)
        base.didCreateInstance(instance, context: context)
      }
      attempt.leave()
    }
  }

  private func endCreation(_ attempt: Attempt) -> End {
    { error in
      base.kitLanes.end(attempt.turn, hasHappened: error == nil)
      base.kitReport(error)
      base.didCreateAndPersistInstance(instance, context: context, error: error)
    }
  }

  // MARK: Updating

  func update() {
    withPlace { () throws(ResourceError) in
      try base.kitPlace(of: instance, instance.key, context: context)
    } then: { place in
      after {
        base.willUpdateInstance(instance, context: context, done: $0)
      } then: {
        begin(place, attemptUpdate)
      }
    }
  }

  private func attemptUpdate(_ attempt: Attempt) {
    let end = endUpdate(attempt)
    read(attempt, isUpdate: true, orEnd: end) { stored, draft, owners in
      let batch = base.firebase.batch()
      write(draft, to: batch) { fields in
        for name in draft.estimates.union(ownCounters) { fields.leaveOut(name) }
        batch.replaceFields(
          fields, forDocument: stored.reference, requiring: base.kitRequirement(instance, stored))
      }
      count(in: batch, owners, attempt: attempt, before: isCounted(stored), after: draft.counts)
      issue(attempt, .fields(draft.names), orEnd: end, retry: attemptUpdate) {
        batch.commitOrFail { error in
          let error = error.map { $0 as NSError }
          if isRetryable(error, attempt) { return retry(attempt, orEnd: end, attemptUpdate) }
          end(error)
        }
        if attempt.isFirst {
          log(attempt.place, old: stored, new: instance)
          base.didUpdateInstance(instance, context: context)
        }
        attempt.leave()
      }
    }
  }

  private func endUpdate(_ attempt: Attempt) -> End {
    { error in
      base.kitLanes.end(attempt.turn, hasHappened: error == nil)
      base.kitReport(error)
      base.didUpdateAndPersistInstance(instance, context: context, error: error)
    }
  }

  // MARK: Destroying

  func destroy() {
    withPlace { () throws(ResourceError) in
      try base.kitPlace(of: instance, instance.key, context: context)
    } then: { place in
      after {
        base.willDestroyInstance(instance, context: context, done: $0)
      } then: {
        begin(place, attemptDestruction)
      }
    }
  }

  private func attemptDestruction(_ attempt: Attempt) {
    let end = endDestruction(attempt)
    read(attempt, isUpdate: false, orEnd: end) { stored, _, owners in
      let batch = base.firebase.batch()
      if stored.exists {
        batch.deleteDocument(stored.reference, requiring: base.kitRequirement(instance, stored))
        count(in: batch, owners, attempt: attempt, before: isCounted(stored), after: { _ in false })
      }
      issue(attempt, .all, orEnd: end, retry: attemptDestruction) {
        batch.commitOrFail { error in
          let error = error.map { $0 as NSError }
          if isRetryable(error, attempt) { return retry(attempt, orEnd: end, attemptDestruction) }
          end(error)
        }
        if attempt.isFirst {
          if stored.exists { log(attempt.place, old: stored, new: nil) }
          base.didDestroyInstance(instance, context: context)
        }
        attempt.leave()
      }
    }
  }

  private func endDestruction(_ attempt: Attempt) -> End {
    { error in
      base.kitLanes.end(attempt.turn, hasHappened: error == nil)
      base.kitReport(error)
      base.didDestroyAndPersistInstance(instance, context: context, error: error)
    }
  }

  // MARK: The steps

  private func withPlace(
    _ find: () throws(ResourceError) -> ResourcePlace, then body: (ResourcePlace) -> Void
  ) {
    do throws(ResourceError) {
      let place = try find()
      // A write that starts after the termination of the database is reported, and no hook runs.
      do { try base.firebase.checkLiving() } catch { return base.kitReport(error as NSError) }
      call.run(in: base.firebase) { body(place) }
    } catch {
      base.kitReport(error)
    }
  }

  private func after(
    _ hook: (@escaping ResourceDoneHandler) -> Void, then body: @escaping () -> Void
  ) {
    ResourceHook.run(on: base.firebase.callbackQueue, hook) { error in
      if let error { base.kitReport(error) } else { body() }
    }
  }

  /// Reads the stored record, and the owners of the counters to decrement. Passes these snapshots to `body`,
  /// together with the part of the draft that is still to be written. If the read fails, or if later writes
  /// have replaced all fields, the write ends here.
  private func read(
    _ attempt: Attempt, isUpdate: Bool, orEnd end: @escaping End,
    then body: @escaping (DocumentSnapshot, ResourceDraft, [DocumentReference: DocumentSnapshot]) -> Void
  ) {
    let document = base.kitDocument(attempt.place)
    let receiveStored: (DocumentSnapshot?, (any Error)?) -> Void = { stored, error in
      guard let stored else {
        fail(attempt, error.map { $0 as NSError }, end: end)
        return attempt.leave()
      }
      guard let draft = rest(of: attempt, over: stored, isUpdate: isUpdate) else {
        end(nil)
        return attempt.leave()
      }
      let counts = try? ResourceCounts(
        base, instance, context: context, before: isCounted(stored),
        after: { isUpdate && draft.counts($0) })
      let owners = (counts?.changes ?? []).filter(\.isDecrement).map(\.owner)
      readOwners(owners[...], [:]) { body(stored, draft, $0) }
    }
    if base.kitIsCountedByPredicate(instance) {
      document.getDocumentForWriteOrFail(receiveStored)
    } else {
      document.getDocumentOrFail(receiveStored)
    }
  }

  /// Returns the draft without the fields that later writes have written; nil if no field is left to write.
  private func rest(of attempt: Attempt, over stored: DocumentSnapshot, isUpdate: Bool) -> ResourceDraft? {
    guard let written = base.kitLanes.written(after: attempt.turn) else {
      return isUpdate
        ? attempt.draft.over(stored, without: [], base: base, instance: instance) : attempt.draft
    }
    guard isUpdate, case .fields(let names) = written else { return nil }
    let rest = attempt.draft.over(stored, without: names, base: base, instance: instance)
    return rest.names.isEmpty ? nil : rest
  }

  private func readOwners(
    _ owners: ArraySlice<DocumentReference>, _ known: [DocumentReference: DocumentSnapshot],
    _ body: @escaping ([DocumentReference: DocumentSnapshot]) -> Void
  ) {
    guard let owner = owners.first else { return body(known) }
    owner.getDocumentOrFail { snapshot, _ in
      var known = known
      known[owner] = snapshot
      readOwners(owners.dropFirst(), known, body)
    }
  }

  /// Returns a function that determines whether a counter counts the stored record.
  private func isCounted(_ stored: DocumentSnapshot) -> (ResourceCounter) -> Bool {
    guard let fields = stored.data(with: .estimate) else { return { _ in false } }
    let old = instance.clone()
    old.update(fields)
    return { $0.counts(old) }
  }

  private func write(
    _ draft: ResourceDraft, to batch: WriteBatch, _ body: (inout EncodedFields) -> Void
  ) {
    switch draft.fields {
    case .success(var fields): body(&fields)
    case .failure(let error):
      batch.fail(
        NSError(
          domain: FirestoreErrorDomain, code: FirestoreErrorCode.Code.invalidArgument.rawValue,
          userInfo: [NSLocalizedDescriptionKey: error.message]))
    }
  }

  private func count(
    in batch: WriteBatch, _ owners: [DocumentReference: DocumentSnapshot], attempt: Attempt,
    before: (ResourceCounter) -> Bool, after: (ResourceCounter) -> Bool
  ) {
    do throws(ResourceError) {
      let counts = try ResourceCounts(base, instance, context: context, before: before, after: after)
      counts.add(to: batch, owners)
      // A skipped counter is reported once for each write, not for each attempt.
      guard attempt.isFirst else { return }
      for counter in counts.skipped {
        base.didSkipCounter(counter.name, of: counter.owner, counting: instance, context: context)
      }
    } catch {
      batch.fail(error.nsError)
    }
  }

  /// The names of the record's fields that are counters.
  private var ownCounters: [String] {
    base.kitCounters.filter { instance.isInstance(of: $0.owner) }.map(\.name)
  }

  /// Returns whether the write may be retried: it was refused because a document had changed since it was
  /// read, and it has attempts left.
  private func isRetryable(_ error: NSError?, _ attempt: Attempt) -> Bool {
    guard let error, error.domain == FirestoreErrorDomain, attempt.number < Self.attemptsMax,
      base.kitIsCounted(instance)
    else { return false }
    switch FirestoreErrorCode.Code(rawValue: error.code) {
    case .failedPrecondition?, .notFound?, .alreadyExists?: return true
    default: return false
    }
  }

  private func log(_ place: ResourcePlace, old: DocumentSnapshot?, new: (any BaseItemProtocol)?) {
    let used = (try? base.kitPath(of: Swift.type(of: instance), context).names) ?? []
    var extra = ResourceDict()
    for (name, object) in context where !used.contains(name) { extra[name] = object }
    base.logAction(place.path, old: old, new: new, extraContext: extra)
  }
}

extension ResourcePath {
  /// Returns the resolved component that replaces `@`; nil if the path does not contain `@`.
  fileprivate func key(in resolved: [String]) -> String? {
    components.firstIndex { if case .key = $0 { true } else { false } }.map { resolved[$0] }
  }
}
