// Lookups of the keys of a commit, before the commit has a place in the order.

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
      for place in unresolved { read(requests[place], at: place, into: &buffer, results: &results) }
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
    _ request: KeyRequest, at place: Int, into buffer: inout ReadBuffer, results: inout KeyLookups
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

extension KeyLookup {
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
