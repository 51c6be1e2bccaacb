// Listing a folder page by page.

import FirebaseStorage
import Foundation
import Testing

struct ListTests {
  private let bucket = TestBucket()

  private func put(_ names: [String]) async throws {
    for name in names { _ = try await bucket.root.child(name).putDataAsync(Data(name.utf8)) }
  }

  @Test func foldersAndObjectsAreSeparateAndInByteOrder() async throws {
    try await put(["b", "a/x", "a/y/z", "a-b/c", "a", "Z", "a.b", "ä"])
    let result = try await bucket.root.listAll()
    #expect(result.items.map(\.fullPath) == ["Z", "a", "a.b", "b", "ä"])
    #expect(result.prefixes.map(\.fullPath) == ["a-b", "a"])
    #expect(result.pageToken == nil)
    let inner = try await bucket.root.child("a").listAll()
    #expect(inner.items.map(\.fullPath) == ["a/x"])
    #expect(inner.prefixes.map(\.fullPath) == ["a/y"])
    let nothing = try await bucket.root.child("nowhere").listAll()
    #expect(nothing.items.isEmpty && nothing.prefixes.isEmpty)
  }

  @Test(arguments: [1, 2, 3, 1000])
  func joinedPagesEqualTheWholeList(size: Int64) async throws {
    try await put(["a/1", "a/2", "b", "c/1", "d", "e/1", "e/2/3", "f"])
    let all = try await bucket.root.listAll()
    var items: [String] = []
    var prefixes: [String] = []
    var page = try await bucket.root.list(maxResults: size)
    var sizes: [Int] = []
    while true {
      sizes.append(page.items.count + page.prefixes.count)
      items += page.items.map(\.fullPath)
      prefixes += page.prefixes.map(\.fullPath)
      guard let token = page.pageToken else { break }
      page = try await bucket.root.list(maxResults: size, pageToken: token)
    }
    #expect(sizes.filter { $0 > Int(size) } == [])
    #expect(items == all.items.map(\.fullPath))
    #expect(prefixes == all.prefixes.map(\.fullPath))
  }

  @Test func pagesAreStableWhileObjectsAreAdded() async throws {
    try await put(["b", "d", "f", "h"])
    let first = try await bucket.root.list(maxResults: 2)
    #expect(first.items.map(\.fullPath) == ["b", "d"])
    try await put(["a", "c", "e", "g"])
    try await bucket.root.child("d").delete()
    let token = try #require(first.pageToken)
    let second = try await bucket.root.list(maxResults: 10, pageToken: token)
    // The second page starts after the first page's end, with no entry missing or repeated.
    #expect(second.items.map(\.fullPath) == ["f", "g", "h"])
  }

  @Test(arguments: [0, 1001, -1])
  func invalidPageSizesAreRefused(size: Int64) async throws {
    let error = try await storageError { _ = try await bucket.root.list(maxResults: size) }
    #expect(error.code == .invalidArgument)
    #expect(
      error.localizedDescription == "Argument 'maxResults' must be between 1 and 1000 inclusive.")
  }

  @Test func anInvalidTokenIsRefused() async throws {
    let error = try await storageError {
      _ = try await bucket.root.list(maxResults: 1, pageToken: "no token")
    }
    #expect(error.code == .unknown)
  }

  @Test func bucketsListOnlyTheirOwnObjects() async throws {
    try await put(["a"])
    let other = Storage.storage(app: bucket.app, url: "gs://other.bucket").reference()
    #expect(try await other.listAll().items.isEmpty)
    _ = try await other.child("b").putDataAsync(Data("b".utf8))
    #expect(try await other.listAll().items.map(\.fullPath) == ["b"])
    #expect(try await bucket.root.listAll().items.map(\.fullPath) == ["a"])
  }
}
