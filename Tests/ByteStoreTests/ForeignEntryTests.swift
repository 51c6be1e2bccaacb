// What lies in a store's directory and is no file of it.

import Foundation
import Testing

@testable import ByteStore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite struct ForeignEntryTests {
  enum Stranger: CaseIterable, Sendable {
    case pipe, directory, symbolicLink

    func take(place name: String, in folder: String) throws {
      try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      switch self {
      case .pipe: try #require(mkfifo("\(folder)/\(name)", 0o600) == 0)
      case .directory: try #require(mkdir("\(folder)/\(name)", 0o700) == 0)
      case .symbolicLink:
        try FileManager.default.createSymbolicLink(
          atPath: "\(folder)/\(name)", withDestinationPath: "\(folder)-precious")
      }
    }
  }

  private static let precious = Data("of someone else".utf8)

  private func withStore(
    changesWhatWasFlushed: Bool = false, _ body: (_ folder: String) throws -> Void
  ) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-bytestore-\(UUID().uuidString)").path
    defer {
      try? FileManager.default.removeItem(atPath: folder)
      try? FileManager.default.removeItem(atPath: "\(folder)-precious")
    }
    try Self.precious.write(to: URL(fileURLWithPath: "\(folder)-precious"))
    let store = try open(folder)
    try store.put([1], for: "flushed")
    try store.put([1], for: "changed")
    try store.flush()
    try store.put([2], for: "logged")
    if changesWhatWasFlushed { try store.put([2], for: "changed") }
    try store.close()
    try body(folder)
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(folder)-precious")) == Self.precious)
  }

  private func open(_ folder: String, isReadOnly: Bool = false) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.isReadOnly = isReadOnly
    return try ByteStore.open(folder, options: options)
  }

  /// The story: a pipe under the name of a log kept the open waiting for its other end; and one under the name of
  /// the lock kept an open for reading.
  @Test(arguments: ["LOCK", "MANIFEST", "log-", "segment-", "checkpoint-"], Stranger.allCases)
  func inTheLockOrAFilesPlaceItIsRefusedAndNotWaitedFor(part: String, stranger: Stranger) throws {
    for isReadOnly in [false, true] {
      try withStore { folder in
        let name = try #require(
          try FileManager.default.contentsOfDirectory(atPath: folder).sorted().last { $0.hasPrefix(part) })
        try stranger.take(place: name, in: folder)
        let error = try storeError { () throws(ByteStoreError) in
          let store = try open(folder, isReadOnly: isReadOnly)
          defer { store.abandon() }
          _ = try store.value(for: "flushed")
        }
        #expect(error.description.contains("\(folder)/\(name)"))
      }
    }
  }

  /// The story: with commits in a log, which need what they change, a check and a salvage ended where they came by it.
  /// And in the place of the reserve, a salvage called it healthy.
  @Test(
    arguments: ["MANIFEST", "log-", "segment-", "checkpoint-", "SPARE", "RESERVE"], Stranger.allCases)
  func aCheckReportsItAndASalvageSetsItAside(part: String, stranger: Stranger) throws {
    try withStore(changesWhatWasFlushed: true) { folder in
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      let name = names.last { $0.hasPrefix(part) } ?? part
      try stranger.take(place: name, in: folder)
      let findings = try ByteStore.check(folder).findings
      #expect(findings.contains { $0.file == "\(folder)/\(name)" })
      let report = try ByteStore.salvage(folder)
      #expect(report.outcome == .salvaged)
      #expect(report.setAside.contains { $0.hasSuffix("-\(name)") })
      #expect(try ByteStore.check(folder).findings.isEmpty)
      let store = try open(folder)
      if part != "segment-" { #expect(try store.value(for: "flushed") == [1]) }
      if part != "log-" { #expect(try store.value(for: "changed") == [2]) }
      try store.close()
    }
  }

  /// Their bytes mean nothing, so that only what cannot be removed like a file stands in the way.
  @Test(arguments: ["SPARE", "RESERVE"], Stranger.allCases)
  func inThePlaceOfSpaceItIsNotWrittenTo(name: String, stranger: Stranger) throws {
    for isReadOnly in [true, false] {
      try withStore { folder in
        try stranger.take(place: name, in: folder)
        do throws(ByteStoreError) {
          let store = try open(folder, isReadOnly: isReadOnly)
          #expect(try store.value(for: "flushed") == [1])
          #expect(try store.value(for: "logged") == [2])
          if !isReadOnly { try store.put([3], for: "more") }
          try store.close()
        } catch {
          #expect(name == "SPARE" && error.description.contains("\(folder)/\(name)"))
        }
      }
    }
  }

  /// The story: who opened a store for reading made no lock file where there was none, and so locked nothing: a
  /// writer opened beside it, compacted, and deleted what it was reading.
  @Test func aReaderWithoutALockFileKeepsWritersOut() throws {
    try withStore { folder in
      try FileManager.default.removeItem(atPath: "\(folder)/LOCK")
      let reader = try open(folder, isReadOnly: true)
      for isReadOnly in [false, true] {
        guard
          case .locked(_, let holder) = try storeError({ () throws(ByteStoreError) in
            try open(folder, isReadOnly: isReadOnly).close()
          })
        else {
          Issue.record("opened beside a reader")
          return
        }
        #expect(holder == getpid())
      }
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/LOCK"))
      try reader.close()
      try open(folder).close()
    }
  }
}
