// The user's closures and values that move to another queue.
//
// Existing code, in Swift 5 or Swift 6 mode, passes closures and objects of any isolation. So the API does
// not require them to be sendable, and these two types carry them to the queue where they are used.

package import Dispatch

/// A closure of the user that runs on another queue.
package struct Callback<Value>: @unchecked Sendable {
  // Unchecked, because the user's closure is not marked as sendable. The closure runs on the callback queue,
  // and its calls never overlap. A closure of the main actor therefore needs the main queue, which is the
  // default callback queue.
  private let body: (Value) -> Void

  package init(_ body: @escaping (Value) -> Void) { self.body = body }

  package func callAsFunction(_ value: Value) { body(value) }
}

/// A value that moves to another queue.
package struct Transferred<Value>: @unchecked Sendable {
  // Unchecked, because the sender no longer uses the value, or uses it on the receiving queue only.
  package let value: Value

  package init(_ value: Value) { self.value = value }
}

extension DispatchQueue {
  /// Returns a closure that passes a result to `completion` on this queue.
  package func passing<Value, Failure: Error>(
    to completion: @escaping (Value?, (any Error)?) -> Void
  ) -> @Sendable (Result<Value, Failure>) -> Void {
    let callback = Callback<(Value?, (any Error)?)> { completion($0.0, $0.1) }
    return { result in
      let answer: Transferred<(Value?, (any Error)?)> =
        switch result {
        case .success(let value): Transferred((value, nil))
        case .failure(let error): Transferred((nil, error))
        }
      self.submit { callback(answer.value) }
    }
  }

  /// Returns a closure that passes the error of a result to `completion` on this queue; nil if the result is
  /// a success.
  package func passingError<Failure: Error>(
    to completion: (((any Error)?) -> Void)?
  ) -> @Sendable (Result<Void, Failure>) -> Void {
    passing { (_: Void?, error) in completion?(error) }
  }
}
