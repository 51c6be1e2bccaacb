// The interest filter: rejects changes that concern no listener in a few steps.
//
// Almost no change concerns a listener. The exact matcher needs dozens of cache misses to find that out,
// and every commit would pay for them. This filter needs four or five. It runs before the commit is logged,
// while the document's values are still in the cache. The matcher checks the changes that pass.
//
// The filter knows conditions only by their hashes. A hash collision passes a change needlessly; a change
// that concerns a view is never rejected. A removed view leaves its fingerprints in the Bloom filter. The
// filter is rebuilt when more views were removed than remain.
//
// Do not copy this structure: copies would share its scopes and its Bloom filter.

import ByteStore

struct LiveSieve {
  /// The filter is not rebuilt for this many removed views or fewer.
  private static let goneMax = 64

  // The fields that every probe reads come first, next to each other in memory.

  /// Hash of the last change's collection. The next change is most often in the same collection.
  private var latestCollection: UInt64 = 0
  /// A cached copy of the probes of that collection's scope.
  private var questions = LiveQuestions()
  private var marks: LiveMarks.View
  private var hasGroups = false
  private var hasNames = false
  /// Grows with each new interest: a change that was rejected in an earlier epoch may now concern a
  /// listener.
  private(set) var epoch: UInt64 = 0
  private var markSet: LiveMarks {
    didSet { marks = markSet.view }
  }
  /// Keyed by the hash of a collection or collection group.
  private var scopes: [UInt64: LiveSieveScope] = [:]
  private var interests: [Int: LiveInterest] = [:]
  /// Number of views per fingerprint, for anchors with several possible conditions.
  private var choices: [UInt64: Int] = [:]
  private var gone = 0

  init() {
    markSet = LiveMarks(capacity: 8)
    marks = markSet.view
  }

  // MARK: Changes

  /// False if no listener is concerned by the document's old or new state. `key` is scratch space for
  /// values.
  @inline(__always)
  mutating func letsThrough(_ change: UnsafePointer<IndexChanges.Change>, _ key: inout [UInt8]) -> Bool {
    let collection =
      unsafe LiveDigest.quickHash(ofCollectionOf: change.pointee.path)
      ?? LiveDigest.hash(ofCollectionOf: change.pointee.path)
    if collection != latestCollection { turn(to: collection) }
    if unsafe questions.letsThrough(change, marks, &key) { return true }
    return unsafe (questions.hasOthers || hasNames || hasGroups) && isWaitedForElsewhere(change, &key)
  }

  /// Checks nested fields, the document's name, and its collection group.
  @inline(never)
  private func isWaitedForElsewhere(
    _ change: UnsafePointer<IndexChanges.Change>, _ key: inout [UInt8]
  ) -> Bool {
    if let scope = scopes[latestCollection], unsafe scope.othersLetThrough(change, marks, &key) {
      return true
    }
    if hasNames, unsafe marks.mayHave(LiveDigest.hash(ofName: change.pointee.key)) { return true }
    guard hasGroups, let group = unsafe scopes[LiveDigest.hash(ofGroup: change.pointee.path.collectionID)]
    else { return false }
    return unsafe group.letsThrough(change, marks, &key)
  }

  @inline(never)
  private mutating func turn(to collection: UInt64) {
    questions = scopes[collection]?.questions ?? LiveQuestions()
    latestCollection = collection
  }

  // MARK: Views

  /// From now on, changes that concern the view pass.
  mutating func insert(_ interest: LiveInterest, number: Int) {
    interests[number] = interest
    epoch += 1
    count(interest, 1)
    if !mark(interest) { markAnew() }
  }

  /// Nil if there is no view with this number.
  mutating func remove(number: Int) -> LiveInterest? {
    guard let interest = interests.removeValue(forKey: number) else { return nil }
    count(interest, -1)
    gone += 1
    if gone > max(Self.goneMax, interests.count) { markAnew() }
    return interest
  }

  mutating func removeAll() {
    interests = [:]
    choices = [:]
    markAnew()
  }

  private mutating func count(_ interest: LiveInterest, _ more: Int) {
    for case .either(let anchors) in interest.anchors ?? [] {
      for hash in anchors.map(LiveDigest.mark) {
        let count = (choices[hash] ?? 0) + more
        choices[hash] = count > 0 ? count : nil
      }
    }
  }

  private mutating func markAnew() {
    gone = 0
    var capacity = 2 * interests.values.reduce(8) { $0 + ($1.anchors?.count ?? 1) }
    repeat {
      markSet = LiveMarks(capacity: capacity)
      scopes = [:]
      turn(to: latestCollection)
      (hasGroups, hasNames) = (false, false)
      capacity *= 2
    } while !interests.values.allSatisfy { mark($0) }
  }

  /// False if the Bloom filter is full.
  private mutating func mark(_ interest: LiveInterest) -> Bool {
    switch interest.scope {
    case .document(let path): return mark(name: DocumentKey.encode(path))
    case .collectionGroup(let id):
      hasGroups = true
      return mark(interest.anchors, in: LiveDigest.hash(ofGroup: id))
    case .collection(let collection):
      return mark(interest.anchors, in: LiveDigest.hash(ofCollection: collection.segments))
    }
  }

  private mutating func mark(_ anchors: [LiveAnchor]?, in key: UInt64) -> Bool {
    let scope = scopes[key] ?? LiveSieveScope()
    scopes[key] = scope
    // The cached probes are invalid once the scope has changed.
    defer { if key == latestCollection { turn(to: key) } }
    guard let anchors else {
      scope.letAllThrough()
      return true
    }
    return anchors.allSatisfy { mark($0, in: scope) }
  }

  private mutating func mark(_ anchor: LiveAnchor, in scope: LiveSieveScope) -> Bool {
    switch anchor {
    case .either(let anchors):
      // The condition with the fewest views is the most selective.
      let best = anchors.min { choices[LiveDigest.mark(of: $0)] ?? 0 < choices[LiveDigest.mark(of: $1)] ?? 0 }
      return best.map { mark($0, in: scope) } ?? true
    case .name(let name): return mark(name: name)
    case .equal, .element:
      scope.note(anchor)
      return markSet.insert(LiveDigest.mark(of: anchor))
    case .range:
      scope.note(anchor)
      return true
    }
  }

  private mutating func mark(name: [UInt8]) -> Bool {
    hasNames = true
    return markSet.insert(LiveDigest.hash(ofName: name))
  }
}
