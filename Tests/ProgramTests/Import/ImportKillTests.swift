// A killed import keeps the acknowledged documents, and the next import resumes after these documents.

import ByteStore
import DocumentStore
import Foundation
import Testing

@Suite struct ImportKillTests {
  private let dugout = Program("dugout")

  /// The number of documents. docs/testing.md describes a run with a million documents.
  private static let documents =
    ProcessInfo.processInfo.environment["DUGOUT_IMPORT_DOCUMENTS"].flatMap { Int($0) } ?? 20_000

  private func write(_ count: Int, to path: String) throws {
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    for start in stride(from: 0, to: count, by: 10_000) {
      let lines = (start..<min(start + 10_000, count)).map { number in
        #"{"path":"items/\#(number)","fields":{"n":{"integerValue":"\#(number)"},"t":{"stringValue":"text"}}}"#
      }
      try file.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
    }
    try file.close()
  }

  /// Returns the number of imported documents that is recorded in the mark next to the file.
  private func marked(_ path: String) -> Int {
    guard let data = FileManager.default.contents(atPath: path + ".dugout-import"),
      let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    else { return 0 }
    return object["documents"] as? Int ?? 0
  }

  private func count(_ directory: String) throws -> Int {
    let outcome = try dugout.run("query", directory, "items", "--count", "--json")
    try #require(outcome.status == 0, "\(outcome.complaint)")
    return Int(outcome.output.firstMatch(of: #/"integerValue":"(\d+)"/#)?.1 ?? "") ?? -1
  }

  @Test(arguments: [SIGKILL, SIGINT]) func acknowledgedDocumentsStayAndTheImportResumes(signal: Int32) throws
  {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let path = files.path + "/items.jsonl"
    try write(Self.documents, to: path)
    var before = 0
    var wrong: [String] = []
    for round in 1...3 {
      let terminal = try PseudoTerminal()
      let process = try terminal.start(dugout.path, ["import", folder.path, path], ["TERM": "xterm"])
      // Ends the import before it is complete. The import shows its progress after it has committed a batch
      // and has written the mark. A short import may show no more than its first batch before the end.
      try terminal.wait(forPercentage: Self.documents < 200_000 ? 1 : 25 * round)
      try #require(process.isRunning, "the import was over before it could be ended")
      kill(process.processIdentifier, signal)
      _ = try terminal.rest(of: process)
      let said = marked(path)
      if said <= before || said >= Self.documents { wrong.append("round \(round): \(said) after \(before)") }
      // The last commit may exist although the mark does not include it.
      let stored = try count(folder.path)
      if !(said...said + 500).contains(stored) { wrong.append("round \(round): \(stored) of \(said)") }
      before = said
    }
    #expect(wrong == [])
    let rest = try dugout.run("import", folder.path, path)
    #expect(
      rest.output == "\(Self.documents - before) documents imported, \(before) by an earlier run.\n",
      "\(rest.complaint)")
    #expect(try count(folder.path) == Self.documents)
    #expect(!FileManager.default.fileExists(atPath: path + ".dugout-import"))
    #expect(try dugout.run("check", folder.path).status == 0)
  }

  /// Opens a named pipe. Waits until a process opens the pipe for reading. The importing process does that
  /// only after it has installed its signal handlers.
  private func openForWriting(_ path: String) throws -> Int32 {
    let opened = Locked<Int32?>(nil)
    let isOpen = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let descriptor = open(path, O_WRONLY)
      opened.withLock { $0 = descriptor }
      isOpen.signal()
    }
    try #require(isOpen.wait(timeout: .now() + 60) == .success, "no process reads the pipe")
    let descriptor = try #require(opened.withLock { $0 })
    try #require(descriptor >= 0, "the pipe cannot be opened")
    return descriptor
  }

  /// Regression: Ctrl-C also ended `zcat`, so the import saw a premature end of its input and reported
  /// success. While no data came through the pipe, Ctrl-C had no effect.
  @Test func aSignalEndsAnImportFromAPipeImmediately() throws {
    let folder = try TemporaryFolder()
    let pipe = folder.path + "/pipe"
    try #require(mkfifo(pipe, 0o600) == 0)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: dugout.path)
    process.arguments = ["import", folder.path + "/store", pipe]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let isOver = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in isOver.signal() }
    try process.run()
    let lines = FileHandle(fileDescriptor: try openForWriting(pipe), closeOnDealloc: true)
    try lines.write(contentsOf: Data((#"{"path": "items/1"}"# + "\n").utf8))
    let deadline = ContinuousClock.now + .seconds(60)
    // Repeats the signal until the process has ended.
    repeat {
      if process.isRunning { kill(process.processIdentifier, SIGINT) }
    } while isOver.wait(timeout: .now() + 0.01) == .timedOut && ContinuousClock.now < deadline
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGINT)
    try lines.close()
  }

  /// If the mark cannot be written, the import must not promise that the next import resumes.
  @Test func anInterruptedImportReportsWhereTheNextOneStarts() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let path = files.path + "/items.jsonl"
    try write(Self.documents, to: path)
    try FileManager.default.createDirectory(
      atPath: path + ".dugout-import", withIntermediateDirectories: false)
    let terminal = try PseudoTerminal()
    let process = try terminal.start(dugout.path, ["import", folder.path, path], ["TERM": "xterm"])
    try terminal.wait(for: " left")
    kill(process.processIdentifier, SIGINT)
    let said = try terminal.rest(of: process)
    #expect(process.terminationStatus == 1)
    #expect(said.contains("The progress could not be recorded in \(path).dugout-import: "), "\(said)")
    #expect(said.contains("the same command starts over, and writes them again."), "\(said)")
  }
}
