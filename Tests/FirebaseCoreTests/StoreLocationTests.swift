// The directory of a store, and the path safety of every name in that directory.

import FirebaseCore
import Testing

@Suite struct StoreLocationTests {
  // MARK: Directories

  @Test func storeDirectoryIsBelowTheOptionsDirectoryByAppProjectAndDatabase() throws {
    let options = FirebaseOptions(directory: URL(fileURLWithPath: "/srv/data"))
    options.projectID = "league-1"
    try withApp(options) { app in
      let name = StoreLocation.component("app name", app.name)
      #expect(
        StoreLocation.directory(app: app, database: "(default)") == "/srv/data/\(name)/league-1/(default)")
      #expect(
        StoreLocation.directory(app: app, database: "season/2026")
          == "/srv/data/\(name)/league-1/season%2f2026")
      #expect(StoreLocation.directory(app: app) == "/srv/data/\(name)/league-1")
    }
  }

  @Test func fileSystemRootIsAValidDirectory() throws {
    try withApp(FirebaseOptions(directory: URL(fileURLWithPath: "/"))) { app in
      let directory = StoreLocation.directory(app: app, database: "(default)")
      #expect(directory.hasPrefix("/app-"))
    }
  }

  @Test func theDefaultAppIsCalledDefault() async {
    await #expect(processExitsWith: .success) {
      FirebaseApp.configure(options: FirebaseOptions(directory: URL(fileURLWithPath: "/srv/data")))
      let app = try #require(FirebaseApp.app())
      #expect(
        StoreLocation.directory(app: app, database: "(default)") == "/srv/data/(default)/dugout/(default)")
    }
  }

  @Test func twoStoresOfOneRootNeverShareADirectory() throws {
    var directories: Set<String> = []
    var wrong: [String] = []
    for project in ["a", "b", "a/b", "A"] {
      let options = FirebaseOptions(directory: URL(fileURLWithPath: "/srv/data"))
      options.projectID = project
      for _ in 0..<2 {
        try withApp(options) { app in
          for database in ["(default)", "default", "b", "b/a", ""] {
            let directory = StoreLocation.directory(app: app, database: database)
            let components = directory.split(separator: "/", omittingEmptySubsequences: false)
            if components.count != 6 { wrong.append(directory) }
            directories.insert(directory)
          }
        }
      }
    }
    #expect(wrong == [])
    #expect(directories.count == 4 * 2 * 5)
  }

  #if !canImport(Darwin)
  @Test func defaultDirectoryIsThePlatformDataDirectory() throws {
    try withApp { app in
      let root = StoreLocation.xdgRoot(
        environment: ProcessInfo.processInfo.environment, home: NSHomeDirectory())
      let directory = StoreLocation.directory(app: app, database: "(default)")
      #expect(directory.hasPrefix("\(root)/\(ProgramName.current)/app-"), "\(directory)")
    }
  }
  #endif

  @Test func xdgDataHomeTakesPrecedence() {
    let roots = ["/data", "/data/"].map {
      StoreLocation.xdgRoot(environment: ["XDG_DATA_HOME": $0], home: "/home/u")
    }
    #expect(roots == ["/data/dugout", "/data/dugout"])
  }

  @Test(arguments: [[:], ["XDG_DATA_HOME": ""], ["XDG_DATA_HOME": "relative"]])
  func withoutAnAbsoluteDataHomeTheUserHomeIsUsed(environment: [String: String]) {
    let root = StoreLocation.xdgRoot(environment: environment, home: "/home/u")
    #expect(root == "/home/u/.local/share/dugout")
  }

  // MARK: Components

  @Test(arguments: [
    ("league-1_a", "league-1_a"), ("(default)", "(default)"), ("(other)", "%28other%29"), ("", "%"),
    (".", "%2e"), ("..", "%2e%2e"), ("a/b", "a%2fb"), ("50%", "50%25"), ("%2f", "%252f"),
    ("App", "%41pp"), ("a\u{0}b", "a%00b"), ("\n", "%0a"), ("é", "%c3%a9"), ("e\u{301}", "%c3%a9"),
  ])
  func safeCharactersStayReadableInAComponent(name: String, component: String) {
    #expect(StoreLocation.component("name", name) == component)
  }

  @Test func differentNamesHaveDifferentComponentsOnCaseInsensitiveFileSystems() {
    let alphabet = ["a", "A", "(", ")", "%", "2", "5", "/", ".", "-", "é", "\u{0}"]
    var names: Set<String> = ["", "(default)", "(DEFAULT)", "(default) ", "default"]
    for one in alphabet {
      names.insert(one)
      for two in alphabet {
        for three in alphabet { names.formUnion([one + two, one + two + three]) }
      }
    }
    let components = Set(names.map { StoreLocation.component("name", $0).lowercased() })
    #expect(components.count == names.count)
  }

  @Test func everyCharacterIsEncodedInASafeComponent() {
    let harmless = Set("abcdefghijklmnopqrstuvwxyz0123456789-_%")
    var wrong: [String] = []
    for scalar in 0..<256 as Range<UInt32> {
      let component = StoreLocation.component("name", String(UnicodeScalar(scalar)!))
      if !harmless.isSuperset(of: component) || component.isEmpty {
        wrong.append("U+\(String(scalar, radix: 16)) became \(component)")
      }
    }
    #expect(wrong == [])
  }

  @Test func aComponentMayHave255Bytes() {
    let name = String(repeating: "a", count: 255)
    #expect(StoreLocation.component("name", name) == name)
    let capitals = String(repeating: "A", count: 85)
    #expect(StoreLocation.component("name", capitals).utf8.count == 255)
  }

  @Test func nameWithATooLongComponentTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = StoreLocation.component("database id", String(repeating: "A", count: 86))
    }
    let name = String(repeating: "A", count: 86)
    expectMessage(
      "The database id \"\(name)\" is too long for a directory: it takes 258 bytes, 255 are allowed",
      from: result)
  }
}
