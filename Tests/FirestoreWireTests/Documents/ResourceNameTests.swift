// Names of documents are parsed, and refused with the place of the error.

import DocumentStore
import OfflineSync
import Testing

@testable import FirestoreWire

struct ResourceNameTests {
  private static let root = "projects/p/databases/(default)/documents"

  @Test func aNameIsParsedAndPrinted() throws {
    let name = try ResourceName("\(Self.root)/a/b/c/d", as: .document)
    #expect(name == ResourceName(projectID: "p", databaseID: "(default)", segments: ["a", "b", "c", "d"]))
    #expect(name.text == "\(Self.root)/a/b/c/d")
    #expect(try ResourceName(Self.root, as: .parent).segments.isEmpty)
    #expect(try ResourceName("projects/p/databases/d", as: .database).databaseID == "d")
  }

  @Test(arguments: [
    ("", #"lacks "projects" at index 0."#), ("x", #"lacks "projects" at index 0."#),
    ("/projects/p", #"lacks "projects" at index 0."#), ("projects/", #"has invalid trailing "/"."#),
    ("projects//databases/d/documents/a/b", "lacks a project id at index 9."),
    ("projects/p", #"lacks "/" at index 10."#), ("projects/p/databases", #"lacks "/" at index 20."#),
    ("projects/p/instances/d", #"lacks "databases" at index 11."#),
    ("projects/p/databases/(default)", #"lacks "/" at index 30."#),
    ("projects/p/databases/(default)/docs/a/b", #"lacks "documents" at index 31."#),
    (
      root,
      #"is invalid: Omit "/documents" when referencing a database (except as the parent of a document)."#
    ),
    ("\(root)/a", #"lacks "/" at index 42."#), ("\(root)/a/b/c", #"lacks "/" at index 46."#),
    ("\(root)//b", "lacks a collection id at index 41."),
    ("\(root)/a//b", "lacks a resource id at index 43."),
    ("\(root)/a/b/", #"has invalid trailing "/"."#),
    ("\(root)/a/.", #"contains a resource id "." at index 43."#),
    ("\(root)/a/..", #"contains a resource id ".." at index 43."#),
  ])
  func aBrokenNameIsRefusedWithTheIndex(name: String, reason: String) {
    #expect(throws: WireError("Document name \"\(name)\" \(reason)")) {
      try ResourceName(name, as: .document)
    }
  }

  @Test func reservedAndLongIDsAreRefused() {
    #expect(throws: WireError(#"Resource id "__x__" is invalid because it is reserved."#)) {
      try ResourceName("\(Self.root)/a/__x__", as: .document)
    }
    #expect(throws: WireError(#"Collection id "__x__" is invalid because it is reserved."#)) {
      try ResourceName("\(Self.root)/__x__/a", as: .document)
    }
    #expect(throws: WireError("The key path element name is longer than 1500 bytes.")) {
      try ResourceName("\(Self.root)/a/\(String(repeating: "x", count: 1501))", as: .document)
    }
    let long = Self.root + String(repeating: "/x", count: 202)
    // The rest of the name is not looked at.
    for name in [long, "\(long)/__x__", "\(long)//x", long + String(repeating: "/x", count: 5_000_000)] {
      #expect(throws: WireError("Key path is too long. Cannot exceed 100 elements.")) {
        try ResourceName(name, as: .document)
      }
    }
    #expect(throws: Never.self) {
      try ResourceName(Self.root + String(repeating: "/x", count: 200), as: .document)
    }
  }

  @Test func namesAreComparedByBytes() throws {
    let names = ["\u{E9}", "e\u{301}"]
    #expect(names[0] == names[1])
    for place in [
      "projects/%/databases/d/documents/a/b", "projects/p/databases/%/documents/a/b",
      "projects/p/databases/d/documents/%/b", "projects/p/databases/d/documents/a/%",
    ] {
      let parsed = try names.map {
        try ResourceName(place.replacing("%", with: $0), as: .document)
      }
      #expect(parsed[0] != parsed[1] && Set(parsed).count == 2)
      #expect(Set(parsed + parsed).count == 2)
    }
    let databases = try [
      "p/databases/\u{E9}", "p/databases/e\u{301}", "\u{E9}/databases/d",
      "e\u{301}/databases/d",
    ].map { try DatabaseName("projects/\($0)") }
    #expect(Set(databases).count == 4)
    #expect(throws: RemoteError.self) { try databases[0].path(of: "\(databases[1].documentsName)/a/b") }
    #expect(try databases[0].path(of: "\(databases[0].documentsName)/a/b").id == "b")
  }

  @Test func numericIDsAndUnderscoresAreNames() throws {
    for id in ["__id7__", "_", "__", "_x_", "...", "a b", "é"] {
      #expect(try ResourceName("\(Self.root)/a/\(id)", as: .reference).segments == ["a", id])
    }
  }
}
