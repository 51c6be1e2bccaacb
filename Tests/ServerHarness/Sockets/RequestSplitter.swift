// Finds the requests in what a client sends.

#if Server

/// A complete request of a client, as its bytes.
struct SplitRequest {
  let method: String
  let target: String
  let bytes: [UInt8]

  /// The request in short, for the record of a history.
  var summary: String {
    let parameters = target.split(separator: "?").last ?? ""
    let shown = parameters.split(separator: "&").filter { part in
      ["SID=", "RID=", "AID=", "CI=", "TYPE="].contains { part.hasPrefix($0) }
    }
    return "\(method) \(shown.joined(separator: " ")), \(bytes.count) B"
  }
}

/// Splits the bytes of a client of the test into requests. Their bodies have a `Content-Length`.
struct RequestSplitter {
  private var buffer: [UInt8] = []

  /// Returns the requests that are complete with these bytes.
  mutating func take(_ bytes: some Sequence<UInt8>) -> [SplitRequest] {
    buffer += bytes
    var requests: [SplitRequest] = []
    while let request = next() { requests.append(request) }
    return requests
  }

  private mutating func next() -> SplitRequest? {
    let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
    guard buffer.count >= 4,
      let headEnd = (0...buffer.count - 4).first(where: { buffer[$0..<$0 + 4].elementsEqual(end) })
    else { return nil }
    let lines = String(decoding: buffer[..<headEnd], as: UTF8.self).split(separator: "\r\n")
    var length = 0
    for line in lines where line.lowercased().hasPrefix("content-length: ") {
      length = Int(line.dropFirst(16)) ?? 0
    }
    let count = headEnd + 4 + length
    guard buffer.count >= count else { return nil }
    defer { buffer.removeFirst(count) }
    let words = (lines.first ?? "").split(separator: " ")
    return SplitRequest(
      method: words.first.map(String.init) ?? "", target: words.count > 1 ? String(words[1]) : "",
      bytes: Array(buffer.prefix(count)))
  }
}
#endif
