// The instruments in the settings, and the log of `Firestore.enableLogging(_:)`.

import ByteStore
import Foundation
import Harness
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(2))) struct InstrumentsTests {
  @Test func theInstrumentsOfTheSettingsReceiveTheEventsOfTheDatabase() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let instruments = RecordedInstruments()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.instruments = instruments
    let firestore = try Firestore.open(at: folder, settings: settings)
    try await firestore.document("a/b").setData(["n": 1])
    #expect(instruments.total(.commits) == 1 && instruments.times(.commit).count == 1)
    let reads = instruments.times(.read).count
    _ = try firestore.document("a/b").read()
    #expect(instruments.times(.read).count > reads)
    firestore.settings = firestore.settings
    try await firestore.terminate()
    #expect(instruments.eventNames.first == .databaseOpened)
    #expect(instruments.eventNames.last == .databaseClosed)
    #expect(instruments.databases.count == 1)
    #expect(instruments.databases.first?.hasSuffix(folder.lastPathComponent) == true)
  }

  @Test func settingsKeepTheirInstruments() throws {
    let settings = FirestoreSettings()
    #expect(settings.instruments == nil)
    let instruments = RecordedInstruments()
    settings.instruments = instruments
    let copy = try #require(settings.copy() as? FirestoreSettings)
    #expect(copy.instruments as? RecordedInstruments === instruments && copy == settings)
    copy.instruments = RecordedInstruments()
    #expect(copy != settings && settings.instruments as? RecordedInstruments === instruments)
    copy.instruments = nil
    #expect(copy == FirestoreSettings())
  }

  @Test func theLogHasOneLineForEachEvent() {
    let lines = Locked<[String]>([])
    let log = FirestoreLog { line, level in lines.withLock { $0.append("\(level.rawValue): \(line)") } }
    log.event(
      InstrumentEvent(.commitSlow, .warning, database: "/s", fields: [.init("seconds", .seconds(1.5))]))
    log.count(.commits, by: 1, in: "/s")
    log.event(InstrumentEvent(.databaseClosed, .info, database: "/s", fields: [.init("clean", .flag(true))]))
    let expected = [
      "warning: warning commit.slow database=/s seconds=1.500000",
      "info: info database.closed database=/s clean=true",
    ]
    #expect(lines.withLock { $0 } == expected)
  }

  #if !canImport(OSLog)
  /// The log belongs to the process, so this runs in a process of its own.
  @Test func enabledLoggingWritesToStandardErrorUntilItIsDisabled() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let firestore = Firestore.memory()
      Firestore.enableLogging(true)
      try await firestore.document("a/b").setData(["n": 1])
      Firestore.enableLogging(false)
      try await firestore.terminate()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    let lines = text.split(separator: "\n")
    let opened = lines.filter { $0.contains("database.opened") }
    #expect(opened.count == 1, "\(text)")
    let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info database\.opened database=\/memory clean=true .+/
    #expect(opened.first?.wholeMatch(of: form) != nil, "\(text)")
    #expect(!lines.contains { $0.contains("database.closed") }, "\(text)")
  }
  #endif
}
