// Every call with every error that it can return, row by row as in the API's table.

import ByteStore
import DocumentStore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync
import Testing

@testable import FirebaseStorage

struct ErrorTableTests {
  private let bucket = TestBucket()

  // MARK: Codes

  /// The case, its code, and the keys of its payload in the bridged error.
  private static let cases: [(StorageError, StorageErrorCode, Int, [String])] = [
    (.unknown(message: "m", serverError: ["a": 1]), .unknown, -13000, ["a"]),
    (.objectNotFound(object: "o", serverError: ["a": 1]), .objectNotFound, -13010, ["a"]),
    (.bucketNotFound(bucket: "b"), .bucketNotFound, -13011, ["bucket"]),
    (.projectNotFound(project: "p"), .projectNotFound, -13012, []),
    (.quotaExceeded(bucket: "b", serverError: ["a": 1]), .quotaExceeded, -13013, ["a"]),
    (.unauthenticated(serverError: ["a": 1]), .unauthenticated, -13020, ["a"]),
    (.unauthorized(bucket: "b", object: "o", serverError: ["a": 1]), .unauthorized, -13021, ["a"]),
    (.retryLimitExceeded, .retryLimitExceeded, -13030, []),
    (.nonMatchingChecksum, .nonMatchingChecksum, -13031, []),
    (
      .downloadSizeExceeded(total: 2, maxSize: 1), .downloadSizeExceeded, -13032,
      ["totalSize", "maxAllowedSize"]
    ),
    (.cancelled, .cancelled, -13040, []),
    (.invalidArgument(message: "m"), .invalidArgument, -13050, []),
    (.bucketMismatch(message: "m"), .bucketMismatch, -13051, []),
    (.internalError(message: "m"), .internalError, -13052, []),
    (.pathError(message: "m"), .pathError, -13053, []),
  ]

  @Test func everyCaseBridgesWithItsDomainCodeAndText() {
    var wrong: [String] = []
    for (error, code, number, keys) in Self.cases {
      let bridged = error as NSError
      let text = bridged.userInfo[NSLocalizedDescriptionKey] as? String
      let isBridged =
        error.code == code && code.rawValue == number && bridged.domain == "FIRStorageErrorDomain"
        && bridged.code == number
      let isDescribed = text?.isEmpty == false && error.localizedDescription == text
      if !isBridged || !isDescribed { wrong.append("\(code): \(bridged)") }
      wrong += keys.filter { bridged.userInfo[$0] == nil }.map { "\(code) without \($0)" }
    }
    #expect(wrong == [])
    #expect(Set(Self.cases.map(\.2)).count == 15)
  }

  // MARK: Calls

  /// One form of a call. It returns the error, or nil after success.
  private typealias Call = @Sendable (StorageReference) async -> (any Error)?

  private static func thrown(_ body: () async throws -> Void) async -> (any Error)? {
    do { try await body() } catch { return error }
    return nil
  }

  private static func failure<Value>(_ result: Result<Value, any Error>) -> (any Error)? {
    if case .failure(let error) = result { error } else { nil }
  }

  private static func reported(_ call: (@escaping ((any Error)?) -> Void) -> Void) async -> (any Error)? {
    await withCheckedContinuation { done in call { done.resume(returning: $0) } }
  }

  /// All forms of each call that needs only a reference.
  private static func forms(_ out: URL) -> [String: [Call]] {
    [
      "getData": [
        { reference in await thrown { _ = try await reference.data(maxSize: .max) } },
        { reference in
          await reported { done in
            reference.getData(maxSize: .max) { (data: Data?, error: (any Error)?) in
              #expect((data == nil) == (error != nil))
              done(error)
            }
          }
        },
        { reference in
          await reported { done in
            reference.getData(maxSize: .max) { (result: Result<Data, any Error>) in done(failure(result)) }
          }
        },
      ],
      "write": [
        { reference in await thrown { _ = try await reference.writeAsync(toFile: out) } },
        { reference in
          await reported { done in
            reference.write(toFile: out) { (url: URL?, error: (any Error)?) in
              #expect((url == nil) == (error != nil))
              done(error)
            }
          }
        },
        { reference in
          await reported { done in
            reference.write(toFile: out) { (result: Result<URL, any Error>) in done(failure(result)) }
          }
        },
        { reference in
          await reported { done in
            let task = reference.write(toFile: out)
            task.observe(.success) { done($0.error) }
            task.observe(.failure) { done($0.error) }
          }
        },
      ],
      "downloadURL": [
        { reference in await thrown { _ = try await reference.downloadURL() } },
        { reference in
          await reported { done in
            reference.downloadURL { (_: URL?, error: (any Error)?) in done(error) }
          }
        },
        { reference in
          await reported { done in
            reference.downloadURL { (result: Result<URL, any Error>) in done(failure(result)) }
          }
        },
      ],
      "getMetadata": [
        { reference in await thrown { _ = try await reference.getMetadata() } },
        { reference in
          await reported { done in
            reference.getMetadata { (_: StorageMetadata?, error: (any Error)?) in done(error) }
          }
        },
        { reference in
          await reported { done in
            reference.getMetadata { (result: Result<StorageMetadata, any Error>) in done(failure(result)) }
          }
        },
      ],
      "updateMetadata": [
        { reference in await thrown { _ = try await reference.updateMetadata(StorageMetadata()) } },
        { reference in
          await reported { done in
            reference.updateMetadata(StorageMetadata()) { (_: StorageMetadata?, error: (any Error)?) in
              done(error)
            }
          }
        },
        { reference in
          await reported { done in
            reference.updateMetadata(StorageMetadata()) { (result: Result<StorageMetadata, any Error>) in
              done(failure(result))
            }
          }
        },
      ],
      "delete": [
        { reference in await thrown { try await reference.delete() } },
        { reference in await reported { done in reference.delete { done($0) } } },
      ],
      "list": [
        { reference in await thrown { _ = try await reference.list(maxResults: 1) } },
        { reference in
          await reported { done in
            reference.list(maxResults: 1) { (_: StorageListResult?, error: (any Error)?) in done(error) }
          }
        },
      ],
      "listAll": [
        { reference in await thrown { _ = try await reference.listAll() } },
        { reference in
          await reported { done in
            reference.listAll { (_: StorageListResult?, error: (any Error)?) in done(error) }
          }
        },
      ],
      "putData": [
        { reference in await thrown { _ = try await reference.putDataAsync(Data("x".utf8)) } },
        { reference in
          await reported { done in
            reference.putData(Data("x".utf8), metadata: nil) {
              (_: StorageMetadata?, error: (any Error)?) in done(error)
            }
          }
        },
        { reference in
          await reported { done in
            reference.putData(Data("x".utf8), metadata: nil) {
              (result: Result<StorageMetadata, any Error>) in done(failure(result))
            }
          }
        },
      ],
    ]
  }

  private func check(_ expected: [String: Int], on reference: StorageReference) async throws {
    let out = try bucket.file("out", Data()).deletingLastPathComponent().appendingPathComponent("out")
    let forms = Self.forms(out)
    var wrong: [String] = []
    for (call, code) in expected {
      for (index, form) in try #require(forms[call]).enumerated() {
        let error = await form(reference)
        if (error as NSError?)?.code ?? 0 != code {
          wrong.append("\(call), form \(index): \(String(describing: error))")
        }
      }
    }
    #expect(wrong == [])
  }

  /// Listing a missing folder is not an error.
  @Test func callsOnAMissingObjectFailAsNotFound() async throws {
    try await check(
      [
        "getData": -13010, "write": -13010, "downloadURL": -13010, "getMetadata": -13010,
        "updateMetadata": -13010,
        "delete": -13010, "list": 0, "listAll": 0,
      ], on: bucket.root.child("missing"))
  }

  @Test func objectCallsOnTheRootFail() async throws {
    try await check(
      [
        "getData": -13010, "write": -13010, "downloadURL": -13010, "getMetadata": -13010,
        "updateMetadata": -13010,
        "delete": -13010, "list": 0, "listAll": 0, "putData": -13000,
      ], on: bucket.root)
  }

  @Test func callsOnAnExistingObjectSucceed() async throws {
    let reference = bucket.root.child("a")
    try await check(["putData": 0], on: reference)
    try await check(
      [
        "getData": 0, "write": 0, "downloadURL": 0, "getMetadata": 0, "updateMetadata": 0, "list": 0,
        "listAll": 0,
      ], on: reference)
  }

  @Test func readsOfADamagedObjectFail() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(noise(3000))
    await bucket.close()
    let files = FileManager.default.enumerator(atPath: bucket.folder.path)?.compactMap { $0 as? String } ?? []
    let pack = try #require(files.first { $0.contains("/blobs/pack-") })
    let url = bucket.folder.appendingPathComponent(pack)
    var bytes = try Data(contentsOf: url)
    bytes[4096 + 64 + 100] ^= 1
    try bytes.write(to: url)
    await bucket.restart()
    try await check(
      ["getData": -13031, "write": -13031, "getMetadata": 0, "downloadURL": 0], on: bucket.root.child("a"))
  }

  @Test func anObjectWithoutATokenHasNoDownloadURL() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("x".utf8))
    let path = ObjectPath(bucket: reference.bucket, name: try ObjectName("a"))
    _ = try bucket.storage.client.objects().setTokens([], of: path)
    try await check(["downloadURL": -13000, "getData": 0], on: reference)
    let error = try await storageError { _ = try await reference.downloadURL() }
    #expect(error.localizedDescription == "Failed to retrieve a download URL.")
  }

  @Test func callsAfterTheAppWasClosedFail() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("x".utf8))
    await bucket.close()
    try await check(
      [
        "downloadURL": -13000, "getMetadata": -13000, "updateMetadata": -13000, "delete": -13000,
        "list": -13000,
        "listAll": -13000, "getData": -13040, "putData": -13040, "write": -13040,
      ], on: reference)
  }

  // MARK: Arguments

  @Test(arguments: [-1, 0, 1001, .max] as [Int64])
  func pageSizeIsOneToAThousand(maxResults: Int64) async throws {
    let root = bucket.root
    let calls: [() async throws -> Void] = [
      { _ = try await root.list(maxResults: maxResults) },
      { _ = try await root.list(maxResults: maxResults, pageToken: "x") },
      {
        _ = try await withCheckedThrowingContinuation { done in
          root.list(maxResults: maxResults) { done.resume(with: $0.map(\.items.count)) }
        }
      },
    ]
    var wrong: [String] = []
    for (index, call) in calls.enumerated() {
      let error = try await storageError(call)
      if (error as NSError).code != -13050
        || error.localizedDescription != "Argument 'maxResults' must be between 1 and 1000 inclusive."
      {
        wrong.append("call \(index): \(error)")
      }
    }
    #expect(wrong == [])
  }

  @Test func anInvalidPageTokenIsRefused() async throws {
    let error = try await storageError {
      _ = try await bucket.root.list(maxResults: 1, pageToken: "no token")
    }
    #expect((error as NSError).code == -13000)
  }

  @Test func urlsOutsideTheBucketAreRefused() throws {
    let storage = bucket.storage
    var wrong: [String] = []
    for (text, code) in [
      ("gs://", -13053), ("ftp://dugout/a", -13053), ("https://host/v0/x/dugout/o/a", -13053),
      ("https://host/v0/b", -13053), ("gs://another/a", -13051), ("https://host/v0/b/another/o/a", -13051),
    ] {
      let url = try #require(URL(string: text))
      do {
        _ = try storage.reference(for: url)
        wrong.append("\(text) was accepted")
      } catch {
        if (error as NSError).code != code { wrong.append("\(text): \(error)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func exceedingTheMaximumSizeIsAnError() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("12345".utf8))
    var wrong: [String] = []
    for maxSize in [0, 4] as [Int64] {
      let error = try await storageError { _ = try await reference.data(maxSize: maxSize) }
      if (error as NSError).code != -13032 { wrong.append("\(maxSize): \(error)") }
    }
    #expect(wrong == [])
  }

  @Test func unreadableAndUnwritableFilesAreErrors() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("x".utf8))
    let nowhere = bucket.folder.appendingPathComponent("nowhere/file")
    let calls: [() async throws -> Void] = [
      { _ = try await reference.putFileAsync(from: nowhere) },
      { _ = try await reference.writeAsync(toFile: nowhere) },
      { _ = try await reference.writeAsync(toFile: self.bucket.folder) },
    ]
    var codes: [Int] = []
    for call in calls {
      let error = try await storageError(call) as NSError
      codes.append(error.code)
    }
    #expect(codes == [-13000, -13000, -13000])
    #expect(try await reference.data(maxSize: 1) == Data("x".utf8))
  }

  @Test func cancelledTransfersFailAsCancelled() async throws {
    let reference = bucket.root.child("a")
    let url = try bucket.file("source", noise(12_000_000))
    let upload = await Self.reported { done in
      reference.putFile(from: url) { (_: StorageMetadata?, error: (any Error)?) in done(error) }.cancel()
    }
    #expect((upload as NSError?)?.code == -13040)
    _ = try await reference.putFileAsync(from: url)
    let download = await Self.reported { done in
      let task = reference.getData(maxSize: .max) { (_: Data?, error: (any Error)?) in done(error) }
      task.pause()
      task.cancel()
    }
    #expect((download as NSError?)?.code == -13040)
  }

  /// Only a wrapper can pass neither a value nor an error to a completion.
  @Test func aResultWithoutValueOrErrorIsAnError() {
    let result: Result<Int, any Error> = Outcome.result(nil, nil)
    #expect((Self.failure(result) as NSError?)?.code == -13052)
  }

  // MARK: The engine's errors

  @Test func storeRemoteAndSystemErrorsHaveTheirCodes() {
    var evidence = StorageEvidence(message: "m")
    evidence.code = 28
    let rows: [(DocumentStoreError, Int)] = [
      (.invalidArgument("m"), -13000), (.notFound("m"), -13010), (.failedPrecondition("m"), -13000),
      (.aborted("m"), -13000), (.full(evidence), -13000), (.failed(evidence), -13000),
      (.corrupted(evidence), -13031), (.locked(evidence), -13000), (.outcomeUnknown(evidence), -13000),
      (.closed(evidence), -13000), (.newerFormat(evidence), -13000),
    ]
    var wrong: [String] = []
    for (error, code) in rows {
      let translated = StorageErrors.translate(error, "b", object: "o") as NSError
      if translated.code != code { wrong.append("\(error): \(translated.code)") }
    }
    let remote: [(BlobSyncError, Int)] = [
      (.remote(.unavailable("m")), -13000), (.remote(.notFound), -13010), (.remote(.wrongOffset(3)), -13000),
      (.remote(.rejected("m")), -13000), (.remote(.unauthenticated("m")), -13020),
      (.remote(.unauthorized("m")), -13021), (.remote(.quotaExceeded("m")), -13013),
      (.store(.full(evidence)), -13000), (.cancelled, -13040), (.stopped, -13000),
      (.overdue(nil), -13000), (.overdue(.remote(.unavailable("m"))), -13000),
      (.overdue(.remote(.notFound)), -13000), (.overdue(.store(.full(evidence))), -13000),
      (.overdue(.store(.corrupted(evidence))), -13000),
    ]
    for (error, code) in remote {
      let translated = StorageErrors.translate(error, "b", object: "o") as NSError
      if translated.code != code { wrong.append("\(error): \(translated.code)") }
    }
    #expect(wrong == [])
    let full = StorageErrors.translate(.full(evidence), "b", object: "o") as NSError
    #expect(full.localizedDescription.hasPrefix("POSIX errno 28 ("))
    #expect(full.userInfo["ResponseErrorDomain"] as? String == NSPOSIXErrorDomain)
  }

  /// Guards against an error that names the remote when the local disk caused the delay.
  @Test func aTimeoutCausedByTheLocalDiskSaysSo() {
    var evidence = StorageEvidence(message: "m")
    evidence.code = 28
    let error = StorageErrors.translate(.overdue(.store(.full(evidence))), "b", object: "o") as NSError
    #expect(error.localizedDescription.contains("is still pending"))
    #expect(error.localizedDescription.contains("POSIX errno 28 ("))
    #expect(!error.localizedDescription.contains("has not answered"))
    #expect(error.userInfo["ResponseErrorDomain"] as? String == NSPOSIXErrorDomain)
    #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 28)
    let remote = StorageErrors.translate(.overdue(.remote(.unavailable("far"))), "b", object: "o") as NSError
    #expect(remote.localizedDescription.contains("has not answered"))
    #expect(remote.localizedDescription.hasSuffix("far"))
  }
}
