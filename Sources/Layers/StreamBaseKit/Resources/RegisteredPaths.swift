// Maps document paths back to the registered paths that they match.

private import ByteStore

/// The paths that the bases of a database have registered, each with its padding collection.
final class RegisteredPaths: Sendable {
  private struct Entry {
    let path: ResourcePath
    let padding: String
  }

  private let entries = Locked<[Entry]>([])

  func add(_ path: ResourcePath, padding: String) {
    entries.withLock { $0.append(Entry(path: path, padding: padding)) }
  }

  /// Returns the components of a document's path, without the padding collection. Returns nil if no
  /// registered path matches.
  func components(of document: [String]) -> [String]? {
    entries.withLock { entries in
      entries.lazy.compactMap { $0.path.components(at: document, padding: $0.padding) }.first
    }
  }
}

extension ResourcePath {
  /// Returns the components of the document's path without the padding collection; nil if this path does not
  /// match the document's path.
  fileprivate func components(at document: [String], padding: String) -> [String]? {
    var resolved = document
    if (components.count - 1).isMultiple(of: 2) {
      guard document.count == components.count + 1, document[document.count - 2] == padding else {
        return nil
      }
      resolved.remove(at: document.count - 2)
    }
    guard resolved.count == components.count else { return nil }
    for case (.literal(let text), let found) in zip(components, resolved)
    where !text.utf8.elementsEqual(found.utf8) {
      return nil
    }
    return resolved
  }
}
