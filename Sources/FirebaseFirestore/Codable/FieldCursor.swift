// Lookups in the fields of a map that is being decoded.
//
// Types mostly ask for their fields in an order of their own, but some in that of the names, and some
// twice for the same. So a lookup tries the entry behind the one that was found last, then that one, and
// only then bisects.

import DocumentStore

/// Entries in the order of their names' UTF-8, as they lie in a document or in a tree of coded values.
enum DecodableEntries {
  case stored([StoredMap.Entry])
  case coded([CodedMap.Entry])

  var count: Int {
    switch self {
    case .stored(let entries): entries.count
    case .coded(let entries): entries.count
    }
  }

  func name(at index: Int) -> String {
    switch self {
    case .stored(let entries): entries[index].name
    case .coded(let entries): entries[index].name
    }
  }

  func value(at index: Int) -> CodedValue {
    switch self {
    case .stored(let entries): .stored(entries[index].value)
    case .coded(let entries): entries[index].value
    }
  }
}

/// The fields of one map, and where the last one was found. Not generic over the type of keys, so that
/// a lookup is compiled code and not work for the runtime.
final class FieldCursor {
  let decoder: ValueDecoder
  let entries: DecodableEntries
  /// Behind the entry that was found last.
  private var next = 0

  init(_ decoder: ValueDecoder, _ entries: DecodableEntries) {
    self.decoder = decoder
    self.entries =
      decoder.options.convertsKeys && !decoder.keysAreExact ? Self.convert(entries, decoder) : entries
  }

  func value(of name: String) -> CodedValue? { position(of: name).map(entries.value) }

  func position(of name: String) -> Int? {
    guard let position = find(name, next) else { return nil }
    next = position + 1
    return position
  }

  private func find(_ name: String, _ next: Int) -> Int? {
    let count = entries.count
    if next < count, entries.name(at: next).isSameUTF8(as: name) { return next }
    if next > 0, entries.name(at: next - 1).isSameUTF8(as: name) { return next - 1 }
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = entries.name(at: middle).comparedInUTF8(to: name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  // MARK: The four types that most fields have

  // Each is nil unless the field is stored as just that; the general way then finds out what is wrong.

  func string(_ name: String) -> String? {
    guard case .stored(let entries) = entries, let position = position(of: name),
      case .string(let string) = entries[position].value
    else { return nil }
    return string
  }

  func integer(_ name: String) -> Int64? {
    guard case .stored(let entries) = entries, let position = position(of: name),
      case .integer(let integer) = entries[position].value
    else { return nil }
    return integer
  }

  func double(_ name: String) -> Double? {
    guard case .stored(let entries) = entries, let position = position(of: name),
      case .double(let double) = entries[position].value
    else { return nil }
    return double
  }

  func boolean(_ name: String) -> Bool? {
    guard case .stored(let entries) = entries, let position = position(of: name),
      case .boolean(let boolean) = entries[position].value
    else { return nil }
    return boolean
  }

  // MARK: Key strategies

  private static func convert(_ entries: DecodableEntries, _ decoder: ValueDecoder) -> DecodableEntries {
    // Backwards, because of entries of one name a map keeps the last.
    let converted = CodedMap(
      (0..<entries.count).reversed().map { index in
        (convert(entries.name(at: index), decoder), entries.value(at: index))
      })
    converted.sort()
    return .coded(converted.entries)
  }

  private static func convert(_ name: String, _ decoder: ValueDecoder) -> String {
    switch decoder.options.key {
    case .useDefaultKeys: name
    case .convertFromSnakeCase: SnakeCase.decode(name)
    case .custom(let convert): convert(decoder.path(to: NameKey(name))).stringValue
    }
  }
}
