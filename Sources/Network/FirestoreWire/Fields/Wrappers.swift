// Messages that other messages contain as plain numbers.

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
