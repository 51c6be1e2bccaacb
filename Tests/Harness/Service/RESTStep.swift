// Requests of a script, with symbols for what earlier answers contain.

package import FirestoreService

/// One request. `⟨name⟩` in the target or the body stands for a value that an earlier answer of the same peer
/// contains.
package struct RESTStep: Sendable, CustomStringConvertible {
  package var method: String
  /// The part of the target after `/v1/`, not percent-encoded.
  package var path: String
  package var parameters: [(key: String, value: String)] = []
  package var body: String
  /// The symbols that the answer defines, and the names of the members that have their values.
  package var captures: [(symbol: String, member: String)] = []
  /// Whether the body may have fields that the protocol does not have.
  package var mayHaveUnknownFields = false

  package init(_ method: String, _ path: String, _ body: String = "") {
    self.method = method
    self.path = path
    self.body = body
  }

  package var description: String {
    let query = parameters.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
    return "\(method) \(path)\(query.isEmpty ? "" : "?\(query)") \(body)"
  }

  /// The request, with the values of symbols.
  func request(_ symbols: [String: String]) -> RESTRequest {
    let query = parameters.map { "\($0.key)=\(Self.encoded(Self.filled($0.value, symbols), keeping: ""))" }
    let target =
      "/v1/\(Self.encoded(Self.filled(path, symbols), keeping: "/:()"))"
      + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
    return RESTRequest(method: method, target: target, body: Array(Self.filled(body, symbols).utf8))
  }

  /// The symbols in the parameters and the body.
  var symbols: [String] {
    (parameters.map(\.value) + [body]).flatMap { text in
      text.split(separator: "⟨", omittingEmptySubsequences: false).dropFirst()
        .compactMap { $0.split(separator: "⟩").first.map(String.init) }
    }
  }

  private static func filled(_ text: String, _ symbols: [String: String]) -> String {
    var rest = text[...]
    var filled = ""
    while let start = rest.firstIndex(of: "⟨"), let end = rest[start...].firstIndex(of: "⟩") {
      filled += rest[..<start]
      filled += symbols[String(rest[rest.index(after: start)..<end])] ?? ""
      rest = rest[rest.index(after: end)...]
    }
    return filled + rest
  }

  private static func encoded(_ text: String, keeping kept: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      let character = Character(Unicode.Scalar(byte))
      let isPlain =
        character.isASCII && (character.isLetter || character.isNumber) || "-._~".contains(character)
      if isPlain || kept.contains(character) && byte < 0x80 {
        encoded.append(character)
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += "%" + (digits.count < 2 ? "0" : "") + digits
      }
    }
    return encoded
  }
}

/// An answer, and the values of symbols that it defines.
package struct RESTReply: Sendable {
  package var status: Int
  package var body: JSONTree

  package init(status: Int, body: JSONTree) {
    self.status = status
    self.body = body
  }

  package var message: String { body["error"]?["message"]?.text ?? "" }
  package var isError: Bool { status != 200 }
}

/// One of the two ends that are compared.
package protocol RESTPeer: Sendable {
  func reply(to request: RESTRequest) async -> RESTReply
}
