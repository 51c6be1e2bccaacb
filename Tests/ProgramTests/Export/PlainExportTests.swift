// Plain exports: lines of JSON and CSV, and the round trip through a plain import.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct PlainExportTests {
  private let dugout = Program("dugout")

  private func makeStore(
    _ folder: borrowing TemporaryFolder, _ documents: [(path: String, fields: StoredMap)]
  ) throws {
    try folder.changeStore { store in
      try store.commit(documents.map { .set(try DocumentPath($0.path.pathSegments), $0.fields) })
    }
  }

  /// A document with a value of every type.
  private func everything() throws -> StoredMap {
    StoredMap([
      ("null", .null), ("yes", .boolean(true)), ("int", .integer(.max)), ("whole", .double(3)),
      ("half", .double(-0.5)),
      ("nan", .double(.nan)),
      ("time", .timestamp(try #require(TimestampText.parse("2026-03-01T12:00:00.5Z")))),
      ("text", .string("a, \"b\"\nc")), ("empty", .string("")), ("bytes", .bytes([0, 255])),
      ("ref", .reference(DocumentJSON.ownReference(try DocumentPath(["users", "bob"])))),
      ("geo", .geoPoint(try #require(StoredGeoPoint(latitude: 48.1, longitude: -11.6)))),
      ("list", .array([.integer(1), .map(StoredMap([("a", .null)])), .string("x")])),
      ("vector", .vector([1, 0.5])),
      ("map", .map(StoredMap([("in.ner", .integer(1)), ("deep", .map(StoredMap([("er", .string("y"))])))]))),
      ("emap", .map(StoredMap())),
    ])
  }

  @Test func linesHaveAllValuesInPlainForm() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder, [("users/ada", everything()), ("users/bob", StoredMap())])
    let lines = try dugout.run("export", folder.path, "-", "users", "--plain").output.split(separator: "\n")
    #expect(
      lines == [
        #"{"id":"ada","bytes":"AP8=","emap":{},"empty":"","geo":{"latitude":48.1,"longitude":-11.6},"half":-0.5,"int":9223372036854775807,"list":[1,{"a":null},"x"],"map":{"deep":{"er":"y"},"in.ner":1},"nan":"NaN","null":null,"ref":"users/bob","text":"a, \"b\"\nc","time":"2026-03-01T12:00:00.500000Z","vector":[1,0.5],"whole":3.0,"yes":true}"#,
        #"{"id":"bob"}"#,
      ])
  }

  @Test func theFieldsOfMapsAreColumns() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder, [("users/ada", everything()), ("users/bob", StoredMap())])
    let text = try dugout.run("export", folder.path, "-", "users", "--plain", "--format", "csv").output
    #expect(
      text == """
        id,bytes,emap,empty,geo,half,int,list,map.deep.er,`map`.`in.ner`,nan,null,ref,text,time,vector,whole,yes
        ada,AP8=,{},"","48.1,-11.6",-0.5,9223372036854775807,"[1,{""a"":null},""x""]",y,1,NaN,,users/bob,"a, ""b""
        c",2026-03-01T12:00:00.500000Z,"[1,0.5]",3.0,true
        bob,,,,,,,,,,,,,,,,,

        """)
  }

  /// With types for what plain data cannot say, all values come back.
  @Test(arguments: ["jsonl", "csv"]) func aPlainRoundTripKeepsTheDocuments(format: String) throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    var fields = try everything()
    // CSV has no null, and an absent value is not a value. A list in it is JSON, without types.
    if format == "csv" { fields["null"] = nil }
    try makeStore(folder, [("users/ada", fields), ("users/b c", StoredMap([("int", .integer(1))]))])
    let file = files.path + "/users." + format
    #expect(try dugout.run("export", folder.path, file, "users", "--plain").status == 0)
    var options = [
      "--id", "id", "--type", "bytes=bytes", "--type", "ref=reference", "--type", "geo=geopoint",
    ]
    options += ["--type", "vector=vector", "--time", "time", "--type", "nan=double"]
    let imported = try dugout.run(["import", files.path + "/copy", file, "--into", "users"] + options)
    #expect(imported.output == "2 documents imported.\n", "\(imported.complaint)")
    var wrong: [String] = []
    try TemporaryFolder.open(files.path + "/copy") { store in
      let copy = try #require(
        try store.documents(StructuredQuery(.collection(CollectionPath(["users"])))).first)
      for (name, value) in fields.entries where copy.fields[name] != value {
        wrong.append("\(name): \(value), not \(copy.fields[name] as Any)")
      }
      if copy.fields.count != fields.count { wrong.append("\(copy.fields.entries.map(\.name))") }
    }
    #expect(wrong == [])
    let names = try dugout.run("ls", files.path + "/copy", "users").output
    #expect(names.contains("b c"), "\(names)")
  }

  @Test func chosenFieldsAreWrittenInTheirOrder() throws {
    let folder = try TemporaryFolder()
    let inner = StoredValue.map(StoredMap([("x", .integer(1)), ("y,z", .integer(2))]))
    try makeStore(folder, [("c/1", StoredMap([("a", .integer(1)), ("m", inner)])), ("c/2", StoredMap())])
    func export(_ options: String...) throws -> String {
      try dugout.run(["export", folder.path, "-", "c", "--plain"] + options).output
    }
    #expect(try export("--fields", "m.x, a", "--format", "csv") == "id,m.x,a\n1,1,1\n2,,\n")
    #expect(try export("--fields", "m.`y,z`", "--format", "csv") == "id,\"m.y,z\"\n1,2\n2,\n")
    #expect(
      try export("--fields", "m.x,no", "--id", "key") == "{\"key\":\"1\",\"m\":{\"x\":1}}\n{\"key\":\"2\"}\n")
    #expect(try export("--fields", "m", "--csv") == "id,m\n1,\"{\"\"x\"\":1,\"\"y,z\"\":2}\"\n2,\n")
    let twice = try dugout.run("export", folder.path, "-", "c", "--plain", "--fields", "m,m.x")
    #expect(
      twice.status == 2 && twice.complaint.contains("--fields names the field m.x, and a map around it"),
      "\(twice)")
  }

  @Test func aFieldThatIsNotAlwaysAMapIsOneColumn() throws {
    let folder = try TemporaryFolder()
    let map = StoredValue.map(StoredMap([("x", .integer(1))]))
    try makeStore(folder, [("c/1", StoredMap([("a", map)])), ("c/2", StoredMap([("a", .integer(2))]))])
    #expect(
      try dugout.run("export", folder.path, "-", "c", "--plain", "--csv").output
        == "id,a\n1,\"{\"\"x\"\":1}\"\n2,2\n")
  }

  @Test func severalCollectionsHavePaths() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder, [("a/1", StoredMap()), ("a/1/b/2", StoredMap([("n", .integer(1))]))])
    #expect(
      try dugout.run("export", folder.path, "-", "--plain").output
        == "{\"path\":\"a/1\"}\n{\"path\":\"a/1/b/2\",\"n\":1}\n")
    #expect(
      try dugout.run("export", folder.path, "-", "group b", "--plain", "--csv").output
        == "path,n\na/1/b/2,1\n")
  }

  @Test func aFieldWithTheNameOfTheIDIsRefused() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try makeStore(folder, [("c/1", StoredMap([("id", .integer(7))]))])
    let file = files.path + "/c.csv"
    let refused = try dugout.run("export", folder.path, file, "c", "--plain")
    #expect(refused.status == 1)
    #expect(
      refused.complaint.contains("c/1 has a field id, which is also the name of the column"), "\(refused)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).isEmpty)
    #expect(
      try dugout.run("export", folder.path, "-", "c", "--plain", "--id", "key").output
        == "{\"key\":\"1\",\"id\":7}\n")
    let kept = files.path + "/kept"
    _ = try dugout.run(["import", kept, "-", "--into", "c", "--id", "id", "--keep-id"], input: "id,n\n7,1\n")
    #expect(
      try dugout.run("export", kept, "-", "c", "--plain", "--id", "key").output
        == "{\"key\":\"7\",\"id\":7,\"n\":1}\n")
  }

  @Test func optionsWithoutTheirFormatAreRefused() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    var wrong: [String] = []
    for (options, part) in [
      (["--fields", "a"], "--fields needs --plain."), (["--format", "csv"], "--format needs --plain."),
      (["--id", "a"], "--id needs --plain."), (["--project", "a"], "--project needs --firestore."),
      (["--plain", "--format", "xml"], "The formats are jsonl and csv."),
      (["--plain", "--fields", "a b"], "expected a comma and a field, or the end, found b"),
      (["--firestore"], "writes a folder, and not to standard output"),
      (["--firestore", "--csv"], "leave out --plain and --csv"),
      (["--plain", "--fields", "id"], "would have the name of the column"),
    ] {
      let outcome = try dugout.run(["export", folder.path, "-", "users"] + options)
      if outcome.status != 2 || !outcome.complaint.contains(part) { wrong.append("\(options): \(outcome)") }
    }
    #expect(wrong == [])
  }
}
