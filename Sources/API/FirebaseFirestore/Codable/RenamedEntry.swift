// The fields of a map under the names that a key strategy gives them. The values are not read.

import ByteStore
import DocumentStore
import FirebaseCore

struct RenamedEntry {
  let name: String
  /// The index of the field in the map.
  let place: Int

  /// Returns the entries sorted by their new names. If several fields get the same new name, only the first
  /// of these fields is kept.
  static func all(of entries: DecodableEntries, _ decoder: ValueDecoder) -> [RenamedEntry] {
    var renamed: [RenamedEntry] = []
    renamed.reserveCapacity(entries.count)
    switch decoder.options.key {
    case .useDefaultKeys:
      for place in 0..<entries.count {
        renamed.append(RenamedEntry(name: entries.name(at: place), place: place))
      }
    case .convertFromSnakeCase:
      knownNames.withLock { known in
        for place in 0..<entries.count {
          renamed.append(RenamedEntry(name: known.convert(entries.name(at: place)), place: place))
        }
      }
    case .custom(let convert):
      for place in 0..<entries.count {
        let name = convert(decoder.path(to: NameKey(entries.name(at: place)))).stringValue
        renamed.append(RenamedEntry(name: name, place: place))
      }
    }
    renamed.sort { left, right in
      let order = left.name.comparedInUTF8(to: right.name)
      return order < 0 || (order == 0 && left.place < right.place)
    }
    var last: String?
    renamed.removeAll { entry in
      defer { last = entry.name }
      return last?.isSameUTF8(as: entry.name) ?? false
    }
    return renamed
  }

  private static let knownNames = Locked(KnownNames())

  /// A cache of name conversions. Documents of one kind repeat their field names, so most lookups hit the
  /// cache.
  private struct KnownNames {
    private static let countMax = 10_000

    private var converted: [String: String] = [:]

    mutating func convert(_ name: String) -> String {
      // Only short ASCII names are cached. A dictionary would treat names that differ only in Unicode
      // normalization as the same key, although they name different fields. For example, the Kelvin sign
      // would match the letter K.
      guard name.utf8.count < 64, name.utf8.allSatisfy({ $0 < 128 }) else { return SnakeCase.decode(name) }
      if let known = converted[name] { return known }
      let new = SnakeCase.decode(name)
      if converted.count < Self.countMax { converted[name] = new }
      return new
    }
  }
}
