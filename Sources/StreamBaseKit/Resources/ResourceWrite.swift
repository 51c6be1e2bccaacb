// One creation, update or end of a record.
//
//   1. the hook before it
//   2. its turn among the writes of the record
//   3. for updates and ends, what is stored, and the owners of counters that are to be less
//   4. one batch of the record and the counters
//   5. the log and the hook after it, while the batch is on its way
//   6. when the batch is durable or refused, the last hook; but if it was refused because something was not what was
//      read, everything from 3 on is done again, without 5

import FirebaseFirestore
import Foundation

struct ResourceWrite {
  private static let attemptsMax = 5

  private let base: ResourceBase
  private let instance: any BaseItemProtocol
  private let context: ResourceContext
  private let inflight = Inflight()

  init(_ base: ResourceBase, _ instance: any BaseItemProtocol, _ context: ResourceContext) {
    self.base = base
    self.instance = instance
    self.context = context
  }

  // MARK: Creating

  func create() {
    withPlace { () throws(ResourceError) in
      let needsKey = try base.path(of: Swift.type(of: instance), context).usesKey
      return try base.place(
        of: instance, needsKey ? instance.key ?? ChronologicalID.next() : instance.key, context)
    } then: { place in
      let path = try? base.path(of: Swift.type(of: instance), context)
      // Of a path without the key, the last component names the record.
      let key = path?.key(in: place.components) ?? place.components[place.components.count - 1]
      after {
        base.willCreateInstance(instance, key: key, context: context, done: $0)
      } then: {
        instance.key = key
        base.lanes.enter(place.path) { leave in
          issueCreation(place)
          leave()
        }
      }
    }
  }

  private func issueCreation(_ place: ResourcePlace) {
    let isUnique = base.isCounted(instance) || base.ownsCounters(instance)
    let batch = base.firebase.batch()
    let document = base.document(place)
    write(to: batch) { () throws(UserDataError) in
      var fields = try UserData.fields(from: instance.dict, in: base.firebase)
      for name in ownCounters where fields.has(name) { fields.set(name, to: 0) }
      batch.makeFields(fields, forDocument: document, requiring: isUnique ? .absent : .nothing)
    }
    count(in: batch, [:], 1, before: { _ in false }, after: { $0.counts(instance) })
    batch.commit { [self] error in
      let error = error.map { $0 as NSError }
      base.report(error)
      base.didCreateAndPersistInstance(instance, context: context, error: error)
    }
    log(place, old: nil, new: instance)
    base.didCreateInstance(instance, context: context)
  }

  // MARK: Updating

  func update() {
    withPlace { () throws(ResourceError) in
      try base.place(of: instance, instance.key, context)
    } then: {
      place in
      after {
        base.willUpdateInstance(instance, context: context, done: $0)
      } then: {
        base.lanes.enter(place.path) { leave in attemptUpdate(place, 1, leave) }
      }
    }
  }

  private func attemptUpdate(_ place: ResourcePlace, _ attempt: Int, _ leave: @escaping () -> Void) {
    let before = { (stored: DocumentSnapshot) in isCounted(stored) }
    let after = { (counter: ResourceCounter) in counter.counts(instance) }
    read(place, before, after, leave) { stored, owners in
      let batch = base.firebase.batch()
      write(to: batch) { () throws(UserDataError) in
        var fields = try UserData.fields(from: instance.dict, in: base.firebase)
        for name in ownCounters { fields.leaveOut(name) }
        batch.replaceFields(
          fields, forDocument: stored.reference, requiring: base.requirement(instance, stored))
      }
      count(in: batch, owners, attempt, before: isCounted(stored), after: after)
      batch.commit { [self] error in
        let error = error.map { $0 as NSError }
        if isWorthAnother(error, attempt) { return attemptUpdate(place, attempt + 1) {} }
        base.report(error)
        base.didUpdateAndPersistInstance(instance, context: context, error: error)
      }
      guard attempt == 1 else { return }
      log(place, old: stored, new: instance)
      base.didUpdateInstance(instance, context: context)
      leave()
    }
  }

  // MARK: Destroying

  func destroy() {
    withPlace { () throws(ResourceError) in
      try base.place(of: instance, instance.key, context)
    } then: {
      place in
      after {
        base.willDestroyInstance(instance, context: context, done: $0)
      } then: {
        base.lanes.enter(place.path) { leave in attemptDestruction(place, 1, leave) }
      }
    }
  }

  private func attemptDestruction(_ place: ResourcePlace, _ attempt: Int, _ leave: @escaping () -> Void) {
    let before = { (stored: DocumentSnapshot) in isCounted(stored) }
    read(place, before, { _ in false }, leave) { stored, owners in
      let batch = base.firebase.batch()
      if stored.exists {
        batch.deleteDocument(stored.reference, requiring: base.requirement(instance, stored))
        count(in: batch, owners, attempt, before: isCounted(stored), after: { _ in false })
      }
      batch.commit { [self] error in
        let error = error.map { $0 as NSError }
        if isWorthAnother(error, attempt) { return attemptDestruction(place, attempt + 1) {} }
        base.report(error)
        base.didDestroyAndPersistInstance(instance, context: context, error: error)
      }
      guard attempt == 1 else { return }
      if stored.exists { log(place, old: stored, new: nil) }
      base.didDestroyInstance(instance, context: context)
      leave()
    }
  }

  // MARK: The steps

  private func withPlace(
    _ find: () throws(ResourceError) -> ResourcePlace, then body: (ResourcePlace) -> Void
  ) {
    do throws(ResourceError) { body(try find()) } catch { base.report(error) }
  }

  private func after(
    _ hook: (@escaping ResourceDoneHandler) -> Void, then body: @escaping () -> Void
  ) {
    ResourceHook.run(on: base.firebase.callbackQueue, hook) { error in
      if let error { base.report(error) } else { body() }
    }
  }

  /// What is stored, and of the owners of counters that will be less, what is known. Without the record, the operation
  /// ends here.
  private func read(
    _ place: ResourcePlace, _ before: @escaping (DocumentSnapshot) -> (ResourceCounter) -> Bool,
    _ after: @escaping (ResourceCounter) -> Bool, _ leave: @escaping () -> Void,
    _ body: @escaping (DocumentSnapshot, [DocumentReference: DocumentSnapshot]) -> Void
  ) {
    base.document(place).getDocument { stored, error in
      guard let stored else {
        base.report(error.map { $0 as NSError })
        return leave()
      }
      let counts = try? ResourceCounts(base, instance, context, before: before(stored), after: after)
      let owners = (counts?.changes ?? []).filter(\.isDecrement).map(\.owner)
      readOwners(owners[...], [:]) { body(stored, $0) }
    }
  }

  private func readOwners(
    _ owners: ArraySlice<DocumentReference>, _ known: [DocumentReference: DocumentSnapshot],
    _ body: @escaping ([DocumentReference: DocumentSnapshot]) -> Void
  ) {
    guard let owner = owners.first else { return body(known) }
    owner.getDocument { snapshot, _ in
      var known = known
      known[owner] = snapshot
      readOwners(owners.dropFirst(), known, body)
    }
  }

  /// Which counters count the record as it is stored.
  private func isCounted(_ stored: DocumentSnapshot) -> (ResourceCounter) -> Bool {
    guard let fields = stored.data() else { return { _ in false } }
    let old = instance.clone()
    old.update(fields)
    return { $0.counts(old) }
  }

  private func write(to batch: WriteBatch, _ body: () throws(UserDataError) -> Void) {
    do throws(UserDataError) {
      try body()
    } catch {
      batch.fail(
        NSError(
          domain: FirestoreErrorDomain, code: FirestoreErrorCode.Code.invalidArgument.rawValue,
          userInfo: [NSLocalizedDescriptionKey: error.message]))
    }
  }

  private func count(
    in batch: WriteBatch, _ owners: [DocumentReference: DocumentSnapshot], _ attempt: Int,
    before: (ResourceCounter) -> Bool, after: (ResourceCounter) -> Bool
  ) {
    do throws(ResourceError) {
      let counts = try ResourceCounts(base, instance, context, before: before, after: after)
      counts.add(to: batch, owners)
      // Once for each write, however often it is tried.
      guard attempt == 1 else { return }
      for counter in counts.skipped {
        base.didSkipCounter(counter.name, of: counter.owner, counting: instance, context: context)
      }
    } catch {
      batch.fail(error.nsError)
    }
  }

  /// Fields of the record that counters own.
  private var ownCounters: [String] {
    base.counters.filter { instance.isInstance(of: $0.owner) }.map(\.name)
  }

  /// Whether it was refused because something had changed since it was read.
  private func isWorthAnother(_ error: NSError?, _ attempt: Int) -> Bool {
    guard let error, error.domain == FirestoreErrorDomain, attempt < Self.attemptsMax,
      base.isCounted(instance)
    else { return false }
    switch FirestoreErrorCode.Code(rawValue: error.code) {
    case .failedPrecondition?, .notFound?, .alreadyExists?: return true
    default: return false
    }
  }

  private func log(_ place: ResourcePlace, old: DocumentSnapshot?, new: (any BaseItemProtocol)?) {
    let used = (try? base.path(of: Swift.type(of: instance), context).names) ?? []
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
