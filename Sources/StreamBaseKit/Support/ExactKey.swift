// Keys as the database tells them apart.

/// A key by its bytes. Text that only looks the same, because accents are composed otherwise, is another key.
struct ExactKey: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  /// What has the same bytes looks the same.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }

  /// By bytes, as documents are ordered.
  static func areInOrder(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
