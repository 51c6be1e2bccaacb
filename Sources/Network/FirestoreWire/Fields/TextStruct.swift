// google.protobuf.Struct, as far as its values are texts.

/// A struct in protobuf, where its entries and their values are messages.
struct TextStruct: WireMessage {
  private struct Entry: WireMessage {
    var key = ""
    var value: Text?

    mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "key", in: &key)
      try visitor.message(2, "value", in: &value)
    }
  }

  private struct Text: WireMessage {
    var text: String?

    mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(3, "string_value", in: &text)
    }
  }

  private var fields: [Entry] = []

  init() {}

  init(_ labels: Wire.Labels) {
    fields = labels.entries.map { Entry(key: $0.key, value: Text(text: $0.value)) }
  }

  /// The texts. Other values are skipped.
  var labels: Wire.Labels {
    Wire.Labels(
      fields.compactMap { entry in
        entry.value?.text.map { Wire.Labels.Entry(key: entry.key, value: $0) }
      })
  }

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.messages(1, "fields", in: &fields)
  }
}
