// How old a reader says that its state is, during a look at the writer's files and after it.

import Dispatch
import Harness
import Testing

@testable import ByteStore

@Suite(.timeLimit(.minutes(5))) struct ReaderAgeTests {
  private let clock = SimulatedClock()
  private let files: ScriptedFileSystem
  private let writer: ByteStore
  private let reader: ByteStore

  init() throws {
    let machine = TestStore()
    writer = try machine.open()
    try writer.put([1], for: "a")
    while writer.performMaintenance() {}
    files = ScriptedFileSystem(base: machine.disk)
    var options = ByteStore.Options()
    options.isReader = true
    let platform = Platform(fileSystem: files, clock: clock, random: SimulatedRandomSource(seed: 2))
    reader = try ByteStore.open(TestStore.path, options: options, platform: platform)
  }

  @Test func theAgeDoesNotWaitForALookInProgress() throws {
    let isAnswered = Locked(false)
    files.hooks.before("read MANIFEST") { [reader] in
      let answer = DispatchSemaphore(value: 0)
      // In another thread, which would wait for a lock of this one.
      DispatchQueue(label: "age").async {
        _ = (reader.nanosecondsSinceLook, reader.bytesNotDurable)
        answer.signal()
      }
      isAnswered.withLock { $0 = answer.wait(timeout: .now() + 60) == .success }
    }
    _ = try reader.follow()
    #expect(files.hooks.areDone)
    #expect(isAnswered.withLock { $0 })
  }

  @Test func aLookCountsOnceItsCommitsAreVisible() throws {
    try writer.put([2], for: "a")
    while writer.performMaintenance() {}
    // The writer records the sync of this commit later.
    try writer.put([3], for: "a")
    clock.advance(nanoseconds: 5)
    guard case .commits(let commits) = try reader.follow() else {
      Issue.record("nothing was flushed")
      return
    }
    #expect(commits.count == 1)
    #expect(reader.nanosecondsSinceLook == 5 && reader.bytesNotDurable == 0)
    for commit in commits { try reader.apply(commit, note: NoNote()) }
    reader.didApplyFollowed()
    #expect(reader.nanosecondsSinceLook == 0 && reader.bytesNotDurable > 0)
  }

  @Test func aLookThatFindsNothingCountsAtOnce() throws {
    clock.advance(nanoseconds: 5)
    guard case .commits(let commits) = try reader.follow() else {
      Issue.record("nothing was flushed")
      return
    }
    #expect(commits.isEmpty && reader.nanosecondsSinceLook == 0)
  }

  /// The caller could not apply the commits of the look, so the files are captured again.
  @Test func aLookWithoutItsCommitsDoesNotCount() throws {
    try writer.put([2], for: "a")
    while writer.performMaintenance() {}
    clock.advance(nanoseconds: 5)
    _ = try reader.follow()
    guard case .mustReopen = try reader.follow() else {
      Issue.record("the reader forgot that commits are missing")
      return
    }
    #expect(reader.nanosecondsSinceLook == 5)
    try reader.adopt(try reader.reopened(upperLayer: NoLayer())) {}
    #expect(reader.nanosecondsSinceLook == 0)
    #expect(try reader.value(for: "a") == [2])
  }
}
