// Reads responses of HTTP/1.1 as a client does.

/// Splits output into responses.
enum ResponseReader {
  /// Checks that the output is a response to each method in turn. The last one can be incomplete. One more
  /// can follow, which refuses a request that no handler has seen.
  static func check(_ output: [UInt8], _ methods: [String]) throws(FuzzFinding) {
    var rest = output[...]
    var answered = 0
    while !rest.isEmpty {
      guard let (status, fields) = try head(&rest) else { throw FuzzFinding("a head is incomplete") }
      if status == 100 { continue }
      guard answered <= methods.count else { throw FuzzFinding("there are more responses than requests") }
      let method = answered < methods.count ? methods[answered] : ""
      answered += 1
      guard method != "HEAD", status != 204, status != 304 else { continue }
      guard try takeBody(&rest, fields) else {
        guard rest.isEmpty else { throw FuzzFinding("a body is malformed") }
        return
      }
    }
  }

  private static func head(
    _ rest: inout ArraySlice<UInt8>
  ) throws(FuzzFinding) -> (status: Int, fields: [String])? {
    var lines: [String] = []
    while let line = takeLine(&rest) {
      guard !line.isEmpty else {
        let parts = lines.first?.split(separator: " ") ?? []
        guard parts.count >= 3, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
          throw FuzzFinding("a status line is malformed")
        }
        return (status, Array(lines.dropFirst()))
      }
      lines.append(line)
    }
    return nil
  }

  /// Returns false if the body is incomplete.
  private static func takeBody(
    _ rest: inout ArraySlice<UInt8>, _ fields: [String]
  ) throws(FuzzFinding) -> Bool {
    let lengths = fields.filter { $0.hasPrefix("content-length: ") }
    let isChunked = fields.contains("transfer-encoding: chunked")
    guard lengths.count + (isChunked ? 1 : 0) <= 1 else { throw FuzzFinding("a response has two lengths") }
    if let length = lengths.first.flatMap({ Int($0.dropFirst(16)) }) {
      guard rest.count >= length else { return false }
      rest = rest.dropFirst(length)
      return true
    }
    guard isChunked else {
      guard fields.contains("connection: close") else { throw FuzzFinding("a response has no length") }
      rest = []
      return true
    }
    return takeChunks(&rest)
  }

  private static func takeChunks(_ rest: inout ArraySlice<UInt8>) -> Bool {
    while let line = takeLine(&rest), let size = Int(line, radix: 16) {
      guard size > 0 else {
        while let trailer = takeLine(&rest) { if trailer.isEmpty { return true } }
        return false
      }
      guard rest.count >= size + 2 else { return false }
      rest = rest.dropFirst(size)
      guard takeLine(&rest) == "" else { return false }
    }
    return false
  }

  private static func takeLine(_ rest: inout ArraySlice<UInt8>) -> String? {
    guard let end = rest.firstIndex(of: 0x0A), end > rest.startIndex, rest[end - 1] == 0x0D else {
      return nil
    }
    let line = String(decoding: rest[..<(end - 1)], as: UTF8.self)
    rest = rest[(end + 1)...]
    return line
  }
}
