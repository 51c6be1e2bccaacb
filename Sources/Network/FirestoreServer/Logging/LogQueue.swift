// Lines of a log on their way to a writer that may block, such as a pipe that is not read.
//
//   add     any thread, also an event loop: appends a line, and starts a run unless there is one
//   run     on a thread of its own: passes the lines to the writer until there are none
//
// Lines that find no room are dropped and counted. A line that says how many were dropped takes their place.

internal import ByteStore
internal import Dispatch

/// Lines that wait for the writer of a log. Usable from any thread.
final class LogQueue: Sendable {
  private enum Entry {
    case line(String)
    case dropped(UInt64)
  }

  private struct State {
    var entries: [Entry] = []
    /// The memory of the lines that are not written yet.
    var bytes = 0
    /// The lines that were dropped since the log last said so.
    var dropped: UInt64 = 0
    var droppedInAll: UInt64 = 0
    var isRunning = false
    /// Whether a flush has given up since the last line was written.
    var isStuck = false
  }

  static let bytesMax = 1024 * 1024
  /// A line takes this memory in addition to its text.
  private static let entryBytes = 64

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "dugout.log")
  private let write: @Sendable (String) -> Void
  /// The line that says how many lines were dropped.
  private let lossLine: @Sendable (UInt64) -> String

  init(
    _ write: @escaping @Sendable (String) -> Void, lossLine: @escaping @Sendable (UInt64) -> String
  ) {
    self.write = write
    self.lossLine = lossLine
  }

  /// The number of lines that were dropped.
  var droppedCount: UInt64 { state.withLock { $0.droppedInAll } }

  /// Appends a line, or drops it if there is no room. Never waits for the writer.
  func add(_ line: String) {
    let bytes = Self.bytes(line)
    let startsRun = state.withLock { state in
      guard state.bytes + bytes <= Self.bytesMax else {
        state.dropped += 1
        state.droppedInAll += 1
        return false
      }
      Self.noteLoss(&state)
      state.entries.append(.line(line))
      state.bytes += bytes
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if startsRun { queue.async { self.run() } }
  }

  /// Waits until the lines up to now are written, but for no longer than a number of seconds.
  /// Does not wait again for a writer that has not moved since.
  func flush(within seconds: Int) async {
    guard !state.withLock({ $0.isStuck }) else { return }
    await withCheckedContinuation { continuation in
      let waiting = Locked<CheckedContinuation<Void, Never>?>(continuation)
      let resume: @Sendable () -> Void = { waiting.withLock { $0.take() }?.resume() }
      // The queue does one thing after another, and a run goes on until no line is left.
      queue.async(execute: resume)
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { [state] in
        guard let continuation = waiting.withLock({ $0.take() }) else { return }
        state.withLock { $0.isStuck = true }
        continuation.resume()
      }
    }
  }

  private func run() {
    while true {
      let entries = state.withLock { state in
        if state.entries.isEmpty { Self.noteLoss(&state) }
        state.isRunning = !state.entries.isEmpty
        defer { state.entries = [] }
        return state.entries
      }
      guard !entries.isEmpty else { return }
      for entry in entries {
        switch entry {
        case .line(let line):
          write(line)
          state.withLock { state in
            state.bytes -= Self.bytes(line)
            state.isStuck = false
          }
        case .dropped(let count): write(lossLine(count))
        }
      }
    }
  }

  private static func noteLoss(_ state: inout State) {
    guard state.dropped > 0 else { return }
    state.entries.append(.dropped(state.dropped))
    state.dropped = 0
  }

  private static func bytes(_ line: String) -> Int { line.utf8.count + entryBytes }
}
