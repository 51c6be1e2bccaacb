// Entries with intact bytes that the upper layer cannot decode.

import ByteStore

/// The number and the names of the entries that the upper layer cannot decode. The upper layer chooses the
/// names. A check, a salvage and a backup use the same names.
package struct UndecodableEntries: Sendable, Equatable {
  /// The maximum number of names in the list. Further names are only counted, to keep the list readable and
  /// small.
  package static let namesMax = 1000

  package private(set) var count = 0
  package private(set) var names: [String] = []

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package mutating func add(_ name: String) {
    count += 1
    if names.count < Self.namesMax { names.append(name) }
  }
}

/// Returns the name of an undecodable entry; nil for any other entry.
package typealias UndecodableEntryNamer = (_ key: RawSpan, _ value: RawSpan) -> String?
