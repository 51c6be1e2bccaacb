// Finds the fields of a map that is being decoded.
//
// Most types decode their fields in declaration order. Some decode them in the order of the names, and some
// decode a field twice. A lookup therefore first tries the entry after the last match and then the last
// match, and finally uses binary search. The fields of a record whose names are not converted have their own
// container (RecordDecodingContainer.swift).

import DocumentStore

/// Entries sorted by the UTF-8 of their names, from a document or from a tree of coded values.
enum DecodableEntries {
  case stored([StoredMap.Entry])
  case coded([CodedMap.Entry])
  case record(RecordFields)

  var count: Int {
    switch self {
    case .stored(let entries): entries.count
    case .coded(let entries): entries.count
    case .record(let fields): fields.count
    }
  }

  func name(at index: Int) -> String {
    switch self {
    case .stored(let entries): entries[index].name
    case .coded(let entries): entries[index].name
    case .record(let fields): fields.name(at: index)
    }
  }

  /// Compares the name at `index` with `name`. Returns a negative number if the name at `index` sorts first,
  /// zero if the names are equal, and a positive number otherwise.
  func compareName(at index: Int, to name: String) -> Int {
    switch self {
    case .stored(let entries): entries[index].name.comparedInUTF8(to: name)
    case .coded(let entries): entries[index].name.comparedInUTF8(to: name)
    case .record(let fields): fields.compareName(at: index, to: name)
    }
  }

  func value(at index: Int) -> CodedValue {
    switch self {
    case .stored(let entries): .stored(entries[index].value)
    case .coded(let entries): entries[index].value
    case .record(let fields): CodedValue(fields.value(at: index))
    }
  }
}

/// The fields of one map and the position of the last match. The class is not generic over the key type, so a
/// lookup compiles to specialized code without runtime generics.
final class FieldCursor {
  let decoder: ValueDecoder
  private let entries: DecodableEntries
  /// The entries under their converted names, sorted by these names; nil if names are not converted. The
  /// values are fetched on demand.
  private let renamed: [RenamedEntry]?
  /// The index after the last match.
  private var next = 0

  init(_ decoder: ValueDecoder, _ entries: DecodableEntries) {
    self.decoder = decoder
    self.entries = entries
    let converts = decoder.options.convertsKeys && !decoder.keysAreExact
    renamed = converts ? RenamedEntry.all(of: entries, decoder) : nil
  }

  var count: Int { renamed?.count ?? entries.count }

  func name(at position: Int) -> String { renamed?[position].name ?? entries.name(at: position) }

  func value(of name: String) -> CodedValue? {
    guard let position = position(of: name) else { return nil }
    return entries.value(at: place(position)).withTimes(decoder.options.times)
  }

  private func place(_ position: Int) -> Int { renamed?[position].place ?? position }

  private func compareName(at position: Int, to name: String) -> Int {
    renamed?[position].name.comparedInUTF8(to: name) ?? entries.compareName(at: position, to: name)
  }

  func position(of name: String) -> Int? {
    let position = RecordFields.place(among: count, after: next) { compareName(at: $0, to: name) }
    if let position { next = position + 1 }
    return position
  }
}
