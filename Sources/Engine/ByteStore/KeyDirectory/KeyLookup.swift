// The result of a lookup that a later commit of the same key reuses.
//
// A commit usually changes a key that it has looked up before. The hash of the key stays valid. The ordinal
// stays valid while the key directory has removed no key since, because only a removal frees an ordinal. The
// absence of a key stays valid while the key directory has added no key since.

/// The hash of a key, and its ordinal as of one state of the key directory.
package struct KeyLookup: Sendable {
  /// The lookup of a key that was not looked up.
  package static let none = KeyLookup(hash: 0)

  private enum Finding: UInt8 {
    case unknown
    case found
    case absent
  }

  /// The hash under the store's seed.
  package let hash: UInt64
  /// The number of removals before the key was found, or of insertions before it was found to be absent.
  private var count: UInt64 = 0
  private var ordinal: UInt32 = 0
  private var finding = Finding.unknown

  /// Creates a lookup whose result is not known.
  package init(hash: UInt64) { self.hash = hash }

  /// Whether the result of the lookup is known.
  var isKnown: Bool { finding != .unknown }

  /// Notes the ordinal that the key had after this number of removals.
  mutating func found(_ ordinal: UInt32, removals: UInt64) {
    (self.ordinal, count, finding) = (ordinal, removals, .found)
  }

  /// Notes that the key did not exist after this number of insertions.
  mutating func missed(insertions: UInt64) { (count, finding) = (insertions, .absent) }

  /// The target of an operation on the key. Nil if the result may no longer hold, or if the operation needs a
  /// page that is not loaded.
  fileprivate func target(in table: borrowing KeyDirectory) -> KeyDirectory.Target? {
    let fingerprint = KeyDirectory.fingerprint(ofHash: hash)
    switch finding {
    case .unknown: return nil
    case .found: guard count == table.removals, table.isLoaded(locationOf: ordinal) else { return nil }
    case .absent: guard count == table.insertions else { return nil }
    }
    guard table.slots.missing(for: fingerprint) == nil else { return nil }
    return KeyDirectory.Target(fingerprint, finding == .found ? ordinal : nil)
  }
}

/// A key to look up.
package struct KeyRequest: Sendable {
  package let key: [UInt8]
  /// The hash of the key under the store's seed.
  package let hash: UInt64

  package init(_ key: [UInt8], hash: UInt64) {
    self.key = key
    self.hash = hash
  }
}

/// The lookups of several keys, in the order of the requests.
package struct KeyLookups: Sendable {
  package fileprivate(set) var lookups: [KeyLookup] = []
  /// The value of each key; nil if the key does not exist, or if the read has failed.
  package fileprivate(set) var values: [[UInt8]?] = []
  /// The failed reads, with their places.
  package fileprivate(set) var failures: [(place: Int, error: ByteStoreError)] = []

  package init() {}
}

extension SharedKeyDirectory {
  /// The number of keys that are looked up without releasing the lock.
  private static let keysPerLock = 64

  /// Looks up keys and reads their values. A read that fails does not affect the other keys.
  func lookUp(_ requests: [KeyRequest]) throws(ByteStoreError) -> KeyLookups {
    var results = KeyLookups()
    results.lookups.reserveCapacity(requests.count)
    results.values.reserveCapacity(requests.count)
    var unresolved: [Int] = []
    for first in stride(from: 0, to: requests.count, by: Self.keysPerLock) {
      lookUpInMemory(
        requests[first..<min(first + Self.keysPerLock, requests.count)], &results, unresolved: &unresolved)
    }
    guard !unresolved.isEmpty else { return results }
    try buffers.withBuffer { buffer throws(ByteStoreError) in
      for place in unresolved { read(requests[place], at: place, into: &buffer, &results) }
    }
    return results
  }

  /// Looks up the keys that need no I/O, and collects the places of the other keys.
  private func lookUpInMemory(
    _ requests: ArraySlice<KeyRequest>, _ results: inout KeyLookups, unresolved: inout [Int]
  ) {
    withTable { table in
      for place in requests.indices {
        let (key, hash) = (requests[place].key, requests[place].hash)
        var lookup = KeyLookup(hash: hash)
        var value: [UInt8]?
        switch table.find(key.rawSpan, KeyDirectory.fingerprint(ofHash: hash)) {
        case .absent:
          lookup.missed(insertions: table.insertions)
        case .inMemtable(let ordinal, let commit, let offset):
          lookup.found(ordinal, removals: table.removals)
          value = commit.value(ofPutAt: offset)
        case .missing, .inSegment:
          unresolved.append(place)
        }
        results.lookups.append(lookup)
        results.values.append(value)
      }
    }
  }

  private func read(
    _ request: KeyRequest, at place: Int, into buffer: inout ReadBuffer, _ results: inout KeyLookups
  ) {
    // The counts are read before the key is found. If a key is added or removed meanwhile, the lookup is not
    // reused.
    let (insertions, removals) = withTable { ($0.insertions, $0.removals) }
    do throws(ByteStoreError) {
      guard let ordinal = try find(request.key, into: &buffer) else {
        return results.lookups[place].missed(insertions: insertions)
      }
      results.lookups[place].found(ordinal, removals: removals)
      results.values[place] = Array(copying: buffer.bytes)
    } catch {
      results.failures.append((place, error))
    }
  }
}

extension KeyDirectory {
  /// The fingerprint of a key with this hash.
  static func fingerprint(ofHash hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }

  /// The target of an operation on a key that was looked up earlier. Nil if the key must be looked up again.
  func target(_ lookup: KeyLookup) -> Target? { lookup.target(in: self) }
}
