// Sequence numbers, file numbers and random ids. Each has its own type, so that they cannot be confused.

/// The position of a commit in the total order of a store's commits. The first commit is 1.
package struct SequenceNumber: Hashable, Comparable, Sendable {
  package var value: UInt64

  package init(_ value: UInt64) { self.value = value }

  /// The upper bound for sequence numbers that are read from files. No store reaches this bound, which keeps
  /// the next number from overflowing.
  static let max = SequenceNumber(1 << 63)

  /// The position before the first commit.
  package static let none = SequenceNumber(0)

  package var next: SequenceNumber {
    precondition(value < .max, "a store can hold 2^64 - 1 commits, and this one is full")
    return SequenceNumber(value + 1)
  }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// Identifies a log file of a store. Numbers increase and are never reused.
package struct LogNumber: Hashable, Comparable, Sendable {
  package var value: UInt64

  package init(_ value: UInt64) { self.value = value }

  /// The next number; nil after the largest one.
  package var next: LogNumber? { value < .max ? LogNumber(value + 1) : nil }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// Identifies a segment or checkpoint file of a store. Numbers increase and are never reused.
package struct FileNumber: Hashable, Comparable, Sendable {
  package var value: UInt64

  package init(_ value: UInt64) { self.value = value }

  /// The next number; nil after the largest one.
  package var next: FileNumber? { value < .max ? FileNumber(value + 1) : nil }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// 128 random bits that identify a file or a store. They bind bytes to the file, and the file to the store.
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
