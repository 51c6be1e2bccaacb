// Random values in a form that a database accepts in its documents.

import DocumentStore

extension StoredMap {
  /// The map with storable values, without the fields whose names are too long or empty.
  var storable: StoredMap {
    StoredMap(
      entries.compactMap { name, value in
        (1...1500).contains(name.utf8.count) ? (name: name, value: value.storable) : nil
      })
  }
}

extension StoredValue {
  /// The value with times in place of pending times, which only caches have, and without arrays in arrays.
  var storable: StoredValue {
    switch self {
    case .pendingTimestamp(let time, _): .timestamp(time)
    case .map(let map): .map(map.storable)
    case .array(let elements): .array(elements.map { $0.isArray ? .null : $0.storable })
    default: self
    }
  }

  private var isArray: Bool { if case .array = self { true } else { false } }
}
