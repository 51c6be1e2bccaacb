// google.protobuf.Timestamp.

package import DocumentStore

extension Wire {
  /// A time as it is on the wire, with any numbers. `stored` checks them.
  package struct Timestamp: WireMessage, Hashable {
    /// Seconds since 1970-01-01T00:00:00Z.
    package var seconds: Int64
    /// Nanoseconds of the second.
    package var nanos: Int32

    package init() { self.init(seconds: 0, nanos: 0) }

    package init(seconds: Int64, nanos: Int32) {
      self.seconds = seconds
      self.nanos = nanos
    }

    package init(_ time: StoredTimestamp) {
      self.init(seconds: time.seconds, nanos: time.nanoseconds)
    }

    /// The time in whole microseconds; nil outside the years 1 to 9999, or if the nanoseconds are not those
    /// of a second.
    package var stored: StoredTimestamp? { StoredTimestamp(seconds: seconds, nanoseconds: nanos) }

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.int64(1, "seconds", in: &seconds)
      try visitor.int32(2, "nanos", in: &nanos)
    }
  }
}
