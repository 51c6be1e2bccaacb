// Keys that are compared as in the database.

private import DocumentStore

/// A key that is compared by its bytes, so canonically equivalent Unicode texts are different keys.
package struct ExactKey: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: Self, right: Self) -> Bool { left.text.isSameUTF8(as: right.text) }

  /// Equal bytes imply equal strings, so the string's hash can be used.
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }

  /// Compares by bytes, like the order of documents.
  package static func areInOrder(_ left: String, _ right: String) -> Bool { left.precedesInUTF8(right) }
}
