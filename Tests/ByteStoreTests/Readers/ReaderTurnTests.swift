// A reader changes its state as a leader does, so that a backup of it captures one state.

import Harness
import Testing

@testable import ByteStore

@Suite struct ReaderTurnTests {
  /// Notes whether commits are applied in the turn of a leader.
  private final class TurnLayer: UpperLayer {
    let reader = Locked<ByteStore?>(nil)
    let turns = Locked<[Bool]>([])

    func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {
      guard let reader = reader.withLock({ $0 }) else { return }
      let isLeading = reader.state.withLock { $0.isLeading }
      turns.withLock { $0.append(isLeading) }
    }

    func freeze() -> any CheckpointPages { NoLayer().freeze() }
  }

  private let machine = TestStore()
  private let writer: ByteStore

  init() throws {
    writer = try ByteStore.open(
      TestStore.path, options: writerOptions(), platform: machine.disk.platform(seed: 1))
    try writer.put([1], for: "a")
    becomeIdle(writer)
  }

  @Test func commitsAreAppliedInTheTurnOfALeader() throws {
    let layer = TurnLayer()
    var options = ByteStore.Options()
    options.isReader = true
    options.upperLayer = layer
    let reader = try ByteStore.open(
      TestStore.path, options: options, platform: machine.disk.platform(seed: 2))
    layer.reader.withLock { $0 = reader }
    defer { layer.reader.withLock { $0 = nil } }
    for value in UInt8(2)..<4 { try writer.put([value], for: "a") }
    becomeIdle(writer)
    try refresh(reader)
    #expect(layer.turns.withLock { $0 } == [true, true])
    #expect(!reader.state.withLock { $0.isLeading })
  }

  @Test func aReopenedStateIsTakenOverInTheTurnOfALeader() throws {
    let reader = try openReader(TestStore.path, machine.disk.platform(seed: 2))
    try writer.put([2], for: "a")
    try writer.flush()
    let reopened = try reader.reopened(upperLayer: NoLayer())
    var isLeading = false
    try reader.adopt(reopened) { isLeading = reader.state.withLock { $0.isLeading } }
    #expect(isLeading)
    try reader.withFilesInUse { files throws(ByteStoreError) in
      let inTable = files.table.segments.compactMap { $0?.segment.number }
      #expect(files.manifest.segments.map(\.number) == inTable && !inTable.isEmpty)
    }
    #expect(try reader.value(for: "a") == [2])
  }

  @Test func aClosedReaderTakesOverNothing() throws {
    let reader = try openReader(TestStore.path, machine.disk.platform(seed: 2))
    let reopened = try reader.reopened(upperLayer: NoLayer())
    try reader.close()
    let error = try storeError { () throws(ByteStoreError) in
      try reader.adopt(reopened) { Issue.record("the reader is closed") }
    }
    #expect(error == .closed(directory: TestStore.path))
  }
}
