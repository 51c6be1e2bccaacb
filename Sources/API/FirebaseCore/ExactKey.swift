// Keys as the database tells them apart.

private import DocumentStore

/// A key by its bytes. Text that only looks the same, because accents are composed otherwise, is another key.
package struct ExactKey: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: Self, right: Self) -> Bool { left.text.isSameUTF8(as: right.text) }

  /// What has the same bytes looks the same.
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }

  /// By bytes, as documents are ordered.
  package static func areInOrder(_ left: String, _ right: String) -> Bool { left.precedesInUTF8(right) }
}
