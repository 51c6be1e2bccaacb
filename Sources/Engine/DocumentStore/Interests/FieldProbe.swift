// The probes of one field in the interest filter.

import ByteStore

struct FieldProbe {
  private let hash: UInt64
  // The smallest and the largest key prefix that any range contains. The interval is empty until a range is
  // added.
  private var lowest = UInt64.max
  private var highest: UInt64 = 0
  var hasValues = false
  var hasElements = false

  init(_ path: StoredFieldPath) { hash = InterestFingerprint.hash(of: path) }

  mutating func add(_ range: ByteRange) {
    let (low, high) = (range.lower.head, range.upper?.head ?? .max)
    guard low <= high else { return }
    lowest = min(low, lowest)
    highest = max(high, highest)
  }

  /// Nil if the value needs the slow path.
  @inline(__always)
  func quickProbe(_ value: UnsafePointer<StoredValue>, _ fingerprints: BlockedBloomFilter.View) -> Bool? {
    if lowest <= highest {
      guard let head = unsafe InterestFingerprint.quickHead(of: value) else { return nil }
      if lowest <= head, head <= highest { return true }
    }
    if hasValues {
      guard let fingerprint = unsafe InterestFingerprint.quickHash(of: value) else { return nil }
      if fingerprints.mayContain(InterestFingerprint.fingerprint(fingerprint, in: hash, kind: .value)) {
        return true
      }
    }
    if hasElements, case .array = unsafe value.pointee { return nil }
    return false
  }

  /// `key` is scratch space for values.
  func mayMatch(
    _ value: UnsafePointer<StoredValue>, _ fingerprints: BlockedBloomFilter.View, key: inout [UInt8]
  ) -> Bool {
    if lowest <= highest {
      let head = unsafe InterestFingerprint.head(of: value, &key)
      if lowest <= head, head <= highest { return true }
    }
    if hasValues {
      let fingerprint = unsafe InterestFingerprint.hash(of: value, &key)
      if fingerprints.mayContain(InterestFingerprint.fingerprint(fingerprint, in: hash, kind: .value)) {
        return true
      }
    }
    guard hasElements, case .array(let list) = unsafe value.pointee else { return false }
    return list.contains { element in
      let fingerprint = unsafe withUnsafePointer(to: element) {
        unsafe InterestFingerprint.hash(of: $0, &key)
      }
      return fingerprints.mayContain(InterestFingerprint.fingerprint(fingerprint, in: hash, kind: .element))
    }
  }
}
