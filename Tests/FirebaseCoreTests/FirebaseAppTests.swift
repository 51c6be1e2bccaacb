// Configuring, finding and deleting apps. Tests of the default app run in their own process (exit tests).

import ByteStore
import FirebaseCore
import Testing

@Suite(.serialized) struct FirebaseAppTests {
  // MARK: Configure

  @Test func configureMakesTheDefaultAppWithDefaultOptions() async {
    await #expect(processExitsWith: .success) {
      #expect(FirebaseApp.app() == nil)
      #expect(FirebaseApp.allApps == nil)
      FirebaseApp.configure()
      let app = try #require(FirebaseApp.app())
      #expect(app.name == "__FIRAPP_DEFAULT")
      #expect(app === FirebaseApp.app(name: "__FIRAPP_DEFAULT"))
      #expect(app.options.projectID == "dugout")
      #expect(app.options.storageBucket == "dugout")
      #expect(app.isDefault)
    }
  }

  @Test func configureWithOptionsMakesTheDefaultApp() async {
    await #expect(processExitsWith: .success) {
      FirebaseApp.configure(options: FirebaseOptions(googleAppID: "id", gcmSenderID: "sender"))
      #expect(FirebaseApp.app()?.options.googleAppID == "id")
    }
  }

  @Test func anAppOfAnotherNameIsNotTheDefaultApp() async {
    await #expect(processExitsWith: .success) {
      FirebaseApp.configure(name: "second", options: plainOptions())
      #expect(FirebaseApp.app() == nil)
      #expect(FirebaseApp.app(name: "second")?.isDefault == false)
    }
  }

  @Test func allAppsAreThoseConfiguredAndNotDeleted() async {
    await #expect(processExitsWith: .success) {
      FirebaseApp.configure()
      FirebaseApp.configure(name: "second", options: plainOptions())
      let apps = try #require(FirebaseApp.allApps)
      #expect(Set(apps.keys) == ["__FIRAPP_DEFAULT", "second"])
      #expect(apps["second"] === FirebaseApp.app(name: "second"))
      for app in apps.values { app.delete { _ in } }
      #expect(FirebaseApp.allApps == nil)
    }
  }

  @Test func configuringTheDefaultAppTwiceTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      FirebaseApp.configure()
      FirebaseApp.configure()
    }
    expectMessage("Default app has already been configured.", from: result)
  }

  @Test func configuringTheDefaultAppByItsNameIsTheSameApp() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      FirebaseApp.configure(name: "__FIRAPP_DEFAULT", options: plainOptions())
      FirebaseApp.configure(options: plainOptions())
    }
    expectMessage("Default app has already been configured.", from: result)
  }

  @Test func configuringANameTwiceTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      FirebaseApp.configure(name: "second", options: plainOptions())
      FirebaseApp.configure(name: "second", options: plainOptions())
    }
    expectMessage("App named second has already been configured.", from: result)
  }

  @Test func aNameWithAnythingElseTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      FirebaseApp.configure(name: "../second", options: plainOptions())
    }
    expectMessage(
      "App name can only contain alphanumeric, hyphen (-), and underscore (_) characters", from: result)
  }

  @Test func anEmptyNameTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      FirebaseApp.configure(name: "", options: plainOptions())
    }
    expectMessage("Name cannot be empty.", from: result)
  }

  @Test func aNameMayHoldLettersDigitsHyphensAndUnderscores() throws {
    var wrong: [String] = []
    for base in ["aZ09-_", "é", "球場"] {
      let name = base + freshName()
      FirebaseApp.configure(name: name, options: plainOptions())
      let app = try #require(FirebaseApp.app(name: name))
      if app.name != name { wrong.append("\(name): \(app.name)") }
      app.delete { _ in }
    }
    #expect(wrong == [])
  }

  // MARK: Options

  @Test func anAppKeepsTheOptionsItWasConfiguredWith() throws {
    let options = plainOptions()
    options.projectID = "before"
    try withApp(options) { app in
      options.projectID = "after"
      app.options.projectID = "after"
      #expect(app.options.projectID == "before")
      #expect(app.options !== app.options)
      #expect(app.projectID == "before")
    }
  }

  @Test func anAppWhoseOptionsHaveNoProjectOrBucketUsesTheDefaults() throws {
    let options = plainOptions()
    options.projectID = nil
    options.storageBucket = nil
    try withApp(options) { app in
      #expect(app.options.projectID == nil)
      #expect(app.projectID == "dugout")
      #expect(app.storageBucket == "dugout")
    }
  }

  @Test func dataCollectionIsAcceptedAndKept() throws {
    try withApp { app in
      #expect(app.isDataCollectionDefaultEnabled)
      app.isDataCollectionDefaultEnabled = false
      #expect(!app.isDataCollectionDefaultEnabled)
    }
  }

  // MARK: Delete

  @Test func deleteFreesTheName() throws {
    let name = freshName()
    FirebaseApp.configure(name: name, options: plainOptions())
    let old = try #require(FirebaseApp.app(name: name))
    let completions = Log()
    old.delete { completions.append("\($0)") }
    #expect(completions.lines == ["true"])
    #expect(FirebaseApp.app(name: name) == nil)
    FirebaseApp.configure(name: name, options: plainOptions())
    let new = try #require(FirebaseApp.app(name: name))
    #expect(new !== old)
    new.delete { _ in }
  }

  @Test func theNameIsFreeInTheCompletion() throws {
    let name = freshName()
    FirebaseApp.configure(name: name, options: plainOptions())
    try #require(FirebaseApp.app(name: name)).delete { _ in
      FirebaseApp.configure(name: name, options: plainOptions())
    }
    try #require(FirebaseApp.app(name: name)).delete { _ in }
  }

  @Test func deletingTwiceReturnsFalseAndKeepsANewAppOfThatName() throws {
    let name = freshName()
    FirebaseApp.configure(name: name, options: plainOptions())
    let old = try #require(FirebaseApp.app(name: name))
    old.delete { _ in }
    FirebaseApp.configure(name: name, options: plainOptions())
    let completions = Log()
    old.delete { completions.append("\($0)") }
    #expect(completions.lines == ["false"])
    let new = try #require(FirebaseApp.app(name: name))
    new.delete { _ in }
  }

  @Test func deleteMayBeAwaited() async throws {
    let name = freshName()
    FirebaseApp.configure(name: name, options: plainOptions())
    let app = try #require(FirebaseApp.app(name: name))
    let log = Log()
    app.addTeardown { log.append("teardown") }
    #expect(await app.delete())
    #expect(log.lines == ["teardown"])
    #expect(FirebaseApp.app(name: name) == nil)
    #expect(await app.delete() == false)
  }

  @Test func teardownsRunOnceLastFirstAndBeforeTheCompletion() throws {
    try withApp { app in
      let log = Log()
      app.addTeardown { log.append("store") }
      app.addTeardown { log.append("instance") }
      app.delete { _ in log.append("completion") }
      app.delete { _ in log.append("second completion") }
      #expect(log.lines == ["instance", "store", "completion", "second completion"])
    }
  }

  @Test func aTeardownMayAddAnotherWhichStillRunsBeforeTheCompletion() throws {
    try withApp { app in
      let log = Log()
      app.addTeardown {
        log.append("first")
        app.addTeardown { log.append("second") }
      }
      app.delete { _ in log.append("completion") }
      #expect(log.lines == ["first", "second", "completion"])
    }
  }

  @Test func removedTeardownDoesNotRunAndIsReleased() throws {
    try withApp { app in
      let log = Log()
      weak var held: Log?
      var teardowns = [app.addTeardown { log.append("first") }]
      do {
        let captured = Log()
        held = captured
        teardowns.append(app.addTeardown { captured.append("second") })
      }
      teardowns.append(app.addTeardown { log.append("third") })
      #expect(held != nil)
      for _ in 0..<2 { app.removeTeardown(teardowns[1]) }
      #expect(held == nil)
      app.delete { _ in log.append("completion") }
      app.removeTeardown(teardowns[0])
      #expect(log.lines == ["third", "first", "completion"])
    }
  }

  @Test func aTeardownOfADeletedAppRunsAtOnce() throws {
    try withApp { app in
      app.delete { _ in }
      let log = Log()
      app.addTeardown { log.append("late") }
      #expect(log.lines == ["late"])
    }
  }

  @Test func anAppIsNotFoundWhileItsTeardownsRun() throws {
    try withApp { app in
      let name = app.name
      let log = Log()
      app.addTeardown { log.append(FirebaseApp.app(name: name) == nil ? "gone" : "found") }
      app.delete { _ in }
      #expect(log.lines == ["gone"])
    }
  }

  @Test func aNameCannotBeConfiguredWhileTheTeardownsOfItsAppRun() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      FirebaseApp.configure(name: "second", options: plainOptions())
      let app = try #require(FirebaseApp.app(name: "second"))
      app.addTeardown { FirebaseApp.configure(name: "second", options: plainOptions()) }
      app.delete { _ in }
    }
    expectMessage("App named second has already been configured.", from: result)
  }

  @Test func onlyOneOfManyConcurrentDeletionsSucceeds() throws {
    try withApp { app in
      let log = Log()
      app.addTeardown { log.append("teardown") }
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        app.delete { log.append("\($0)") }
      }
      #expect(log.lines.count { $0 == "teardown" } == 1)
      #expect(log.lines.count { $0 == "true" } == 1)
      #expect(log.lines.count { $0 == "false" } == 7)
    }
  }

  @Test func manyThreadsMayConfigureFindAndDelete() {
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      var wrong: [String] = []
      for _ in 0..<50 {
        let name = freshName()
        FirebaseApp.configure(name: name, options: plainOptions())
        let app = FirebaseApp.app(name: name)
        if app == nil || FirebaseApp.allApps?[name] !== app { wrong.append("\(name) is not configured") }
        app?.delete { isDeleted in
          if !isDeleted { wrong.append("\(name) was not deleted") }
        }
        if FirebaseApp.app(name: name) != nil { wrong.append("\(name) is left") }
      }
      #expect(wrong == [])
    }
  }
}

/// Lines in order, appended by any thread.
private final class Log: Sendable {
  private let guarded = Locked<[String]>([])

  var lines: [String] { guarded.withLock { $0 } }

  func append(_ line: String) { guarded.withLock { $0.append(line) } }
}
