// The probes of one collection or one collection group in the interest filter.

import ByteStore

/// Owns the memory of its `InterestProbes`.
final class InterestFilterScope {
  private struct Other {
    let field: LiveRangeField
    var wanted: FieldProbe
  }

  /// With more fields than this, the probes would cost more than the matcher.
  private static let fieldsMax = 32

  /// Invalid after each change of this scope; read it again.
  private(set) var questions = InterestProbes()
  /// Allocated number of top-level fields.
  private var room = 0
  private var others: [Other] = []

  deinit { forget() }

  // MARK: Changes

  func mayMatch(
    _ change: UnsafePointer<IndexChanges.Change>, _ marks: BlockedBloomFilter.View, _ key: inout [UInt8]
  ) -> Bool {
    unsafe questions.mayMatch(change, marks, &key) || othersMayMatch(change, marks, &key)
  }

  /// True if a listener may be concerned by a field other than the top-level ones.
  func othersMayMatch(
    _ change: UnsafePointer<IndexChanges.Change>, _ marks: BlockedBloomFilter.View, _ key: inout [UInt8]
  ) -> Bool {
    guard !others.isEmpty else { return false }
    if case .document(let before) = unsafe change.pointee.before, othersMayMatch(before, marks, &key) {
      return true
    }
    guard let after = unsafe change.pointee.after else { return false }
    return othersMayMatch(after, marks, &key)
  }

  private func othersMayMatch(
    _ document: StoredDocument, _ marks: BlockedBloomFilter.View, _ key: inout [UInt8]
  ) -> Bool {
    for other in others {
      guard let value = other.field.value(in: document) else { continue }
      let isWanted = unsafe withUnsafePointer(to: value) { value in
        unsafe other.wanted.mayMatch(value, marks, &key)
      }
      if isWanted { return true }
    }
    return false
  }

  // MARK: Views

  func passAll() {
    forget()
    questions.passesAll = true
  }

  private func forget() {
    unsafe questions.outermost?.deinitialize(count: questions.count)
    unsafe questions.outermost?.deallocate()
    questions = InterestProbes()
    room = 0
    others = []
  }

  /// Adds a range, or the field of a value whose fingerprint goes into the Bloom filter.
  func note(_ anchor: LiveAnchor) {
    switch anchor {
    case .name, .either: break
    case .equal(let path, _): change(LiveRangeField(path: path)) { $0.hasValues = true }
    case .element(let path, _): change(LiveRangeField(path: path)) { $0.hasElements = true }
    case .range(let field, let ranges):
      change(field) { wanted in
        for range in ranges { wanted.add(range) }
      }
    }
  }

  /// Does nothing if the scope lets every change pass.
  private func change(_ field: LiveRangeField, _ body: (inout FieldProbe) -> Void) {
    guard !questions.passesAll else { return }
    if let outermost = field.topLevelName {
      if let known = unsafe known(outermost) { return unsafe body(&known.pointee.wanted) }
    } else if let number = others.firstIndex(where: { $0.field == field }) {
      return body(&others[number].wanted)
    }
    guard questions.count + others.count < Self.fieldsMax else { return passAll() }
    var wanted = FieldProbe(field.path)
    body(&wanted)
    if let outermost = field.topLevelName {
      add(InterestProbes.TopLevelField(name: outermost, wanted: wanted))
    } else {
      others.append(Other(field: field, wanted: wanted))
      questions.hasOthers = true
    }
  }

  private func known(_ name: String) -> UnsafeMutablePointer<InterestProbes.TopLevelField>? {
    guard let outermost = unsafe questions.outermost else { return nil }
    for number in 0..<questions.count where unsafe outermost[number].name.isSameUTF8(as: name) {
      return unsafe outermost + number
    }
    return nil
  }

  private func add(_ field: InterestProbes.TopLevelField) {
    if questions.count == room {
      room = max(2, 2 * room)
      let larger = UnsafeMutablePointer<InterestProbes.TopLevelField>.allocate(capacity: room)
      if let outermost = unsafe questions.outermost {
        unsafe larger.moveInitialize(from: outermost, count: questions.count)
        unsafe outermost.deallocate()
      }
      unsafe questions.outermost = larger
    }
    if let outermost = unsafe questions.outermost {
      unsafe (outermost + questions.count).initialize(to: field)
      questions.count += 1
    }
  }
}

extension LiveRangeField {
  /// The name of a top-level field that a document may lack; else nil.
  fileprivate var topLevelName: String? {
    path.names.count == 1 && !isNeverWithoutValue ? path.names.first : nil
  }
}
