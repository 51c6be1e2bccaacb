// The head of a request: the request line and the fields.

/// A head that has been parsed.
struct HTTP1Head: Equatable {
  /// The form of the body.
  enum Body: Equatable {
    case none
    case length(Int)
    case chunked
  }

  var method = ""
  var target = ""
  var authority = ""
  /// The fields, without those that only concern the connection.
  var fields = HTTPFields()
  var body = Body.none
  /// Whether the client speaks HTTP/1.0.
  var isOld = false
  /// Whether another request can follow on the connection.
  var keepsAlive = true
  /// Whether the client waits for `100 Continue` before it sends the body.
  var expectsContinue = false
}
