// Scopes in which invalid arguments throw.

private import FirebaseCore

enum Validation {
  /// Calls `body`. Throws `invalidArgument` with the message of the first invalid argument.
  static func run<Value>(_ body: () throws -> Value) throws -> Value {
    let (result, misuse) = ProgrammerError.recording(body)
    // An error that `body` throws itself may be a consequence of the invalid argument.
    if let misuse { throw FirestoreErrors.make(.invalidArgument, misuse) }
    return try result.get()
  }

  /// Reports a misuse of the API. Within a validation, returns it as an error; otherwise, traps.
  static func misuse(_ message: String) -> any Error {
    ProgrammerError.report(message)
    return FirestoreErrors.make(.invalidArgument, message)
  }
}

/// A result of a validation.
protocol Validatable {
  /// Throws an error that the first use would report.
  func validate() throws
}

extension Array: Validatable where Element: Validatable {
  func validate() throws { for element in self { try element.validate() } }
}
