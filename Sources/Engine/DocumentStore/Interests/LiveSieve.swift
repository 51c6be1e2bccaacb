// Changes that concern nobody, told in few steps.
//
// Nearly every change concerns nobody. The matcher says so exactly, by dozens of places in memory that nothing has touched
// since the commit before, and a commit would pay for each of them. This says it by four or five, before the commit is
// logged, when the values of its documents are at hand. What it lets through is looked at by the matcher.
//
// All is known by hashes. What has the same hash is let through for each other, which costs a look; nothing that a view
// waits for is ever held back. A view that is gone leaves what it has marked, until there is more of that than of the
// rest: then all is marked anew.
//
// There is one of it: a copy would share its scopes and marks.

import ByteStore

struct LiveSieve {
  /// So much of what nobody waits for any more is not worth the work.
  private static let goneMax = 64

  // What each change needs comes first, side by side.

  /// The hash of the collection that came last: the next change is most often of the same one.
  private var latestCollection: UInt64 = 0
  /// Of that collection: what its scope has, as it is now.
  private var questions = LiveQuestions()
  private var marks: LiveMarks.View
  private var hasGroups = false
  private var hasNames = false
  /// What was held back as of an earlier one may be waited for now.
  private(set) var epoch: UInt64 = 0
  private var markSet: LiveMarks {
    didSet { marks = markSet.view }
  }
  /// By the hashes of collections and of collection groups.
  private var scopes: [UInt64: LiveSieveScope] = [:]
  private var interests: [Int: LiveInterest] = [:]
  /// How many views each value would tell, where several would do.
  private var choices: [UInt64: Int] = [:]
  private var gone = 0

  init() {
    markSet = LiveMarks(capacity: 8)
    marks = markSet.view
  }

  // MARK: Changes

  /// False if nobody waits for anything that was or is in the document. `key` is room for the bytes of values.
  @inline(__always)
  mutating func letsThrough(_ change: UnsafePointer<IndexChanges.Change>, _ key: inout [UInt8]) -> Bool {
    let collection =
      unsafe LiveDigest.quickHash(ofCollectionOf: change.pointee.path)
      ?? LiveDigest.hash(ofCollectionOf: change.pointee.path)
    if collection != latestCollection { turn(to: collection) }
    if unsafe questions.letsThrough(change, marks, &key) { return true }
    return unsafe (questions.hasOthers || hasNames || hasGroups) && isWaitedForElsewhere(change, &key)
  }

  /// In fields that are in others, by the name of the document, or in its group.
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

  /// From now on, what the view waits for is let through.
  mutating func insert(_ interest: LiveInterest, number: Int) {
    interests[number] = interest
    epoch += 1
    count(interest, 1)
    if !mark(interest) { markAnew() }
  }

  /// Nil if there is none.
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

  /// False if there is no room.
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
    // What the scope had before it was changed is not there any more.
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
      // The one of fewest views tells most.
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
