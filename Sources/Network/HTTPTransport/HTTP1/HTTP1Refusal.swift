// Answers of the transport itself to requests that break a rule or a limit.

/// The reason why a request is refused. The connection ends with the answer, because the place of the next
/// request is not known for sure.
struct HTTP1Refusal: Error, Equatable {
  let status: Int
  let refusal: Refusal
  /// A sentence for the developer of the client.
  let text: String
  /// The request, as far as it was read; nil if that does not matter.
  var head: HTTP1Head?

  init(_ status: Int, _ refusal: Refusal = .malformed, text: String) {
    self.status = status
    self.refusal = refusal
    self.text = text
  }

  static func malformed(_ text: String) -> HTTP1Refusal { HTTP1Refusal(400, text: text) }

  static func headerTooLarge(_ bytesMax: Int) -> HTTP1Refusal {
    HTTP1Refusal(431, .headerSize, text: "The request line and the fields may have \(bytesMax) bytes.")
  }

  static func tooManyFields(_ countMax: Int) -> HTTP1Refusal {
    HTTP1Refusal(431, .headerSize, text: "A request may have \(countMax) fields.")
  }

  static func bodyTooLarge(_ bytesMax: Int) -> HTTP1Refusal {
    HTTP1Refusal(413, .messageSize, text: "The body of a request may have \(bytesMax) bytes.")
  }

  static let headerTimeout = HTTP1Refusal(408, .headerTimeout, text: "The fields did not arrive in time.")
  static let bodyTimeout = HTTP1Refusal(408, .bodyRate, text: "The body arrives too slowly.")
}
