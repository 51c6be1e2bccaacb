// The probes of one collection or one collection group in the interest filter.

import ByteStore

/// Owns the memory of its `InterestProbes`.
final class InterestFilterScope {
  private struct Other {
    let field: LiveRangeField
    var probe: FieldProbe
  }

  /// With more fields than this, the probes would cost more than the matcher, so the scope lets every change
  /// pass.
  private static let fieldsMax = 32

  /// Copies of the probes become invalid when this scope changes; read this property again after each change.
  private(set) var probes = InterestProbes()
  /// The number of top-level fields for which memory is allocated.
  private var room = 0
  private var nestedFields: [Other] = []

  deinit { forget() }

  // MARK: Changes

  func mayMatch(
    _ change: UnsafePointer<IndexChanges.Change>, _ fingerprints: BlockedBloomFilter.View,
    key: inout [UInt8]
  ) -> Bool {
    unsafe probes.mayMatch(change, fingerprints, key: &key)
      || nestedFieldsMayMatch(change, fingerprints, key: &key)
  }

  /// Returns true if the change may concern a listener because of a nested field or a field that every
  /// document has.
  func nestedFieldsMayMatch(
    _ change: UnsafePointer<IndexChanges.Change>, _ fingerprints: BlockedBloomFilter.View,
    key: inout [UInt8]
  ) -> Bool {
    guard !nestedFields.isEmpty else { return false }
    if case .document(let before) = unsafe change.pointee.before,
      nestedFieldsMayMatch(before, fingerprints, key: &key)
    {
      return true
    }
    guard let after = unsafe change.pointee.after else { return false }
    return nestedFieldsMayMatch(after, fingerprints, key: &key)
  }

  private func nestedFieldsMayMatch(
    _ document: StoredDocument, _ fingerprints: BlockedBloomFilter.View, key: inout [UInt8]
  ) -> Bool {
    for other in nestedFields {
      guard let value = other.field.value(in: document) else { continue }
      let hasMatch = unsafe withUnsafePointer(to: value) { value in
        unsafe other.probe.mayMatch(value, fingerprints, key: &key)
      }
      if hasMatch { return true }
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

  /// Adds an anchor. For a range, the field's probe gets the bounds. For a single value, the probe gets only
  /// the kind of condition, because the value's fingerprint is in the Bloom filter.
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

  /// Changes the probe of a field, and creates the probe if there is none. Does nothing if the scope lets
  /// every change pass.
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
      probes.hasNestedFields = true
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
    path.names.count == 1 && !alwaysHasValue ? path.names.first : nil
  }
}
