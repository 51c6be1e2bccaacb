// Header fields and trailers in one buffer, because most fields of a request are never looked at.

/// Fields of a request or a response, in order. Names are in lower case.
package struct HTTPFields: Sendable, Equatable {
  private struct Ends: Sendable, Equatable {
    let name: Int
    let value: Int
  }

  private var bytes: [UInt8] = []
  private var ends: [Ends] = []

  /// The space of an ordinary request.
  private static let usualBytes = 384
  private static let usualCount = 12

  package init() {}

  /// Reserves the space of an ordinary request.
  mutating func reserveUsual() {
    bytes.reserveCapacity(Self.usualBytes)
    ends.reserveCapacity(Self.usualCount)
  }

  /// Creates fields whose names are in lower case, and whose values have no line breaks.
  package init(_ fields: KeyValuePairs<StaticString, String>) {
    for (name, value) in fields { append(name, value) }
  }

  package var count: Int { ends.count }
  package var isEmpty: Bool { ends.isEmpty }
  /// The bytes of all names and values.
  package var byteCount: Int { bytes.count }

  /// Adds a field. The name is in lower case, and the value has no line breaks.
  package mutating func append(_ name: StaticString, _ value: String) {
    name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    let nameEnd = bytes.count
    bytes.append(contentsOf: value.utf8)
    ends.append(Ends(name: nameEnd, value: bytes.count))
  }

  /// Adds a field from bytes of a request, whose name the caller has changed to lower case.
  package mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
    bytes.append(contentsOf: name)
    let nameEnd = bytes.count
    bytes.append(contentsOf: value)
    ends.append(Ends(name: nameEnd, value: bytes.count))
  }

  /// Adds all fields of `others`.
  package mutating func append(_ others: HTTPFields) {
    for position in 0..<others.count {
      append(name: others.name(at: position), value: others.value(at: position))
    }
  }

  /// The value of the first field with this name. Invalid UTF-8 is replaced.
  package subscript(_ name: StaticString) -> String? {
    position(of: name).map { String(decoding: value(at: $0), as: UTF8.self) }
  }

  /// The bytes of the value of the first field with this name.
  package func bytes(of name: StaticString) -> ArraySlice<UInt8>? { position(of: name).map { value(at: $0) } }

  /// The values of all fields with this name.
  package func all(_ name: StaticString) -> [String] {
    ends.indices.filter { isNamed(name, at: $0) }.map { String(decoding: value(at: $0), as: UTF8.self) }
  }

  package func name(at position: Int) -> ArraySlice<UInt8> {
    bytes[start(of: position)..<ends[position].name]
  }

  package func value(at position: Int) -> ArraySlice<UInt8> {
    bytes[ends[position].name..<ends[position].value]
  }

  /// Calls `body` with the bytes of all names and values, and then `each` with the ranges of a field in them.
  func withUnsafeBytes<Result>(
    _ body: (UnsafeBufferPointer<UInt8>, (Int) -> (name: Range<Int>, value: Range<Int>)) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBufferPointer { buffer in
      unsafe body(buffer) { position in
        let ends = ends[position]
        return (start(of: position)..<ends.name, ends.name..<ends.value)
      }
    }
  }

  private func start(of position: Int) -> Int { position == 0 ? 0 : ends[position - 1].value }

  private func position(of name: StaticString) -> Int? { ends.indices.first { isNamed(name, at: $0) } }

  private func isNamed(_ name: StaticString, at position: Int) -> Bool {
    let start = start(of: position)
    guard ends[position].name - start == name.utf8CodeUnitCount else { return false }
    return name.withUTF8Buffer { text in
      for offset in text.indices where unsafe text[offset] != bytes[start + offset] { return false }
      return true
    }
  }
}
