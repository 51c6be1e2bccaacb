// The probes that run for each changed document in a collection or collection group.
//
// Most probes miss. The data of the probes is rarely in the processor's caches, so each instruction is
// expensive. There are therefore two paths. The quick path makes no function call. It applies if the fields
// are at the positions that they had in the previous document, and the values are numbers or short strings.
// All other documents take the slow path.

import ByteStore

/// The array of fields belongs to the `InterestFilterScope` that created it. It is valid until that scope
/// changes or is freed.
@safe
struct InterestProbes {
  /// A top-level field that a document may lack.
  struct TopLevelField {
    /// The name as stored in the previous document. Before the first document, the name as stored in the
    /// query.
    var name: String
    /// Position of the field in the previous document.
    var place = 0
    var probe: FieldProbe
  }

  var outermost: UnsafeMutablePointer<TopLevelField>?
  var count = 0
  var passesAll = false
  /// True if the scope also has nested fields or fields that every document has.
  var hasNestedFields = false

  /// True if a listener may be concerned by the old or the new value of a top-level field.
  @inline(__always)
  func mayMatch(
    _ change: UnsafePointer<IndexChanges.Change>, _ fingerprints: BlockedBloomFilter.View,
    key: inout [UInt8]
  ) -> Bool {
    if passesAll { return true }
    if unsafe !change.pointee.before.isNone, unsafe mayMatchBefore(change, fingerprints, key: &key) {
      return true
    }
    guard let fields = unsafe change.pointee.after?.fields else { return false }
    return quickProbe(fields, fingerprints) ?? answer(fields, fingerprints, key: &key)
  }

  @inline(never)
  private func mayMatchBefore(
    _ change: UnsafePointer<IndexChanges.Change>, _ fingerprints: BlockedBloomFilter.View,
    key: inout [UInt8]
  ) -> Bool {
    switch unsafe change.pointee.before {
    case .none: false
    case .document(let before):
      quickProbe(before.fields, fingerprints) ?? answer(before.fields, fingerprints, key: &key)
    // The previous values are unknown.
    case .unknown: count > 0 || hasNestedFields
    }
  }

  /// Probes the fields on the quick path. Returns nil if the document needs the slow path. This function
  /// reads the fields without retaining them, which is safe because it makes no calls.
  @inline(__always)
  private func quickProbe(_ fields: StoredMap, _ fingerprints: BlockedBloomFilter.View) -> Bool? {
    unsafe fields.entries.withUnsafeBufferPointer { entries in
      guard var field = unsafe outermost else { return false }
      let end = unsafe field + count
      while unsafe field < end {
        let place = unsafe field.pointee.place
        guard place < entries.count,
          unsafe entries.name(at: place).pointee.hasSameBits(as: field.pointee.name)
        else { return nil }
        switch unsafe field.pointee.probe.quickProbe(entries.value(at: place), fingerprints) {
        case true?: return true
        case nil: return nil
        case false?: unsafe field += 1
        }
      }
      return false
    }
  }

  @inline(never)
  private func answer(_ fields: StoredMap, _ fingerprints: BlockedBloomFilter.View, key: inout [UInt8])
    -> Bool
  {
    guard let outermost = unsafe outermost else { return false }
    return unsafe fields.entries.withUnsafeBufferPointer { entries in
      for number in 0..<count {
        guard unsafe fields.has(outermost[number].name, near: &outermost[number].place) else {
          continue
        }
        // In documents from the user, a long name is a separate heap object in each document. In documents
        // that were read from the store, a long name is one shared object. The name of this document is kept
        // for the comparison, because the next document most likely shares it.
        unsafe outermost[number].name = entries.name(at: outermost[number].place).pointee
        let value = unsafe entries.value(at: outermost[number].place)
        if unsafe outermost[number].probe.mayMatch(value, fingerprints, key: &key) { return true }
      }
      return false
    }
  }
}
