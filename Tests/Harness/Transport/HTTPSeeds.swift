// Valid and invalid requests of HTTP/1.1, for the fuzzer to start from.

enum HTTPSeeds {
  static let all: [[UInt8]] = [
    "GET /now HTTP/1.1\r\nHost: a\r\n\r\nGET /later?x=%20 HTTP/1.1\r\nHost: a:1\r\nX: \ty \r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0a\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
    "PUT /begin HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    "PUT /now HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /begin HTTP/1.0\r\n\r\n",
    "GET http://b/c?d HTTP/1.1\r\nHost: B\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: null\r\n\r\nGET /abort HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /s/M HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\nContent-Length: 5\r\n\r\n\0\0\0\0\0",
    "POST /now HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nCONNECT a:1 HTTP/1.1\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\0\u{1}",
  ].map { Array($0.utf8) }

  /// Lines and parts of lines that matter to parsers.
  static let pieces: [[UInt8]] = [
    "\r\n", "\n", "\r", " ", "\t", ":", ",", "\0", "0\r\n\r\n", "1\r\na\r\n", "fffffff\r\n", ";x=y",
    "Content-Length: 5\r\n", "Content-Length: 99999999999999999999\r\n", "Content-Length: -1\r\n",
    "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Host: b\r\n", "Host: a@b\r\n",
    "Connection: close\r\n", "Connection: keep-alive\r\n", "Expect: 100-continue\r\n", "X : y\r\n",
    " folded\r\n",
    "GET /now HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /begin HTTP/1.1\r\nHost: a\r\n\r\n", "TRACE / HTTP/1.2\r\n",
  ].map { Array($0.utf8) }

  /// The lines of an input, with their ends.
  static func lines(of input: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var rest = input[...]
    while !rest.isEmpty, lines.count < 200 {
      let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
      lines.append(Array(rest[..<end]))
      rest = rest[end...]
    }
    return lines
  }
}
