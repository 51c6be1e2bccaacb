// Converts the fields of merges and updates without a tree of coded values, if possible.
//
//   1. scalars and field values: the fields are entries
//   2. other valid values: the fields are a record, whose outer names are no shape
//   3. values with an error, and before the store is open: the tree

import DocumentStore
private import FirebaseCore
private import Foundation

extension UserData {
  /// Returns the fields that a merge writes to `firestore`.
  package static func patch(
    from data: [String: Any], in firestore: Firestore
  ) throws(UserDataError) -> EncodedFields {
    if let scalars = scalars(data) { return scalars }
    if let encoder = firestore.fieldsEncoder?.forPatches,
      let fields = DictionaryWriter.fields(data, with: encoder, in: firestore)
    {
      return fields
    }
    return try fields(from: data, in: firestore)
  }

  private static func scalars(_ data: [String: Any]) -> EncodedFields? {
    var entries: [StoredMap.Entry] = []
    entries.reserveCapacity(data.count)
    var sentinels: [EncodedFields.Sentinel] = []
    for (name, value) in data {
      guard FieldCollector.isUserName(name) else { return nil }
      if let scalar = scalar(value) {
        entries.append((name, scalar))
      } else if type(of: value) == FieldValue.self {
        sentinels.append(([name], exact(value)))
      } else {
        return nil
      }
    }
    return EncodedFields(fields: StoredMap(entries), sentinels: sentinels.inNameOrder)
  }

  /// The stored form of a value of one of the most frequent types, which contain no other values. Nil for all
  /// other values.
  static func scalar(_ any: Any) -> StoredValue? {
    // Comparing types is cheaper than a dynamic cast.
    let type = boxedType(any)
    if type == String.self { return .string(exact(any)) }
    if type == Int.self { return .integer(Int64(exact(any, as: Int.self))) }
    if type == Double.self { return .double(exact(any)) }
    if type == Bool.self { return .boolean(exact(any)) }
    if type == Timestamp.self { return .timestamp(exact(any, as: Timestamp.self).stored) }
    if type == Int64.self { return .integer(exact(any)) }
    if type == NSNull.self { return .null }
    guard type == Date.self else { return nil }
    let date = exact(any, as: Date.self)
    return Timestamp.problem(date: date) == nil ? .timestamp(Timestamp(date: date).stored) : nil
  }
}
