// The answer to a REST request: an HTTP status and JSON.
//
//   unary call    the message
//   stream        an array of the messages
//   error         {"error": {"code": 404, "message": "…", "status": "NOT_FOUND"}}

internal import FirestoreWire
public import OfflineSync

/// An HTTP response without its headers.
public struct RESTAnswer: Sendable, Equatable {
  /// The HTTP status.
  public var status: Int
  /// The body in JSON.
  public var body: [UInt8]

  /// Creates the answer to a request that is not a call, or whose call has failed.
  public init(_ error: RemoteError) { self.init(error, status: error.code.httpStatus) }

  /// Creates the answer to a request with another HTTP status than that of its error.
  package init(_ error: RemoteError, status: Int) {
    self.status = status
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("error")
    writer.beginObject()
    writer.key("code")
    writer.int32(Int32(clamping: status))
    writer.key("message")
    writer.string(error.message)
    writer.key("status")
    writer.string(error.code.statusName)
    writer.endObject()
    writer.endObject()
    body = writer.bytes
  }

  /// Creates the answer of a call from its events in JSON, the last of which is its end. After messages of a
  /// stream, an error is one more element of the array.
  public init(to call: RESTCall, _ events: [ServiceEvent]) {
    var messages: [[UInt8]] = []
    var failure: RESTAnswer?
    for event in events {
      switch event {
      case .message(let bytes): messages.append(bytes)
      case .ended(let error): failure = error.map { RESTAnswer($0) }
      }
    }
    if let failure {
      guard !messages.isEmpty else {
        self = failure
        return
      }
      messages.append(failure.body)
    }
    status = 200
    guard call.isStream else {
      body = messages.first ?? Array("{}".utf8)
      return
    }
    body = Array("[".utf8) + messages.joined(separator: Array(",\n".utf8)) + Array("]".utf8)
  }
}

extension RemoteError.Code {
  /// The HTTP status for a status of gRPC.
  fileprivate var httpStatus: Int {
    switch self {
    case .invalidArgument, .failedPrecondition, .outOfRange: 400
    case .unauthenticated: 401
    case .permissionDenied: 403
    case .notFound: 404
    case .alreadyExists, .aborted: 409
    case .resourceExhausted: 429
    case .cancelled: 499
    case .unknown, .internal, .dataLoss: 500
    case .unimplemented: 501
    case .unavailable: 503
    case .deadlineExceeded: 504
    }
  }

  /// The name of the status in messages.
  fileprivate var statusName: String {
    switch self {
    case .cancelled: "CANCELLED"
    case .unknown: "UNKNOWN"
    case .invalidArgument: "INVALID_ARGUMENT"
    case .deadlineExceeded: "DEADLINE_EXCEEDED"
    case .notFound: "NOT_FOUND"
    case .alreadyExists: "ALREADY_EXISTS"
    case .permissionDenied: "PERMISSION_DENIED"
    case .resourceExhausted: "RESOURCE_EXHAUSTED"
    case .failedPrecondition: "FAILED_PRECONDITION"
    case .aborted: "ABORTED"
    case .outOfRange: "OUT_OF_RANGE"
    case .unimplemented: "UNIMPLEMENTED"
    case .internal: "INTERNAL"
    case .unavailable: "UNAVAILABLE"
    case .dataLoss: "DATA_LOSS"
    case .unauthenticated: "UNAUTHENTICATED"
    }
  }
}
