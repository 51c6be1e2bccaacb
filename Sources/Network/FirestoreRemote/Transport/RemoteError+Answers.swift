// Errors in answers of HTTP.
//
//   body := {"error": {"code": 404, "message": "…", "status": "NOT_FOUND"}}, also within arrays

internal import ByteStore
internal import FirestoreWire
package import OfflineSync

extension RemoteError {
  private static let key = Array(#""error""#.utf8)
  private static let messageCharactersMax = 1000

  private static let tooLong =
    "The server, or a proxy before it, has refused the length of a request with status 413. Raise the limit "
    + "of the length of bodies there. Its name in nginx is client_max_body_size."

  /// The error of an answer with this status. If the body does not say it, it follows from the status.
  package init(status: Int, body: [UInt8]) {
    self =
      RemoteError(answer: body[...])
      ?? RemoteError(Self.code(ofStatus: status), "The server has answered with status \(status).")
    if status == 413 { self = RemoteError(code, Self.tooLong) }
  }

  /// The error in a body; nil if there is none.
  package init?(answer: ArraySlice<UInt8>) {
    // Most bodies are long and have no error.
    guard let quote = answer.firstIndex(of: UInt8(ascii: "\"")), answer[quote...].starts(with: Self.key)
    else {
      return nil
    }
    let bytes = Array(answer)
    var reader: JSONReader
    do throws(WireError) {
      reader = try JSONReader(bytes.rawSpan)
      guard let error = try Self.read(&reader) else { return nil }
      self = error
    } catch {
      return nil
    }
  }

  private static func read(_ reader: inout JSONReader) throws(WireError) -> RemoteError? {
    while try reader.kind() == .array {
      guard try reader.beginArray() else { return nil }
    }
    guard try reader.kind() == .object, try reader.beginObject() == "error", try reader.kind() == .object
    else { return nil }
    var code: Int64?
    var status: String?
    var message = ""
    var key = try reader.beginObject()
    while let name = key {
      switch (name, try reader.kind()) {
      case ("code", .number): code = try reader.int64()
      case ("status", .string): status = try reader.string()
      case ("message", .string): message = String(try reader.string().prefix(messageCharactersMax))
      default: try reader.skip()
      }
      key = try reader.nextKey()
    }
    let named = status.flatMap { names[$0] }
    return RemoteError(named ?? Self.code(ofStatus: code.map { Int(clamping: $0) } ?? 0), message)
  }

  /// The code for a status of HTTP, as clients of gRPC map it. A server or proxy that has too many requests
  /// is overloaded.
  private static func code(ofStatus status: Int) -> Code {
    switch status {
    case 400: .internal
    case 401: .unauthenticated
    case 403: .permissionDenied
    case 404: .unimplemented
    case 429: .resourceExhausted
    case 300..<400, 408, 500..<600: .unavailable
    default: .unknown
    }
  }

  private static let names: [String: Code] = [
    "CANCELLED": .cancelled, "UNKNOWN": .unknown, "INVALID_ARGUMENT": .invalidArgument,
    "DEADLINE_EXCEEDED": .deadlineExceeded, "NOT_FOUND": .notFound, "ALREADY_EXISTS": .alreadyExists,
    "PERMISSION_DENIED": .permissionDenied, "RESOURCE_EXHAUSTED": .resourceExhausted,
    "FAILED_PRECONDITION": .failedPrecondition, "ABORTED": .aborted, "OUT_OF_RANGE": .outOfRange,
    "UNIMPLEMENTED": .unimplemented, "INTERNAL": .internal, "UNAVAILABLE": .unavailable,
    "DATA_LOSS": .dataLoss, "UNAUTHENTICATED": .unauthenticated,
  ]
}
