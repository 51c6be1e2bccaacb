// Numbers with a meaning, each of its own type, so that none is taken for another.

/// The position of a commit in the one order of all commits of a store. The first commit is 1.
package struct SequenceNumber: Hashable, Comparable, Sendable {
  package var value: UInt64

  package init(_ value: UInt64) { self.value = value }

  /// No store gets there; a file that says so was made up, and the next number must not overflow.
  static let max = SequenceNumber(1 << 63)

  /// Before the first commit.
  package static let none = SequenceNumber(0)

  package var next: SequenceNumber {
    precondition(value < .max, "a store can hold 2^64 - 1 commits, and this one is full")
    return SequenceNumber(value + 1)
  }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// Which log file of a store; counts up and is never used twice.
package struct LogNumber: Hashable, Comparable, Sendable {
  package var value: UInt64

  package init(_ value: UInt64) { self.value = value }

  /// Nil after the last number there is.
  package var next: LogNumber? { value < .max ? LogNumber(value + 1) : nil }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// Which segment or checkpoint file of a store; counts up and is never used twice.
package struct FileNumber: Hashable, Comparable, Sendable {
  package var value: UInt64

  package init(_ value: UInt64) { self.value = value }

  /// Nil after the last number there is.
  package var next: FileNumber? { value < .max ? FileNumber(value + 1) : nil }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// 128 random bits that bind bytes to the file, or the file to the store, that they were written for.
package struct RandomID: Hashable, Sendable, CustomStringConvertible {
  package var high: UInt64
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static let zero = RandomID(high: 0, low: 0)

  package var description: String {
    Self.hexadecimal(high) + Self.hexadecimal(low)
  }

  private static func hexadecimal(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
