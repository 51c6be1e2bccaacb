// Uploads and downloads of objects.

import FirebaseStorage
import Foundation
import Testing

struct TransferTests {
  private let bucket = TestBucket()

  @Test(arguments: [0, 1, 1000, 1 << 20, (1 << 20) + 1, 3_000_000])
  func anUploadedObjectIsReadBackUnchanged(count: Int) async throws {
    let reference = bucket.root.child("folder/object")
    let bytes = noise(count)
    let metadata = try await reference.putDataAsync(bytes)
    #expect(metadata.size == Int64(count))
    #expect(try await reference.data(maxSize: Int64(count)) == bytes)
    #expect(metadata.bucket == "dugout")
    #expect(metadata.path == "folder/object")
    #expect(metadata.name == "object")
    #expect(metadata.metageneration == 1)
    #expect(metadata.generation > 0)
    #expect(metadata.isFile)
    #expect(metadata.contentType == "application/octet-stream")
  }

  @Test func md5HashIsComputedFromTheContent() async throws {
    let empty = try await bucket.root.child("empty").putDataAsync(Data())
    #expect(empty.md5Hash == "1B2M2Y8AsgTpgAmY7PhCfg==")
    let text = try await bucket.root.child("text").putDataAsync(Data("abc".utf8))
    #expect(text.md5Hash == "kAFQmDzST7DWlj99KOF/cg==")
    let large = try await bucket.root.child("large").putDataAsync(Data(repeating: 97, count: 5_000_000))
    // The MD5 of five million letters "a", as computed by md5sum.
    #expect(large.md5Hash == Self.md5OfFiveMillionLetters)
  }

  private static let md5OfFiveMillionLetters = "ym4vVf/TDoKNkAcHKW2R2Q=="

  @Test func contentSurvivesARestart() async throws {
    let bytes = noise(2_000_000)
    let before = try await bucket.root.child("a").putDataAsync(bytes)
    await bucket.restart()
    #expect(try await bucket.root.child("a").data(maxSize: .max) == bytes)
    #expect(try await bucket.root.child("a").getMetadata() == before)
  }

  @Test func anOverwriteReplacesContentAndMetadata() async throws {
    let reference = bucket.root.child("a")
    let described = StorageMetadata()
    described.customMetadata = ["who": "me"]
    described.contentType = "text/plain"
    let first = try await reference.putDataAsync(Data("one".utf8), metadata: described)
    #expect(described.path == "a")
    let second = try await reference.putDataAsync(Data("two!".utf8))
    #expect(second.generation > first.generation)
    #expect(second.metageneration == 1)
    #expect(second.customMetadata == nil)
    #expect(second.contentType == "application/octet-stream")
    #expect(second.md5Hash != first.md5Hash)
    #expect(try await reference.data(maxSize: 10) == Data("two!".utf8))
  }

  @Test func downloadSizeLimitIsExact() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("12345".utf8))
    #expect(try await reference.data(maxSize: 5).count == 5)
    let error = try await storageError { _ = try await reference.data(maxSize: 4) }
    guard case .downloadSizeExceeded(let total, let maxSize) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(total == 5)
    #expect(maxSize == 4)
    #expect((error as NSError).userInfo["totalSize"] as? Int64 == 5)
    #expect((error as NSError).userInfo["maxAllowedSize"] as? Int64 == 4)
  }

  @Test func contentTypeOfAnUploadedFileFollowsItsExtension() async throws {
    let url = try bucket.file("picture.PNG", noise(1_500_000))
    let metadata = try await bucket.root.child("p").putFileAsync(from: url)
    #expect(metadata.contentType == "image/png")
    #expect(metadata.size == 1_500_000)
    #expect(try await bucket.root.child("p").data(maxSize: .max) == noise(1_500_000))
  }

  @Test func anUploadOfAnIrregularFileIsRefused() async throws {
    let link = bucket.folder.appendingPathComponent("link")
    let file = try bucket.file("file", Data("x".utf8))
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let end = "is not reachable. Ensure file URL is not a directory, symbolic link, or invalid url."
    var wrong: [String] = []
    for url in [bucket.folder, bucket.folder.appendingPathComponent("missing"), link] {
      let error = try await storageError { _ = try await bucket.root.child("p").putFileAsync(from: url) }
      if (error as NSError).code != -13000 || error.localizedDescription != "File at URL: \(url) \(end)" {
        wrong.append("\(error)")
      }
    }
    #expect(wrong == [])
    #expect(
      try await storageError { _ = try await bucket.root.child("p").getMetadata() }.code == .objectNotFound)
  }

  @Test func aDownloadToAFileReplacesItAndLeavesNoParts() async throws {
    let bytes = noise(1_200_000)
    _ = try await bucket.root.child("a").putDataAsync(bytes)
    let url = try bucket.file("out", Data("before".utf8))
    #expect(try await bucket.root.child("a").writeAsync(toFile: url) == url)
    #expect(try Data(contentsOf: url) == bytes)
    let names = try FileManager.default.contentsOfDirectory(atPath: bucket.folder.path)
    #expect(names.sorted() == ["data", "out"])
  }

  /// Guards against treating the path of a web URL as a local file.
  @Test func onlyAFileURLIsADownloadTarget() async throws {
    _ = try await bucket.root.child("a").putDataAsync(Data("x".utf8))
    let path = bucket.folder.appendingPathComponent("out").path
    let url = try #require(URL(string: "https://localhost" + path))
    let error = try await storageError { _ = try await bucket.root.child("a").writeAsync(toFile: url) }
    #expect(error.code == .unknown && error.localizedDescription.contains("does not name a file"))
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// A rename would replace any file that has this name, even a link or a device.
  @Test func onlyARegularFileIsReplaced() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("x".utf8))
    let target = try bucket.file("target", Data("before".utf8))
    func path(_ name: String) -> String { bucket.folder.appendingPathComponent(name).path }
    try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: target.path)
    try FileManager.default.createSymbolicLink(atPath: path("dangling"), withDestinationPath: path("nowhere"))
    try #require(mkfifo(path("fifo"), 0o600) == 0)
    try FileManager.default.createDirectory(atPath: path("folder"), withIntermediateDirectories: false)
    var kinds = [
      "link": "is a symbolic link", "dangling": "is a symbolic link", "fifo": "is a FIFO",
      "folder": "is a directory",
    ]
    // The null device. Only root may create it.
    if mknod(path("device"), S_IFCHR | 0o600, (1 << 8) | 3) == 0 { kinds["device"] = "is a device" }
    var wrong: [String] = []
    for (name, kind) in kinds {
      let before = try FileManager.default.attributesOfItem(atPath: path(name))[.type] as? FileAttributeType
      let url = URL(fileURLWithPath: path(name))
      let error = try await storageError { _ = try await reference.writeAsync(toFile: url) }
      let text = "\(path(name)) \(kind), which a download does not replace"
      if error.code != .unknown || !error.localizedDescription.hasPrefix(text) {
        wrong.append("\(name): \(error)")
      }
      let after = try FileManager.default.attributesOfItem(atPath: path(name))[.type] as? FileAttributeType
      if before != after {
        wrong.append("\(name): \(String(describing: before)), \(String(describing: after))")
      }
    }
    #expect(wrong == [])
    #expect(try Data(contentsOf: target) == Data("before".utf8))
    #expect(!FileManager.default.fileExists(atPath: path("nowhere")))
    let names = try FileManager.default.contentsOfDirectory(atPath: bucket.folder.path)
    #expect(Set(names) == Set(kinds.keys).union(["data", "target"]), "a part was left")
  }

  @Test func downloadsIntoTheStoreDirectoryAreRefused() async throws {
    let reference = bucket.root.child("a")
    let bytes = noise(2 << 20)
    _ = try await reference.putDataAsync(bytes)
    let files = FileManager.default.enumerator(atPath: bucket.folder.path)?.compactMap { $0 as? String } ?? []
    let lock = try #require(files.first { $0.hasSuffix("/LOCK") })
    let store = bucket.folder.appendingPathComponent(lock).deletingLastPathComponent()
    let link = bucket.folder.appendingPathComponent("way")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store)
    let content = try #require(files.first { $0.contains("/blobs/blob-") })
    let places = [
      store.appendingPathComponent("LOCK"), store.appendingPathComponent("MANIFEST"),
      store.appendingPathComponent("new"), link.appendingPathComponent("LOCK"),
      store.appendingPathComponent("blobs/../LOCK"), bucket.folder.appendingPathComponent(content),
    ]
    var wrong: [String] = []
    for url in places {
      let error = try await storageError { _ = try await reference.writeAsync(toFile: url) }
      if error.code != .unknown
        || !error.localizedDescription.contains("lies in the store \(store.path)")
      {
        wrong.append("\(url): \(error)")
      }
    }
    #expect(wrong == [])
    #expect(!FileManager.default.fileExists(atPath: store.appendingPathComponent("new").path))
    #expect(try await reference.data(maxSize: .max) == bytes)
    await bucket.restart()
    #expect(try await bucket.root.child("a").data(maxSize: .max) == bytes)
  }

  /// A system call would truncate such a path at the NUL. The truncated path would name another file.
  @Test func aPathWithANULNamesNoFile() async throws {
    let reference = bucket.root.child("a")
    _ = try bucket.file("source", Data("x".utf8))
    _ = try await reference.putDataAsync(Data("x".utf8))
    let url = URL(fileURLWithPath: bucket.folder.path + "/source\0.txt")
    let upload = try await storageError { _ = try await reference.putFileAsync(from: url) }
    #expect(upload.localizedDescription.contains("is not reachable"))
    let download = try await storageError { _ = try await reference.writeAsync(toFile: url) }
    #expect(download.localizedDescription.contains("does not name a file"))
    let names = try FileManager.default.contentsOfDirectory(atPath: bucket.folder.path)
    #expect(names.sorted() == ["data", "source"])
  }

  /// Guards against an upload that trusts a stored copy after comparing only its first mebibyte.
  @Test func anotherUploadRepairsDamageFoundByARead() async throws {
    let bytes = noise(3 << 20)
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(bytes)
    let files = FileManager.default.enumerator(atPath: bucket.folder.path)?.compactMap { $0 as? String } ?? []
    let name = try #require(files.first { $0.contains("/blobs/blob-") })
    let file = try FileHandle(forUpdating: bucket.folder.appendingPathComponent(name))
    try file.seek(toOffset: 2 << 20)
    let byte = try #require(try file.read(upToCount: 1)?.first)
    try file.seek(toOffset: 2 << 20)
    try file.write(contentsOf: Data([byte ^ 1]))
    try file.close()
    let error = try await storageError { _ = try await reference.data(maxSize: .max) }
    #expect(error.code == .nonMatchingChecksum)
    _ = try await reference.putDataAsync(bytes)
    #expect(try await reference.data(maxSize: .max) == bytes)
  }

  @Test func aDownloadIntoAMissingFolderFailsWithThePosixError() async throws {
    _ = try await bucket.root.child("a").putDataAsync(Data("x".utf8))
    let url = bucket.folder.appendingPathComponent("nowhere/out")
    let error = try await storageError { _ = try await bucket.root.child("a").writeAsync(toFile: url) }
    #expect(error.localizedDescription == "POSIX errno 2 (No such file or directory)")
    #expect((error as NSError).userInfo["ResponseErrorDomain"] as? String == NSPOSIXErrorDomain)
    #expect((error as NSError).code == -13000)
  }

  @Test func everyCallReportsAMissingObjectAsNotFound() async throws {
    let reference = bucket.root.child("no/such")
    let calls: [() async throws -> Void] = [
      { _ = try await reference.data(maxSize: 1) }, { _ = try await reference.getMetadata() },
      { _ = try await reference.updateMetadata(StorageMetadata()) },
      { _ = try await reference.downloadURL() },
      { try await reference.delete() },
      { _ = try await reference.writeAsync(toFile: self.bucket.folder.appendingPathComponent("out")) },
    ]
    var wrong: [String] = []
    for (index, call) in calls.enumerated() {
      let error = try await storageError(call)
      guard case .objectNotFound(let object, let details) = error else {
        wrong.append("call \(index): \(error)")
        continue
      }
      let bridged = error as NSError
      if object != "no/such" || details["ResponseErrorCode"] as? Int != 404
        || bridged.domain != "FIRStorageErrorDomain" || bridged.code != -13010
      {
        wrong.append("call \(index): \(error)")
      }
    }
    #expect(wrong == [])
  }

  @Test func deletingTwiceFindsNothingTheSecondTime() async throws {
    let reference = bucket.root.child("a")
    let first = try await reference.putDataAsync(noise(2_000_000))
    try await reference.delete()
    #expect(try await storageError { try await reference.delete() }.code == .objectNotFound)
    #expect(bucket.blobFiles.filter { $0.hasPrefix("blob-") }.isEmpty)
    let second = try await reference.putDataAsync(Data("x".utf8))
    #expect(second.generation > first.generation)
  }

  @Test(arguments: [
    "?#%+ ", "ü/ö/ä.txt", "日本語", "a+b&c=d", "~!$'()*,=:@", "a/../b", "..a",
    String(repeating: "n", count: 1024),
  ])
  func anyValidNameCanBeUploadedListedAndHasAURL(name: String) async throws {
    let reference = bucket.root.child(name)
    _ = try await reference.putDataAsync(Data(name.utf8))
    #expect(try await reference.data(maxSize: 2000) == Data(name.utf8))
    let url = try await reference.downloadURL()
    #expect(try bucket.storage.reference(for: url) == reference)
    let parent = try #require(reference.parent())
    #expect(try await parent.listAll().items == [reference])
  }

  @Test func aDownloadURLIsValidUntilItIsRevoked() async throws {
    let reference = bucket.root.child("a b")
    _ = try await reference.putDataAsync(Data("abc".utf8))
    let url = try await reference.downloadURL()
    #expect(try await bucket.storage.data(from: url, maxSize: 3) == Data("abc".utf8))
    let tooLarge = try await storageError { _ = try await bucket.storage.data(from: url, maxSize: 2) }
    #expect(tooLarge.code == .downloadSizeExceeded)
    let other = try await reference.revokeDownloadTokens()
    let error = try await storageError { _ = try await bucket.storage.data(from: url, maxSize: 3) }
    #expect(error.code == .unauthorized && (error as NSError).userInfo["ResponseErrorCode"] as? Int == 403)
    #expect(try await bucket.storage.data(from: other, maxSize: 3) == Data("abc".utf8))
    try await reference.delete()
    #expect(
      try await storageError { _ = try await bucket.storage.data(from: other, maxSize: 3) }.code
        == .objectNotFound)
  }

  @Test(arguments: [
    "", ".", "..", "a\nb", "a\rb", "a\tb", "\u{7F}", String(repeating: "n", count: 1025),
    ".well-known/acme-challenge/x",
  ])
  func invalidObjectNamesAreRefused(name: String) async throws {
    let reference = bucket.root.child(name)
    let error = try await storageError { _ = try await reference.putDataAsync(Data("x".utf8)) }
    #expect(error.code == .unknown)
    #expect((error as NSError).userInfo["ResponseErrorCode"] as? Int == 400)
    #expect(try await storageError { _ = try await reference.getMetadata() }.code == .objectNotFound)
    #expect(bucket.blobFiles.filter { !$0.hasPrefix("pack-") }.isEmpty)
  }

  @Test func hugeMetadataIsRefusedAndNothingIsStored() async throws {
    let metadata = StorageMetadata()
    metadata.customMetadata = ["key": String(repeating: "v", count: 9000)]
    let error = try await storageError {
      _ = try await bucket.root.child("a").putDataAsync(noise(2_000_000), metadata: metadata)
    }
    #expect(error.code == .unknown)
    #expect(bucket.blobFiles.isEmpty)
  }

  /// Returns the time of the last change of a file or of its attributes, in seconds and nanoseconds.
  private func changeTime(of url: URL) throws -> [Int] {
    var status = stat()
    try #require(lstat(url.path, &status) == 0)
    #if canImport(Darwin)
    let time = status.st_ctimespec
    #else
    let time = status.st_ctim
    #endif
    return [time.tv_sec, time.tv_nsec]
  }

  @Test func aSourceThatChangesOrDisappearsFailsTheUpload() throws {
    let url = try bucket.file("source", noise(1000))
    let changing = try UploadFile(url)
    #expect(try changing.read(500, at: 0).count == 500)
    try changing.check()
    try noise(1001).write(to: url)
    #expect(throws: StorageError.self) { try changing.check() }
    // The changed file has the same size and modification time.
    let before = try FileManager.default.attributesOfItem(atPath: url.path)
    let disguised = try UploadFile(url)
    let writer = try FileHandle(forWritingTo: url)
    let changed = try changeTime(of: url)
    let deadline = ContinuousClock.now + .seconds(60)
    // The file system's clock advances only every few milliseconds, so the first writes may leave the time of
    // the last change as it is.
    repeat {
      try #require(ContinuousClock.now < deadline, "the clock of the file system stands still")
      try writer.seek(toOffset: 0)
      try writer.write(contentsOf: Data("other".utf8))
    } while try changeTime(of: url) == changed
    try writer.close()
    let time = try #require(before[.modificationDate])
    try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: url.path)
    #expect(throws: StorageError.self) { try disguised.check() }
    let vanishing = try UploadFile(url)
    try FileManager.default.removeItem(at: url)
    #expect(throws: StorageError.self) { try vanishing.check() }
    let shrinking = try UploadFile(try bucket.file("source", noise(1000)))
    let handle = try FileHandle(forWritingTo: url)
    try handle.truncate(atOffset: 10)
    #expect(throws: StorageError.self) { try shrinking.read(1000, at: 0) }
  }
}
