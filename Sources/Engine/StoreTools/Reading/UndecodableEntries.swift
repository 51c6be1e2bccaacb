// Entries whose bytes are right and of which the layer above can make nothing.

import ByteStore

/// How many there are, and what the layer above calls them: a check, a salvage and a backup name the same ones.
package struct UndecodableEntries: Sendable, Equatable {
  /// More are counted only: a list has to stay readable, and within memory.
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

/// The name of an entry that cannot be decoded; nil for every other.
package typealias UndecodableEntryNamer = (_ key: RawSpan, _ value: RawSpan) -> String?
