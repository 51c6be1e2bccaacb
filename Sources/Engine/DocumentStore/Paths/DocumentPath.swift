// Where documents are: paths of names, and the rules that names obey.

/// The path of a document, such as `rooms/eros`: collection and document names by turns.
///
/// ```swift
/// let message = try DocumentPath(["rooms", "eros", "messages", "1"])
/// print(message.id, message.parent)  // 1 rooms/eros/messages
/// ```
public struct DocumentPath: Hashable, Sendable, CustomStringConvertible {
  /// Collection, id, collection, id, and so on.
  public let segments: [String]

  /// Checks every rule for names and their number.
  public init(_ segments: [String]) throws(PathError) {
    guard !segments.isEmpty, segments.count % 2 == 0 else {
      throw PathError(path: segments, reason: "a document has an even number of path segments")
    }
    try PathError.check(segments)
    self.segments = segments
  }

  /// Segments that were checked before, or that will be: see `check()`.
  package init(unchecked segments: [String]) { self.segments = segments }

  /// Segments that a store had. Below a collection with a reserved name, which no user can give, is what the store keeps
  /// beside the documents of users; a name there can be a whole path, and is as long as it has to be.
  init(stored segments: [String]) throws(PathError) {
    guard !segments.isEmpty, segments.count % 2 == 0 else {
      throw PathError(path: segments, reason: "a document has an even number of path segments")
    }
    if PathError.isReserved(segments[0]) {
      guard !segments.contains(where: { $0.isEmpty || $0.utf8.contains(UInt8(ascii: "/")) }) else {
        throw PathError(path: segments, reason: "a name must not be empty or contain a slash")
      }
    } else {
      try PathError.check(segments)
    }
    self.segments = segments
  }

  package func check() throws(PathError) { _ = try DocumentPath(segments) }

  /// Whether this is none of the users' documents, which no reserved name leads to.
  package var isReserved: Bool { segments.first.map(PathError.isReserved) ?? false }

  /// The last part.
  public var id: String { segments[segments.count - 1] }

  /// The last part of the path of the collection that the document is in.
  package var collectionID: String { segments[segments.count - 2] }

  /// The collection that the document is in.
  public var parent: CollectionPath { CollectionPath(checked: Array(segments.dropLast())) }

  public var description: String { segments.joined(separator: "/") }

  public static func == (left: Self, right: Self) -> Bool { left.segments.areSameUTF8(as: right.segments) }

  public func hash(into hasher: inout Hasher) { segments.hashUTF8(into: &hasher) }
}

/// The path of a collection, such as `rooms` or `rooms/eros/messages`.
public struct CollectionPath: Hashable, Sendable, CustomStringConvertible {
  /// Collection, id, collection, and so on.
  public let segments: [String]

  /// Throws unless the parts are those of a collection.
  public init(_ segments: [String]) throws(PathError) {
    guard segments.count % 2 == 1 else {
      throw PathError(path: segments, reason: "a collection has an odd number of path segments")
    }
    try PathError.check(segments)
    self.segments = segments
  }

  init(checked segments: [String]) { self.segments = segments }

  /// Segments that will be checked: see `check()`.
  package init(unchecked segments: [String]) { self.segments = segments }

  package func check() throws(PathError) { _ = try CollectionPath(segments) }

  /// The last part.
  public var id: String { segments[segments.count - 1] }

  /// The document that the collection is below; nil at the root.
  public var parent: DocumentPath? {
    segments.count == 1 ? nil : DocumentPath(unchecked: Array(segments.dropLast()))
  }

  public var description: String { segments.joined(separator: "/") }

  public static func == (left: Self, right: Self) -> Bool { left.segments.areSameUTF8(as: right.segments) }

  public func hash(into hasher: inout Hasher) { segments.hashUTF8(into: &hasher) }
}

/// A path that breaks a rule, and which.
public struct PathError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A part has at most so many bytes.
  public static let nameBytesMax = 1500
  /// A path has at most so many bytes.
  public static let pathBytesMax = 6 << 10
  /// A path has at most so many parts.
  public static let segmentsMax = 200
  /// What the name of a document counts beside its ids.
  static let pathBytesOverhead = 16

  /// What was to be a path.
  public var path: [String]
  /// Why it is none.
  public var reason: String

  public var description: String {
    "The path \"\(path.joined(separator: "/"))\" is not valid: \(reason)."
  }

  fileprivate static func check(_ segments: [String]) throws(PathError) {
    func require(_ holds: Bool, _ reason: @autoclosure () -> String) throws(PathError) {
      if !holds { throw PathError(path: segments, reason: reason()) }
    }
    try require(
      segments.count <= segmentsMax, "it is deeper than 100 levels of collections")
    var bytes = pathBytesOverhead
    for name in segments {
      bytes += name.utf8.count + 1
      try require(!name.isEmpty, "a name must not be empty")
      try require(name.utf8.count <= nameBytesMax, "a name has more than \(nameBytesMax) bytes")
      try require(!name.containsInUTF8(UInt8(ascii: "/")), "a name must not contain a slash")
      try require(name != "." && name != "..", "\"\(name)\" is not a name")
      try require(!isReserved(name), "names like \"\(name)\" are reserved")
    }
    try require(bytes <= pathBytesMax, "it has more than \(pathBytesMax) bytes")
  }

  fileprivate static func isReserved(_ name: String) -> Bool {
    // By bytes: an underscore and a combining mark are one character, which is no underscore.
    name.utf8.first == UInt8(ascii: "_") && name.utf8.count >= 4 && name.utf8.starts(with: "__".utf8)
      && name.utf8.suffix(2).elementsEqual("__".utf8) && name.numericID == nil
  }
}

extension String {
  /// The number of a name like `__id7__`: such names come before all others, in numeric order.
  var numericID: Int64? {
    guard utf8.first == UInt8(ascii: "_"), hasPrefix("__id"), hasSuffix("__"), utf8.count > 6,
      let number = Int64(dropFirst(4).dropLast(2)), self == "__id\(number)__"
    else { return nil }
    return number
  }
}
