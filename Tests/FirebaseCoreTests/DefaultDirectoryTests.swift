// The default directory of a program, and the directory that earlier releases shared between all programs.

import ByteStore
import DocumentStore
import FirebaseCore
import Testing

@Suite struct DefaultDirectoryTests {
  /// Calls `body` with two directories that do not exist yet.
  private func withDirectories(_ body: (DefaultDirectory) throws -> Void) throws {
    try withTemporaryFolder { folder in
      try body(
        DefaultDirectory(
          own: folder.path + "/dugout/notes/(default)/dugout/(default)",
          shared: folder.path + "/dugout/(default)/dugout/(default)"))
    }
  }

  private func makeStore(_ path: String) throws { try DocumentStore.open(path).close() }

  @Test func aNewProgramGetsItsOwnDirectoryWithoutANotice() throws {
    try withDirectories { directory in
      #expect(directory.choice(program: "notes") == DefaultDirectory.Choice(path: directory.own))
      // Only the open of the store creates directories.
      #expect(!FileManager.default.fileExists(atPath: directory.own))
    }
  }

  @Test func aSharedDirectoryIsFoundAndTheNoticeNamesBothDirectories() throws {
    try withDirectories { directory in
      try makeStore(directory.shared)
      let choice = directory.choice(program: "notes")
      #expect(choice.path == directory.shared)
      let notice = try #require(choice.notice)
      let parent = directory.own.dropLast("/(default)".count)
      #expect(
        notice.contains("is in \(directory.shared), ") && notice.contains("which is \(directory.own) for"))
      let commands = "mkdir -p '\(parent)' && mv '\(directory.shared)' '\(directory.own)'"
      #expect(notice.hasSuffix(", and run: \(commands)"), "\(notice)")
    }
  }

  /// The commands of the notice move the database, so that the next start finds it and prints nothing.
  @Test func theCommandsOfTheNoticeMoveTheDatabase() throws {
    try withDirectories { directory in
      try makeStore(directory.shared)
      let notice = try #require(directory.choice(program: "notes").notice)
      let commands = try #require(notice.firstRange(of: "mkdir -p ")).lowerBound
      let shell = Process()
      shell.executableURL = URL(fileURLWithPath: "/bin/sh")
      shell.arguments = ["-c", String(notice[commands...])]
      try shell.run()
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0)
      #expect(directory.choice(program: "notes") == DefaultDirectory.Choice(path: directory.own))
      #expect(FileManager.default.fileExists(atPath: directory.own + "/MANIFEST"))
      #expect(!FileManager.default.fileExists(atPath: directory.shared))
    }
  }

  @Test func theOwnDirectoryPrecedesTheSharedOne() throws {
    try withDirectories { directory in
      try makeStore(directory.shared)
      try makeStore(directory.own)
      #expect(directory.choice(program: "notes") == DefaultDirectory.Choice(path: directory.own))
    }
  }

  @Test func anEmptyDirectoryHoldsNoDatabase() throws {
    try withDirectories { directory in
      try FileManager.default.createDirectory(atPath: directory.own, withIntermediateDirectories: true)
      try makeStore(directory.shared)
      let choice = directory.choice(program: "notes")
      #expect(choice.path == directory.shared)
      #expect(choice.notice?.contains(", and run: rmdir '\(directory.own)' && mkdir -p '") == true)
    }
  }

  /// This process holds the lock. To another program, it is another program.
  @Test func aSharedDirectoryInUseByAnotherProgramIsNotUsed() throws {
    try withDirectories { directory in
      let store = try DocumentStore.open(directory.shared)
      let this = try #require(ProgramName.ofThisProcess)
      let choice = directory.choice(program: "not-\(this)")
      #expect(choice.path == directory.own)
      let notice = try #require(choice.notice)
      #expect(
        notice.contains(
          "because \(this) (process \(ProcessInfo.processInfo.processIdentifier)) has \(directory.shared) open"
        ),
        "\(notice)")
      try store.close()
      #expect(directory.choice(program: "not-\(this)").path == directory.shared)
    }
  }

  /// A second process of the same program must not get a new, empty database.
  @Test func aSharedDirectoryInUseByTheSameProgramIsStillUsed() throws {
    try withDirectories { directory in
      let store = try DocumentStore.open(directory.shared)
      #expect(directory.choice(program: ProgramName.ofThisProcess).path == directory.shared)
      #expect(directory.choice(program: nil).path == directory.shared)
      try store.close()
    }
  }

  @Test func theChoiceWritesNothing() throws {
    try withDirectories { directory in
      try makeStore(directory.shared)
      let lock = URL(fileURLWithPath: directory.shared + "/LOCK")
      try Data("1\n".utf8).write(to: lock)
      #expect(ByteStore.use(of: directory.shared) == .free)
      _ = directory.choice(program: "notes")
      #expect(try Data(contentsOf: lock) == Data("1\n".utf8))
      #expect(ByteStore.use(of: directory.own) == .free)
    }
  }

  #if !canImport(Darwin)
  /// The notice is printed once, although both the database and the storage ask for the directory.
  @Test func aNoticeIsPrintedOncePerDirectory() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
      defer { try? FileManager.default.removeItem(at: folder) }
      precondition(setenv("XDG_DATA_HOME", folder.path, 1) == 0)
      let shared = folder.path + "/dugout/(default)/dugout/(default)"
      try DocumentStore.open(shared).close()
      FirebaseApp.configure(options: FirebaseOptions(googleAppID: "id", gcmSenderID: "sender"))
      let app = try #require(FirebaseApp.app())
      #expect(StoreLocation.directory(app: app, database: "(default)") == shared)
      #expect(StoreLocation.directory(app: app, database: "(default)") == shared)
      let other = StoreLocation.directory(app: app, database: "other")
      #expect(other == "\(folder.path)/dugout/\(ProgramName.current)/(default)/dugout/other")
    }
    let printed = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(printed.components(separatedBy: "[FirebaseCore] ").count == 2, "\(printed)")
  }
  #endif
}

@Suite struct ProgramNameTests {
  @Test(arguments: [
    ("/usr/bin/notes", "x", "notes"), ("/srv/notes (deleted)", "x", "notes"),
    ("/lib64/ld-linux-x86-64.so.2", "./notes", "notes"), ("/lib/ld-musl-x86_64.so.1", "-notes", "notes"),
    ("", "notes", "notes"), ("/", "", "program"), ("/a/Notes 2", "", "Notes%202"), ("/a/..", "", "%2e."),
    ("/a/.hidden", "", "%2ehidden"), ("/a/é", "", "%c3%a9"), ("/a/e\u{301}", "", "%c3%a9"),
    ("/a/b%2f", "", "b%252f"), ("/a/(default)", "", "%28default%29"), ("/a/b\n", "", "b%0a"),
  ])
  func executablesHaveSafeComponents(executable: String, argument: String, component: String) {
    let found = ProgramName.component(bundleID: nil, executable: executable, argument: argument)
    #expect(found == component)
  }

  @Test func withoutAnExecutableTheFirstArgumentIsUsed() {
    let arguments = ["/opt/server", "server", "-server", "./server"]
    let found = arguments.map { ProgramName.component(bundleID: nil, executable: nil, argument: $0) }
    #expect(found == arguments.map { _ in "server" })
    let unnamed = [nil, "", "/", "-"].map {
      ProgramName.component(bundleID: nil, executable: nil, argument: $0)
    }
    #expect(unnamed == unnamed.map { _ in "program" })
  }

  @Test func theBundleIdentifierTakesPrecedence() {
    let found = ["com.example.Notes", ""].map {
      ProgramName.component(bundleID: $0, executable: "/a/tool", argument: nil)
    }
    #expect(found == ["com.example.Notes", "tool"])
  }

  @Test func longNamesAreShortenedAndStayDifferent() {
    let names = ["a", "b"].map { String(repeating: "x y", count: 80) + $0 }
    let found = names.map { ProgramName.component(bundleID: $0, executable: nil, argument: nil) }
    #expect(found[0] != found[1])
    #expect(found.allSatisfy { $0.utf8.count <= 116 && $0.hasPrefix("x%20yx%20y") })
  }

  @Test func theNameOfThisProcessIsKnown() throws {
    #expect(!ProgramName.current.isEmpty && !ProgramName.current.contains("/"))
    #expect(ProgramName.ofProcess(-1) == nil)
  }
}
