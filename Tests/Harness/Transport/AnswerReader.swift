// Reads answers of HTTP/1.1 piece by piece.

/// Reads the answers of a connection, one after the other.
package struct AnswerReader {
  package enum Event {
    case head(status: Int, fields: [String: String])
    case body([UInt8])
    /// The answer is complete.
    case end(isLast: Bool)
  }

  private enum State: Equatable {
    case head
    case bytes(Int)
    case chunkSize
    case chunk(Int)
    case chunkEnd
    case trailers
    /// The body ends with the connection.
    case rest
  }

  private var state = State.head
  private var buffer: [UInt8] = []
  private var isLast = false

  /// Whether no answer has begun.
  package var isBetweenAnswers: Bool { state == .head && buffer.isEmpty }
  /// Whether the end of the connection is the end of the answer.
  package var endsWithConnection: Bool { state == .rest }

  package init() {}

  package mutating func take(_ bytes: some Sequence<UInt8>) throws(Violation) -> [Event] {
    buffer += bytes
    var events: [Event] = []
    while let event = try next() { events.append(contentsOf: event) }
    return events
  }

  /// Returns nil if more bytes are needed.
  private mutating func next() throws(Violation) -> [Event]? {
    switch state {
    case .head: return try takeHead()
    case .bytes(let count), .chunk(let count):
      guard !buffer.isEmpty else { return nil }
      let piece = takePrefix(min(count, buffer.count))
      let left = count - piece.count
      if case .chunk = state {
        state = left > 0 ? .chunk(left) : .chunkEnd
        return [.body(piece)]
      }
      state = left > 0 ? .bytes(left) : .head
      return left > 0 ? [.body(piece)] : [.body(piece), .end(isLast: isLast)]
    case .chunkSize:
      guard let line = takeLine() else { return nil }
      guard let size = Int(line, radix: 16), size >= 0 else {
        throw Violation("a chunk has the size \(line)")
      }
      state = size > 0 ? .chunk(size) : .trailers
      return []
    case .chunkEnd:
      guard let line = takeLine() else { return nil }
      guard line.isEmpty else { throw Violation("a chunk is longer than its size") }
      state = .chunkSize
      return []
    case .trailers:
      guard let line = takeLine() else { return nil }
      guard line.isEmpty else { return [] }
      state = .head
      return [.end(isLast: isLast)]
    case .rest: return buffer.isEmpty ? nil : [.body(takePrefix(buffer.count))]
    }
  }

  private mutating func takeHead() throws(Violation) -> [Event]? {
    guard let end = headEnd else { return nil }
    let lines = String(decoding: takePrefix(end), as: UTF8.self).split(separator: "\r\n")
    let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
    guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
      throw Violation("an answer begins with \(lines.first ?? "")")
    }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw Violation("a field is \(line)") }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      fields[line[..<colon].lowercased()] = String(value)
    }
    guard status >= 200 else { return [] }
    isLast = fields["connection"]?.lowercased() == "close"
    let head = Event.head(status: status, fields: fields)
    if fields["transfer-encoding"]?.lowercased() == "chunked" {
      state = .chunkSize
      return [head]
    }
    if let text = fields["content-length"] {
      guard let length = Int(text), length >= 0 else { throw Violation("a body has the length \(text)") }
      if length > 0 { state = .bytes(length) }
      return length > 0 ? [head] : [head, .end(isLast: isLast)]
    }
    if status == 204 || status == 304 { return [head, .end(isLast: isLast)] }
    state = .rest
    return [head]
  }

  /// The place after the empty line that ends the fields.
  private var headEnd: Int? {
    guard buffer.count >= 4 else { return nil }
    let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
    return (0...buffer.count - 4).first { buffer[$0..<$0 + 4].elementsEqual(end) }.map { $0 + 4 }
  }

  private mutating func takeLine() -> String? {
    guard let end = buffer.firstIndex(of: 0x0A) else { return nil }
    let line = takePrefix(end + 1)
    return String(decoding: line.filter { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
  }

  private mutating func takePrefix(_ count: Int) -> [UInt8] {
    let prefix = Array(buffer.prefix(count))
    buffer.removeFirst(count)
    return prefix
  }
}
