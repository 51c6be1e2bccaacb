// A clock that tests set by hand.

import ByteStore
import DocumentStore
import Foundation
import Harness

/// The wall clock, as the test sets it.
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

  /// Lets go of a store without closing it, as a process that ends does, and opens what it leaves. Its
  /// maintenance may be at work in the background and hold the directory for a moment more.
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

/// What `body` throws, or nil if it does not.
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
  /// What an invalid argument says, or nil for every other error.
  var complaint: String? {
    if case .invalidArgument(let message) = self { message } else { nil }
  }
}

/// A field path of literal names, even of some that no document can have.
func field(_ names: String...) -> StoredFieldPath { StoredFieldPath(unchecked: names) }

func path(_ segments: String...) -> DocumentPath {
  do {
    return try DocumentPath(segments)
  } catch {
    preconditionFailure("\(error)")
  }
}
