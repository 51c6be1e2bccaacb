// The configuration of an app.

import ByteStore
public import Foundation

/// The settings of a ``FirebaseApp``: its project, and the location of its stores.
///
/// No Firebase project is needed. The keys of Firebase's own options are accepted and stored, but most of
/// them have no effect. The project ID and the bucket determine where data is stored.
///
/// ```swift
/// FirebaseApp.configure(options: FirebaseOptions(directory: URL(fileURLWithPath: "/srv/data")))
/// ```
///
/// Options may be used from any thread. An app keeps the values with which it was configured; later changes
/// to the options do not affect it. Two options objects are equal if all their properties are equal.
public final class FirebaseOptions: NSObject, NSCopying, Sendable {
  private let guarded: Locked<Values>

  init(_ values: Values) {
    guarded = Locked(values)
  }

  /// Creates options with the same initializer as Firebase. Neither argument has an effect.
  public init(googleAppID: String, gcmSenderID: String) {
    guarded = Locked(Values(googleAppID: googleAppID, gcmSenderID: gcmSenderID))
  }

  /// Creates options for an app whose stores are below `directory`, with one directory per app name,
  /// project and database. Nothing is created before a store is opened. Traps unless the URL is a file
  /// URL of this machine.
  public convenience init(directory: URL) {
    self.init(googleAppID: "", gcmSenderID: "")
    self.directory = directory
  }

  /// Reads a property list such as GoogleService-Info.plist.
  ///
  /// Returns nil if the file cannot be read or is not a dictionary. Missing keys, and keys whose value is
  /// not a string, keep their defaults. Unknown keys are ignored.
  public init?(contentsOfFile plistPath: String) {
    // The call is unsafe only by its signature, which takes a pointer for the format. The pointer is nil
    // here.
    guard let data = FileManager.default.contents(atPath: plistPath),
      let plist = try? unsafe PropertyListSerialization.propertyList(from: data, format: nil),
      let dictionary = plist as? [String: Any]
    else { return nil }
    guarded = Locked(Values(propertyList: dictionary))
  }

  /// Reads GoogleService-Info.plist from the main bundle; every call reads the file again. Returns nil if the
  /// bundle has no such file.
  public class func defaultOptions() -> FirebaseOptions? {
    defaultOptions(in: .main)
  }

  package static func defaultOptions(in bundle: Bundle) -> FirebaseOptions? {
    bundle.path(forResource: "GoogleService-Info", ofType: "plist").flatMap(FirebaseOptions.init)
  }

  /// Empty by default.
  public var googleAppID: String {
    get { self[\.googleAppID] }
    set { self[\.googleAppID] = newValue }
  }

  /// Empty by default.
  public var gcmSenderID: String {
    get { self[\.gcmSenderID] }
    set { self[\.gcmSenderID] = newValue }
  }

  /// The project ID, by default `dugout`. Two projects never share a store.
  public var projectID: String? {
    get { self[\.projectID] }
    set { self[\.projectID] = newValue }
  }

  /// Stored, but without effect.
  public var apiKey: String? {
    get { self[\.apiKey] }
    set { self[\.apiKey] = newValue }
  }

  /// `dugout` by default.
  public var storageBucket: String? {
    get { self[\.storageBucket] }
    set { self[\.storageBucket] = newValue }
  }

  /// Stored, but without effect.
  public var clientID: String? {
    get { self[\.clientID] }
    set { self[\.clientID] = newValue }
  }

  /// Stored, but without effect.
  public var bundleID: String? {
    get { self[\.bundleID] }
    set { self[\.bundleID] = newValue }
  }

  /// Stored, but without effect.
  public var databaseURL: String? {
    get { self[\.databaseURL] }
    set { self[\.databaseURL] = newValue }
  }

  /// The location of the stores. Nil, the default, means a directory with the name of the program, or with
  /// its bundle identifier. It is in the platform's directory for such data: `$XDG_DATA_HOME/dugout` or
  /// `~/.local/share/dugout`, and on Apple's systems `dugout` in Application Support. Setting a URL that is
  /// not a directory of this machine traps.
  public var directory: URL? {
    get { self[\.directory] }
    set {
      if let newValue, !newValue.namesLocalFile {
        ProgrammerError.trap(
          "FirebaseOptions.directory must name a directory of this machine, but was \(newValue)")
      }
      self[\.directory] = newValue
    }
  }

  /// Returns an independent copy.
  public func copy(with zone: NSZone? = nil) -> Any {
    FirebaseOptions(values)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirebaseOptions else { return false }
    return values == other.values
  }

  public override var hash: Int { values.hashValue }

  /// A consistent copy of all properties.
  var values: Values { guarded.withLock { $0 } }

  private subscript<Value: Sendable>(property: WritableKeyPath<Values, Value>) -> Value {
    get { guarded.withLock { $0[keyPath: property] } }
    set { guarded.withLock { $0[keyPath: property] = newValue } }
  }
}

// MARK: Values

extension FirebaseOptions {
  struct Values: Hashable, Sendable {
    static let projectIDDefault = "dugout"
    static let storageBucketDefault = "dugout"

    var googleAppID = ""
    var gcmSenderID = ""
    var projectID: String? = Self.projectIDDefault
    var apiKey: String?
    var storageBucket: String? = Self.storageBucketDefault
    var clientID: String?
    var bundleID: String?
    var databaseURL: String?
    var directory: URL?
  }
}

extension FirebaseOptions.Values {
  /// Reads the values from the keys of GoogleService-Info.plist.
  init(propertyList: [String: Any]) {
    func string(_ key: String) -> String? { propertyList[key] as? String }
    googleAppID = string("GOOGLE_APP_ID") ?? googleAppID
    gcmSenderID = string("GCM_SENDER_ID") ?? gcmSenderID
    projectID = string("PROJECT_ID") ?? projectID
    apiKey = string("API_KEY")
    storageBucket = string("STORAGE_BUCKET") ?? storageBucket
    clientID = string("CLIENT_ID")
    bundleID = string("BUNDLE_ID")
    databaseURL = string("DATABASE_URL")
  }
}

extension URL {
  /// Whether the URL is the path of a file or a directory on this machine. False if the URL has another
  /// scheme or host. Also false if the path contains a NUL byte, because system calls would truncate the path
  /// there.
  package var namesLocalFile: Bool {
    isFileURL && ["", "localhost"].contains(host ?? "")
      && !path(percentEncoded: true).contains("%00") && !path.isEmpty
  }
}
