// Parses paths that callers pass as strings. Traps if a path is invalid.

import DocumentStore
import FirebaseCore

enum PathText {
  /// Returns the segments of a collection path, relative to a document if one is given.
  static func collection(_ text: String, below document: [String] = []) -> [String] {
    let segments = document + split(text, emptyMessage: "Collection path cannot be empty.")
    guard segments.count % 2 == 1 else {
      ProgrammerError.trap(
        "Invalid collection reference. Collection references must have an odd number of segments, but "
          + "\(segments.joined(separator: "/")) has \(segments.count)")
    }
    return segments
  }

  /// Returns the segments of a document path, relative to a collection if one is given.
  static func document(_ text: String, below collection: [String] = []) -> [String] {
    let segments = collection + split(text, emptyMessage: "Document path cannot be empty.")
    guard segments.count % 2 == 0 else {
      ProgrammerError.trap(
        "Invalid document reference. Document references must have an even number of segments, but "
          + "\(segments.joined(separator: "/")) has \(segments.count)")
    }
    return segments
  }

  /// Checks the ID of a collection group. Traps if it is invalid.
  static func collectionID(_ text: String) -> String {
    guard !text.isEmpty else { ProgrammerError.trap("Collection ID cannot be empty.") }
    guard !text.utf8.contains(UInt8(ascii: "/")) else {
      ProgrammerError.trap("Invalid collection ID (\(text)). Collection IDs must not contain / in them.")
    }
    return text
  }

  /// Splits a path at its slashes. Ignores one slash at the start and one at the end. Traps if the path
  /// contains two slashes in a row.
  private static func split(_ text: String, emptyMessage: String) -> [String] {
    guard !text.isEmpty else { ProgrammerError.trap(emptyMessage) }
    let slash = UInt8(ascii: "/")
    guard !zip(text.utf8, text.utf8.dropFirst()).contains(where: { $0 == slash && $1 == slash }) else {
      ProgrammerError.trap("Invalid path (\(text)). Paths must not contain // in them.")
    }
    let segments = text.pathSegments.filter { !$0.isEmpty }
    guard !segments.isEmpty else { ProgrammerError.trap(emptyMessage) }
    return segments
  }
}
