// The simulated disk that the other tests rely on: it loses what it may lose, and nothing else.

import ByteStore
import Harness
import Testing

struct SimulatedDiskTests {
  private let disk = SimulatedDisk()
  private let path = "/d/file"

  private func directory() throws -> any OpenDirectory {
    try disk.createDirectory("/d")
    return try disk.openDirectory("/d")
  }

  /// A file whose content and name are on stable storage.
  private func durableFile(_ bytes: [UInt8]) throws -> any OpenFile {
    let directory = try directory()
    let file = try directory.createFile("file")
    try write(bytes, to: file)
    try file.sync()
    try directory.sync()
    return file
  }

  private func write(_ bytes: [UInt8], to file: any OpenFile, at offset: UInt64 = 0) throws {
    let taken = try file.write(bytes.rawSpan, at: offset)
    #expect(taken == bytes.count)
  }

  private func contents(after crash: Crash) -> [UInt8]? { disk.image(after: crash).contents(of: path)?.bytes }

  private let nothing = Crash.powerLoss(.nothing, seed: 0)
  private let everything = Crash.powerLoss(.everything, seed: 0)

  // MARK: Contents

  @Test func syncedWriteSurvives() throws {
    _ = try durableFile([1, 2, 3])
    #expect(contents(after: nothing) == [1, 2, 3])
  }

  @Test func unsyncedWriteCanVanishAndCanSurvive() throws {
    let file = try durableFile([1, 2, 3])
    try write([9], to: file, at: 1)
    #expect(contents(after: nothing) == [1, 2, 3])
    #expect(contents(after: everything) == [1, 9, 3])
  }

  @Test func killKeepsWhatWasWrittenAndALaterPowerLossMayNot() throws {
    let file = try durableFile([1])
    try write([9], to: file)
    #expect(contents(after: .kill) == [9])
    let next = SimulatedDisk(disk.image(after: .kill))
    #expect(next.image(after: nothing).contents(of: path)?.bytes == [1])
  }

  @Test func unsyncedWritesSurviveInSectors() throws {
    let file = try durableFile([UInt8](repeating: 0, count: 4096))
    try write([UInt8](repeating: 1, count: 4096), to: file)
    var kinds: Set<Int> = []
    var torn: [UInt64] = []
    for seed in 0..<50 as Range<UInt64> {
      let bytes = try #require(contents(after: .powerLoss(.randomSectors, seed: seed)))
      let sectors = stride(from: 0, to: 4096, by: 512).map { Set(bytes[$0..<$0 + 512]) }
      if !sectors.allSatisfy({ $0.count == 1 }) { torn.append(seed) }
      kinds.insert(sectors.count { $0 == [1] })
    }
    #expect(torn == [])
    #expect(kinds.count > 3)
  }

  @Test func laterWriteCanSurviveWithoutTheEarlierOne() throws {
    let file = try durableFile([UInt8](repeating: 0, count: 1024))
    try write([1], to: file, at: 0)
    try write([2], to: file, at: 512)
    let survivors = (0..<50 as Range<UInt64>).compactMap { seed in
      contents(after: .powerLoss(.randomSectors, seed: seed)).map { [$0[0], $0[512]] }
    }
    #expect(Set(survivors) == [[0, 0], [0, 2], [1, 0], [1, 2]])
  }

  @Test func grownRangeShowsZerosOrGarbage() throws {
    let file = try durableFile([7])
    try write([UInt8](repeating: 1, count: 2048), to: file, at: 1)
    let images = (0..<200 as Range<UInt64>).compactMap { contents(after: .powerLoss(.random, seed: $0)) }
    let unwritten = images.map { Set($0.dropFirst()).subtracting([0, 1]) }
    #expect(images.contains { $0.count == 1 })
    #expect(images.contains { $0.contains(0) })
    #expect(unwritten.contains { !$0.isEmpty })
    #expect(images.allSatisfy { $0[0] == 7 })
  }

  // MARK: Names

  @Test func syncOfAFileDoesNotSyncItsName() throws {
    let file = try directory().createFile("file")
    try write([1], to: file)
    try file.sync()
    #expect(contents(after: nothing) == nil)
    #expect(contents(after: everything) == [1])
  }

  @Test func syncOfADirectoryDoesNotSyncTheContentsOfItsFiles() throws {
    let directory = try directory()
    let file = try directory.createFile("file")
    try write([1], to: file)
    try directory.sync()
    #expect(contents(after: nothing) == [])
  }

  @Test func unsyncedRenameCanVanishButNeverHalf() throws {
    _ = try durableFile([1])
    let directory = try disk.openDirectory("/d")
    try directory.rename("file", to: "other")
    #expect(disk.image(after: nothing).paths == ["/d/file"])
    let paths = (0..<20 as Range<UInt64>).map { disk.image(after: .powerLoss(.random, seed: $0)).paths }
    #expect(paths.filter { $0 != ["/d/file"] && $0 != ["/d/other"] } == [])
  }

  @Test func unsyncedRemovalCanComeBack() throws {
    _ = try durableFile([1])
    try disk.openDirectory("/d").remove("file")
    #expect(contents(after: nothing) == [1])
    #expect(contents(after: everything) == nil)
  }

  @Test func createdDirectorySurvives() throws {
    try disk.createDirectory("/a/b/c")
    let next = SimulatedDisk(disk.image(after: nothing))
    _ = try next.openDirectory("/a/b/c")
  }

  // MARK: Faults

  @Test func retriedSyncDoesNotRestoreDroppedBytes() throws {
    var wrong: [String] = []
    let lost = try (0..<20 as Range<UInt64>).count { seed in
      var options = SimulatedDisk.Options()
      options.seed = seed
      let disk = SimulatedDisk(options: options)
      try disk.createDirectory("/d")
      let directory = try disk.openDirectory("/d")
      let file = try directory.createFile("file")
      try directory.sync()
      try write([1], to: file)
      disk.failNext(.inputOutput)
      if (try? file.sync()) != nil { wrong.append("seed \(seed): the sync succeeded") }
      try file.sync()
      // A reader sees the byte in any case.
      if disk.image.contents(of: path)?.bytes != [1] { wrong.append("seed \(seed): no byte") }
      return disk.image(after: everything).contents(of: path)?.bytes != [1]
    }
    #expect(wrong == [])
    #expect(lost > 0 && lost < 20)
  }

  @Test func rewritingAfterAFailedSyncHelps() throws {
    let file = try durableFile([0])
    try write([1], to: file)
    disk.failNext(.inputOutput)
    #expect(throws: SystemFailure.self) { try file.sync() }
    try write([1], to: file)
    try file.sync()
    #expect(contents(after: nothing) == [1])
  }

  @Test func faultIsTransientOrPermanent() throws {
    let file = try durableFile([0])
    disk.failNext(.noSpace)
    #expect(throws: SystemFailure.self) { try write([1], to: file) }
    try write([1], to: file)
    disk.failNext(.noSpace, isSticky: true)
    var failures = 0
    for _ in 1...3 {
      do { try write([1], to: file) } catch is SystemFailure { failures += 1 }
    }
    #expect(failures == 3)
    #expect(try file.size() == 1)
    disk.setFault(nil)
    try write([1], to: file)
  }

  @Test(arguments: DiskFault.allCases)
  func everyFaultAffectsSomeCall(fault: DiskFault) {
    #expect(DiskOperation.allCases.contains { fault.strikes($0) })
  }

  // MARK: Locks, traces and time

  @Test func lockIsHeldOnceAndReleasedByACrash() throws {
    let directory = try directory()
    guard case .acquired(let lock) = try directory.lock("LOCK", .readAndWrite) else {
      Issue.record("the lock is not as it must be")
      return
    }
    guard case .held = try directory.lock("LOCK", .readAndWrite) else {
      Issue.record("the lock is not as it must be")
      return
    }
    let next = SimulatedDisk(disk.image(after: .kill))
    guard case .acquired = try next.openDirectory("/d").lock("LOCK", .readAndWrite) else {
      Issue.record("the lock is not as it must be")
      return
    }
    lock.release()
    guard case .acquired(let second) = try directory.lock("LOCK", .readAndWrite) else {
      Issue.record("the lock is not as it must be")
      return
    }
    // Releasing the lock twice must not release the lock of its new holder.
    lock.release()
    guard case .held = try directory.lock("LOCK", .readAndWrite) else {
      Issue.record("the lock is not as it must be")
      return
    }
    second.release()
  }

  @Test func callsAreCountedAndTraced() throws {
    var options = SimulatedDisk.Options()
    options.recordsTrace = true
    let disk = SimulatedDisk(options: options)
    try disk.createDirectory("/d")
    let file = try disk.openDirectory("/d").createFile("file")
    try write([1, 2], to: file, at: 5)
    try file.sync()
    #expect(disk.counters.operations == 7)
    #expect(disk.counters.fileSyncs == 1)
    #expect(disk.counters.bytesWritten == 2)
    #expect(disk.traceText.hasSuffix("5 write /d/file 5+2 = 2\n6 syncFile /d/file\n"))
  }

  @Test func clockOnlyMovesOnRequest() {
    let clock = SimulatedClock(wallMicroseconds: 1000)
    clock.advance(nanoseconds: 5000)
    #expect(clock.wallMicroseconds() == 1005)
    clock.setWall(microseconds: 1)
    #expect(clock.wallMicroseconds() == 1)
    #expect(clock.monotonicNanoseconds() == 5000)
  }
}
