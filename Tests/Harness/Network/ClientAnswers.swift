// The answers of a server as a simulated client reads them.

/// Reads what arrives on one connection. Throws `NetworkViolation` if the bytes are not those of the answers.
protocol ClientAnswers {
  /// Requests whose answers are complete, in the order of their ends.
  var answered: [Int] { get }
  /// Whether the server has refused something by an answer of its own, or has reset a request.
  var hasRefusal: Bool { get }
  mutating func expect(_ plan: RequestPlan)
  /// Reads bytes, and returns what the client has to send because of them.
  mutating func receive(_ bytes: [UInt8]) throws(NetworkViolation) -> [UInt8]
  /// The server has ended the connection in good order.
  mutating func receiveEnd() throws(NetworkViolation)
}

struct NetworkViolation: Error {
  let text: String

  init(_ text: String) { self.text = text }
}
