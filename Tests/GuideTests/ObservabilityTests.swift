// Runs the recipes of docs/guides/observability.md with stand-ins for their packages.

import ByteStore
import FirebaseFirestore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct ObservabilityTests {
  private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../docs/guides/observability.md").standardizedFileURL

  /// Uses a database with `instruments` and deletes it. Returns the last component of its directory.
  private func use(_ instruments: any Instruments) async throws -> String {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-recipe-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    settings.instruments = instruments
    let database = try Firestore.open(at: folder, settings: settings)
    try await database.document("a/b").setData(["n": 1])
    #expect(try await database.collection("a").getDocuments().count == 1)
    try await database.terminate()
    return folder.lastPathComponent
  }

  @Test func everyRecipeOfThePageIsTheCompiledCode() throws {
    func plain(_ text: String) -> String {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty && !$0.hasPrefix("import ") }.joined(separator: "\n")
    }
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Recipes.swift")
    let code = plain(try String(contentsOf: file, encoding: .utf8))
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let recipes = text.matches(of: #/(?s)<!-- snippet: not compiled[^\n]*\n```swift\n(.*?)```/#).map(\.1)
    #expect(recipes.count == 4)
    #expect(recipes.filter { !code.contains(plain(String($0))) } == [])
  }

  @Test func thePageListsEveryName() throws {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let names =
      InstrumentName.events + InstrumentName.counters + InstrumentName.timers + InstrumentName.gauges
    #expect(names.filter { !text.contains("`\($0)`") } == [])
  }

  @Test func theLoggerReceivesEventsWithMetadata() async throws {
    let name = try await use(Logging.LogInstruments())
    let lines = Logging.output.lines
    #expect(lines.first?.hasPrefix("dugout info database.opened clean=true commits=0 database=") == true)
    #expect(lines.last?.hasPrefix("dugout info database.closed clean=true database=") == true)
    #expect(lines.filter { !$0.contains(name) } == [])
  }

  @Test func theMetricsReceiveMeasurements() async throws {
    _ = try await use(Metrics.MetricsInstruments())
    let expected = [
      "counter dugout.commits database 1", "timer dugout.commit database positive",
      "timer dugout.query database positive", "gauge dugout.wal.bytes database positive",
    ]
    #expect(expected.filter { !Metrics.output.lines.contains($0) } == [])
  }

  @Test func theTracerReceivesSpansThatEndNow() async throws {
    _ = try await use(Tracing.TracingInstruments())
    let lines = Tracing.output.lines
    #expect(lines.contains("span dugout.commit internal past database"))
    #expect(lines.contains("span dugout.query internal past database"))
    #expect(lines.filter { $0.contains("dugout.read") } == [], "only the listed timers become spans")
  }

  @Test func theUnifiedLogReceivesEventsInPublic() async throws {
    let name = try await use(OSLog.UnifiedLogInstruments())
    let lines = OSLog.output.lines
    #expect(lines.first?.hasPrefix("com.example.shop database info database.opened database=") == true)
    #expect(lines.filter { !$0.contains(name) } == [])
  }

  @Test func theHealthCheckAnswersWithTheHealth() async throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-recipe-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let guide = ObservabilityGuide()
    let database = try guide.openObserved(folder)
    let healthy = try guide.healthCheck(of: database)
    #expect(healthy.status == 200)
    #expect(try JSONDecoder().decode(FirestoreHealth.self, from: healthy.body).canWrite)
    try await database.terminate()
    let ended = try guide.healthCheck(of: database)
    #expect(ended.status == 503)
    #expect(try JSONDecoder().decode(FirestoreHealth.self, from: ended.body).writing == .terminated)
  }
}
