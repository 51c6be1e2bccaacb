// The fields of answers that are not gRPC.

internal import FirestoreService
internal import HTTPTransport
internal import OfflineSync

/// Composes the fields of the answers to one request.
struct AnswerFields: Sendable {
  /// Names that pages may read, besides those that they always may.
  private static let exposed =
    "x-request-id, x-client-wire-protocol, x-http-session-id, x-http-initial-response"
  static let methods = "DELETE, GET, HEAD, PATCH, POST, PUT"
  /// The longest time that Chrome keeps the answer to a preflight.
  private static let preflightSeconds = "7200"
  private static let requestedBytesMax = 4096

  /// The allowed origin of the request; nil if it has none.
  let origin: String?
  let requestID: String

  /// The fields of an answer with a body of this type.
  func with(contentType: String) -> HTTPFields {
    var fields = HTTPFields()
    fields.append("content-type", contentType)
    append(to: &fields)
    return fields
  }

  /// The fields of an answer that the transport gives by itself.
  var ofRefusal: HTTPFields {
    var fields = HTTPFields()
    append(to: &fields)
    return fields
  }

  static let json = "application/json; charset=utf-8"
  static let text = "text/plain; charset=utf-8"

  /// The fields of the answer to an error.
  func with(_ error: RemoteError, challenge: String?) -> HTTPFields {
    var fields = with(contentType: Self.json)
    if let challenge { fields.append("www-authenticate", challenge) }
    return fields
  }

  /// The fields of the answer to the question whether a page may send a request. `request` has the question.
  func preflight(_ request: HTTPRequest) -> HTTPFields {
    var fields = HTTPFields()
    append(to: &fields)
    guard origin != nil else {
      fields.append("allow", Self.methods + ", OPTIONS")
      return fields
    }
    fields.append("access-control-allow-methods", Self.methods)
    if let names = request.fields["access-control-request-headers"], Self.areNames(names) {
      fields.append("access-control-allow-headers", names)
    }
    fields.append("access-control-max-age", Self.preflightSeconds)
    // A page from elsewhere may reach a machine in a private network only if this one agrees.
    if request.fields["access-control-request-private-network"] == "true" {
      fields.append("access-control-allow-private-network", "true")
    }
    return fields
  }

  private func append(to fields: inout HTTPFields) {
    fields.append("x-request-id", requestID)
    fields.append("vary", "Origin")
    // Browsers must not guess that an answer is a page or a script.
    fields.append("x-content-type-options", "nosniff")
    guard let origin else { return }
    fields.append("access-control-allow-origin", origin)
    fields.append("access-control-allow-credentials", "true")
    fields.append("access-control-expose-headers", Self.exposed)
  }

  /// Whether a text is a list of names of fields.
  private static func areNames(_ text: String) -> Bool {
    text.utf8.count <= requestedBytesMax
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ","),
          UInt8(ascii: " "):
          true
        default: false
        }
      }
  }
}
