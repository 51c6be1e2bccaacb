// The probes of one collection or one collection group in the interest filter.

import ByteStore

/// Owns the memory of its `InterestProbes`.
final class InterestFilterScope {
  private struct Other {
    let field: LiveRangeField
    var probe: FieldProbe
  }

  /// With more fields than this, the probes would cost more than the matcher.
  private static let fieldsMax = 32

  /// Invalid after each change of this scope; read it again.
  private(set) var probes = InterestProbes()
  /// Allocated number of top-level fields.
  private var room = 0
  private var nestedFields: [Other] = []

  deinit { forget() }

  // MARK: Changes

  func mayMatch(
    _ change: UnsafePointer<IndexChanges.Change>, _ fingerprints: BlockedBloomFilter.View,
    _ key: inout [UInt8]
  ) -> Bool {
    unsafe probes.mayMatch(change, fingerprints, &key) || othersMayMatch(change, fingerprints, &key)
  }

  /// True if a listener may be concerned by a field other than the top-level ones.
  func othersMayMatch(
    _ change: UnsafePointer<IndexChanges.Change>, _ fingerprints: BlockedBloomFilter.View,
    _ key: inout [UInt8]
  ) -> Bool {
    guard !nestedFields.isEmpty else { return false }
    if case .document(let before) = unsafe change.pointee.before, othersMayMatch(before, fingerprints, &key) {
      return true
    }
    guard let after = unsafe change.pointee.after else { return false }
    return othersMayMatch(after, fingerprints, &key)
  }

  private func othersMayMatch(
    _ document: StoredDocument, _ fingerprints: BlockedBloomFilter.View, _ key: inout [UInt8]
  ) -> Bool {
    for other in nestedFields {
      guard let value = other.field.value(in: document) else { continue }
      let isWanted = unsafe withUnsafePointer(to: value) { value in
        unsafe other.probe.mayMatch(value, fingerprints, &key)
      }
      if isWanted { return true }
    }
    return false
  }

  // MARK: Views

  func passAll() {
    forget()
    probes.passesAll = true
  }

  private func forget() {
    unsafe probes.outermost?.deinitialize(count: probes.count)
    unsafe probes.outermost?.deallocate()
    probes = InterestProbes()
    room = 0
    nestedFields = []
  }

  /// Adds a range, or the field of a value whose fingerprint goes into the Bloom filter.
  func note(_ anchor: LiveAnchor) {
    switch anchor {
    case .name, .either: break
    case .equal(let path, _): change(LiveRangeField(path: path)) { $0.hasValues = true }
    case .element(let path, _): change(LiveRangeField(path: path)) { $0.hasElements = true }
    case .range(let field, let ranges):
      change(field) { probe in
        for range in ranges { probe.add(range) }
      }
    }
  }

  /// Does nothing if the scope lets every change pass.
  private func change(_ field: LiveRangeField, _ body: (inout FieldProbe) -> Void) {
    guard !probes.passesAll else { return }
    if let outermost = field.topLevelName {
      if let known = unsafe known(outermost) { return unsafe body(&known.pointee.probe) }
    } else if let number = nestedFields.firstIndex(where: { $0.field == field }) {
      return body(&nestedFields[number].probe)
    }
    guard probes.count + nestedFields.count < Self.fieldsMax else { return passAll() }
    var probe = FieldProbe(field.path)
    body(&probe)
    if let outermost = field.topLevelName {
      add(InterestProbes.TopLevelField(name: outermost, probe: probe))
    } else {
      nestedFields.append(Other(field: field, probe: probe))
      probes.hasOthers = true
    }
  }

  private func known(_ name: String) -> UnsafeMutablePointer<InterestProbes.TopLevelField>? {
    guard let outermost = unsafe probes.outermost else { return nil }
    for number in 0..<probes.count where unsafe outermost[number].name.isSameUTF8(as: name) {
      return unsafe outermost + number
    }
    return nil
  }

  private func add(_ field: InterestProbes.TopLevelField) {
    if probes.count == room {
      room = max(2, 2 * room)
      let larger = UnsafeMutablePointer<InterestProbes.TopLevelField>.allocate(capacity: room)
      if let outermost = unsafe probes.outermost {
        unsafe larger.moveInitialize(from: outermost, count: probes.count)
        unsafe outermost.deallocate()
      }
      unsafe probes.outermost = larger
    }
    if let outermost = unsafe probes.outermost {
      unsafe (outermost + probes.count).initialize(to: field)
      probes.count += 1
    }
  }
}

extension LiveRangeField {
  /// The name of a top-level field that a document may lack; else nil.
  fileprivate var topLevelName: String? {
    path.names.count == 1 && !isNeverWithoutValue ? path.names.first : nil
  }
}
