// What lies in a store's directory and is no file of it.

import Foundation
import Testing

@testable import ByteStore
@testable import StoreTools

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite struct ForeignEntryTests {
  enum Stranger: CaseIterable, Sendable {
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

    /// The system takes 107 bytes of a path: the socket is made under a short name, and moved.
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
      // Bytes that mean nothing cost nothing: then the store stays as it is.
      #expect(report.outcome == (["SPARE", "RESERVE"].contains(part) ? .cleared : .salvaged))
      #expect(report.setAside.contains { $0.hasSuffix("-\(name)") })
      #expect(try ByteStore.check(folder).findings.isEmpty)
      let store = try open(folder)
      if part != "segment-" { #expect(try store.value(for: "flushed") == [1]) }
      if part != "log-" { #expect(try store.value(for: "changed") == [2]) }
      try store.close()
    }
  }

  // MARK: Names that no file of the store has

  /// Names that a store gives to files, and that no file of this store has.
  private static let freeNames = [
    "MANIFEST.new", "BACKUP", "SPARE", "log-0000000099", "segment-0000000099", "checkpoint-0000000099",
    "salvaged-log-0000000099", "salvaged-MANIFEST",
  ]

  /// The story: a check found nothing wrong with most of them, and the open ended with what the system had said, or
  /// removed what was there. A log of that name ended the check and the salvage as well.
  @Test(arguments: freeNames, Stranger.allCases)
  func aFreeNameThatIsTakenIsToldByTheOpenAndTheCheckAndFreedByASalvage(
    name: String, stranger: Stranger
  ) throws {
    try withStore { folder in
      let path = "\(folder)/\(name)"
      try stranger.take(place: name, in: folder)
      let error = try storeError { () throws(ByteStoreError) in try open(folder).close() }
      #expect(error.description.contains(path) && error.description.contains("Move it out"), "\(error)")
      #expect(stranger.isStill(at: path))
      #expect(try ByteStore.check(folder).findings.map(\.file) == [path])
      // A file that is only read needs no name.
      let reader = try open(folder, isReadOnly: true)
      #expect(try reader.value(for: "logged") == [2])
      try reader.close()
      #expect(stranger.isStill(at: path))
      try expectFreed(name, stranger, in: folder)
    }
  }

  private func expectFreed(_ name: String, _ stranger: Stranger, in folder: String) throws {
    let before = try Set(FileManager.default.contentsOfDirectory(atPath: folder))
    let id = try storeID(folder)
    let report = try ByteStore.salvage(folder)
    #expect(report.setAside == ["set-aside-0001-\(name)"])
    #expect(report.keys == 3)
    #expect(stranger.isStill(at: "\(folder)/set-aside-0001-\(name)"))
    // Nothing of the store was wrong, and all of it stays.
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

  /// The story: a check and a salvage could not even begin. The directory has a lock of its own, which every opener
  /// takes first.
  @Test(arguments: Stranger.allCases)
  func withoutALockFileACheckAndASalvageTakeTheLockOfTheDirectory(stranger: Stranger) throws {
    try withStore { folder in
      try stranger.take(place: "LOCK", in: folder)
      #expect(try ByteStore.check(folder).findings.map(\.file) == ["\(folder)/LOCK"])
      #expect(stranger.isStill(at: "\(folder)/LOCK"))
      let directory = try PosixFileSystem().openDirectory(folder)
      guard case .acquired(let lock) = try directory.lock("OTHER", .read) else {
        Issue.record("nobody has the directory")
        return
      }
      for work in [{ _ = try ByteStore.check(folder) }, { _ = try ByteStore.salvage(folder) }] {
        guard case .locked? = #expect(throws: ByteStoreError.self, performing: work) else {
          Issue.record("worked beside who holds the lock")
          continue
        }
      }
      lock.release()
      try expectFreed("LOCK", stranger, in: folder)
    }
  }

  /// The story: the manifest is written before anything else, so that a folder in the place of the new one ended the
  /// open with "File exists".
  @Test(arguments: ["MANIFEST.new", "SPARE", "BACKUP", "log-0000000001", "LOCK"], Stranger.allCases)
  func aDirectoryWithNothingElseGetsNoStore(name: String, stranger: Stranger) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
      .path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try stranger.take(place: name, in: folder)
    let error = try storeError { () throws(ByteStoreError) in try open(folder).close() }
    let text = error.description
    #expect(text.contains("\(folder)/\(name)") && text.contains("Move it out"), "\(error)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
    #expect(stranger.isStill(at: "\(folder)/\(name)"))
  }

  /// Several at once, and damage beside them: a check tells of each, and a salvage does both.
  @Test func aSalvageOfADamagedStoreFreesNamesToo() throws {
    try withStore { folder in
      let taken = [
        "MANIFEST.new", "salvaged-MANIFEST.new", "salvaged-MANIFEST", "segment-0000000099", "LOCK",
      ]
      for (place, name) in taken.enumerated() {
        try Stranger.allCases[place % Stranger.allCases.count].take(place: name, in: folder)
      }
      try Data("damage".utf8).write(to: URL(fileURLWithPath: "\(folder)/MANIFEST"))
      let found = Set(try ByteStore.check(folder).findings.map(\.file))
      #expect(found.isSuperset(of: (taken + ["MANIFEST"]).map { "\(folder)/\($0)" }))
      let report = try ByteStore.salvage(folder)
      #expect(report.outcome == .salvaged)
      #expect(Set(report.setAside).isSuperset(of: (taken + ["MANIFEST"]).map { "set-aside-0001-\($0)" }))
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

  /// The story: one that a record names ended the check, and of the others it told nothing.
  @Test(arguments: contentNames, Stranger.allCases)
  func amongContentsItIsToldByACheckAndFreedByASalvage(name: String, stranger: Stranger) throws {
    try withStore { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/blobs", withIntermediateDirectories: false)
      try stranger.take(place: name, in: "\(folder)/blobs")
      #expect(try ByteStore.check(folder).findings.map(\.file) == ["\(folder)/blobs/\(name)"])
      let opened = try open(folder)
      // An entry that cannot be a content is not counted, and copied by no backup.
      #expect(try opened.blobs.usage().files == 0)
      try opened.backup(to: "\(folder)-backup")
      try FileManager.default.removeItem(atPath: "\(folder)-backup")
      try opened.close()
      let report = try ByteStore.salvage(folder)
      #expect(report.setAside == ["blobs/set-aside-0001-\(name)"])
      #expect(stranger.isStill(at: "\(folder)/blobs/set-aside-0001-\(name)"))
      #expect(try ByteStore.check(folder).findings.isEmpty)
    }
  }

  @Test(arguments: [Stranger.pipe, .socket])
  func inThePlaceOfTheFolderOfContentsItIsToldAndFreed(stranger: Stranger) throws {
    try withStore { folder in
      try stranger.take(place: "blobs", in: folder)
      #expect(try ByteStore.check(folder).findings.map(\.file) == ["\(folder)/blobs"])
      let opened = try open(folder)
      let error = try storeError { () throws(ByteStoreError) in _ = try opened.blobs.inventory() }
      #expect(error.description.contains("\(folder)/blobs") && error.description.contains("Move it out"))
      try opened.close()
      #expect(try ByteStore.salvage(folder).setAside == ["set-aside-0001-blobs"])
      #expect(try ByteStore.check(folder).findings.isEmpty)
    }
  }

  /// The story: a salvage rewrote a sound store each time, as its `blobs` were a link to a file.
  @Test(arguments: ["/etc/hostname", "blobs", "/nowhere/at/all"])
  func aLinkInThePlaceOfContentsThatLeadsToNoDirectoryIsToldAndFreed(destination: String) throws {
    try withStore { folder in
      let blobs = "\(folder)/blobs"
      try? FileManager.default.removeItem(atPath: blobs)
      try FileManager.default.createSymbolicLink(atPath: blobs, withDestinationPath: destination)
      #expect(try ByteStore.check(folder).findings.map(\.file) == [blobs])
      let report = try ByteStore.salvage(folder)
      #expect(report.outcome == .cleared && report.setAside == ["set-aside-0001-blobs"])
      #expect(try ByteStore.check(folder).findings.isEmpty)
      #expect(try ByteStore.salvage(folder).outcome == .healthy)
    }
  }

  @Test func aLinkToADirectoryIsAPlaceForContents() throws {
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

  /// The story: a folder that was called like a segment, or `blobs` that were a pipe, ended a backup with what the
  /// system had said.
  @Test(
    arguments: ["LOCK", "MANIFEST", "MANIFEST.new", "BACKUP", "segment-0000000001", "blobs"],
    Stranger.allCases)
  func aBackupGoesToNoDirectoryThatHoldsOne(name: String, stranger: Stranger) throws {
    try withStore { folder in
      let target = "\(folder)-backup"
      defer { try? FileManager.default.removeItem(atPath: target) }
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
      try stranger.take(place: name, in: target)
      // An empty folder is all that may be left of contents.
      if name == "blobs", stranger == .directory { return }
      let store = try open(folder)
      let error = try storeError { () throws(ByteStoreError) in try store.backup(to: target) }
      #expect(error == .notEmpty(directory: target, found: name))
      #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [name])
      #expect(stranger.isStill(at: "\(target)/\(name)"))
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
