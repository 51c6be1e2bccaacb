// The interest filter: takes only a few steps to reject a change that concerns no listener.
//
// Almost no change concerns a listener. The exact matcher takes dozens of cache misses to find out whether a
// change concerns a listener, and every commit would pay for them. This filter takes four or five cache
// misses. It runs before the commit is logged, while the document's values are still in the cache. The
// matcher checks only the changes that pass the filter.
//
// The filter stores hashes and key prefixes instead of whole conditions. It may therefore let a change pass
// needlessly, for example after a hash collision, but it never rejects a change that concerns a view. A
// removed view leaves its fingerprints in the Bloom filter. The filter is rebuilt when more views were
// removed than remain.
//
// Do not copy this structure: copies would share its scopes and its Bloom filter.

import ByteStore

struct InterestFilter {
  /// The filter is rebuilt only if more than this many views were removed.
  private static let removedViewsMax = 64

  // The fields that every probe reads come first, next to each other in memory.

  /// Hash of the last change's collection. The next change is most often in the same collection.
  private var latestCollection: UInt64 = 0
  /// A cached copy of the probes for `latestCollection`.
  private var probes = InterestProbes()
  private var fingerprints: BlockedBloomFilter.View
  private var hasGroups = false
  private var hasNames = false
  /// Incremented for each new interest, because a change that was rejected in an earlier epoch may concern
  /// the new listener.
  private(set) var epoch: UInt64 = 0
  private var fingerprintSet: BlockedBloomFilter {
    didSet { fingerprints = fingerprintSet.view }
  }
  /// Keyed by the hash of a collection or collection group.
  private var scopes: [UInt64: InterestFilterScope] = [:]
  private var interests: [Int: LiveInterest] = [:]
  /// Number of views per fingerprint, for anchors with several possible conditions.
  private var viewsPerFingerprint: [UInt64: Int] = [:]
  private var removedViews = 0

  init() {
    fingerprintSet = BlockedBloomFilter(capacity: 8)
    fingerprints = fingerprintSet.view
  }

  // MARK: Changes

  /// Returns false if neither the old nor the new state of the document concerns a listener. `key` is scratch
  /// space for values.
  @inline(__always)
  mutating func mayMatch(_ change: UnsafePointer<IndexChanges.Change>, _ key: inout [UInt8]) -> Bool {
    let collection =
      unsafe InterestFingerprint.quickHash(ofCollectionOf: change.pointee.path)
      ?? InterestFingerprint.hash(ofCollectionOf: change.pointee.path)
    if collection != latestCollection { turn(to: collection) }
    if unsafe probes.mayMatch(change, fingerprints, key: &key) { return true }
    return unsafe (probes.hasNestedFields || hasNames || hasGroups) && mayMatchElsewhere(change, &key)
  }

  /// Checks nested fields, the document's name, and its collection group.
  @inline(never)
  private func mayMatchElsewhere(
    _ change: UnsafePointer<IndexChanges.Change>, _ key: inout [UInt8]
  ) -> Bool {
    if let scope = scopes[latestCollection],
      unsafe scope.nestedFieldsMayMatch(change, fingerprints, key: &key)
    {
      return true
    }
    if hasNames, unsafe fingerprints.mayContain(InterestFingerprint.hash(ofName: change.pointee.key)) {
      return true
    }
    guard hasGroups,
      let group = unsafe scopes[InterestFingerprint.hash(ofGroup: change.pointee.path.collectionID)]
    else { return false }
    return unsafe group.mayMatch(change, fingerprints, key: &key)
  }

  @inline(never)
  private mutating func turn(to collection: UInt64) {
    probes = scopes[collection]?.probes ?? InterestProbes()
    latestCollection = collection
  }

  // MARK: Views

  /// Adds the interest of a view. From now on, changes that concern the view pass the filter.
  mutating func insert(_ interest: LiveInterest, number: Int) {
    interests[number] = interest
    epoch += 1
    count(interest, 1)
    if !fingerprint(interest) { rebuildFilter() }
  }

  /// Removes the interest of a view and returns it. Returns nil if there is no view with this number.
  mutating func remove(number: Int) -> LiveInterest? {
    guard let interest = interests.removeValue(forKey: number) else { return nil }
    count(interest, -1)
    removedViews += 1
    if removedViews > max(Self.removedViewsMax, interests.count) { rebuildFilter() }
    return interest
  }

  mutating func removeAll() {
    interests = [:]
    viewsPerFingerprint = [:]
    rebuildFilter()
  }

  private mutating func count(_ interest: LiveInterest, _ more: Int) {
    for case .either(let anchors) in interest.anchors ?? [] {
      for hash in anchors.map(InterestFingerprint.fingerprint) {
        let count = (viewsPerFingerprint[hash] ?? 0) + more
        viewsPerFingerprint[hash] = count > 0 ? count : nil
      }
    }
  }

  private mutating func rebuildFilter() {
    removedViews = 0
    var capacity = 2 * interests.values.reduce(8) { $0 + ($1.anchors?.count ?? 1) }
    repeat {
      fingerprintSet = BlockedBloomFilter(capacity: capacity)
      scopes = [:]
      turn(to: latestCollection)
      (hasGroups, hasNames) = (false, false)
      capacity *= 2
    } while !interests.values.allSatisfy { fingerprint($0) }
  }

  /// Adds the fingerprints of an interest. Returns false if the Bloom filter is full.
  private mutating func fingerprint(_ interest: LiveInterest) -> Bool {
    switch interest.scope {
    case .document(let path): return fingerprint(name: DocumentKey.encode(path))
    case .collectionGroup(let id):
      hasGroups = true
      return fingerprint(interest.anchors, in: InterestFingerprint.hash(ofGroup: id))
    case .collection(let collection):
      return fingerprint(interest.anchors, in: InterestFingerprint.hash(ofCollection: collection.segments))
    }
  }

  private mutating func fingerprint(_ anchors: [LiveAnchor]?, in key: UInt64) -> Bool {
    let scope = scopes[key] ?? InterestFilterScope()
    scopes[key] = scope
    // The cached probes are invalid once the scope has changed.
    defer { if key == latestCollection { turn(to: key) } }
    guard let anchors else {
      scope.passAll()
      return true
    }
    return anchors.allSatisfy { fingerprint($0, in: scope) }
  }

  private mutating func fingerprint(_ anchor: LiveAnchor, in scope: InterestFilterScope) -> Bool {
    switch anchor {
    case .either(let anchors):
      // The condition with the fewest views is the most selective.
      let best = anchors.min {
        viewsPerFingerprint[InterestFingerprint.fingerprint(of: $0)] ?? 0 < viewsPerFingerprint[
          InterestFingerprint.fingerprint(of: $1)] ?? 0
      }
      return best.map { fingerprint($0, in: scope) } ?? true
    case .name(let name): return fingerprint(name: name)
    case .equal, .element:
      scope.note(anchor)
      return fingerprintSet.insert(InterestFingerprint.fingerprint(of: anchor))
    case .range:
      scope.note(anchor)
      return true
    }
  }

  private mutating func fingerprint(name: [UInt8]) -> Bool {
    hasNames = true
    return fingerprintSet.insert(InterestFingerprint.hash(ofName: name))
  }
}
