// Helpers for tests of the store: a clock that tests set by hand, opening, errors and paths.

import ByteStore
import DocumentStore
import Foundation
import Harness

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
      platform: Platform(fileSystem: PosixFileSystem(), clock: clock, random: SystemRandom()))
  }

  /// Abandons a store without closing it, as if its process had ended, and opens its directory again.
  /// Background maintenance may hold the directory a little longer.
  static func abandonAndOpen(
    _ store: inout DocumentStore?, _ directory: TemporaryDirectory, _ clock: HandClock
  ) throws -> DocumentStore {
    store = nil
    for _ in 0..<10_000 {
      do {
        return try open(directory, clock)
      } catch DocumentStoreError.locked {
        Thread.sleep(forTimeInterval: 0.001)
      }
    }
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
