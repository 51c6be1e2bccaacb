// Paths of documents and collections, and the rules for names.

/// The path of a document, such as `rooms/eros`: collection ids and document ids in turn.
///
/// ```swift
/// let message = try DocumentPath(["rooms", "eros", "messages", "1"])
/// print(message.id, message.parent)  // 1 rooms/eros/messages
/// ```
public struct DocumentPath: Hashable, Sendable, CustomStringConvertible {
  /// Collection id, document id, collection id, and so on.
  public let segments: [String]

  /// Throws unless the segments form a valid document path.
  public init(_ segments: [String]) throws(PathError) {
    guard !segments.isEmpty, segments.count % 2 == 0 else {
      throw PathError(path: segments, reason: "a document has an even number of path segments")
    }
    try PathError.check(segments)
    self.segments = segments
  }

  /// Does not check the segments; see `check()`.
  package init(unchecked segments: [String]) { self.segments = segments }

  /// Creates a path from the segments of a stored key. The store's own documents are below collections with
  /// reserved names, which users cannot create. A name in such a path may be the escaped form of a whole
  /// path, and may have any length.
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

  /// True for a document that belongs to the store itself. Users cannot create documents with reserved names.
  package var isReserved: Bool { segments.first.map(PathError.isReserved) ?? false }

  /// The last segment.
  public var id: String { segments[segments.count - 1] }

  /// The id of the document's collection.
  package var collectionID: String { segments[segments.count - 2] }

  /// The collection that contains the document.
  public var parent: CollectionPath { CollectionPath(checked: Array(segments.dropLast())) }

  public var description: String { segments.joined(separator: "/") }

  public static func == (left: Self, right: Self) -> Bool { left.segments.areSameUTF8(as: right.segments) }

  public func hash(into hasher: inout Hasher) { segments.hashUTF8(into: &hasher) }
}

/// The path of a collection, such as `rooms` or `rooms/eros/messages`.
public struct CollectionPath: Hashable, Sendable, CustomStringConvertible {
  /// Collection id, document id, collection id, and so on.
  public let segments: [String]

  /// Throws unless the segments form a valid collection path.
  public init(_ segments: [String]) throws(PathError) {
    guard segments.count % 2 == 1 else {
      throw PathError(path: segments, reason: "a collection has an odd number of path segments")
    }
    try PathError.check(segments)
    self.segments = segments
  }

  init(checked segments: [String]) { self.segments = segments }

  /// Does not check the segments; see `check()`.
  package init(unchecked segments: [String]) { self.segments = segments }

  package func check() throws(PathError) { _ = try CollectionPath(segments) }

  /// The last segment.
  public var id: String { segments[segments.count - 1] }

  /// The document that contains the collection; nil for a root collection.
  public var parent: DocumentPath? {
    segments.count == 1 ? nil : DocumentPath(unchecked: Array(segments.dropLast()))
  }

  public var description: String { segments.joined(separator: "/") }

  public static func == (left: Self, right: Self) -> Bool { left.segments.areSameUTF8(as: right.segments) }

  public func hash(into hasher: inout Hasher) { segments.hashUTF8(into: &hasher) }
}

/// An invalid path.
public struct PathError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The maximum size of a segment in bytes.
  public static let nameBytesMax = 1500
  /// The maximum size of a path in bytes.
  public static let pathBytesMax = 6 << 10
  /// The maximum number of segments.
  public static let segmentsMax = 200
  /// The fixed part of a document name's size.
  static let pathBytesOverhead = 16

  /// The invalid path.
  public var path: [String]
  /// The violated rule.
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
      // Nearly all names begin with other characters, so the comparisons are skipped.
      switch name.firstInUTF8 {
      case UInt8(ascii: "."): try require(name != "." && name != "..", "\"\(name)\" is not a name")
      case UInt8(ascii: "_"): try require(!isReserved(name), "names like \"\(name)\" are reserved")
      default: break
      }
    }
    try require(bytes <= pathBytesMax, "it has more than \(pathBytesMax) bytes")
  }

  fileprivate static func isReserved(_ name: String) -> Bool {
    // Compare bytes: an underscore with a combining mark is one character, and not an underscore.
    name.utf8.first == UInt8(ascii: "_") && name.utf8.count >= 4 && name.utf8.starts(with: "__".utf8)
      && name.utf8.suffix(2).elementsEqual("__".utf8) && name.numericID == nil
  }
}

extension String {
  /// The number in a name like `__id7__`. Such names sort before all others, by number.
  var numericID: Int64? {
    guard utf8.first == UInt8(ascii: "_"), hasPrefix("__id"), hasSuffix("__"), utf8.count > 6,
      let number = Int64(dropFirst(4).dropLast(2)), self == "__id\(number)__"
    else { return nil }
    return number
  }
}
