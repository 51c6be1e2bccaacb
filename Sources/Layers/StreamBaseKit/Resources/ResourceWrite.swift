// One creation, update or end of a record.
//
//   1. the hook before it; then it is noted what is to be written
//   2. its turn among the writes of the record
//   3. for updates and ends, what is stored, and the owners of counters that are to be less
//   4. one batch of the record and the counters
//   5. the log and the hook after it, while the batch is on its way
//   6. when the batch is durable or refused, the last hook; but if it was refused because something was not
//      what was read, everything from 2 on is done again, without 5, and without what later writes have
//      written
//
// Whose write it is is decided when it is asked for. What comes later than that, a first try behind a read or
// another one, is done while its user is here, and waits if that user is away. Once a write has begun, the
// database may be terminated at any time: the write fails then.

import FirebaseFirestore
import Foundation

struct ResourceWrite {
  private static let attemptsMax = 5

  private let base: ResourceBase
  private let instance: any BaseItemProtocol
  private let context: ResourceContext
  private let inflight = Inflight()
  private let call = Call()

  init(_ base: ResourceBase, _ instance: any BaseItemProtocol, _ context: ResourceContext) {
    self.base = base
    self.instance = instance
    self.context = context
  }

  /// What the user asked for.
  private final class Call {
    /// Nothing of the user's can come in between before.
    private(set) var hasReturned = false
    /// Whose write it is, once that is known; nil is nobody.
    private var user: String??
    private var tell: ((String?) -> Void)?

    func run(in firebase: Firestore, _ body: () -> Void) {
      firebase.followUser { [self] result in
        guard case .success(let user) = result else { return true }
        self.user = .some(user)
        tell?(user)
        return true
      }
      body()
      hasReturned = true
    }

    func whenKnown(_ body: @escaping (String?) -> Void) {
      if let user { body(user) } else { tell = body }
    }
  }

  /// One try.
  private struct Attempt {
    let place: ResourcePlace
    let draft: ResourceDraft
    let turn: ResourceLanes.Turn
    var number = 1
    var leave: () -> Void = {}

    var isFirst: Bool { number == 1 }
  }

  /// Waits for its turn, again and again if it has to.
  private func begin(_ place: ResourcePlace, _ body: @escaping (Attempt) -> Void) {
    let lanes = base.kitLanes
    let turn = lanes.turn(at: place.path)
    call.whenKnown { lanes.note(turn, isOf: $0) }
    var attempt = Attempt(place: place, draft: ResourceDraft(base, instance), turn: turn)
    lanes.enter(turn) { leave in
      attempt.leave = leave
      body(attempt)
    }
  }

  private typealias End = (NSError?) -> Void

  private func again(_ attempt: Attempt, orEnd end: @escaping End, _ body: @escaping (Attempt) -> Void) {
    var next = attempt
    next.number += 1
    wait(next, orEnd: end, body)
  }

  /// Until it is known what becomes of later writes of its user, and the user is here.
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
          guard turn.isOf(user) else { return false }
          lanes.resume(turn)
        case .failure(let error):
          if lanes.withdraw(turn) { fail(attempt, error as NSError, end) }
        }
        return true
      }
    }
  }

  /// Calls `commit`: at once if the write was just asked for, and else if the user is here still, whose write
  /// it is.
  private func issue(
    _ attempt: Attempt, _ written: ResourceLanes.Written, orEnd end: @escaping End,
    again body: @escaping (Attempt) -> Void, _ commit: @escaping () -> Void
  ) {
    let (lanes, turn) = (base.kitLanes, attempt.turn)
    // Without a remote, a write is nobody's.
    guard call.hasReturned, base.firebase.hasRemote else {
      lanes.issue(turn, written)
      return commit()
    }
    base.firebase.followUser { result in
      switch result {
      case .success(let user) where turn.isOf(user):
        lanes.issue(turn, written)
        commit()
      case .success:
        wait(attempt, orEnd: end, body)
        attempt.leave()
      case .failure(let error):
        fail(attempt, error as NSError, end)
        attempt.leave()
      }
      return true
    }
  }

  /// Of what was never issued, nobody is told that it was or was not persisted.
  private func fail(_ attempt: Attempt, _ error: NSError?, _ end: End) {
    guard attempt.isFirst else { return end(error) }
    base.kitLanes.end(attempt.turn, hasHappened: false)
    base.kitReport(error)
  }

  // MARK: Creating

  func create() {
    withPlace { () throws(ResourceError) in
      let needsKey = try base.kitPath(of: Swift.type(of: instance), context).usesKey
      return try base.kitPlace(
        of: instance, needsKey ? instance.key ?? ChronologicalID.next() : instance.key, context)
    } then: { place in
      let path = try? base.kitPath(of: Swift.type(of: instance), context)
      // Of a path without the key, the last component names the record.
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
    let batch = base.firebase.layerBatch()
    let document = base.kitDocument(attempt.place)
    write(attempt.draft, to: batch) { fields in
      for name in ownCounters where fields.has(name) { fields.set(name, to: 0) }
      batch.makeFields(fields, forDocument: document, requiring: isUnique ? .absent : .nothing)
    }
    count(in: batch, [:], attempt, before: { _ in false }, after: attempt.draft.counts)
    issue(attempt, .all, orEnd: endCreation(attempt), again: attemptCreation) {
      batch.commitOrFail { error in
        let error = error.map { $0 as NSError }
        // What is to go before it may have been refused too.
        if isWorthAnother(error, attempt), base.kitLanes.isBehindOthers(attempt.turn) {
          return again(attempt, orEnd: endCreation(attempt), attemptCreation)
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
      try base.kitPlace(of: instance, instance.key, context)
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
      let batch = base.firebase.layerBatch()
      write(draft, to: batch) { fields in
        for name in draft.estimates.union(ownCounters) { fields.leaveOut(name) }
        batch.replaceFields(
          fields, forDocument: stored.reference, requiring: base.kitRequirement(instance, stored))
      }
      count(in: batch, owners, attempt, before: isCounted(stored), after: draft.counts)
      issue(attempt, .fields(draft.names), orEnd: end, again: attemptUpdate) {
        batch.commitOrFail { error in
          let error = error.map { $0 as NSError }
          if isWorthAnother(error, attempt) { return again(attempt, orEnd: end, attemptUpdate) }
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
      try base.kitPlace(of: instance, instance.key, context)
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
      let batch = base.firebase.layerBatch()
      if stored.exists {
        batch.deleteDocument(stored.reference, requiring: base.kitRequirement(instance, stored))
        count(in: batch, owners, attempt, before: isCounted(stored), after: { _ in false })
      }
      issue(attempt, .all, orEnd: end, again: attemptDestruction) {
        batch.commitOrFail { error in
          let error = error.map { $0 as NSError }
          if isWorthAnother(error, attempt) { return again(attempt, orEnd: end, attemptDestruction) }
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
      // To begin behind the end of the database is a mistake, which traps.
      _ = base.firebase.client()
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

  /// What is stored, what of the draft is still to be written, and of the owners of counters that will be
  /// less, what is known. Without the record, or if later writes have covered everything, it ends here.
  private func read(
    _ attempt: Attempt, isUpdate: Bool, orEnd end: @escaping End,
    then body: @escaping (DocumentSnapshot, ResourceDraft, [DocumentReference: DocumentSnapshot]) -> Void
  ) {
    let document = base.kitDocument(attempt.place)
    let hear: (DocumentSnapshot?, (any Error)?) -> Void = { stored, error in
      guard let stored else {
        fail(attempt, error.map { $0 as NSError }, end)
        return attempt.leave()
      }
      guard let draft = rest(of: attempt, over: stored, isUpdate: isUpdate) else {
        end(nil)
        return attempt.leave()
      }
      let counts = try? ResourceCounts(
        base, instance, context, before: isCounted(stored),
        after: { isUpdate && draft.counts($0) })
      let owners = (counts?.changes ?? []).filter(\.isDecrement).map(\.owner)
      readOwners(owners[...], [:]) { body(stored, draft, $0) }
    }
    if base.kitIsCountedByPredicate(instance) {
      document.getKnownDocumentOrFail(hear)
    } else {
      document.getDocumentOrFail(hear)
    }
  }

  /// Without what later writes have written; nil if they have left nothing to do.
  private func rest(of attempt: Attempt, over stored: DocumentSnapshot, isUpdate: Bool) -> ResourceDraft? {
    guard let written = base.kitLanes.written(after: attempt.turn) else {
      return isUpdate ? attempt.draft.over(stored, without: [], base, instance) : attempt.draft
    }
    guard isUpdate, case .fields(let names) = written else { return nil }
    let rest = attempt.draft.over(stored, without: names, base, instance)
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

  /// Which counters count the record as it is stored.
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
    in batch: WriteBatch, _ owners: [DocumentReference: DocumentSnapshot], _ attempt: Attempt,
    before: (ResourceCounter) -> Bool, after: (ResourceCounter) -> Bool
  ) {
    do throws(ResourceError) {
      let counts = try ResourceCounts(base, instance, context, before: before, after: after)
      counts.add(to: batch, owners)
      // Once for each write, however often it is tried.
      guard attempt.isFirst else { return }
      for counter in counts.skipped {
        base.didSkipCounter(counter.name, of: counter.owner, counting: instance, context: context)
      }
    } catch {
      batch.fail(error.nsError)
    }
  }

  /// Fields of the record that counters own.
  private var ownCounters: [String] {
    base.kitCounters.filter { instance.isInstance(of: $0.owner) }.map(\.name)
  }

  /// Whether it was refused because something had changed since it was read.
  private func isWorthAnother(_ error: NSError?, _ attempt: Attempt) -> Bool {
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
  /// What stands where the key does.
  fileprivate func key(in resolved: [String]) -> String? {
    components.firstIndex { if case .key = $0 { true } else { false } }.map { resolved[$0] }
  }
}
