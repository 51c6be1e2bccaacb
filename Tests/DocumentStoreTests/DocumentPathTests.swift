// The rules for names and paths, each with the last allowed and the first refused case.

import DocumentStore
import Testing

@Suite struct DocumentPathTests {
  private func isDocument(_ segments: [String]) -> Bool { (try? DocumentPath(segments)) != nil }
  private func isCollection(_ segments: [String]) -> Bool { (try? CollectionPath(segments)) != nil }

  private enum Verdict {
    case name, noName
    /// Valid at some positions and invalid at others.
    case dependsOnThePosition
  }

  /// Whether the name is valid at every position of a document path and a collection path, or at none.
  private func verdict(_ name: String) -> Verdict {
    let verdicts = [
      isDocument(["a", name]), isDocument([name, "a"]), isDocument(["a", "b", "c", name]),
      isCollection([name]), isCollection(["a", name, "c"]),
    ]
    guard Set(verdicts).count == 1 else { return .dependsOnThePosition }
    return verdicts[0] ? .name : .noName
  }

  @Test func aDocumentHasAnEvenNumberOfSegmentsAndACollectionAnOddOne() {
    #expect((0...9).filter { isDocument(Array(repeating: "a", count: $0)) } == [2, 4, 6, 8])
    #expect((0...9).filter { isCollection(Array(repeating: "a", count: $0)) } == [1, 3, 5, 7, 9])
  }

  @Test func aPathHasAHundredLevelsOfCollectionsAndNoMore() {
    #expect(isDocument(Array(repeating: "a", count: 200)))
    #expect(!isDocument(Array(repeating: "a", count: 202)))
    #expect(isCollection(Array(repeating: "a", count: 199)))
    #expect(!isCollection(Array(repeating: "a", count: 201)))
  }

  @Test func aNameIsNeverEmpty() {
    #expect(verdict("") == .noName)
    #expect(verdict(" ") == .name)
    #expect(verdict("\0") == .name)
  }

  @Test(arguments: ["a", "é", "€", "😀", "e\u{301}"])
  func aNameHas1500BytesOfUTF8AndNoMore(letter: String) {
    let longest = String(repeating: letter, count: 1500 / letter.utf8.count)
    #expect(longest.utf8.count == 1500)
    #expect(verdict(longest) == .name)
    #expect(verdict(longest + "a") == .noName)
  }

  @Test(arguments: ["/", "a/b", "/a", "a/", "/\u{301}", "\u{600}/", "a\0/"])
  func aNameHasNoSlash(name: String) {
    #expect(verdict(name) == .noName)
  }

  @Test func charactersThatResembleASlashAreAllowed() {
    #expect(verdict("\\") == .name)
    #expect(verdict("\u{2215}") == .name)
  }

  @Test func oneOrTwoDotsAreNoNameButThreeAre() {
    #expect(verdict(".") == .noName)
    #expect(verdict("..") == .noName)
    let names = ["...", ".a", "a.", ". ", ".\0", ".\u{301}"]
    #expect(names.filter { verdict($0) != .name } == [])
  }

  @Test(arguments: Names.reserved) func reservedNamesAreRefused(name: String) {
    #expect(verdict(name) == .noName)
  }

  /// Swift treats `_\u{301}` as one character that does not equal `_`; the rule applies to bytes.
  @Test(arguments: ["__\u{301}a__", "__\u{301}__", "__a\u{600}__", "__\u{200D}__", "__\u{FE0F}__"])
  func reservedNamesAreRefusedEvenWithCombiningMarks(name: String) {
    #expect(verdict(name) == .noName)
  }

  @Test(arguments: Names.odd + Names.numeric) func oddNamesAreAllowed(name: String) {
    #expect(verdict(name) == .name)
  }

  /// From the contract: the size of a document name is the sum of the sizes of its ids, plus one byte for
  /// each id, plus 16 bytes.
  @Test func aDocumentNameHasSixKibibytesAndNoMore() {
    let long = String(repeating: "n", count: 1500)
    func segments(lastBytes: Int) -> [String] {
      [long, long, long, long, "c", String(repeating: "n", count: lastBytes)]
    }
    // 4 × 1501 + 2 + (120 + 1) + 16 = 6143, and the limit is 6144.
    #expect(isDocument(segments(lastBytes: 120)))
    #expect(isDocument(segments(lastBytes: 121)))
    #expect(!isDocument(segments(lastBytes: 122)))
    #expect(!isDocument(segments(lastBytes: 1000)))
    #expect(!isCollection(Array(repeating: long, count: 5)))
  }

  @Test func anUncheckedPathIsJudgedByTheSameRules() {
    #expect(throws: PathError.self) { try DocumentPath(unchecked: ["a"]).check() }
    #expect(throws: PathError.self) { try DocumentPath(unchecked: []).check() }
    #expect(throws: PathError.self) { try DocumentPath(unchecked: ["a", "__b__"]).check() }
    #expect(throws: Never.self) { try DocumentPath(unchecked: ["a", "b"]).check() }
  }

  @Test func anErrorShowsThePathAndTheRule() {
    let error = #expect(throws: PathError.self) { try DocumentPath(["rooms", "__eros__"]) }
    #expect(error?.path == ["rooms", "__eros__"])
    #expect(
      error?.description
        == "The path \"rooms/__eros__\" is not valid: names like \"__eros__\" are reserved.")
  }

  @Test(arguments: [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), ("\u{AC00}", "\u{1100}\u{1161}")])
  func canonicallyEquivalentNamesAreDistinctPaths(left: String, right: String) {
    #expect(left == right, "the pair is chosen so that Swift finds it equal")
    #expect(path("a", left) != path("a", right))
    #expect(Set([path("a", left), path("a", right), path("a", left)]).count == 2)
    #expect((try? CollectionPath([left])) != (try? CollectionPath([right])))
  }

  @Test func pathsAreEqualIfAllTheirSegmentsAre() {
    #expect(path("a", "b") == path("a", "b"))
    #expect(path("a", "b").hashValue == path("a", "b").hashValue)
    #expect(path("ab", "c") != path("a", "bc"))
    #expect(path("a", "b") != path("a", "b", "c", "d"))
  }

  @Test func parentsLeadToTheRoot() {
    let document = path("rooms", "eros", "messages", "1")
    #expect(document.id == "1")
    #expect(document.description == "rooms/eros/messages/1")
    #expect(document.parent.segments == ["rooms", "eros", "messages"])
    #expect(document.parent.id == "messages")
    #expect(document.parent.description == "rooms/eros/messages")
    #expect(document.parent.parent == path("rooms", "eros"))
    #expect(path("rooms", "eros").parent.parent == nil)
  }
}
