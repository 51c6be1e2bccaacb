// Helpers for tests of the store: a clock that tests set by hand, opening, errors and paths.

import ByteStore
import DocumentStore
import Harness
import Testing

/// A wall clock that the test sets.
final class HandClock: StoreClock {
  private let now: Locked<Int64>

  init(_ microseconds: Int64) { now = Locked(microseconds) }

  func set(_ microseconds: Int64) { now.withLock { $0 = microseconds } }

  func wallMicroseconds() -> Int64 { now.withLock { $0 } }

  func monotonicNanoseconds() -> UInt64 { 0 }
}

extension DocumentStore {
  static func open(_ directory: TemporaryDirectory, _ clock: HandClock) throws -> DocumentStore {
    try open(
      directory.path, options: Options(),
      platform: Platform(
        fileSystem: WatchedFileSystem(PosixFileSystem()), clock: clock, random: SystemRandom()))
  }

  /// Abandons a store without closing it, as if its process had ended, and opens its directory again. The
  /// store must come from `open(_:_:)` or from this method. Background maintenance may hold the directory a
  /// little longer, so this method waits until the lock of the directory is released.
  static func abandonAndOpen(
    _ store: inout DocumentStore?, _ directory: TemporaryDirectory, _ clock: HandClock
  ) throws -> DocumentStore {
    let fileSystem = store?.bytes.platform.fileSystem
    let watched = try #require(fileSystem as? WatchedFileSystem)
    store = nil
    try #require(watched.waitUntilUnlocked(seconds: 60), "the abandoned store still holds its directory")
    return try open(directory, clock)
  }
}

/// The error that `body` throws, or nil.
func failure<Result>(of body: () throws -> Result) -> DocumentStoreError? {
  do {
    _ = try body()
    return nil
  } catch let error as DocumentStoreError {
    return error
  } catch {
    preconditionFailure("a DocumentStore throws what only a floor below should: \(error)")
  }
}

extension DocumentStoreError {
  /// The message of an invalid argument, or nil for other errors.
  var complaint: String? {
    if case .invalidArgument(let message) = self { message } else { nil }
  }
}

/// A field path of literal names, which may be invalid.
func field(_ names: String...) -> StoredFieldPath { StoredFieldPath(unchecked: names) }

func path(_ segments: String...) -> DocumentPath {
  do {
    return try DocumentPath(segments)
  } catch {
    preconditionFailure("\(error)")
  }
}
