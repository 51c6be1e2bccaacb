// Targets and bodies of requests, as the web SDK writes them.
//
//   target := path "?VER=8&database=" name *("&" key "=" value)
//   body   := ["headers=" list "&"] "count=" N "&ofs=" first *("&req" n "___data__=" message)
//   list   := *(name ":" value CR LF)

internal import HTTPClient

/// Percent-encoded texts.
enum ChannelForm {
  /// The body of a request with messages, and with header fields if it opens a session.
  static func body(_ batch: MessageLine.Batch, fields: [WebRequest.Field]?) -> [UInt8] {
    var body: [UInt8] = []
    body.reserveCapacity(batch.messages.reduce(64) { $0 + $1.count * 3 / 2 })
    if let fields {
      body += Array("headers=".utf8)
      append(fields.flatMap { Array("\($0.name):\($0.value)\r\n".utf8) }, to: &body)
      body.append(UInt8(ascii: "&"))
    }
    body += Array("count=\(batch.messages.count)&ofs=\(batch.first)".utf8)
    for (position, message) in batch.messages.enumerated() {
      body += Array("&req\(position)___data__=".utf8)
      append(message, to: &body)
    }
    return body
  }

  static func target(_ path: String, _ parameters: [(name: String, value: String)]) -> String {
    var bytes = Array(path.utf8)
    for (position, parameter) in parameters.enumerated() {
      bytes.append(UInt8(ascii: position == 0 ? "?" : "&"))
      bytes += Array(parameter.name.utf8)
      bytes.append(UInt8(ascii: "="))
      append(Array(parameter.value.utf8), to: &bytes)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func append(_ text: [UInt8], to bytes: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in text {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
        UInt8(ascii: "!"), UInt8(ascii: "~"), UInt8(ascii: "*"), UInt8(ascii: "("), UInt8(ascii: ")"):
        bytes.append(byte)
      default:
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
      }
    }
  }

  /// Whether a field can be in a list: its name and its value are visible, and in ASCII.
  static func isValid(_ field: WebRequest.Field) -> Bool {
    !field.name.isEmpty
      && field.name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
      && field.value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }
}
