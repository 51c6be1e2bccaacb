// Parses paths that callers pass as strings. Reports a path that is invalid.

import DocumentStore
import FirebaseCore

package enum PathText {
  /// The ID in the path that stands for an invalid one in a validation. No collection and no document can
  /// have this ID, so each read and each write of such a path fails.
  package static let placeholder = "__invalid__"

  /// Returns the segments of a collection path, relative to a document if one is given.
  static func collection(_ text: String, below document: [String] = []) -> [String] {
    guard let added = split(text, emptyMessage: "Collection path cannot be empty.") else {
      return document + [placeholder]
    }
    let segments = document + added
    if segments.count % 2 == 1 { return segments }
    ProgrammerError.report(
      "Invalid collection reference. Collection references must have an odd number of segments, but "
        + "\(segments.joined(separator: "/")) has \(segments.count)")
    return document + [placeholder]
  }

  /// Returns the segments of a document path, relative to a collection if one is given.
  static func document(_ text: String, below collection: [String] = []) -> [String] {
    let parent = collection.isEmpty ? [placeholder] : collection
    guard let added = split(text, emptyMessage: "Document path cannot be empty.") else {
      return parent + [placeholder]
    }
    let segments = collection + added
    if segments.count % 2 == 0 { return segments }
    ProgrammerError.report(
      "Invalid document reference. Document references must have an even number of segments, but "
        + "\(segments.joined(separator: "/")) has \(segments.count)")
    return parent + [placeholder]
  }

  /// Returns the ID of a collection group, and reports an invalid one.
  static func collectionID(_ text: String) -> String {
    if text.isEmpty {
      ProgrammerError.report("Collection ID cannot be empty.")
    } else if text.utf8.contains(UInt8(ascii: "/")) {
      ProgrammerError.report("Invalid collection ID (\(text)). Collection IDs must not contain / in them.")
    } else {
      return text
    }
    return placeholder
  }

  /// Splits a path at its slashes. Ignores one slash at the start and one at the end. Reports an empty path
  /// and one with two slashes in a row, and returns nil for it.
  private static func split(_ text: String, emptyMessage: String) -> [String]? {
    let slash = UInt8(ascii: "/")
    if zip(text.utf8, text.utf8.dropFirst()).contains(where: { $0 == slash && $1 == slash }) {
      ProgrammerError.report("Invalid path (\(text)). Paths must not contain // in them.")
      return nil
    }
    let segments = text.pathSegments.filter { !$0.isEmpty }
    if segments.isEmpty {
      ProgrammerError.report(emptyMessage)
      return nil
    }
    return segments
  }
}
