// Keys that are compared by their bytes, as in the database.

private import DocumentStore

/// A key that equals another key only if both have the same UTF-8 bytes. Strings that are canonically equivalent but
/// composed differently are different keys.
package struct ExactKey: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: Self, right: Self) -> Bool { left.text.isSameUTF8(as: right.text) }

  /// Keys with the same bytes are equal strings and therefore have the same hash.
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }

  /// Compares by bytes, which is the order of document ids.
  package static func areInOrder(_ left: String, _ right: String) -> Bool { left.precedesInUTF8(right) }
}
