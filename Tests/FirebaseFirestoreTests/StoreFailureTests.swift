// A store that cannot be opened or written. Every call reports the cause, and the process continues.

import DocumentStore
import FirebaseFirestore
import Foundation
import Harness
import Testing

@Suite struct StoreFailureTests {
  @Test func aStoreInUseIsUnavailableAndItsHolderIsReported() async throws {
    let database = try TestDatabase()
    let other = try DocumentStore.open(database.firestore.storeDirectory)
    var wrong: [String] = []
    for _ in 0..<2 {
      do {
        _ = try await database.firestore.document("a/b").getDocument()
        wrong.append("it was read")
      } catch {
        let error = error as NSError
        if error.code != FirestoreErrorCode.Code.unavailable.rawValue
          || error.userInfo[FirestoreErrorEvidence.holder] as? Int32 != getpid()
        {
          wrong.append("\(error)")
        }
      }
      do {
        try await database.firestore.document("a/b").setData(["n": 1])
        wrong.append("it was written")
      } catch {
        let error = error as NSError
        if error.code != FirestoreErrorCode.Code.unavailable.rawValue { wrong.append("\(error)") }
      }
    }
    #expect(wrong == [])
    // The next call retries.
    try other.close()
    try await database.firestore.document("a/b").setData(["n": 1])
    await database.close()
  }

  @Test func damageIsDataLossWithFileAndOffsetAndOtherDatabasesWork() async throws {
    let damaged = try TestDatabase()
    try await damaged.firestore.document("a/b").setData(["n": 1])
    let directory = damaged.firestore.storeDirectory
    await damaged.close()
    let log = URL(fileURLWithPath: directory + "/log-0000000001")
    var bytes = try Data(contentsOf: log)
    bytes[4096] ^= 0xFF
    try bytes.write(to: log)
    await damaged.restart()
    await #expect { try await damaged.firestore.document("a/b").getDocument() } throws: { error in
      let error = error as NSError
      return error.code == FirestoreErrorCode.Code.dataLoss.rawValue
        && error.userInfo[FirestoreErrorEvidence.file] as? String == log.path
        && error.userInfo[FirestoreErrorEvidence.offset] as? UInt64 == 4096
    }
    let other = try TestDatabase()
    try await other.firestore.document("a/b").setData(["n": 1])
    await other.close()
    await damaged.close()
  }

  @Test func openErrorsReachCallbacks() async throws {
    let database = try TestDatabase()
    let other = try DocumentStore.open(database.firestore.storeDirectory)
    let codes = await withCheckedContinuation { (done: CheckedContinuation<[Int], Never>) in
      database.firestore.document("a/b").setData(["n": 1]) { written in
        let written = (written as NSError?)?.code ?? 0
        database.firestore.document("a/b").getDocument { snapshot, read in
          done.resume(returning: [written, snapshot == nil ? (read as NSError?)?.code ?? 0 : 0])
        }
      }
    }
    #expect(codes == [14, 14])
    try other.close()
    await database.close()
  }

  /// A second process opens the directory while this process holds it.
  @Test func openingADatabaseInUseReportsTheHoldingProcess() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let holder = try Firestore.open(at: folder)
    try await holder.document("a/b").setData(["n": 1])
    let (path, pid) = (folder.path, getpid())
    await #expect(processExitsWith: .exitCode(42)) { [path = path as String, pid = pid as Int32] in
      do {
        _ = try Firestore.open(at: URL(fileURLWithPath: path))
        exit(1)
      } catch FirestoreErrorCode.unavailable {}
      let app = FirebaseOptions(directory: URL(fileURLWithPath: path).appendingPathComponent("other"))
      FirebaseApp.configure(options: app)
      let other = Firestore.firestore()
      try await other.document("a/b").setData(["n": 2])
      guard try await other.document("a/b").getDocument()["n"] as? Int == 2 else { exit(2) }
      do { _ = try Firestore.open(at: URL(fileURLWithPath: path)) } catch {
        let error = error as NSError
        guard error.userInfo[FirestoreErrorEvidence.holder] as? Int32 == pid else { exit(3) }
        guard error.localizedDescription.contains("\(pid)") else { exit(4) }
        exit(42)
      }
    }
    #expect(try await holder.document("a/b").getDocument()["n"] as? Int == 1)
    try await holder.terminate()
  }

  #if os(Linux)
  @Test(.enabled(if: SmallMount.isSupported, "needs the right to mount a small tmpfs: run the tests as root"))
  func aFullDiskIsReportedWhileReadsAndDeletesAndOtherDatabasesWork() async throws {
    let mount = try SmallMount(megabytes: 24)
    defer { mount.unmount() }
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    let full = try Firestore.open(
      at: URL(fileURLWithPath: mount.path).appendingPathComponent("store"), settings: settings)
    var random = SeededRandom(seed: 7)
    let bytes = Data((0..<200_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    var written: [Int] = []
    var failure: (any Error)?
    while failure == nil, written.count < 1000 {
      do {
        try await full.document("a/\(written.count)").setData(["bytes": bytes])
        written.append(written.count)
      } catch {
        failure = error
      }
    }
    let error = try #require(failure) as NSError
    #expect(error.domain == FirestoreErrorDomain)
    #expect(error.code == FirestoreErrorCode.resourceExhausted.rawValue, "\(error)")
    #expect(error.userInfo[FirestoreErrorEvidence.operation] != nil, "\(error.userInfo)")
    // The completion also receives the error. Exactly the acknowledged documents are readable.
    let code = await withCheckedContinuation { (done: CheckedContinuation<Int?, Never>) in
      full.document("a/late").setData(["bytes": Data(count: 900_000)]) { error in
        done.resume(returning: (error as NSError?)?.code)
      }
    }
    if code != nil { #expect(code == 8) }
    #expect(try written.filter { try !full.document("a/\($0)").read().exists } == [])
    #expect(try await !full.document("a/\(written.count)").getDocument().exists)
    try await full.document("a/0").delete()
    #expect(try await !full.document("a/0").getDocument().exists)
    let other = try TestDatabase()
    try await other.firestore.document("a/b").setData(["n": 1])
    await other.close()
    try await full.terminate()
    let again = try Firestore.open(at: URL(fileURLWithPath: mount.path).appendingPathComponent("store"))
    #expect(try again.collection("a").read().count >= written.count - 1)
    try await again.terminate()
  }
  #endif

  /// Covers foreign files, a file instead of a directory, and a directory without read permission.
  @Test func aForeignDirectoryIsRefusedWithAReasonAndNotChanged() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let photo = folder.appendingPathComponent("photo.jpg")
    try Data("a photo".utf8).write(to: photo)
    var wrong: [String] = []
    for place in [folder, photo] {
      do {
        _ = try Firestore.open(at: place)
        wrong.append("\(place) was opened")
      } catch {
        let error = error as NSError
        let codes = [FirestoreErrorCode.failedPrecondition.rawValue, FirestoreErrorCode.internal.rawValue]
        if error.domain != FirestoreErrorDomain || !error.localizedDescription.contains(folder.path)
          || !codes.contains(error.code)
        {
          wrong.append("\(place): \(error)")
        }
      }
    }
    #expect(wrong == [])
    #expect(try Data(contentsOf: photo) == Data("a photo".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["photo.jpg"])
  }
}
