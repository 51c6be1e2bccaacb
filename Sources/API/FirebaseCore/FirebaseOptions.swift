// What an app is configured with.

public import Foundation

/// The settings of a ``FirebaseApp``: which project it belongs to and where its stores live.
///
/// Nothing here needs a Firebase project. The keys that the original needs are accepted, kept and
/// mostly without effect; the project id and the bucket name the places where data is kept.
///
/// ```swift
/// FirebaseApp.configure(options: FirebaseOptions(directory: URL(fileURLWithPath: "/srv/data")))
/// ```
///
/// Any thread may read and change it. An app keeps the values that it was configured with: changing
/// the options afterwards changes nothing there. Equal means equal in every property.
public final class FirebaseOptions: NSObject, NSCopying, Sendable {
  private let guarded: Guarded<Values>

  init(_ values: Values) {
    guarded = Guarded(values)
  }

  /// As existing code makes them; neither name means anything here.
  public init(googleAppID: String, gcmSenderID: String) {
    guarded = Guarded(Values(googleAppID: googleAppID, gcmSenderID: gcmSenderID))
  }

  /// The stores of the app live below `directory`, a file URL: one directory per app name, project
  /// and database. Nothing is made there before a store opens. Traps for any other URL.
  public convenience init(directory: URL) {
    self.init(googleAppID: "", gcmSenderID: "")
    self.directory = directory
  }

  /// Reads a property list such as GoogleService-Info.plist.
  ///
  /// Nil if the file cannot be read or is no dictionary. Keys that it lacks keep their defaults, and
  /// so do those whose value is no string; keys that we do not know are skipped.
  public init?(contentsOfFile plistPath: String) {
    // Unsafe only by its type: the pointer through which it would report the format is nil.
    guard let data = FileManager.default.contents(atPath: plistPath),
      let plist = try? unsafe PropertyListSerialization.propertyList(from: data, format: nil),
      let dictionary = plist as? [String: Any]
    else { return nil }
    guarded = Guarded(Values(propertyList: dictionary))
  }

  /// What GoogleService-Info.plist in the main bundle says, read anew by each call. Nil without one.
  public class func defaultOptions() -> FirebaseOptions? {
    defaultOptions(in: .main)
  }

  package static func defaultOptions(in bundle: Bundle) -> FirebaseOptions? {
    bundle.path(forResource: "GoogleService-Info", ofType: "plist").flatMap(FirebaseOptions.init)
  }

  /// Empty unless given.
  public var googleAppID: String {
    get { self[\.googleAppID] }
    set { self[\.googleAppID] = newValue }
  }

  /// Empty unless given.
  public var gcmSenderID: String {
    get { self[\.gcmSenderID] }
    set { self[\.gcmSenderID] = newValue }
  }

  /// `dugout` unless given. Two projects never share a store.
  public var projectID: String? {
    get { self[\.projectID] }
    set { self[\.projectID] = newValue }
  }

  /// Kept and given back; it means nothing here.
  public var apiKey: String? {
    get { self[\.apiKey] }
    set { self[\.apiKey] = newValue }
  }

  /// `dugout` unless given.
  public var storageBucket: String? {
    get { self[\.storageBucket] }
    set { self[\.storageBucket] = newValue }
  }

  /// Kept and given back; it means nothing here.
  public var clientID: String? {
    get { self[\.clientID] }
    set { self[\.clientID] = newValue }
  }

  /// Kept and given back; it means nothing here.
  public var bundleID: String? {
    get { self[\.bundleID] }
    set { self[\.bundleID] = newValue }
  }

  /// Kept and given back; it means nothing here.
  public var databaseURL: String? {
    get { self[\.databaseURL] }
    set { self[\.databaseURL] = newValue }
  }

  /// Where the stores live. Nil, the default, means the place that the platform has for such data:
  /// `$XDG_DATA_HOME/dugout` or `~/.local/share/dugout`, on Apple's systems `dugout` in Application
  /// Support. Setting a URL that names no directory of this machine traps.
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

  /// A copy with a life of its own.
  public func copy(with zone: NSZone? = nil) -> Any {
    FirebaseOptions(values)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirebaseOptions else { return false }
    return values == other.values
  }

  public override var hash: Int { values.hashValue }

  /// All properties at one moment.
  var values: Values { guarded.withLock { $0 } }

  private subscript<Value: Sendable>(property: WritableKeyPath<Values, Value>) -> Value {
    get { guarded.withLock { $0[keyPath: property] } }
    set { guarded.withLock { $0[keyPath: property] = newValue } }
  }
}
