// Exports in the format of Firestore, read back by `dugout import` and by Firestore's emulator.

import DocumentStore
import Foundation
import Harness
import Testing

@testable import campaign
@testable import dugout

@Suite struct FirestoreFolderTests {
  private let dugout = Program("dugout")
  private static let environment = ProcessInfo.processInfo.environment

  /// Documents that the emulator exported; see `EmulatorExportTests`.
  private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Fixtures/FirestoreExport/firestore_export").standardizedFileURL.path

  private func documents(_ store: DocumentStore) throws -> [DocumentPath: StoredMap] {
    var documents: [DocumentPath: StoredMap] = [:]
    for id in try store.collectionGroups() {
      for document in try store.documents(StructuredQuery(.collectionGroup(id))) {
        documents[document.path] = document.fields
      }
    }
    return documents
  }

  private func expectSame(_ folder: String, _ other: String) throws {
    var sides: [[DocumentPath: StoredMap]] = []
    for path in [folder, other] { try TemporaryFolder.open(path) { sides.append(try documents($0)) } }
    var wrong: [String] = []
    for (path, fields) in sides[0] where sides[1][path] != fields {
      wrong.append("\(path): \(fields.entries), not \(sides[1][path]?.entries as Any)")
    }
    #expect(wrong == [])
    #expect(sides[0].count == sides[1].count)
  }

  /// The emulator's own export, exported again, differs only in the project.
  @Test func theEmulatorsExportIsWrittenAsTheEmulatorDoes() throws {
    let files = try TemporaryFolder()
    let kept = files.path + "/kept"
    try FileManager.default.copyItem(atPath: Self.fixture, toPath: kept)
    #expect(try dugout.run("import", files.path + "/store", kept).status == 0)
    let export = files.path + "/firestore_export"
    let outcome = try dugout.run("export", files.path + "/store", export, "--firestore", "--project", "kept")
    #expect(outcome.output == "9 documents in \(export)\n", "\(outcome.complaint)")
    let metadata = "firestore_export.overall_export_metadata"
    func bytes(_ file: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: file)) }
    #expect(try bytes("\(export)/\(metadata)") == bytes("\(kept)/\(metadata)"))
    // The order of the documents and of their fields is free, so only the sorted bytes of records are
    // compared.
    func records(_ folder: String) throws -> Set<[UInt8]> {
      let log = try RecordLog(folder + "/all_namespaces/all_kinds/output-0")
      var records: Set<[UInt8]> = []
      while let record = try log.next() { records.insert(record.sorted()) }
      return records
    }
    #expect(try records(export) == records(kept))
    #expect(try dugout.run("import", files.path + "/back", export).output == "9 documents imported.\n")
    try expectSame(files.path + "/store", files.path + "/back")
  }

  @Test func randomDocumentsComeBack() throws {
    let files = try TemporaryFolder()
    let store = files.path + "/store"
    var generator = DocumentGenerator(seed: 3)
    let documents = generator.documents(200)
    var count = 0
    try TemporaryFolder.open(store) { store in
      // Some of the documents are beyond the limits of a store.
      for document in documents {
        do {
          try store.commit([.set(document.path, document.fields)])
          count += 1
        } catch {}
      }
    }
    try #require(count > 50)
    let export = files.path + "/export"
    let outcome = try dugout.run("export", store, export, "--firestore")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let imported = try dugout.run("import", files.path + "/back", export)
    #expect(imported.status == 0, "\(imported.complaint)")
    var sides: [[DocumentPath: StoredMap]] = []
    for path in [store, files.path + "/back"] {
      try TemporaryFolder.open(path) { sides.append(try self.documents($0)) }
    }
    var wrong: [String] = []
    for (path, fields) in sides[0] {
      let expected = Self.exported(.map(fields))
      if sides[1][path].map({ .map($0) }) != expected {
        wrong.append("\(path): \(sides[1][path]?.entries as Any)")
      }
    }
    #expect(wrong == [])
    #expect(sides[0].count == sides[1].count)
  }

  /// The format has no pending timestamps, and no empty names of projects.
  private static func exported(_ value: StoredValue) -> StoredValue {
    switch value {
    case .pendingTimestamp(let time, _): .timestamp(time)
    case .array(let elements): .array(elements.map(exported))
    case .map(let map): .map(StoredMap(map.entries.map { ($0.name, exported($0.value)) }))
    case .reference(let reference):
      .reference(
        StoredReference(
          projectID: reference.projectID.isEmpty ? DocumentJSON.ownProject : reference.projectID,
          databaseID: reference.databaseID.isEmpty ? "(default)" : reference.databaseID, path: reference.path)
      )
    default: value
    }
  }

  @Test func aLargeExportHasSeveralFiles() throws {
    let files = try TemporaryFolder()
    let sink = try FirestoreFolder(files.path + "/many/", project: "p", fileBytes: 50_000)
    try sink.begin()
    let time = try #require(StoredTimestamp(microseconds: 0))
    for number in 0..<1000 {
      let text = StoredValue.string(String(repeating: "x", count: number))
      try sink.write(
        StoredDocument(
          path: try DocumentPath(["c", "\(number)"]), createTime: time, updateTime: time,
          fields: StoredMap([("t", text)])))
    }
    try sink.finish()
    let names = try FileManager.default.contentsOfDirectory(
      atPath: files.path + "/many/all_namespaces/all_kinds")
    #expect(names.filter { $0.hasPrefix("output-") }.count == 11)
    #expect(try FileManager.default.contentsOfDirectory(atPath: files.path) == ["many"])
    #expect(
      try dugout.run("import", files.path + "/store", files.path + "/many").output
        == "1000 documents imported.\n")
  }

  @Test func onlyANewFolderIsWritten() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let manager = FileManager.default
    let (full, empty, file) = (files.path + "/full", files.path + "/empty", files.path + "/file")
    try manager.createDirectory(atPath: full + "/inside", withIntermediateDirectories: true)
    try manager.createDirectory(atPath: empty, withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
    for path in [full, file] {
      let outcome = try dugout.run("export", folder.path, path, "--firestore")
      #expect(
        outcome.status == 2 && outcome.complaint.contains("\(path) already exists. Name a new folder"),
        "\(outcome)")
    }
    // The folder of a killed export is removed, and the folder of a running one is not.
    let (left, held) = (
      empty + ExportFile.partMark + "0123456789abcdef", empty + ExportFile.partMark + "fedcba9876543210"
    )
    for path in [left, held] {
      try manager.createDirectory(atPath: path + "/inside", withIntermediateDirectories: true)
    }
    let holder = open(held, O_RDONLY)
    #expect(flock(holder, LOCK_EX | LOCK_NB) == 0)
    defer { close(holder) }
    #expect(try dugout.run("export", folder.path, empty, "--firestore").output == "1 document in \(empty)\n")
    #expect(!manager.fileExists(atPath: left) && manager.fileExists(atPath: held + "/inside"))
    #expect(manager.fileExists(atPath: empty + "/empty.overall_export_metadata"))
    let missing = try dugout.run("export", folder.path, files.path + "/no/where", "--firestore")
    #expect(
      missing.status == 74 && missing.complaint.contains("cannot be written: No such file"), "\(missing)")
  }

  @Test(
    .enabled(
      if: environment["FIRESTORE_EMULATOR_HOST"] != nil,
      "FIRESTORE_EMULATOR_HOST names no emulator of Firestore: only our own import has read the export"))
  func theEmulatorImportsTheExport() async throws {
    let files = try TemporaryFolder()
    let host = try #require(Self.environment["FIRESTORE_EMULATOR_HOST"])
    let project = "import-\(UUID().uuidString.prefix(8).lowercased())"
    let store = files.path + "/store"
    let kept = files.path + "/kept"
    try FileManager.default.copyItem(atPath: Self.fixture, toPath: kept)
    #expect(try dugout.run("import", store, kept).status == 0)
    let more = """
      {"path":"more/1","fields":{"v":{"arrayValue":{"values":[{"vectorValue":[1,2]},{"stringValue":"x"}]}}}}
      {"path":"more/2","fields":{"r":{"referenceValue":"projects/\(DocumentJSON.ownProject)/databases/(default)/documents/a/b"}}}
      {"path":"more/3","fields":{}}

      """
    #expect(try dugout.run(["import", store, "-"], input: more).status == 0)
    #expect(
      try dugout.run("export", store, files.path + "/out", "--firestore", "--project", project).status == 0)
    let client = EmulatorClient(host: host, project: project)
    let database = "projects/\(project)/databases/(default)"
    // The emulator reads the files, so it must be able to see the folder.
    let order =
      #"{"database":"\#(database)","export_directory":"\#(files.path)/out/out.overall_export_metadata"}"#
    _ = try await client.answer(to: "/emulator/v1/projects/\(project):import", order)
    let query = #"{"structuredQuery":{"from":[{"allDescendants":true}]}}"#
    let answer = try JSONReader.read(try await client.answer(to: "/v1/\(database)/documents:runQuery", query))
    let received = try #require(answer.elements).compactMap { $0["document"]?.description }
    #expect(received.count == 12)
    let lines = files.path + "/received.jsonl"
    try received.joined(separator: "\n").write(toFile: lines, atomically: true, encoding: .utf8)
    #expect(try dugout.run("import", files.path + "/back", lines).output == "12 documents imported.\n")
    #expect(
      try dugout.run("import", files.path + "/again", files.path + "/out").output
        == "12 documents imported.\n")
    try expectSame(files.path + "/again", files.path + "/back")
  }
}
