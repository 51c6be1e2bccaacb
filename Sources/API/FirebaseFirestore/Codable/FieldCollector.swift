// Converts the tree of coded values to the fields of a document, and rejects values that a document may not
// hold.

import DocumentStore
private import Foundation

/// Walks a tree, collects its sentinels separately, and throws for everything that a document may not hold.
struct FieldCollector {
  /// The database to which references must belong; nil if references to all databases are allowed.
  let firestore: Firestore?
  /// Whether an array may hold another array. Documents do not allow this.
  let nestsArrays: Bool
  /// Whether the value is written as a field. False for an argument, such as an operand of a filter or an
  /// element of an array union. An argument must not contain sentinels, but may contain fields with reserved
  /// names.
  let isWrite: Bool
  private(set) var sentinels: [EncodedFields.Sentinel] = []

  init(firestore: Firestore?, nestsArrays: Bool = false, isWrite: Bool = true) {
    self.firestore = firestore
    self.nestsArrays = nestsArrays
    self.isWrite = isWrite
  }

  /// Converts a map at `path`, which is nil inside an array, where fields have no path.
  mutating func map(_ map: CodedMap, at path: [String]?) throws(UserDataError) -> StoredMap {
    map.sort()
    var fields = StoredMap()
    for (name, value) in map.entries {
      try check(name, at: path)
      fields[name] = try field(value, name, in: path)
    }
    return fields
  }

  /// Returns the stored value of a field. Returns nil for a sentinel, and for a map that contains nothing but
  /// sentinels.
  private mutating func field(
    _ value: CodedValue, _ name: String, in parent: [String]?
  ) throws(UserDataError) -> StoredValue? {
    if case .stored(let stored) = value { return stored }
    return try self.value(value, at: parent.map { $0 + [name] })
  }

  mutating func value(_ value: CodedValue, at path: [String]?) throws(UserDataError) -> StoredValue? {
    switch value {
    case .sentinel(let sentinel):
      guard isWrite else {
        throw UserDataError(.sentinelOutsideWrite(sentinel.methodName), field: path)
      }
      guard let path else { throw UserDataError(.sentinelInArray(sentinel.methodName)) }
      sentinels.append((path, sentinel))
      return nil
    case .map(let map):
      let stored = try self.map(map, at: path)
      return stored.isEmpty && !map.entries.isEmpty ? nil : .map(stored)
    case .array(let array):
      return .array(try array.elements.map { element throws(UserDataError) in try self.element(element) })
    case .stored(let stored):
      return stored
    case .timestamp(let timestamp):
      return .timestamp(timestamp.stored)
    case .decimal(let decimal):
      return .double(decimal.doubleValue)
    case .reference(let reference):
      return .reference(try self.reference(reference, at: path))
    case .other(let other):
      throw UserDataError(.unsupportedType("\(type(of: other))"), field: path)
    case .recordMap, .recordArray:
      preconditionFailure("a value read from a document is not written")
    }
  }

  mutating func element(_ value: CodedValue) throws(UserDataError) -> StoredValue {
    if case .array = value, !nestsArrays { throw UserDataError(.nestedArray) }
    // Inside an array, sentinels throw an error. So a nil result can only be an empty map.
    return try self.value(value, at: nil) ?? .map(StoredMap())
  }

  private func reference(
    _ reference: DocumentReference, at path: [String]?
  ) throws(UserDataError) -> StoredReference {
    let stored = reference.stored
    if let firestore, reference.firestore !== firestore {
      // Another `Firestore` instance may use the same database, so the comparison uses project and database
      // IDs.
      let own = DocumentReference(firestore, ["any", "document"]).stored
      guard stored.projectID == own.projectID, stored.databaseID == own.databaseID else {
        throw UserDataError(
          .foreignReference(
            found: "\(stored.projectID)/\(stored.databaseID)",
            expected: "\(own.projectID)/\(own.databaseID)"), field: path)
      }
    }
    return stored
  }

  /// Checks the names in a field path that is written. An error names the whole path.
  static func check(_ names: [String]) throws(UserDataError) {
    for name in names {
      if let reason = problem(name, isWrite: true) { throw UserDataError(reason, field: names) }
    }
  }

  /// Whether a field of a document may have this name.
  static func isUserName(_ name: String) -> Bool { problem(name, isWrite: true) == nil }

  private func check(_ name: String, at path: [String]?) throws(UserDataError) {
    guard let reason = Self.problem(name, isWrite: isWrite) else { return }
    throw UserDataError(reason, field: path.map { $0 + [name] })
  }

  private static func problem(_ name: String, isWrite: Bool) -> UserDataError.Reason? {
    let bytes = name.utf8
    guard !bytes.isEmpty else { return .emptyFieldName }
    // Most names do not begin with an underscore, so this check of the first byte is usually enough.
    guard isWrite, bytes.first == UInt8(ascii: "_") else { return nil }
    let underscores = "__".utf8
    let isReserved = bytes.starts(with: underscores) && bytes.suffix(2).elementsEqual(underscores)
    return isReserved ? .reservedFieldName : nil
  }
}
