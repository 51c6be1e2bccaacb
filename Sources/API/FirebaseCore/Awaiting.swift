// The async forms of calls that begin at once and report their result to a closure.
//
// A call begins on the caller's thread: before it returns, its work is enqueued. The order of the calls on
// one thread is therefore the order of the commits. An async function could not guarantee this order to a
// completion form, because a task begins only when its executor runs it. So the call that begins at once is
// the original, and the other forms are adapters of it:
//
//   form         adapter                        where the result arrives
//   completion   `DispatchQueue.passing(to:)`   on the callback queue
//   async        `awaitValue`, `awaitResult`    in the task, beside the callback queue
//   blocking     `waitForValue` (ByteStore)     on the caller's thread, which waits for it

/// Begins a call that cannot fail, and returns the value that the call passes to `done`. `begin` runs on the
/// caller's thread, before the task is suspended. The call must call `done` exactly once, on any thread.
/// Cancelling the task does not end the wait.
nonisolated(nonsending) package func awaitValue<Value: Sendable>(
  _ begin: (_ done: @escaping @Sendable (Value) -> Void) -> Void
) async -> Value {
  await withCheckedContinuation { continuation in begin { continuation.resume(returning: $0) } }
}

/// Begins a call that may fail, like `awaitValue`. Returns the value that the call passes to `done`, or
/// throws its error.
nonisolated(nonsending) package func awaitResult<Value: Sendable, Failure: Error>(
  _ begin: (_ done: @escaping @Sendable (Result<Value, Failure>) -> Void) -> Void
) async throws(Failure) -> Value {
  let result: Result<Value, Failure> = await awaitValue(begin)
  return try result.get()
}
