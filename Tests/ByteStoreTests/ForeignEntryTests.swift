// Entries in a store's directory that are not files of the store.

import Foundation
import Libc
import Testing

@testable import ByteStore
@testable import StoreTools

@Suite struct ForeignEntryTests {
  enum ForeignEntry: CaseIterable, Sendable {
    case pipe, directory, symbolicLink, socket

    func take(place name: String, in folder: String) throws {
      try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      switch self {
      case .pipe: try #require(mkfifo("\(folder)/\(name)", 0o600) == 0)
      case .directory: try #require(mkdir("\(folder)/\(name)", 0o700) == 0)
      case .symbolicLink:
        try FileManager.default.createSymbolicLink(
          atPath: "\(folder)/\(name)", withDestinationPath: "\(folder)-precious")
      case .socket: try Self.bindSocket(at: "\(folder)/\(name)")
      }
    }

    /// A socket path has at most 107 bytes, so the socket is created with a short path and moved.
    private static func bindSocket(at path: String) throws {
      let short = "/tmp/dugout-\(UInt32.random(in: 0...(.max)))"
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(short.utf8)) }
      #if canImport(Darwin)
      let descriptor = Foundation.socket(AF_UNIX, SOCK_STREAM, 0)
      #else
      let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      #endif
      defer { close(descriptor) }
      let isBound = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
      }
      try #require(isBound && rename(short, path) == 0)
    }

    func isStill(at path: String) -> Bool {
      var status = stat()
      guard lstat(path, &status) == 0 else { return false }
      let kind: mode_t =
        switch self {
        case .pipe: S_IFIFO
        case .directory: S_IFDIR
        case .symbolicLink: S_IFLNK
        case .socket: S_IFSOCK
        }
      return status.st_mode & S_IFMT == kind
    }
  }

  private static let precious = Data("of someone else".utf8)

  private func withStore(
    changesWhatWasFlushed: Bool = false, _ body: (_ folder: String) throws -> Void
  ) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-\(UUID().uuidString)").path
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

  /// Regression: a pipe with the name of a log blocked the open until its other end was opened. A pipe
  /// with the name of the lock file blocked a read-only open.
  @Test(arguments: ["LOCK", "MANIFEST", "log-", "segment-", "checkpoint-"], ForeignEntry.allCases)
  func foreignEntryInPlaceOfAFileIsRefusedWithoutBlocking(part: String, foreignEntry: ForeignEntry) throws {
    var wrong: [String] = []
    for isReadOnly in [false, true] {
      try withStore { folder in
        let name = try #require(
          try FileManager.default.contentsOfDirectory(atPath: folder).sorted().last { $0.hasPrefix(part) })
        try foreignEntry.take(place: name, in: folder)
        let error = try storeError { () throws(ByteStoreError) in
          let store = try open(folder, isReadOnly: isReadOnly)
          defer { store.abandon() }
          _ = try store.value(for: "flushed")
        }
        if !error.description.contains("\(folder)/\(name)") { wrong.append("\(name): \(error)") }
      }
    }
    #expect(wrong == [])
  }

  /// Regression: if the log had commits that change flushed keys, a check and a salvage stopped at a foreign
  /// entry. If the entry had the name of the reserve, a salvage called the store healthy.
  @Test(
    arguments: ["MANIFEST", "log-", "segment-", "checkpoint-", "SPARE", "RESERVE"], ForeignEntry.allCases)
  func checkReportsAForeignEntryAndSalvageQuarantinesIt(part: String, foreignEntry: ForeignEntry) throws {
    try withStore(changesWhatWasFlushed: true) { folder in
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      let name = names.last { $0.hasPrefix(part) } ?? part
      try foreignEntry.take(place: name, in: folder)
      let findings = try ByteStore.check(folder).findings
      #expect(findings.contains { $0.file == "\(folder)/\(name)" })
      let report = try ByteStore.salvage(folder)
      // SPARE and RESERVE contain no data, so the store stays as it is.
      #expect(report.outcome == (["SPARE", "RESERVE"].contains(part) ? .cleared : .salvaged))
      #expect(report.quarantined.contains { $0.hasSuffix("-\(name)") })
      #expect(try ByteStore.check(folder).findings.isEmpty)
      let store = try open(folder)
      if part != "segment-" { #expect(try store.value(for: "flushed") == [1]) }
      if part != "log-" { #expect(try store.value(for: "changed") == [2]) }
      try store.close()
    }
  }

  // MARK: Unused store names

  /// Names that a store uses, and that no file of this store has.
  private static let freeNames = [
    "MANIFEST.new", "BACKUP", "SPARE", "log-0000000099", "segment-0000000099", "checkpoint-0000000099",
    "salvaged-log-0000000099", "salvaged-MANIFEST",
  ]

  /// Regression: a check missed most of these entries. The open failed with the system's error or deleted the
  /// entry. An entry with one of the log names also stopped the check and the salvage.
  @Test(arguments: freeNames, ForeignEntry.allCases)
  func foreignEntryWithAnUnusedStoreNameIsReportedAndQuarantined(
    name: String, foreignEntry: ForeignEntry
  ) throws {
    try withStore { folder in
      let path = "\(folder)/\(name)"
      try foreignEntry.take(place: name, in: folder)
      let error = try storeError { () throws(ByteStoreError) in try open(folder).close() }
      #expect(error.description.contains(path) && error.description.contains("Move it out"), "\(error)")
      #expect(foreignEntry.isStill(at: path))
      #expect(try ByteStore.check(folder).findings.map(\.file) == [path])
      // A read-only store does not need these names.
      let reader = try open(folder, isReadOnly: true)
      #expect(try reader.value(for: "logged") == [2])
      try reader.close()
      #expect(foreignEntry.isStill(at: path))
      try expectFreed(name, foreignEntry, in: folder)
    }
  }

  private func expectFreed(_ name: String, _ foreignEntry: ForeignEntry, in folder: String) throws {
    let before = try Set(FileManager.default.contentsOfDirectory(atPath: folder))
    let id = try storeID(folder)
    let report = try ByteStore.salvage(folder)
    #expect(report.quarantined == ["set-aside-0001-\(name)"])
    #expect(report.keys == 3)
    #expect(foreignEntry.isStill(at: "\(folder)/set-aside-0001-\(name)"))
    // Nothing in the store was wrong, and everything is kept.
    let after = try Set(FileManager.default.contentsOfDirectory(atPath: folder))
    #expect(after == before.subtracting([name]).union(["set-aside-0001-\(name)"]))
    #expect(try ByteStore.check(folder).findings.isEmpty)
    #expect(try storeID(folder) == id)
    let store = try open(folder)
    #expect(try store.value(for: "flushed") == [1])
    #expect(try store.value(for: "logged") == [2])
    try store.close()
  }

  private func storeID(_ folder: String) throws -> RandomID {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/MANIFEST"))
    return try Manifest(decoding: Array(bytes).rawSpan, file: "MANIFEST").storeID
  }

  /// Regression: a check and a salvage could not start. The directory has a lock of its own, which every
  /// opener takes first.
  @Test(arguments: ForeignEntry.allCases)
  func checkAndSalvageLockTheDirectoryWithoutALockFile(foreignEntry: ForeignEntry) throws {
    try withStore { folder in
      try foreignEntry.take(place: "LOCK", in: folder)
      #expect(try ByteStore.check(folder).findings.map(\.file) == ["\(folder)/LOCK"])
      #expect(foreignEntry.isStill(at: "\(folder)/LOCK"))
      let directory = try PosixFileSystem().openDirectory(folder)
      guard case .acquired(let lock) = try directory.lock("OTHER", .read) else {
        Issue.record("no process has the directory")
        return
      }
      let check: () throws -> Void = { _ = try ByteStore.check(folder) }
      let salvage: () throws -> Void = { _ = try ByteStore.salvage(folder) }
      var wrong: [String] = []
      for (name, work) in [("check", check), ("salvage", salvage)] {
        let result = Result { try work() }
        if case .failure(ByteStoreError.locked) = result { continue }
        wrong.append("\(name): \(result)")
      }
      #expect(wrong == [], "worked beside the holder of the lock")
      lock.release()
      try expectFreed("LOCK", foreignEntry, in: folder)
    }
  }

  /// Regression: the manifest is written before anything else, so a directory named MANIFEST.new made
  /// the open fail with "File exists".
  @Test(arguments: ["MANIFEST.new", "SPARE", "BACKUP", "log-0000000001", "LOCK"], ForeignEntry.allCases)
  func noStoreIsCreatedBesideAForeignEntry(name: String, foreignEntry: ForeignEntry) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
      .path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try foreignEntry.take(place: name, in: folder)
    let error = try storeError { () throws(ByteStoreError) in try open(folder).close() }
    let text = error.description
    #expect(text.contains("\(folder)/\(name)") && text.contains("Move it out"), "\(error)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
    #expect(foreignEntry.isStill(at: "\(folder)/\(name)"))
  }

  /// Several entries at once, in addition to damage: a check reports all of them, and a salvage handles the
  /// entries and the damage.
  @Test func salvageOfADamagedStoreAlsoClearsNames() throws {
    try withStore { folder in
      let taken = [
        "MANIFEST.new", "salvaged-MANIFEST.new", "salvaged-MANIFEST", "segment-0000000099", "LOCK",
      ]
      for (place, name) in taken.enumerated() {
        try ForeignEntry.allCases[place % ForeignEntry.allCases.count].take(place: name, in: folder)
      }
      try Data("damage".utf8).write(to: URL(fileURLWithPath: "\(folder)/MANIFEST"))
      let found = Set(try ByteStore.check(folder).findings.map(\.file))
      #expect(found.isSuperset(of: (taken + ["MANIFEST"]).map { "\(folder)/\($0)" }))
      let report = try ByteStore.salvage(folder)
      #expect(report.outcome == .salvaged)
      #expect(Set(report.quarantined).isSuperset(of: (taken + ["MANIFEST"]).map { "set-aside-0001-\($0)" }))
      #expect(try ByteStore.check(folder).findings.isEmpty)
      let store = try open(folder)
      #expect(try store.value(for: "flushed") == [1])
      #expect(try store.value(for: "logged") == [2])
      try store.close()
    }
  }

  // MARK: Contents

  private static let contentNames = [
    "pack-0000000099", "blob-" + String(repeating: "ab", count: 32),
    "staged-" + String(repeating: "cd", count: 16),
  ]

  /// Regression: an entry whose name appears in a record stopped the check, and the other entries were not
  /// reported.
  @Test(arguments: contentNames, ForeignEntry.allCases)
  func foreignEntryAmongContentsIsReportedAndQuarantined(name: String, foreignEntry: ForeignEntry) throws {
    try withStore { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/blobs", withIntermediateDirectories: false)
      try foreignEntry.take(place: name, in: "\(folder)/blobs")
      #expect(try ByteStore.check(folder).findings.map(\.file) == ["\(folder)/blobs/\(name)"])
      let opened = try open(folder)
      // An entry that cannot be a content is neither counted nor backed up.
      #expect(try opened.blobs.usage().files == 0)
      try opened.backup(to: "\(folder)-backup")
      try FileManager.default.removeItem(atPath: "\(folder)-backup")
      try opened.close()
      let report = try ByteStore.salvage(folder)
      #expect(report.quarantined == ["blobs/set-aside-0001-\(name)"])
      #expect(foreignEntry.isStill(at: "\(folder)/blobs/set-aside-0001-\(name)"))
      #expect(try ByteStore.check(folder).findings.isEmpty)
    }
  }

  @Test(arguments: [ForeignEntry.pipe, .socket])
  func foreignEntryInPlaceOfTheContentsFolderIsQuarantined(foreignEntry: ForeignEntry) throws {
    try withStore { folder in
      try foreignEntry.take(place: "blobs", in: folder)
      #expect(try ByteStore.check(folder).findings.map(\.file) == ["\(folder)/blobs"])
      let opened = try open(folder)
      let error = try storeError { () throws(ByteStoreError) in _ = try opened.blobs.inventory() }
      #expect(error.description.contains("\(folder)/blobs") && error.description.contains("Move it out"))
      try opened.close()
      #expect(try ByteStore.salvage(folder).quarantined == ["set-aside-0001-blobs"])
      #expect(try ByteStore.check(folder).findings.isEmpty)
    }
  }

  /// Regression: a salvage rewrote a healthy store each time, because its `blobs` was a link to a file.
  @Test(arguments: ["/etc/hostname", "blobs", "/nowhere/at/all"])
  func danglingContentsLinkIsReportedAndQuarantined(destination: String) throws {
    try withStore { folder in
      let blobs = "\(folder)/blobs"
      try? FileManager.default.removeItem(atPath: blobs)
      try FileManager.default.createSymbolicLink(atPath: blobs, withDestinationPath: destination)
      #expect(try ByteStore.check(folder).findings.map(\.file) == [blobs])
      let report = try ByteStore.salvage(folder)
      #expect(report.outcome == .cleared && report.quarantined == ["set-aside-0001-blobs"])
      #expect(try ByteStore.check(folder).findings.isEmpty)
      #expect(try ByteStore.salvage(folder).outcome == .healthy)
    }
  }

  @Test func contentsFolderMayBeALinkToADirectory() throws {
    try withStore { folder in
      let elsewhere = "\(folder)-contents"
      try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(atPath: elsewhere) }
      try? FileManager.default.removeItem(atPath: "\(folder)/blobs")
      try FileManager.default.createSymbolicLink(atPath: "\(folder)/blobs", withDestinationPath: elsewhere)
      #expect(try ByteStore.check(folder).findings.isEmpty)
      #expect(try ByteStore.salvage(folder).outcome == .healthy)
    }
  }

  // MARK: Backups

  /// Regression: a directory with the name of a segment, or a pipe named `blobs`, made a backup fail
  /// with the system's error.
  @Test(
    arguments: ["LOCK", "MANIFEST", "MANIFEST.new", "BACKUP", "segment-0000000001", "blobs"],
    ForeignEntry.allCases)
  func backupRefusesADirectoryWithAForeignEntry(name: String, foreignEntry: ForeignEntry) throws {
    try withStore { folder in
      let target = "\(folder)-backup"
      defer { try? FileManager.default.removeItem(atPath: target) }
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
      try foreignEntry.take(place: name, in: target)
      // A `blobs` folder is accepted if it is empty.
      if name == "blobs", foreignEntry == .directory { return }
      let store = try open(folder)
      let error = try storeError { () throws(ByteStoreError) in try store.backup(to: target) }
      #expect(error == .notEmpty(directory: target, found: name))
      #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [name])
      #expect(foreignEntry.isStill(at: "\(target)/\(name)"))
      try store.close()
    }
  }

  /// SPARE and RESERVE contain no data, so only an entry that cannot be deleted like a file is an obstacle.
  @Test(arguments: ["SPARE", "RESERVE"], ForeignEntry.allCases)
  func foreignEntryInPlaceOfAReserveIsNotWritten(name: String, foreignEntry: ForeignEntry) throws {
    var wrong: [String] = []
    for isReadOnly in [true, false] {
      try withStore { folder in
        try foreignEntry.take(place: name, in: folder)
        do throws(ByteStoreError) {
          let store = try open(folder, isReadOnly: isReadOnly)
          let values = [try store.value(for: "flushed"), try store.value(for: "logged")]
          if values != [[1], [2]] { wrong.append("read only \(isReadOnly): \(values)") }
          if !isReadOnly { try store.put([3], for: "more") }
          try store.close()
        } catch {
          if name != "SPARE" || !error.description.contains("\(folder)/\(name)") {
            wrong.append("read only \(isReadOnly): \(error)")
          }
        }
      }
    }
    #expect(wrong == [])
  }

  /// Regression: a read-only open created no lock file and therefore locked nothing. A writer opened the
  /// store at the same time, compacted it, and deleted files that the reader was using.
  @Test func readerWithoutALockFileExcludesWriters() throws {
    try withStore { folder in
      try FileManager.default.removeItem(atPath: "\(folder)/LOCK")
      let reader = try open(folder, isReadOnly: true)
      var holders: [Int32?] = []
      for isReadOnly in [false, true] {
        guard
          case .locked(_, let holder) = try storeError({ () throws(ByteStoreError) in
            try open(folder, isReadOnly: isReadOnly).close()
          })
        else {
          Issue.record("opened beside a reader")
          return
        }
        holders.append(holder)
      }
      #expect(holders == [getpid(), getpid()])
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/LOCK"))
      try reader.close()
      try open(folder).close()
    }
  }
}
