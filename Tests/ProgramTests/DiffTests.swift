// `dugout diff`: the differences of two stores.

import ByteStore
import Foundation
import Harness
import ObjectStore
import StoreTools
import Testing

@testable import DocumentStore
@testable import dugout

@Suite struct DiffTests {
  private let dugout = Program("dugout")

  private typealias Documents = [String: StoredMap]

  private func makeStore(_ path: String, _ documents: Documents) throws {
    let store = try DocumentStore.open(path)
    for (name, fields) in documents.sorted(by: { $0.key < $1.key }) {
      try store.commit([.set(try DocumentPath(name.split(separator: "/").map(String.init)), fields)])
    }
    try store.close()
  }

  private func map(_ text: String) throws -> StoredMap {
    guard case .map(let map) = try QueryText.value(text) else { throw CancellationError() }
    return map
  }

  // MARK: Output

  @Test func addedRemovedAndChangedDocumentsAreListedInPathOrder() throws {
    let folder = try TemporaryFolder()
    let (one, two) = (folder.path + "/one", folder.path + "/two")
    try makeStore(
      one,
      [
        "users/ada": try map("{age: 36, name: \"Ada\", address: {city: \"Paris\", zip: 1}, tags: [1, 2, 3]}"),
        "users/ada/posts/1": try map("{likes: 1}"), "users/bob": try map("{}"),
        "users/eve": try map("{a: 1}"),
        "rooms/eros": try map("{n: 1}"),
      ])
    try makeStore(
      two,
      [
        "users/ada": try map(
          "{age: 37, name: \"Ada\", address: {city: \"London\", zip: 1}, tags: [1, 3], x: null}"),
        "users/ada/posts/1": try map("{likes: 1.0}"), "users/cy": try map("{}"),
        "users/eve": try map("{a: 1}"),
        "rooms/eros": try map("{n: 1}"),
      ])
    let outcome = try dugout.run("diff", one, two)
    #expect(outcome.status == 1 && outcome.complaint == "", "\(outcome)")
    #expect(
      outcome.output == """
        ~ users/ada
            address.city: "Paris" -> "London"
            age: 36 -> 37
          - tags[1]: 2
          + x: null
        ~ users/ada/posts/1
            likes: 1 -> 1.0
        - users/bob
        + users/cy
        4 documents differ: 1 added, 1 removed, 2 changed; 2 are equal.

        """)
    let summary = try dugout.run("diff", one, two, "--summary")
    #expect(
      summary.output == "4 documents differ: 1 added, 1 removed, 2 changed; 2 are equal.\n"
        && summary.status == 1)
    let part = try dugout.run("diff", one, two, "users/ada")
    #expect(part.output.hasSuffix("\n2 documents differ: 2 changed; 0 are equal.\n"), "\(part.output)")
    let collection = try dugout.run("diff", one, two, "rooms")
    #expect(collection.status == 0 && collection.output == "1 document is equal.\n", "\(collection)")
    let nothing = try dugout.run("diff", one, two, "nothing/here")
    #expect(nothing.status == 1)
    #expect(nothing.complaint == "dugout diff: neither store has a document at or below nothing/here.\n")
    // In the shell, the store is the first one.
    let shell = try dugout.run(["shell", one], input: "diff \(two) users/bob\n")
    #expect(shell.status == 1 && shell.output.hasPrefix("- users/bob\n"), "\(shell)")
    #expect(shell.complaint == "dugout shell: line 1: the command ended with code 1.\n", "\(shell.complaint)")
  }

  @Test func jsonHasALineForEachDifferenceAndASummary() throws {
    let folder = try TemporaryFolder()
    let (one, two) = (folder.path + "/one", folder.path + "/two")
    try makeStore(one, ["users/ada": try map("{age: 36}"), "users/bob": try map("{a: 1}")])
    try makeStore(two, ["users/ada": try map("{age: 37}")])
    let outcome = try dugout.run("diff", one, two, "--json")
    #expect(outcome.status == 1)
    #expect(
      outcome.output == """
        {"change":"changed","fields":[{"after":{"integerValue":"37"},"before":{"integerValue":"36"},"field":"age"}],\
        "path":"users/ada"}
        {"change":"removed","fields":{"a":{"integerValue":"1"}},"path":"users/bob"}
        {"summary":{"documents":{"added":0,"changed":1,"equal":0,"removed":1},"equal":false,\
        "files":{"added":0,"changed":0,"equal":0,"removed":0},"undecodable":[]}}

        """)
  }

  @Test func timesAreComparedOnlyOnRequest() throws {
    let folder = try TemporaryFolder()
    let (one, two) = (folder.path + "/one", folder.path + "/two")
    for path in [one, two] { try makeStore(path, ["users/ada": try map("{age: 36}")]) }
    let equal = try dugout.run("diff", one, two)
    #expect(equal.status == 0 && equal.output == "1 document is equal.\n", "\(equal)")
    let times = try dugout.run("diff", one, two, "--times")
    #expect(times.status == 1)
    #expect(
      times.output.contains("\n    created timestamp(\"")
        && times.output.contains("\n    updated timestamp(\""))
  }

  @Test func filesOfTheStorageAreComparedByTheirContents() throws {
    let folder = try TemporaryFolder()
    let (one, two) = (folder.path + "/one", folder.path + "/two")
    for (path, names) in [(one, ["same", "changed", "old"]), (two, ["same", "changed", "new"])] {
      let store = try DocumentStore.open(path)
      for name in names {
        let bytes = Array((name == "changed" ? path : name).utf8)
        let source = UploadSource(file: nil, byteCount: UInt64(bytes.count), modified: 0)
        let object = ObjectPath(bucket: "bucket", name: try ObjectName(name))
        let upload = store.objects.upload(to: object, from: source, attributes: ObjectAttributes())
        try upload.append(bytes)
        _ = try upload.finish(token: path)
      }
      try store.close()
    }
    let outcome = try dugout.run("diff", one, two)
    #expect(outcome.status == 1, "\(outcome)")
    let lines = outcome.output.split(separator: "\n").filter { !$0.hasPrefix("    sha256: ") }
    #expect(
      lines == [
        "~ file bucket/changed", "+ file bucket/new", "- file bucket/old", "0 documents are equal.",
        "3 files differ: 1 added, 1 removed, 1 changed; 1 is equal.",
      ], "\(outcome.output)")
  }

  // MARK: Values

  @Test func everyValueHasItsLiteral() throws {
    let values: [(StoredValue, String)] = [
      (.null, "null"), (.boolean(true), "true"), (.integer(-3), "-3"), (.double(1), "1.0"),
      (.double(.nan), "nan"), (.double(-.infinity), "-infinity"), (.string("a\n\"b\""), "\"a\\n\\\"b\\\"\""),
      (.bytes([1, 2, 3]), "bytes(\"AQID\")"), (.vector([1, 2.5]), "vector(1.0, 2.5)"),
      (.array([.integer(1), .null]), "[1, null]"), (.map(StoredMap([("a b", .integer(1))])), "{`a b`: 1}"),
      (.timestamp(.epoch), "timestamp(\"1970-01-01T00:00:00.000000Z\")"),
    ]
    var wrong: [String] = []
    for (value, text) in values where ValueLiteral.text(of: value) != text {
      wrong.append(ValueLiteral.text(of: value))
    }
    #expect(wrong == [])
    // `dugout set` reads them again.
    for (value, text) in values where try QueryText.value(text) != value { wrong.append(text) }
    #expect(wrong == [])
  }

  @Test func arraysAreComparedByElements() throws {
    func changes(_ old: String, _ new: String) throws -> [String] {
      FieldChange.changes(from: try map("{a: \(old)}"), to: try map("{a: \(new)}")).map {
        "\($0.field) \($0.before.map(ValueLiteral.text) ?? "none") \($0.after.map(ValueLiteral.text) ?? "none")"
      }
    }
    #expect(try changes("[1, 2, 3]", "[1, 2, 3]") == [])
    #expect(try changes("[1, 2, 3]", "[0, 1, 2, 3]") == ["a[0] none 0"])
    #expect(try changes("[1, 2, 3]", "[1, 9, 3]") == ["a[1] 2 9"])
    #expect(try changes("[1, {b: 1}]", "[1, {b: 2}]") == ["a[1].b 1 2"])
    #expect(try changes("[1, 1]", "[1]") == ["a[1] 1 none"])
    #expect(try changes("[]", "{}") == ["a [] {}"])
    #expect(try changes("{}", "{b: {c: 1}}") == ["a.b none {c: 1}"])
    #expect(try changes("nan", "nan") == [])
    #expect(try changes("0.0", "-0.0") == ["a 0.0 -0.0"])
  }

  /// Both sides of a long value are shown around the first difference.
  @Test func longValuesAreCutToTheTerminal() {
    let start = String(repeating: "x", count: 200)
    let (old, new) = ValueLiteral.shortened(start + "OLD" + start, start + "NEW" + start, toColumns: 60)
    #expect(old.columns <= 30 && new.columns <= 30)
    #expect(old.hasPrefix("…xxxxxxOLD") && new.hasPrefix("…xxxxxxNEW"), "\(old) \(new)")
    #expect(ValueLiteral.shortened("a", "b", toColumns: 60) == ("a", "b"))
    let (short, long) = ValueLiteral.shortened("1", String(repeating: "y", count: 100), toColumns: 60)
    #expect(short == "1" && long.columns == 59)
  }

  // MARK: Large stores

  /// Model: the same random changes of two dictionaries and of two stores. The pages of a stream are small,
  /// so that many pages are merged.
  @Test(arguments: 1...4) func theMergeAgreesWithAModel(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let folder = try TemporaryFolder()
    var models: [Documents] = [[:], [:]]
    let ids = ["a", "b", "__id7__", "é", "a b"]
    for _ in 0..<400 {
      var path = "c\(random.next() % 3)/\(ids[Int(random.next() % 5)])\(random.next() % 40)"
      if random.oneIn(2) { path += "/c\(random.next() % 3)/\(random.next() % 9)" }
      let fields = StoredMap([("n", .integer(Int64(random.next() % 3))), ("t", .string(path))])
      for place in 0..<2 where !random.oneIn(4) { models[place][path] = fields }
    }
    var expected: [String] = []
    for path in Set(models[0].keys).union(models[1].keys) {
      switch (models[0][path], models[1][path]) {
      case (nil, _): expected.append("+ \(path)")
      case (_, nil): expected.append("- \(path)")
      case (let old, let new): if old != new { expected.append("~ \(path)") }
      }
    }
    try makeStore(folder.path + "/one", models[0])
    try makeStore(folder.path + "/two", models[1])
    let (one, two) = (
      try DocumentStore.open(folder.path + "/one"), try DocumentStore.open(folder.path + "/two")
    )
    defer { for store in [one, two] { try? store.close() } }
    var found: [String] = []
    var names: [DocumentPath] = []
    let diff = StoreDiff(before: one, after: two, comparesTimes: false, progress: { _ in })
    let outcome = try diff.run(below: []) {
      found.append($0.text(width: nil).components(separatedBy: "\n")[0])
    }
    #expect(found.sorted() == expected.sorted(), "seed \(seed)")
    #expect(outcome.documents.different == expected.count)
    var stream = try DocumentStream(one, ids: try one.collectionGroups(), pagesBytes: 256)
    while let next = try stream.next() { names.append(next.path) }
    #expect(names.count == models[0].count, "seed \(seed)")
    // A document comes before the documents below it, and the order is that of the keys.
    let keys = names.map { DocumentKey.encode($0) }
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }, "seed \(seed)")
  }

  // MARK: Without reading

  @Test func copiesOfTheFilesAreEqualWithoutReadingThem() throws {
    let folder = try TemporaryFolder()
    let (store, copy) = (folder.path + "/store", folder.path + "/copy")
    try makeStore(store, ["users/ada": try map("{age: 36}")])
    try FileManager.default.copyItem(atPath: store, toPath: copy)
    let outcome = try dugout.run("diff", store, copy)
    #expect(
      outcome.status == 0
        && outcome.output
          == "The stores are equal: their files are copies of each other. No document was read.\n",
      "\(outcome)")
    let same = try dugout.run("diff", store, folder.path + "/./store", "--json")
    #expect(same.status == 0 && same.output.contains("\"equal\":true"), "\(same)")
    // A path is looked up all the same.
    let nowhere = try dugout.run("diff", store, copy, "nosuch/doc")
    #expect(nowhere.status == 1 && nowhere.complaint.contains("nosuch/doc"), "\(nowhere)")
    // The copy is a store of its own once it is written.
    try #require(try dugout.run("set", copy, "users/ada", "{age: 37}").status == 0)
    #expect(try dugout.run("diff", store, copy).output.hasPrefix("~ users/ada\n    age: 36 -> 37\n"))
    try #require(try dugout.run("set", copy, "users/ada", "{age: 36}").status == 0)
    let again = try dugout.run("diff", store, copy)
    #expect(again.status == 0 && again.output == "1 document is equal.\n", "\(again)")
  }

  /// A commit of the open log is noticed, and so is a file that is cut short.
  @Test func differentFilesOfOneStoreAreNotTakenForCopies() throws {
    let folder = try TemporaryFolder()
    let (store, copy) = (folder.path + "/store", folder.path + "/copy")
    try makeStore(store, ["users/ada": try map("{age: 36}")])
    let open = try DocumentStore.open(store)
    try open.commit([.set(try DocumentPath(["users", "bob"]), StoredMap())])
    // This copy equals a store after a crash. Its log has no recorded end.
    try FileManager.default.copyItem(atPath: store, toPath: copy)
    #expect(try ByteStore.haveSameFiles(store, copy))
    try open.commit([.set(try DocumentPath(["users", "cy"]), StoredMap())])
    #expect(try !ByteStore.haveSameFiles(store, copy))
    try open.compact()
    try open.close()
    try FileManager.default.removeItem(atPath: copy)
    try FileManager.default.copyItem(atPath: store, toPath: copy)
    #expect(try ByteStore.haveSameFiles(store, copy))
    let names = try FileManager.default.contentsOfDirectory(atPath: copy)
    let segment = try #require(names.first { $0.hasPrefix("segment-") })
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(copy)/\(segment)"))
    try handle.truncate(atOffset: 8192)
    try handle.close()
    #expect(try !ByteStore.haveSameFiles(store, copy))
  }

  @Test func aStoreIsComparedBesideItsWriter() throws {
    let folder = try TemporaryFolder()
    let (store, copy) = (folder.path + "/store", folder.path + "/copy")
    try makeStore(store, ["users/ada": try map("{}")])
    try FileManager.default.copyItem(atPath: store, toPath: copy)
    // The close makes the document visible to readers.
    try makeStore(store, ["users/bob": try map("{}")])
    let writer = try DocumentStore.open(store)
    let outcome = try dugout.run("diff", copy, store)
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.output == "+ users/bob\n1 document differs: 1 added; 1 is equal.\n", "\(outcome.output)")
    #expect(outcome.complaint.hasPrefix("\(store): Read "), "\(outcome.complaint)")
    let json = try dugout.run("diff", copy, store, "--json")
    #expect(json.output.contains("\"snapshots\":{\"\(store)\":{"), "\(json.output)")
    try writer.close()
  }

  // MARK: Failures

  @Test func problemsOfEitherStoreAreReported() throws {
    let folder = try TemporaryFolder()
    let (store, none) = (folder.path + "/store", folder.path + "/none")
    try makeStore(store, ["users/ada": try map("{}")])
    for arguments in [["diff", none, store], ["diff", store, none]] {
      let outcome = try dugout.run(arguments)
      #expect(outcome.status == 69 && outcome.complaint.contains(none), "\(outcome)")
    }
    #expect(try dugout.run("diff", store, store, "users//ada").status == 2)
    #expect(try dugout.run("diff", store).status == 2)
    #expect(!FileManager.default.fileExists(atPath: none))
  }
}
