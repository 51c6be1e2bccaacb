// The result of a lookup that a later commit of the same key reuses.
//
// A commit usually changes a key that it has looked up before. The hash of the key stays valid. The ordinal
// stays valid while the key directory has removed no key since, because only a removal frees an ordinal. The
// absence of a key stays valid while the key directory has added no key since.

/// The hash of a key, and its ordinal as of one state of the key directory.
package struct KeyLookup: Sendable {
  /// The lookup of a key that was not looked up.
  package static let none = KeyLookup(hash: 0)

  enum Finding: UInt8 {
    case unknown
    case found
    case absent
  }

  /// The hash under the store's seed.
  package let hash: UInt64
  /// The number of removals before the key was found, or of insertions before it was found to be absent.
  private(set) var count: UInt64 = 0
  private(set) var ordinal: UInt32 = 0
  private(set) var finding = Finding.unknown

  /// Creates a lookup whose result is not known.
  package init(hash: UInt64) { self.hash = hash }

  /// Whether the result of the lookup is known.
  var isKnown: Bool { finding != .unknown }

  /// Notes the ordinal that the key had after this number of removals.
  mutating func found(_ ordinal: UInt32, removals: UInt64) {
    (self.ordinal, count, finding) = (ordinal, removals, .found)
  }

  /// Notes that the key did not exist after this number of insertions.
  mutating func missed(insertions: UInt64) { (count, finding) = (insertions, .absent) }
}
