// Fields that the commit computes in place of the values that a type encodes for them.

private import DocumentStore

/// Fields of the outermost map that the commit computes. A value of the same name is encoded for its errors
/// only, and is not written.
package struct ComputedFields: Sendable {
  package static let none = ComputedFields([])

  let sentinels: [EncodedFields.Sentinel]
  private let names: [String]

  package init(_ fields: [(name: String, value: FieldValue)]) {
    sentinels = fields.map { ([$0.name], $0.value) }
    names = fields.map(\.name)
  }

  @inline(__always)
  var isEmpty: Bool { names.isEmpty }

  func contain(_ name: String) -> Bool {
    // Use the buffer, because iterating over the array would retain and release each name.
    unsafe names.withUnsafeBufferPointer { names in
      for index in names.indices {
        if unsafe names[index].isSameUTF8(as: name) { return true }
      }
      return false
    }
  }
}

extension EncodedFields {
  /// Makes the commit compute these fields, instead of writing the values that this write has for them.
  mutating func compute(_ computed: ComputedFields) {
    for (path, value) in computed.sentinels {
      let name = path[0]
      fields[name] = nil
      sentinels.removeAll { $0.path.first == name }
      sentinels.append((path, value))
    }
  }
}
