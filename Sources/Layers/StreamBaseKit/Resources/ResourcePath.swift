// The location of the records of a class.
//
//   path       := "/"? component ("/" component)*
//   component  := "@"                  the key of the record
//               | "$" name             the key of the context's object with this name
//               | text
//
// The last component names the document, the other components name its collection. A collection path has an
// odd number of components. If the number is even, the padding collection is appended.

import Foundation

struct ResourcePath {
  enum Component {
    case literal(String)
    case key
    case name(String)
  }

  let text: String
  let components: [Component]

  init(_ text: String) {
    self.text = text
    components = Self.split(text).map { part in
      if part == "@" { return .key }
      return part.hasPrefix("$") ? .name(String(part.dropFirst())) : .literal(part)
    }
  }

  static func split(_ path: String) -> [String] {
    let path = path.hasPrefix("/") ? path.dropFirst() : path[...]
    return path.isEmpty ? [] : path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether the path has at least one component and no component is empty.
  var isSound: Bool {
    !components.isEmpty
      && components.allSatisfy { component in
        switch component {
        case .key: true
        case .literal(let text), .name(let text): !text.isEmpty
        }
      }
  }

  /// The names of the objects whose keys the path contains.
  var names: Set<String> {
    Set(components.compactMap { if case .name(let name) = $0 { name } else { nil } })
  }

  var usesKey: Bool { components.contains { if case .key = $0 { true } else { false } } }

  // MARK: Resolving

  /// Returns the components with all keys filled in: the key of the record, and the keys that `keyOf` returns
  /// for the named objects.
  func resolved(
    _ key: String?, _ keyOf: (String) throws(ResourceError) -> String
  ) throws(ResourceError) -> [String] {
    try Self.resolve(components[...], in: text, key: key, keyOf)
  }

  /// Returns the components of the collection path with all keys filled in. Throws if the collection path
  /// contains the key of the record.
  func resolvedCollection(
    _ keyOf: (String) throws(ResourceError) -> String
  ) throws(ResourceError) -> [String] {
    let collection = components.dropLast()
    guard !collection.contains(where: { if case .key = $0 { true } else { false } }) else {
      throw ResourceError(.noCollection, "The path \(text) has a collection for each key.")
    }
    return try Self.resolve(collection, in: text, key: nil, keyOf)
  }

  private static func resolve(
    _ components: ArraySlice<Component>, in text: String, key: String?,
    _ keyOf: (String) throws(ResourceError) -> String
  ) throws(ResourceError) -> [String] {
    var resolved: [String] = []
    for component in components {
      switch component {
      case .literal(let text): resolved.append(text)
      case .name(let name): resolved.append(try checked(try keyOf(name)))
      case .key:
        guard let key else {
          throw ResourceError(.missingKey, "A record at \(text) needs a key; create gives it one.")
        }
        resolved.append(try checked(key))
      }
    }
    return resolved
  }

  private static func checked(_ key: String) throws(ResourceError) -> String {
    guard !key.isEmpty, key != ".", key != "..", !key.utf8.contains(UInt8(ascii: "/")) else {
      throw ResourceError(
        .invalidKey, "\"\(key)\" cannot be a key: a key is not empty, not one or two dots, and has no slash.")
    }
    return key
  }
}

/// The location of one record.
struct ResourcePlace {
  /// The components of the document's path, including the padding collection if the path needs one.
  let document: [String]
  /// The components of the registered path, with all keys filled in.
  let components: [String]

  var path: String { "/" + components.joined(separator: "/") }

  init(_ components: [String], padding: String) {
    self.components = components
    document = Self.collection(Array(components.dropLast()), padding: padding) + components.suffix(1)
  }

  static func collection(_ components: [String], padding: String) -> [String] {
    components.count.isMultiple(of: 2) ? components + [padding] : components
  }
}
