// A request of the REST API, as a transport reads it.

/// An HTTP request without its headers.
public struct RESTRequest: Sendable, Hashable {
  /// The HTTP method, such as `POST`.
  public var method: String
  /// The path and the query as they are in the request line, with their percent-encoding.
  public var target: String
  /// The body: JSON, or nothing.
  public var body: [UInt8]

  /// Creates a request.
  public init(method: String, target: String, body: [UInt8] = []) {
    self.method = method
    self.target = target
    self.body = body
  }
}

/// The call to which a REST request maps.
public struct RESTCall: Sendable, Equatable {
  /// The name of the method, for `FirestoreService.handle`.
  public var method: String
  /// The request of the call, in JSON.
  public var request: [UInt8]
  /// Whether the answer is an array of the messages of a stream. Otherwise it is one message.
  public var isStream: Bool
}
