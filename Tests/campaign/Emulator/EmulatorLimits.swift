// Adapts documents and queries to what clients may send to the emulator.

import DocumentStore

enum EmulatorLimits {
  private static let stringBytesMax = 1400

  /// Removes nested arrays, vectors in arrays, names that are empty or too long, and vectors that are
  /// empty or contain NaN. Truncates strings at the limit of the emulator's indexes.
  static func fitted(_ document: StoredDocument) -> StoredDocument {
    StoredDocument(
      path: document.path, createTime: document.createTime, updateTime: document.updateTime,
      fields: fitted(document.fields))
  }

  private static func fitted(_ map: StoredMap) -> StoredMap {
    StoredMap(
      map.entries.filter { !$0.name.isEmpty && $0.name.utf8.count <= 1500 }
        .map { (name: $0.name, value: fitted($0.value, inArray: false)) })
  }

  private static func fitted(_ value: StoredValue, inArray: Bool) -> StoredValue {
    switch value {
    case .array(let elements):
      inArray ? .null : .array(elements.map { fitted($0, inArray: true) })
    case .map(let map): .map(fitted(map))
    case .string(let text) where text.utf8.count > stringBytesMax:
      .string(String(text.prefix(stringBytesMax)))
    case .vector(let numbers) where inArray || numbers.isEmpty || numbers.contains(where: \.isNaN): .null
    default: value
    }
  }

  static func canAsk(_ query: StructuredQuery) -> Bool {
    if case .document = query.scope { return false }
    guard !query.orders.contains(where: { $0.missing == .asNull }) else { return false }
    let operands = query.filters.flatMap(\.leaves).map(\.operand)
    let cursors = (query.start?.values ?? []) + (query.end?.values ?? [])
    return (operands + cursors).allSatisfy { isFit($0, depth: 0) }
  }

  private static func isFit(_ value: StoredValue, depth: Int) -> Bool {
    switch value {
    case .string(let text): text.utf8.count <= stringBytesMax
    // A pending timestamp exists only in a client's own documents, and is never part of a query.
    case .pendingTimestamp: false
    case .vector(let numbers): depth == 0 && !numbers.isEmpty && !numbers.contains(where: \.isNaN)
    case .array(let elements): depth < 2 && elements.allSatisfy { isFit($0, depth: depth + 1) }
    case .map(let map):
      map.entries.allSatisfy { !$0.name.isEmpty && $0.name.utf8.count <= 1500 && isFit($0.value, depth: 0) }
    default: true
    }
  }
}
