// Exports created by Firestore's emulator: a stored export, a new export, and an export that the user
// provides.

import DocumentStore
import Foundation
import Harness
import Testing

@testable import campaign
@testable import dugout

@Suite struct EmulatorExportTests {
  private let dugout = Program("dugout")
  private static let environment = ProcessInfo.processInfo.environment

  /// An export with every type of value and with subcollections. Next to the export, `documents.jsonl`
  /// contains the same documents as the emulator's REST API returned them.
  private static let kept = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Fixtures/FirestoreExport").standardizedFileURL.path

  @Test func theFixtureExportIsImported() throws {
    let files = try TemporaryFolder()
    // The test imports a copy, because an import writes its mark beside the imported folder.
    try FileManager.default.copyItem(atPath: Self.kept, toPath: files.path + "/kept")
    let documents = try expectSame(files.path + "/kept", count: 9)
    let ada = try #require(documents[DocumentPath(["users", "ada"])])
    // Both readers could misread these values in the same way.
    #expect(ada["vec"] == .vector([1, 0.5]) && ada["vecone"] == .vector([1.5]))
    #expect(ada["big"] == .integer(9_007_199_254_740_993) && ada["raw"] == .bytes([0, 255]))
    #expect(ada["none"] == .array([]) && ada["emap"] == .map(StoredMap()) && ada["null"] == .null)
    #expect(ada["old"] == .timestamp(try #require(TimestampText.parse("0001-01-01T00:00:00Z"))))
    #expect(
      ada["a b`c.d"] == .integer(1) && ada["long"] == .string(String(repeating: "0123456789", count: 3300)))
    guard case .map(let inside)? = ada["inmap"] else { return #expect(Bool(false), "inmap is no map") }
    #expect(inside["v"] == ada["vec"] && inside["l"] == ada["list"])
    #expect(try documents[DocumentPath(["rooms", "__id7__"])] != documents[DocumentPath(["rooms", "7"])])
  }

  @Test(
    .enabled(
      if: environment["FIRESTORE_EMULATOR_HOST"] != nil,
      "FIRESTORE_EMULATOR_HOST names no emulator of Firestore: only the export that is kept was read"))
  func aFreshExportIsImported() async throws {
    let host = try #require(Self.environment["FIRESTORE_EMULATOR_HOST"])
    let emulator = Emulator(host: host, project: "export-\(UUID().uuidString.prefix(8).lowercased())")
    let lines = try String(contentsOfFile: Self.kept + "/documents.jsonl", encoding: .utf8)
    var count = 0
    for line in lines.replacing("projects/kept/", with: "projects/\(emulator.project)/").split(
      separator: "\n")
    {
      try await emulator.commit(#"{"update":\#(line)}"#)
      count += 1
    }
    for start in stride(from: 0, to: 1500, by: 500) {
      let writes = (start..<start + 500).map { number in
        let fields = #"{"n":{"integerValue":"\#(number)"}}"#
        return #"{"update":{"name":"\#(emulator.database)/documents/many/\#(number)","fields":\#(fields)}}"#
      }
      try await emulator.commit(writes.joined(separator: ","))
      count += 500
    }
    count += try await emulator.commitRandomDocuments(300)
    // The emulator writes the files, so the emulator must be able to see the folder.
    let files = try TemporaryFolder()
    try await emulator.export(to: files.path)
    try await emulator.documents().write(
      toFile: files.path + "/documents.jsonl", atomically: true, encoding: .utf8)
    try expectSame(files.path, count: count)
  }

  @Test(
    .enabled(
      if: environment["FIRESTORE_EXPORT_DIR"] != nil, "FIRESTORE_EXPORT_DIR names no export of your own"))
  func aUserProvidedExportIsImported() throws {
    let folder = try TemporaryFolder()
    let export = try #require(Self.environment["FIRESTORE_EXPORT_DIR"])
    let imported = try dugout.run("import", folder.path, export, "--from-start")
    #expect(imported.status == 0, "\(imported.complaint)")
    print("FIRESTORE_EXPORT_DIR: \(imported.output)\(try dugout.run("ls", folder.path).output)")
  }

  /// Imports `firestore_export` and `documents.jsonl`, and compares the results.
  @discardableResult
  private func expectSame(_ folder: String, count: Int) throws -> [DocumentPath: StoredMap] {
    var stores: [[DocumentPath: StoredMap]] = []
    var wrong: [String] = []
    for source in ["firestore_export", "documents.jsonl"] {
      let store = try TemporaryFolder()
      let imported = try dugout.run("import", store.path, "\(folder)/\(source)")
      if imported.output != "\(count) documents imported.\n" { wrong.append("\(source): \(imported)") }
      var documents: [DocumentPath: StoredMap] = [:]
      try store.changeStore { store in
        for id in try store.collectionGroups() {
          for document in try store.documents(StructuredQuery(.collectionGroup(id))) {
            documents[document.path] = document.fields
          }
        }
      }
      if documents.count != count { wrong.append("\(source): \(documents.count) documents") }
      stores.append(documents)
    }
    #expect(wrong == [])
    var differences: [String] = []
    for (path, fields) in stores[0] {
      let received = stores[1][path]
      for (name, value) in fields.entries where received?[name] != value {
        differences.append(
          "\(path), \(name): the export has \(value), received was \(received?[name] as Any)")
      }
      if received?.count != fields.count { differences.append("\(path): \(received?.count as Any) fields") }
    }
    #expect(differences == [])
    return stores[0]
  }
}

/// The requests that the test sends to the emulator.
private struct Emulator {
  var host: String
  var project: String

  var database: String { "projects/\(project)/databases/(default)" }

  func commit(_ writes: String) async throws {
    _ = try await post("/v1/\(database)/documents:commit", #"{"writes":[\#(writes)]}"#)
  }

  /// Commits random documents, and returns the number of accepted documents. The emulator refuses the
  /// documents that Firestore would refuse.
  func commitRandomDocuments(_ count: Int) async throws -> Int {
    var generator = DocumentGenerator(seed: 1)
    let json = EmulatorJSON(database: database)
    var taken = 0
    for document in generator.documents(count).map(EmulatorLimits.fitted) {
      do {
        try await commit(json.write(document))
        taken += 1
      } catch is EmulatorClient.Refusal {}
    }
    #expect(taken > count / 10)
    return taken
  }

  func export(to folder: String) async throws {
    let order =
      #"{"database":"\#(database)","export_directory":"\#(folder)","export_name":"firestore_export"}"#
    _ = try await post("/emulator/v1/projects/\(project):export", order)
  }

  /// Returns all documents, one per line.
  func documents() async throws -> String {
    let query = #"{"structuredQuery":{"from":[{"allDescendants":true}]}}"#
    let answer = try JSONReader.read(try await post("/v1/\(database)/documents:runQuery", query))
    return try #require(answer.elements).compactMap { $0["document"]?.description }.joined(separator: "\n")
  }

  private func post(_ place: String, _ body: String) async throws -> Data {
    try await EmulatorClient(host: host, project: project).answer(to: place, body)
  }
}
