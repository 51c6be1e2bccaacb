// Labels of streams: `map<string, string>`.

import DocumentStore

extension Wire {
  /// Texts by name, in the order of the names' UTF-8. Names differ by bytes, unlike keys of a dictionary.
  package struct Labels: Sendable, ExpressibleByDictionaryLiteral {
    /// A name and its text, which is a message of its own in protobuf.
    package struct Entry: WireMessage {
      package var key = ""
      package var value = ""

      package init() {}

      package init(key: String, value: String) {
        self.key = key
        self.value = value
      }

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.string(1, "key", in: &key)
        try visitor.string(2, "value", in: &value)
      }
    }

    /// Sorted by name, without duplicates.
    package private(set) var entries: [Entry] = []

    package init() {}

    /// If several entries have the same name, the last one wins.
    package init(_ unsorted: [Entry]) {
      // The sort is stable, so the last entry of a name stays the last one.
      let sorted = unsorted.sorted { $0.key.precedesInUTF8($1.key) }
      for entry in sorted {
        if entries.last?.key.isSameUTF8(as: entry.key) == true { entries.removeLast() }
        entries.append(entry)
      }
    }

    package init(dictionaryLiteral elements: (String, String)...) {
      self.init(elements.map { Entry(key: $0, value: $1) })
    }

    package var isEmpty: Bool { entries.isEmpty }

    package subscript(name: String) -> String? {
      get { entries.first { $0.key.isSameUTF8(as: name) }?.value }
      set {
        let others = entries.filter { !$0.key.isSameUTF8(as: name) }
        self = Labels(others + (newValue.map { [Entry(key: name, value: $0)] } ?? []))
      }
    }
  }
}

extension Wire.Labels: Equatable {
  package static func == (left: Self, right: Self) -> Bool {
    left.entries.elementsEqual(right.entries) {
      $0.key.isSameUTF8(as: $1.key) && $0.value.isSameUTF8(as: $1.value)
    }
  }
}
