// Requests that the server itself refuses, besides those that the transport refuses.

/// A rule of the server that a request has not kept.
enum ServerRefusal: String, Sendable, CaseIterable {
  case host
  case origin
  case credentials
  case databaseName = "database_name"
  case databases
  case draining
}
