// The head of a response.
//
//   head := "HTTP/1.1 " status " " reason CRLF (name ": " value CRLF)* CRLF

/// Writes the status line and the fields of a response.
enum HTTP1ResponseHead {
  /// How the client finds the end of the body.
  enum Framing: Equatable {
    /// The response has no body, and no field about one.
    case none
    case length(Int)
    case chunked
    /// The body ends with the connection, because the client does not know chunks.
    case connection
  }

  /// The field `connection` of a response.
  enum Persistence {
    /// The connection stays, which HTTP/1.1 implies.
    case implied
    /// The connection stays, which a client of HTTP/1.0 has to be assured of.
    case stated
    case closes
  }

  static let continuing = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  static func bytes(
    _ status: Int, _ fields: HTTPFields, framing: Framing, persistence: Persistence
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(128 + fields.byteCount + 4 * fields.count)
    bytes += "HTTP/1.1 \(status) \(reason(status))\r\n".utf8
    append(fields, to: &bytes, except: isOwn)
    bytes += "date: ".utf8
    bytes += HTTPDate.now().utf8
    switch framing {
    case .none, .connection: break
    case .length(let length): bytes += "\r\ncontent-length: \(length)".utf8
    case .chunked: bytes += "\r\ntransfer-encoding: chunked".utf8
    }
    switch persistence {
    case .implied: break
    case .stated: bytes += "\r\nconnection: keep-alive".utf8
    case .closes: bytes += "\r\nconnection: close".utf8
    }
    bytes += "\r\n\r\n".utf8
    return bytes
  }

  /// The end of a chunked body.
  static func lastChunk(_ trailers: HTTPFields) -> [UInt8] {
    var bytes = Array("0\r\n".utf8)
    append(trailers, to: &bytes, except: isOwn)
    bytes += "\r\n".utf8
    return bytes
  }

  private static func append(
    _ fields: HTTPFields, to bytes: inout [UInt8], except isLeftOut: (ArraySlice<UInt8>) -> Bool
  ) {
    for position in 0..<fields.count where !isLeftOut(fields.name(at: position)) {
      bytes += fields.name(at: position)
      bytes += ": ".utf8
      for byte in fields.value(at: position) {
        // A line break in a value would let its author write a response of his own.
        bytes.append(ASCII.isText(byte) ? byte : ASCII.space)
      }
      bytes += "\r\n".utf8
    }
  }

  /// Whether only the transport writes this field.
  private static func isOwn(_ name: ArraySlice<UInt8>) -> Bool {
    switch name.count {
    case 4: name.elementsEqual("date".utf8)
    case 10: name.elementsEqual("connection".utf8) || name.elementsEqual("keep-alive".utf8)
    case 14: name.elementsEqual("content-length".utf8)
    case 17: name.elementsEqual("transfer-encoding".utf8)
    default: false
    }
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
  }
}
