// Metadata: round trips and updates.

import FirebaseStorage
import Foundation
import Testing

struct MetadataTests {
  private let bucket = TestBucket()

  private func full() -> StorageMetadata {
    let metadata = StorageMetadata()
    metadata.cacheControl = "max-age=60"
    metadata.contentDisposition = "inline"
    metadata.contentEncoding = "identity"
    metadata.contentLanguage = "de"
    metadata.contentType = "text/x-test"
    metadata.customMetadata = ["a": "1", "b": "2", "": "empty", "__x__": "reserved"]
    return metadata
  }

  @Test func everySettableFieldSurvivesARoundTrip() async throws {
    let reference = bucket.root.child("a")
    let start = Date()
    let put = try await reference.putDataAsync(Data("x".utf8), metadata: full())
    let got = try await reference.getMetadata()
    #expect(got == put)
    #expect(got.cacheControl == "max-age=60")
    #expect(got.contentDisposition == "inline")
    #expect(got.contentEncoding == "identity")
    #expect(got.contentLanguage == "de")
    #expect(got.contentType == "text/x-test")
    #expect(got.customMetadata == full().customMetadata)
    let created = try #require(got.timeCreated)
    #expect(start.addingTimeInterval(-1)...Date().addingTimeInterval(1) ~= created)
    #expect(got.updated == created)
  }

  @Test func anUpdateSetsKeepsAndClearsFields() async throws {
    let reference = bucket.root.child("a")
    let first = try await reference.putDataAsync(Data("x".utf8), metadata: full())
    let change = StorageMetadata()
    change.contentLanguage = "en"
    change.customMetadata = ["c": "3"]
    let second = try await reference.updateMetadata(change)
    #expect(second.contentLanguage == "en")
    #expect(second.cacheControl == "max-age=60")
    #expect(second.customMetadata?["a"] == "1")
    #expect(second.customMetadata?["c"] == "3")
    #expect(second.metageneration == 2)
    #expect(second.generation == first.generation)
    #expect(try #require(second.updated) > #require(first.updated))
    #expect(second.timeCreated == first.timeCreated)
    second.cacheControl = nil
    second.customMetadata?["a"] = nil
    let third = try await reference.updateMetadata(second)
    #expect(third.cacheControl == nil)
    #expect(third.customMetadata?["a"] == nil)
    #expect(third.customMetadata?["b"] == "2")
    third.customMetadata = nil
    let fourth = try await reference.updateMetadata(third)
    #expect(fourth.customMetadata == nil)
    #expect(fourth.metageneration == 4)
    #expect(try await reference.data(maxSize: 1) == Data("x".utf8))
  }

  @Test func dictionaryRepresentationHasTheJSONForm() async throws {
    let metadata = try await bucket.root.child("f/a").putDataAsync(Data("abc".utf8), metadata: full())
    let dictionary = metadata.dictionaryRepresentation()
    #expect(dictionary["name"] == "f/a" as AnyHashable)
    #expect(dictionary["bucket"] == "dugout" as AnyHashable)
    #expect(dictionary["size"] == Int64(3) as AnyHashable)
    #expect(dictionary["generation"] == String(metadata.generation) as AnyHashable)
    #expect(dictionary["metageneration"] == "1" as AnyHashable)
    #expect(dictionary["metadata"]?.base as? [String: String] == metadata.customMetadata)
    let time = try #require(dictionary["timeCreated"]?.base as? String)
    #expect(time.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
    let again = StorageMetadata(dictionary: dictionary)
    #expect(again.dictionaryRepresentation() == dictionary)
    #expect(again == metadata)
    #expect(again.hash == metadata.hash)
    #expect(!again.isFile)
    #expect(!again.isFolder)
  }

  @Test func integersAreReadFromNumbersAndStrings() {
    let metadata = StorageMetadata(dictionary: [
      "generation": "12", "metageneration": 3, "size": "nonsense", "contentType": 5,
    ])
    #expect(metadata.generation == 12)
    #expect(metadata.metageneration == 3)
    #expect(metadata.size == 0)
    #expect(metadata.contentType == nil)
  }

  @Test func aCopyIsEqualAndIndependent() {
    let original = full()
    let copy = original.copy() as? StorageMetadata
    #expect(copy == original)
    original.contentType = "other/type"
    #expect(copy != original)
  }
}
