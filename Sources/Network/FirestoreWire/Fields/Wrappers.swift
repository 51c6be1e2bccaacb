// Messages that other messages contain as plain numbers and dictionaries.

import DocumentStore

/// google.protobuf.Int32Value.
struct Int32Wrapper: WireMessage {
  var value: Int32 = 0

  init() {}

  init(_ value: Int32) { self.value = value }

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.int32(1, "value", in: &value)
  }
}

/// google.protobuf.Int64Value.
struct Int64Wrapper: WireMessage {
  var value: Int64 = 0

  init() {}

  init(_ value: Int64) { self.value = value }

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.int64(1, "value", in: &value)
  }
}

/// google.protobuf.DoubleValue.
struct DoubleWrapper: WireMessage {
  var value = 0.0

  init() {}

  init(_ value: Double) { self.value = value }

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.double(1, "value", in: &value)
  }
}

/// An entry of a `map<string, string>`.
struct LabelEntry: WireMessage {
  var key = ""
  var value = ""

  init() {}

  init(key: String, value: String) {
    self.key = key
    self.value = value
  }

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.string(1, "key", in: &key)
    try visitor.string(2, "value", in: &value)
  }
}

extension [String: String] {
  /// The entries in the order of the names' UTF-8, in which maps are written.
  var sortedEntries: [LabelEntry] {
    map { LabelEntry(key: $0.key, value: $0.value) }.sorted { $0.key.precedesInUTF8($1.key) }
  }
}
