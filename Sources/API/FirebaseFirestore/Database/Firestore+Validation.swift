// Throws for arguments that otherwise trap.

extension Firestore {
  /// Calls `body` with this database, and returns its result. Within `body`, an invalid argument throws
  /// `invalidArgument` instead of ending the process. The error has the message of the trap.
  ///
  /// Use it for paths, IDs, field names and values that come from outside:
  ///
  /// ```swift
  /// func newest(_ count: Int, of user: String, in firestore: Firestore) throws -> Query {
  ///   try firestore.validated {
  ///     $0.collection("users").document(user).collection("notes").order(by: "date").limit(toLast: count)
  ///   }
  /// }
  /// ```
  ///
  /// Covers references, queries, filters, batches, transactions and the values of fields, also when the
  /// layers create them. After the first invalid argument, `body` continues with placeholders, and the error
  /// is thrown when `body` returns. Reads and writes of placeholders fail. Let `body` only build and return
  /// values, and run them afterwards.
  ///
  /// If the result is a document reference, a query or a batch, or an array of them, also throws errors that
  /// the first use would report, such as a reserved ID. Calls on other threads still trap, and so do calls in
  /// tasks that `body` starts. Errors of the program itself trap too, such as settings that are changed too
  /// late.
  public func validated<Value>(_ body: (Firestore) throws -> Value) throws -> Value {
    try Validation.run {
      let value = try body(self)
      try (value as? any Validatable)?.validate()
      return value
    }
  }
}
