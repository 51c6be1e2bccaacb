// References into buckets: paths, URLs and equality.

import FirebaseStorage
import Foundation
import Testing

struct ReferenceTests {
  private let bucket = TestBucket()

  @Test(arguments: [
    ("", ""), ("/", ""), ("a", "a"), ("/a/", "a"), ("a//b/", "a/b"), ("///a///b///", "a/b"),
    ("a b/ü.txt", "a b/ü.txt"), ("a/../b", "a/../b"),
  ])
  func pathsAreNormalised(path: String, expected: String) {
    #expect(bucket.root.child(path).fullPath == expected)
    #expect(bucket.storage.reference(withPath: path).fullPath == expected)
  }

  @Test func theRootReferenceHasNoParent() throws {
    let reference = bucket.root.child("a/b/c.txt")
    #expect(reference.name == "c.txt")
    #expect(reference.parent()?.fullPath == "a/b")
    #expect(reference.parent()?.parent()?.parent() == bucket.root)
    #expect(bucket.root.parent() == nil)
    #expect(bucket.root.name == "")
    #expect(reference.root() == bucket.root)
    #expect(reference.description == "gs://dugout/a/b/c.txt")
    #expect(bucket.root.description == "gs://dugout/")
    #expect(reference.child("") == reference)
  }

  @Test func referencesToTheSamePathAreEqual() throws {
    let reference = bucket.root.child("a").child("b")
    #expect(reference == bucket.root.child("/a/b/"))
    #expect(reference == bucket.storage.reference(forURL: "gs://dugout/a/b"))
    #expect(reference.hash == bucket.root.child("a/b").hash)
    #expect(reference != bucket.root.child("a"))
    #expect(bucket.root.child("e\u{301}") != bucket.root.child("\u{e9}"))
  }

  @Test(arguments: [
    ("gs://dugout", ""), ("gs://dugout/", ""), ("gs://dugout/a/b", "a/b"),
    ("https://example.com/v0/b/dugout", ""), ("http://localhost:9199/v0/b/dugout/o", ""),
    ("https://example.com/v0/b/dugout/o/a%2Fb?alt=media&token=x#part", "a/b"),
    ("https://example.com/v0/b/dugout/o/%3F%2F%25%2F%23", "?/%/#"),
  ])
  func gsAndHTTPSURLsAreAccepted(url: String, expected: String) throws {
    #expect(bucket.storage.reference(forURL: url).fullPath == expected)
    let parsed = try #require(URL(string: url))
    #expect(try bucket.storage.reference(for: parsed).fullPath == expected)
  }

  @Test(arguments: [
    "gs://", "gs:///", "ftp://dugout/a", "https://example.com", "https://example.com/v1/b/dugout/o/a",
    "https://example.com/v0/b/a%0Ab/o/a", "gs://" + String(repeating: "b", count: 223),
    "https://example.com/v0/c/dugout/o/a", "https://example.com/v0/b/dugout/x/a", "https://example.com/v0/b",
  ])
  func invalidURLsAreRefused(url: String) async throws {
    let parsed = try #require(URL(string: url))
    let error = try await storageError { _ = try bucket.storage.reference(for: parsed) }
    #expect(error.code == .pathError)
  }

  @Test func aURLOfAnotherBucketIsRefused() async throws {
    let url = try #require(URL(string: "gs://other/a"))
    let error = try await storageError { _ = try bucket.storage.reference(for: url) }
    #expect(error.code == .bucketMismatch)
    let any = Storage.storage(app: bucket.app, url: "gs://")
    #expect(try any.reference(for: url).bucket == "other")
  }

  @Test func instancesAreCachedByAppAndBucket() {
    #expect(bucket.storage === bucket.storage)
    #expect(Storage.storage(app: bucket.app, url: "gs://dugout") === bucket.storage)
    let other = Storage.storage(app: bucket.app, url: "gs://other")
    #expect(other !== bucket.storage)
    #expect(other.reference().bucket == "other")
    let copy = bucket.storage.copy() as? Storage
    #expect(copy !== bucket.storage)
    #expect(copy == bucket.storage)
  }

  @Test func settingsHaveTheDocumentedDefaults() {
    let storage = Storage.storage(app: bucket.app, url: "gs://fresh")
    #expect(storage.maxUploadRetryTime == 600)
    #expect(storage.maxDownloadRetryTime == 600)
    #expect(storage.maxOperationRetryTime == 120)
    #expect(storage.uploadChunkSizeBytes == .max)
    #expect(storage.callbackQueue.label == DispatchQueue.main.label)
  }
}
