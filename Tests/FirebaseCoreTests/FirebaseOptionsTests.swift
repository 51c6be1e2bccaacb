// The options of an app: defaults, property lists and copies.

import FirebaseCore
import Testing

@Suite struct FirebaseOptionsTests {
  @Test func projectAndBucketAreDugoutUnlessGiven() {
    let options = FirebaseOptions(googleAppID: "id", gcmSenderID: "sender")
    #expect(options.googleAppID == "id")
    #expect(options.gcmSenderID == "sender")
    #expect(options.projectID == "dugout")
    #expect(options.storageBucket == "dugout")
    #expect(options.apiKey == nil)
    #expect(options.clientID == nil)
    #expect(options.bundleID == nil)
    #expect(options.databaseURL == nil)
    #expect(options.directory == nil)
  }

  @Test func everyPropertyCanBeSet() {
    let options = plainOptions()
    options.googleAppID = "1"
    options.gcmSenderID = "2"
    options.projectID = "3"
    options.apiKey = "4"
    options.storageBucket = "5"
    options.clientID = "6"
    options.bundleID = "7"
    options.databaseURL = "8"
    options.directory = URL(fileURLWithPath: "/srv/data")
    #expect(options.googleAppID + options.gcmSenderID == "12")
    #expect(options.projectID == "3")
    #expect(options.apiKey == "4")
    #expect(options.storageBucket == "5")
    #expect(options.clientID == "6")
    #expect(options.bundleID == "7")
    #expect(options.databaseURL == "8")
    #expect(options.directory?.path == "/srv/data")
    options.projectID = nil
    #expect(options.projectID == nil)
  }

  // MARK: Directory

  @Test func aDirectoryIsAllThatIsNeeded() {
    let options = FirebaseOptions(directory: URL(fileURLWithPath: "/srv/data"))
    #expect(options.directory?.path == "/srv/data")
    #expect(options.projectID == "dugout")
    #expect(options.storageBucket == "dugout")
  }

  @Test func remoteDirectoryURLTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = FirebaseOptions(directory: URL(string: "https://example.com/data")!)
    }
    expectMessage(
      "FirebaseOptions.directory must name a directory of this machine, but was https://example.com/data",
      from: result)
  }

  @Test func aDirectoryWithANULTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = FirebaseOptions(directory: URL(fileURLWithPath: "/srv/da\0ta"))
    }
    expectMessage(
      "FirebaseOptions.directory must name a directory of this machine, but was file:///srv/da%00ta",
      from: result)
  }

  // MARK: Property lists

  private static let complete = [
    "PROJECT_ID": "project", "GOOGLE_APP_ID": "app", "GCM_SENDER_ID": "sender", "API_KEY": "key",
    "STORAGE_BUCKET": "bucket", "CLIENT_ID": "client", "BUNDLE_ID": "bundle", "DATABASE_URL": "url",
    "PLIST_VERSION": "1",
  ]

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func aPropertyListGivesEveryProperty(format: PropertyListSerialization.PropertyListFormat) throws {
    let data = try PropertyListSerialization.data(
      fromPropertyList: Self.complete, format: format, options: 0)
    let options = try #require(try read(data))
    #expect(options.projectID == "project")
    #expect(options.googleAppID == "app")
    #expect(options.gcmSenderID == "sender")
    #expect(options.apiKey == "key")
    #expect(options.storageBucket == "bucket")
    #expect(options.clientID == "client")
    #expect(options.bundleID == "bundle")
    #expect(options.databaseURL == "url")
    #expect(options.directory == nil)
  }

  @Test func aPropertyListThatLacksKeysGivesTheDefaults() throws {
    let options = try #require(try read(Data("<plist><dict></dict></plist>".utf8)))
    #expect(options == FirebaseOptions(googleAppID: "", gcmSenderID: ""))
  }

  @Test func aValueThatIsNotAStringIsIgnored() throws {
    let xml = "<plist><dict><key>PROJECT_ID</key><integer>1</integer><key>API_KEY</key><true/></dict></plist>"
    let options = try #require(try read(Data(xml.utf8)))
    #expect(options.projectID == "dugout")
    #expect(options.apiKey == nil)
  }

  @Test(arguments: ["", "\u{0}\u{1}", "<plist><dict><key>", "bplist00", "<plist><array/></plist>"])
  func aFileThatIsNotADictionaryGivesNil(content: String) throws {
    #expect(try read(Data(content.utf8)) == nil)
  }

  @Test func aFileThatIsNotThereGivesNil() throws {
    try withTemporaryFolder { folder in
      #expect(FirebaseOptions(contentsOfFile: folder.appendingPathComponent("none.plist").path) == nil)
      #expect(FirebaseOptions(contentsOfFile: folder.path) == nil)
    }
  }

  @Test func theDefaultOptionsComeFromTheBundleIfItHasThem() throws {
    try withTemporaryFolder { folder in
      let bundle = try #require(Bundle(path: folder.path))
      #expect(FirebaseOptions.defaultOptions(in: bundle) == nil)
    }
    try withTemporaryFolder { folder in
      let data = try PropertyListSerialization.data(
        fromPropertyList: Self.complete, format: .xml, options: 0)
      try data.write(to: folder.appendingPathComponent("GoogleService-Info.plist"))
      let bundle = try #require(Bundle(path: folder.path))
      #expect(FirebaseOptions.defaultOptions(in: bundle)?.projectID == "project")
    }
  }

  @Test func theMainBundleOfATestHasNoDefaultOptions() {
    #expect(FirebaseOptions.defaultOptions() == nil)
  }

  private func read(_ data: Data) throws -> FirebaseOptions? {
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("options.plist")
      try data.write(to: file)
      return FirebaseOptions(contentsOfFile: file.path)
    }
  }

  // MARK: Copies and threads

  @Test func aCopyIsEqualUntilOneOfThemChanges() throws {
    let options = plainOptions()
    options.apiKey = "key"
    options.directory = URL(fileURLWithPath: "/srv/data")
    let copy = try #require(options.copy() as? FirebaseOptions)
    #expect(copy !== options)
    #expect(copy == options)
    #expect(copy.hash == options.hash)
    copy.projectID = "other"
    #expect(copy != options)
    #expect(options.projectID == "dugout")
    #expect(!options.isEqual("options"))
  }

  @Test func manyThreadsMayReadAndChangeOptions() {
    let options = plainOptions()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      var wrong: [String] = []
      for round in 0..<200 {
        options.projectID = "project-\(thread)-\(round)"
        let project = options.projectID
        let id = (options.copy() as? FirebaseOptions)?.googleAppID
        if project?.hasPrefix("project-") != true || id != "id" {
          wrong.append("\(round): \(String(describing: project)), \(String(describing: id))")
        }
      }
      #expect(wrong == [])
    }
  }
}
