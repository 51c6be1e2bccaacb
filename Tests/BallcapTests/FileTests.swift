// Tests of files whose contents are in the storage and whose descriptions are in documents.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

@testable import Ballcap

extension BallcapTests {
  @Suite final class Files {
    private let app = TestApp()
    private let text = Data("hello".utf8)

    init() { Storage.storage().callbackQueue = Firestore.firestore().settings.dispatchQueue }

    private func place(_ path: String) -> StorageReference { Storage.storage().reference(withPath: path) }

    private func file(_ path: String, _ data: Data? = nil, _ type: File.MIMEType? = .plain) -> File {
      File(place(path), data: data, mimeType: type)
    }

    /// Returns the file as another process sees it, without cached bytes.
    private func stranger(_ file: File) -> File {
      FileManager.shared.delete(key: file.path)
      return File(path: file.path, url: file.url, mimeType: file.mimeType, metadata: file.metadata)
    }

    // MARK: Kinds and names

    @Test(arguments: [
      (File.MIMEType.plain, "text/plain", "txt"), (.csv, "text/csv", "csv"), (.html, "text/html", "html"),
      (.css, "text/css", "css"), (.javascript, "text/javascript", "js"), (.pdf, "application/pdf", "pdf"),
      (.zip, "application/zip", "zip"), (.tar, "application/x-tar", "tar"),
      (.lzh, "application/x-lzh", "lzh"),
      (.jpeg, "image/jpeg", "jpg"), (.pjpeg, "image/pjpeg", "jpg"), (.png, "image/png", "png"),
      (.gif, "image/gif", "gif"), (.mp4, "video/mp4", "mp4"),
      (.octetStream("bin"), "application/octet-stream", "bin"),
      (.octetStream(nil), "application/octet-stream", ""),
      (.custom("a/b", "c"), "a/b", "c"),
    ]) func everyMIMETypeHasItsTextAndExtension(type: File.MIMEType, value: String, ext: String) {
      #expect(type.rawValue == value && type.fileExtension == ext)
      #expect(File.MIMEType(rawValue: value, ext: ext) == type)
      if !["pjpeg", "octet-stream", "b"].contains(value.split(separator: "/")[1]) {
        #expect(File.MIMEType(ext: ext) == type)
      }
    }

    @Test(arguments: [
      ("page.bin", File.MIMEType.octetStream(nil), File.MIMEType.octetStream("bin")),
      ("page", .octetStream(nil), .octetStream(nil)), ("page", .octetStream("bin"), .octetStream("bin")),
      ("data.json", .custom("application/json", ""), .custom("application/json", "json")),
      ("data", .custom("application/json", "json"), .custom("application/json", "json")),
      ("a.png", .png, .png),
    ])
    func mimeTypesRoundTrip(name: String, type: File.MIMEType, known: File.MIMEType) throws {
      let file = File(place("a/x"), data: text, name: name, mimeType: type)
      #expect(file.mimeType == known)
      let found = try JSONDecoder().decode(File.self, from: JSONEncoder().encode(file))
      #expect(found == file && found.mimeType == known)
    }

    @Test func unknownMIMETypesArePreserved() {
      #expect(File.MIMEType(ext: "jpeg") == .jpeg)
      #expect(File.MIMEType(ext: "xyz") == .custom("", "xyz"))
      #expect(File.MIMEType(rawValue: "x/y") == .custom("x/y", ""))
      #expect(File.MIMEType.octetStream(nil) == .octetStream(""))
    }

    @Test(
      arguments: [
        ("a/b", File.MIMEType.plain, "a/b.txt", File.MIMEType.plain), ("a/b.csv", .plain, "a/b.csv", .plain),
        ("a/b.png", nil, "a/b.png", .png), ("a/b", nil, "a/b", .octetStream(nil)),
        ("a.b/c", nil, "a.b/c", .octetStream(nil)), (".hidden", .plain, ".hidden.txt", .plain),
        ("写真 1.jpg", nil, "写真 1.jpg", .jpeg), ("1:2", .gif, "1:2.gif", .gif),
        ("a b%.txt", nil, "a b%.txt", .plain),
      ] as [(String, File.MIMEType?, String, File.MIMEType)])
    func namesGetTheirExtension(name: String, type: File.MIMEType?, result: String, found: File.MIMEType) {
      let (generated, kind) = File.generateFileName(name, mimeType: type)
      #expect(generated == result && kind == found)
    }

    @Test func filePathsAreBesideTheReferenceOrBelowTheObject() {
      #expect(file("a/b").path == "a/b.txt")
      #expect(File(place("a/b"), data: text, name: "n", mimeType: .plain).path == "a/n.txt")
      let ada = Document<User>(id: "ada")
      #expect(ada.storageReference.fullPath == "users/ada")
      #expect(File(ada, name: "写真 1", mimeType: .png).path == "users/ada/写真 1.png")
      #expect(Int(File(ada).name) != nil)
    }

    // MARK: Transfers

    @Test func aSavedFileIsReadBackByAnother() async throws {
      let saved = file("a/b", text)
      saved.metadata = ["by": "ada"]
      let metadata = try await saved.save()
      #expect(metadata.contentType == "text/plain")
      #expect(metadata.customMetadata == ["by": "ada"])
      #expect(saved.isUploaded && saved.url != nil && saved.uploadTask == nil)
      let other = stranger(saved)
      #expect(other.data == nil && !other.isUploaded)
      #expect(try await other.getData() == text)
      #expect(other.data == text)
    }

    @Test func completionRunsAfterTheTaskIsRemovedAndMetadataIsSet() async throws {
      let saved = file("a/b", text)
      let state = await withCheckedContinuation { done in
        let task = saved.save { metadata, error in
          done.resume(
            returning: [
              metadata != nil, error == nil, saved.isUploaded, saved.url != nil, saved.uploadTask == nil,
            ])
        }
        #expect(task != nil)
      }
      #expect(state == [true, true, true, true, true])
    }

    @Test func aLocalFileIsSavedAsItIs() async throws {
      let local = app.folder.appendingPathComponent("local.txt")
      try Foundation.FileManager.default.createDirectory(at: app.folder, withIntermediateDirectories: true)
      try text.write(to: local)
      let saved = file("local/copy")
      #expect(saved.data == nil)
      saved.originalURL = local
      try await saved.save()
      #expect(try await stranger(saved).getData() == text)
    }

    @Test func saveWithoutDataFailsImmediately() {
      var reported: (any Error)?
      let task = file("nothing/here").save { _, error in reported = error }
      #expect(task == nil)
      guard case FileError.invalidData(let file)? = reported as? FileError else {
        return #expect(Bool(false))
      }
      #expect(file.path == "nothing/here.txt")
    }

    @Test func failedDeletionKeepsTheLocalBytes() async throws {
      // Puts a regular file at the path where the storage expects its folder.
      let folder = app.folder.appendingPathExtension("broken")
      try Data("x".utf8).write(to: folder)
      FirebaseApp.configure(name: "broken", options: FirebaseOptions(directory: folder))
      let broken = try #require(FirebaseApp.app(name: "broken"))
      let place = Storage.storage(app: broken).reference(withPath: "a/kept")
      let kept = File(place, data: text, mimeType: .plain)
      kept.url = URL(string: "https://example.com/kept")
      await #expect(throws: StorageError.self) { try await kept.delete() }
      #expect(kept.data == text && kept.url != nil)
      _ = await broken.delete()
      try Foundation.FileManager.default.removeItem(at: folder)
    }

    @Test func deletionOfAMissingFileDropsTheLocalBytes() async throws {
      let saved = file("a/b", text)
      try await saved.save()
      try await saved.delete()
      #expect(saved.data == nil && !saved.isUploaded && saved.url == nil)
      await #expect(throws: StorageError.self) { try await saved.getData() }
      // If the file is missing in the storage, the local bytes are dropped too, and the call reports the
      // error.
      let missing = file("a/missing", text)
      await #expect(throws: StorageError.self) { try await missing.delete() }
      #expect(missing.data == nil)
    }

    @Test func localBytesAreNotDownloadedAgainUnlessReloaded() async throws {
      let saved = file("a/b", text)
      try await saved.save()
      _ = try await place("a/b.txt").putDataAsync(Data("newer".utf8))
      #expect(try await saved.getData() == text)
      #expect(try await saved.reload() == Data("newer".utf8))
      #expect(saved.data == Data("newer".utf8))
    }

    @Test func twoFilesWithOnePathKeepTheirOwnBytes() {
      let first = file("a/b", text)
      let second = file("a/b", Data("other".utf8))
      #expect(first.data == text && second.data == Data("other".utf8))
      #expect(first != second)
      second.data = nil
      #expect(first.data == text)
    }

    // MARK: In documents

    private struct Album: Codable, Modelable {
      var cover: File?
      var pages: [File] = []
    }

    @Test func documentsDescribeFiles() async throws {
      let album = Document<Album>(id: "x")
      let cover = File(album, name: "cover", data: text, mimeType: .custom("a/b", "c"), metadata: ["k": "v"])
      let page = File(album, name: "page.bin", data: text, mimeType: .octetStream(nil))
      album.data = Album(cover: cover, pages: [page])
      try await album.save()
      let fields = try #require(try await album.documentReference.getDocument().data())
      let stored = try #require(fields["cover"] as? [String: Any])
      #expect(stored["url"] is NSNull && stored["path"] as? String == "album/x/cover.c")
      #expect(stored["mimeType"] as? String == "a/b" && stored["metadata"] as? [String: String] == ["k": "v"])
      let found = try #require(try await Document<Album>.get(id: "x")?.data)
      #expect(found.cover?.mimeType == .custom("a/b", "c"))
      #expect(found.cover == cover)
      #expect(found.pages == [page])
    }

    // MARK: Objects with files

    private final class Cell: FileRepresentable {
      var file: File
      init(_ file: File) { self.file = file }
    }

    @Test func loadingReplacesTheFile() async throws {
      let saved = file("a/b", text)
      try await saved.save()
      let cell = Cell(stranger(saved))
      let before = cell.file
      let loaded = await withCheckedContinuation { done in
        cell.load { file, error in done.resume(returning: file?.data) }
      }
      #expect(loaded == text)
      #expect(cell.file !== before && cell.file.path == before.path)
      var again: Data?
      #expect(cell.load { file, _ in again = file?.data } == nil)
      #expect(again == text)
      cell.cancel()
      let other = Cell(stranger(saved))
      let awaited = try await other.load()
      #expect(awaited.data == text && awaited === other.file)
      let repeated = try await other.load()
      #expect(repeated === awaited)
      let missing = Cell(file("a/missing"))
      await #expect(throws: StorageError.self) { _ = try await missing.load() }
    }

    // MARK: Batches

    @Test func batchesTransferAllOfTheirFiles() async throws {
      let files = (0..<5).map { file("batch/\($0)", Data("\($0)".utf8)) }
      #expect(try await StorageBatch().save(files).commit().map(\.path) == files.map(\.path))
      #expect(files.allSatisfy { $0.isUploaded })
      try await StorageBatch().delete(files[0]).save(file("batch/x", text)).commit()
      await #expect(throws: StorageError.self) { try await stranger(files[0]).getData() }
      var isReportedImmediately = false
      #expect(StorageBatch().commit { isReportedImmediately = $0 == nil }.isEmpty)
      #expect(isReportedImmediately)
    }

    @Test func firstErrorIsReportedAndAllFilesAreAttempted() async throws {
      let good = file("batch/good", text)
      let error = await outcome {
        StorageBatch().delete(file("batch/missing")).save(file("batch/empty")).save(good).commit($0)
      }
      #expect(error is StorageError)
      #expect(good.isUploaded)
      let empty = await outcome { StorageBatch().save(file("batch/empty")).commit($0) }
      guard case StorageBatchError.invalidData? = empty as? StorageBatchError else {
        return #expect(Bool(false), "\(String(describing: empty))")
      }
    }

    @Test func batchCompletionAlwaysRunsOnTheCallbackQueue() async {
      var isCommitted = false
      let observed = await withCheckedContinuation { done in
        app.onCallbackQueue {
          StorageBatch().save(file("batch/nothing")).commit { _ in
            done.resume(returning: (TestApp.isCallbackQueue, isCommitted))
          }
          isCommitted = true
        }
      }
      #expect(observed == (true, true))
    }

    @Test func unreferencedBatchStillReportsItsTimeout() async {
      let error = await outcome { done in
        let batch = StorageBatch().save(file("batch/unkept", Data(count: 64 << 20)))
        batch.timeout = 0
        batch.commit(done)
      }
      guard case StorageBatchError.timeout? = error as? StorageBatchError else {
        return #expect(Bool(false), "\(String(describing: error))")
      }
    }

    @Test func aBatchThatTakesTooLongIsCancelledAndMayBeCommittedAgain() async throws {
      let large = file("batch/large", Data(count: 64 << 20))
      let batch = StorageBatch().save(large)
      batch.timeout = 0
      let ended = CallbackValues<(any Error)?>()
      let error = await outcome { done in
        // Commits on the callback queue, so that the timeout cannot fire before the observers are added.
        app.onCallbackQueue {
          for file in batch.commit(done) { file.uploadTask?.observe(.failure) { ended.add($0.error) } }
        }
      }
      guard case StorageBatchError.timeout? = error as? StorageBatchError else {
        return #expect(Bool(false), "\(String(describing: error))")
      }
      guard case StorageError.cancelled? = await ended.next() as? StorageError else {
        return #expect(Bool(false), "the transfer went on")
      }
      batch.timeout = 600
      #expect(await outcome { batch.commit($0) } == nil)
    }

    @Test func committedBatchRefusesFurtherFiles() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        FirebaseApp.configure()
        let batch = StorageBatch()
        batch.save(File(Storage.storage().reference(withPath: "a"), data: Data("a".utf8), mimeType: .plain))
        batch.commit()
        batch.delete(File(Storage.storage().reference(withPath: "b"), mimeType: .plain))
      }
      let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(
        said.contains("A storage batch can no longer be used after commit has been called."), "\(said)")
    }

    /// The bug: the timeout of the first commit cancelled the transfers of the second commit, because both
    /// commits shared one list.
    @Test func commitRightAfterATimeoutIsNotCancelled() async {
      let batch = StorageBatch().save(file("batch/again", Data(count: 64 << 20)))
      batch.timeout = 0
      let errors = await withCheckedContinuation { done in
        batch.commit { first in
          batch.timeout = 600
          batch.commit { second in done.resume(returning: Transferred([first, second])) }
        }
      }.value
      guard case StorageBatchError.timeout? = errors[0] as? StorageBatchError else {
        return #expect(Bool(false), "\(errors)")
      }
      #expect(errors[1] == nil)
    }

    /// The bug: the timeout of a finished batch retained all bytes of the batch until the timeout fired.
    @Test func finishedBatchRetainsNoBytes() async throws {
      let freed = CallbackValues<Bool>()
      func commit() async throws {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
        let data = Data(
          bytesNoCopy: bytes.baseAddress!, count: 1000,
          deallocator: .custom { bytes, _ in
            bytes.deallocate()
            freed.add(true)
          })
        let file = file("batch/kept", data)
        try await StorageBatch().save(file).commit()
        FileManager.shared.delete(key: file.path)
      }
      try await commit()
      #expect(await freed.next())
    }

    @Test func endOfATransferKeepsItsSuccessorRegistered() async throws {
      let first = file("a/successor", text)
      let second = file("a/successor", Data(count: 64 << 20))
      var task: StorageUploadTask?
      let error = await outcome { done in
        first.save { _, error in done(error) }
        task = second.save(nil)
        task?.pause()
      }
      #expect(error == nil)
      #expect(second.uploadTask != nil && second.uploadTask === task)
      // This observer is called last.
      let ended = CallbackValues<Bool>()
      _ = task?.observe(.failure) { _ in ended.add(true) }
      task?.cancel()
      #expect(await ended.next())
      #expect(second.uploadTask == nil)
    }

    // MARK: The cache of file bytes

    @Test func theCacheOfBytesHasABudget() {
      let cache = FileCache()
      let large = Data(count: 100 << 20)
      for name in ["a", "b", "c"] { cache.set(large, name) }
      #expect(cache.get("a") == nil && cache.get("b") != nil && cache.get("c") != nil)
      cache.delete("b")
      #expect(cache.get("b") == nil)
    }

    @Test func fileWithAKnownGenerationGetsNoOtherGeneration() {
      let cache = FileCache()
      cache.set(text, "a", generation: 2)
      #expect(cache.get("a", generation: 1) == nil)
      #expect(cache.get("a", generation: 2) == text && cache.get("a") == text)
    }
  }
}
