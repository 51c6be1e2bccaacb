// google.protobuf.Duration. In JSON:
//
//   duration := seconds ("." digit{1,9})? "s"

extension Wire {
  /// A duration that is not negative.
  package struct Duration: WireMessage, Hashable {
    package var seconds: Int64 = 0
    /// Nanoseconds of the second.
    package var nanos: Int32 = 0

    package init() {}

    package init(nanoseconds: UInt64) {
      seconds = Int64(nanoseconds / 1_000_000_000)
      nanos = Int32(nanoseconds % 1_000_000_000)
    }

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.int64(1, "seconds", in: &seconds)
      try visitor.int32(2, "nanos", in: &nanos)
    }

    /// Nil unless the text is a duration.
    init?(text: [UInt8]) {
      guard text.last == UInt8(ascii: "s") else { return nil }
      let parts = text.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isDigit) }),
        let seconds = Int64(String(decoding: parts[0], as: UTF8.self))
      else { return nil }
      self.seconds = seconds
      guard parts.count == 2 else { return }
      guard parts[1].count <= 9 else { return nil }
      let digits = String(decoding: parts[1], as: UTF8.self)
      nanos = Int32(digits + String(repeating: "0", count: 9 - digits.utf8.count)) ?? 0
    }

    /// Nil if the duration is negative, or if the nanoseconds are not those of a second.
    var text: String? {
      guard seconds >= 0, (0..<1_000_000_000).contains(nanos) else { return nil }
      guard nanos > 0 else { return "\(seconds)s" }
      let digits = String(nanos)
      return "\(seconds)." + String(repeating: "0", count: 9 - digits.utf8.count) + digits + "s"
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
  }
}
