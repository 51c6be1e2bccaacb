// Changes that concern nobody, told by few looks into memory.
//
// Nearly every change concerns nobody. The matcher says so exactly, by dozens of places in memory that nothing has touched
// since the commit before, and a commit would pay for each of them. This says it by four or five, before the commit is
// logged, when the values of its documents are at hand. What it lets through is looked at by the matcher.
//
// All is known by hashes. What has the same hash is let through for each other, which costs a look; nothing that a view
// waits for is ever held back. A view that is gone leaves what it has marked, until there is more of that than of the
// rest: then all is marked anew.

import ByteStore

struct LiveSieve {
  private struct Latest {
    /// What the keys of the collection's documents begin with, and those of documents below them.
    let beginning: [UInt8]
    /// How many segments the paths of its documents have.
    let depth: Int
    var scope: LiveSieveScope?

    @inline(__always)
    func has(_ change: UnsafePointer<IndexChanges.Change>) -> Bool {
      guard unsafe change.pointee.path.segments.count == depth,
        unsafe change.pointee.key.count > beginning.count
      else { return false }
      return unsafe change.pointee.key.rawSpan.extracting(first: beginning.count).isSame(
        as: beginning.rawSpan)
    }
  }

  /// So much of what nobody waits for any more is not worth the work.
  private static let goneMax = 64

  // What each change is asked for comes first, side by side.

  private var marks = LiveMarks(capacity: 8)
  private var hasGroups = false
  private var hasNames = false
  /// The collection that came last: the next change is most often of the same one. Its scope is not among the others then.
  private var latest: Latest?
  /// What was held back as of an earlier one may be waited for now.
  private(set) var epoch: UInt64 = 0
  private var scopes: [LiveScopeKey: LiveSieveScope] = [:]
  private var interests: [Int: LiveInterest] = [:]
  /// How many views each value would tell, where several would do.
  private var choices: [UInt64: Int] = [:]
  private var gone = 0

  // MARK: Changes

  /// False if nobody waits for anything that was or is in the document. `key` is room for the bytes of values.
  mutating func letsThrough(_ change: UnsafePointer<IndexChanges.Change>, _ key: inout [UInt8]) -> Bool {
    if hasNames, unsafe marks.mayHave(LiveDigest.hash(ofName: change.pointee.key)) { return true }
    if unsafe latest?.has(change) != true { unsafe turn(to: change.pointee) }
    if unsafe latest?.scope?.letsThrough(change, marks, &key) == true { return true }
    return unsafe hasGroups && isForGroup(change, &key)
  }

  private mutating func isForGroup(
    _ change: UnsafePointer<IndexChanges.Change>, _ key: inout [UInt8]
  ) -> Bool {
    let group = unsafe LiveScopeKey.group(RecordKey(Array(change.pointee.path.collectionID.utf8)))
    return unsafe scopes[group]?.letsThrough(change, marks, &key) ?? false
  }

  private mutating func turn(to change: IndexChanges.Change) {
    putBack()
    let beginning = Array(DocumentKey.beginning(of: change.key, endingWith: change.path.id))
    let scope = scopes.removeValue(forKey: .collection(RecordKey(beginning)))
    latest = Latest(beginning: beginning, depth: change.path.segments.count, scope: scope)
  }

  private mutating func putBack() {
    if let latest { scopes[.collection(RecordKey(latest.beginning))] = latest.scope }
    latest = nil
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
      for hash in anchors.map(LiveDigest.hash) {
        let count = (choices[hash] ?? 0) + more
        choices[hash] = count > 0 ? count : nil
      }
    }
  }

  private mutating func markAnew() {
    gone = 0
    var capacity = 2 * interests.values.reduce(8) { $0 + ($1.anchors?.count ?? 1) }
    repeat {
      marks = LiveMarks(capacity: capacity)
      latest = nil
      scopes = [:]
      (hasGroups, hasNames) = (false, false)
      capacity *= 2
    } while !interests.values.allSatisfy { mark($0) }
  }

  /// False if there is no room.
  private mutating func mark(_ interest: LiveInterest) -> Bool {
    let scope = LiveScopeKey(interest.scope)
    switch scope {
    case .document(let name): return mark(name: name.bytes)
    case .group: hasGroups = true
    case .collection: putBack()
    }
    return mark(interest.anchors, in: scope)
  }

  private mutating func mark(_ anchors: [LiveAnchor]?, in scope: LiveScopeKey) -> Bool {
    guard let anchors else {
      scopes[scope, default: LiveSieveScope()].letAllThrough()
      return true
    }
    return anchors.allSatisfy { mark($0, in: scope) }
  }

  private mutating func mark(_ anchor: LiveAnchor, in scope: LiveScopeKey) -> Bool {
    switch anchor {
    case .either(let anchors):
      // The one of fewest views tells most.
      let best = anchors.min { choices[LiveDigest.hash(of: $0)] ?? 0 < choices[LiveDigest.hash(of: $1)] ?? 0 }
      return best.map { mark($0, in: scope) } ?? true
    case .name(let name): return mark(name: name)
    case .equal, .element:
      scopes[scope, default: LiveSieveScope()].note(anchor)
      return marks.insert(LiveDigest.hash(of: anchor))
    case .range:
      scopes[scope, default: LiveSieveScope()].note(anchor)
      return true
    }
  }

  private mutating func mark(name: [UInt8]) -> Bool {
    hasNames = true
    return marks.insert(LiveDigest.hash(ofName: name))
  }
}
