// Creates, updates and destroys records.

private import FirebaseCore
public import FirebaseFirestore
public import Foundation

/// A base that writes records to the paths registered for their classes. It maintains counters and calls
/// hooks that subclasses can override.
///
/// ```swift
/// let base = ResourceBase(firebase: Firestore.firestore())
/// base.errorHandler = { error in print(error) }
/// base.resource(BaseItem.self, path: "/rooms/@")
/// let rooms = ResourceContext(base: base, resources: nil)
/// rooms.create(BaseItem(key: "lobby"))
/// ```
///
/// Use a base only on the callback queue of its database. Writes to the same record are executed in the order
/// of the calls. A write captures the fields of its record when the hook before the write is done.
open class ResourceBase: ResourceRegistry, CustomDebugStringConvertible {
  /// The database of the records.
  public let firebase: Firestore
  public var errorHandler: ResourceErrorHandler?

  /// The collection that is inserted into a path whose components would otherwise not alternate between
  /// collections and documents. Traps if the property is set after the first registration.
  public var paddingCollection = ResourceBase.standardPadding {
    didSet { precondition(paths.isEmpty, "The padding of paths is chosen before the first registration.") }
  }

  /// The default padding collection.
  public static let standardPadding = "items"

  private var paths: [ObjectIdentifier: (type: any BaseItemProtocol.Type, path: String)] = [:]
  private(set) var kitCounters: [ResourceCounter] = []
  var kitLanes: ResourceLanes
  private static let registered = PerDatabase { RegisteredPaths() }
  private let registered: RegisteredPaths

  /// Creates a base without registered classes.
  public init(firebase: Firestore) {
    self.firebase = firebase
    kitLanes = ResourceLanes.shared[firebase]
    registered = Self.registered[firebase]
  }

  public var debugDescription: String {
    let paths = paths.values.map { "\($0.type) at \($0.path)" }.sorted()
    let counters = kitCounters.map { "\($0.owner).\($0.name) counts \($0.counted)" }
    return "ResourceBase [\((paths + counters).joined(separator: ", "))]"
  }

  // MARK: Registering

  open func resource(_ type: any BaseItemProtocol.Type, path: String) {
    precondition(paths[ObjectIdentifier(type)] == nil, "\(type) has a path already.")
    precondition(ResourcePath(path).isSound, "\"\(path)\" is not a path: it has an empty component.")
    paths[ObjectIdentifier(type)] = (type, path)
    registered.add(ResourcePath(path), padding: paddingCollection)
  }

  open func counter(
    _ type: any BaseItemProtocol.Type, name: String, countingType: any BaseItemProtocol.Type
  ) {
    counter(type, name: name, countingType: countingType, predicate: nil)
  }

  open func counter(
    _ type: any BaseItemProtocol.Type, name: String, countingType: any BaseItemProtocol.Type,
    predicate: CounterPredicate?
  ) {
    precondition(paths[ObjectIdentifier(type)] != nil, "\(type) has to be registered before its counters.")
    kitCounters.append(
      ResourceCounter(
        id: kitCounters.count, owner: type, name: name, counted: countingType, predicate: predicate))
  }

  // MARK: For subclasses: creating

  /// Called before a record is created. The write starts when `done` is called with nil. An error cancels the
  /// write. `done` may be called later, on any thread.
  open func willCreateInstance(
    _ instance: any BaseItemProtocol, key: String, context: ResourceContext,
    done: @escaping ResourceDoneHandler
  ) {
    done(nil)
  }

  /// Called when the creation is pending. Reads already include the record.
  open func didCreateInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {}

  /// Called when the creation is durable or has failed.
  open func didCreateAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  // MARK: Updating

  /// Called before a record is updated. `done` starts or cancels the write as in `willCreateInstance`.
  open func willUpdateInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) {
    done(nil)
  }

  /// Called when the update is pending. Reads already include the new fields.
  open func didUpdateInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {}

  /// Called when the update is durable or has failed.
  open func didUpdateAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  // MARK: Destroying

  /// Called before a record is destroyed. `done` starts or cancels the write as in `willCreateInstance`.
  open func willDestroyInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) {
    done(nil)
  }

  /// Called when the deletion is pending. Reads no longer include the record.
  open func didDestroyInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {}

  /// Called when the deletion is durable or has failed.
  open func didDestroyAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  // MARK: For subclasses: other events

  /// Called for each write. An override can, for example, write a log that a server processes. `old` is the
  /// stored record and `new` is the record to store. `path` is the registered path with its keys filled in.
  /// `extraContext` contains the objects of the context that the path does not use.
  open func logAction(
    _ path: String, old: DocumentSnapshot?, new: (any BaseItemProtocol)?, extraContext: ResourceDict
  ) {}

  /// Called when a record was not counted because the context has no object of the counter's class. In debug
  /// builds, the default implementation writes a message to the standard error output.
  open func didSkipCounter(
    _ name: String, of type: any BaseItemProtocol.Type, counting instance: any BaseItemProtocol,
    context: ResourceContext
  ) {
    #if DEBUG
    let message =
      "[StreamBaseKit] \(type).\(name) does not count: there is no \(type) in \(context.debugDescription)\n"
    // Failure to log must not fail the write.
    try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
    #endif
  }

  // MARK: Paths

  /// Returns the path of a document in the form that a base has registered, such as "/a/b/c", without the
  /// padding collection. If no existing base has registered the path, returns the whole path.
  open class func refToPath(_ ref: DocumentReference) -> String {
    let components = splitPath(ref.path)
    return "/" + (registered[ref.firestore].components(of: components) ?? components).joined(separator: "/")
  }

  /// Returns the components of a path.
  open class func splitPath(_ path: String) -> [String] { ResourcePath.split(path) }

  /// Returns the registered path of the class; nil if there is none.
  open func findResourcePath(_ type: any BaseItemProtocol.Type, context: ResourceContext?) -> String? {
    paths[ObjectIdentifier(type)]?.path
  }

  /// Returns the reference of a record. If there is none, calls the error handler and traps. There is no
  /// reference if the class is not registered, if the key is missing or invalid, or if the context lacks an
  /// object that the path needs. Within `Firestore.validated`, an invalid key throws at the end of the scope.
  open func ref(_ instance: any BaseItemProtocol, context: ResourceContext) -> DocumentReference {
    do throws(ResourceError) {
      return firebase.document(
        try kitPlace(of: instance, instance.key, context: context).document.joined(separator: "/"))
    } catch {
      refuse(error)
      return firebase.collection(PathText.placeholder).document(PathText.placeholder)
    }
  }

  /// Returns the collection of a class. If there is none, calls the error handler and traps. There is no
  /// collection if the class is not registered, if the path of its collection contains `@`, or if the context
  /// lacks an object that the path needs.
  open func collectionRef(
    _ type: any BaseItemProtocol.Type, context: ResourceContext
  ) -> CollectionReference {
    do throws(ResourceError) {
      let collection = try kitPath(of: type, context).resolvedCollection { name throws(ResourceError) in
        try kitKey(of: name, in: context, for: type)
      }
      return firebase.collection(
        ResourcePlace.collection(collection, padding: paddingCollection).joined(separator: "/"))
    } catch {
      refuse(error)
      return firebase.collection(PathText.placeholder)
    }
  }

  /// Calls the error handler. Reports an invalid key, which may be input, and traps for all other errors.
  private func refuse(_ error: ResourceError) {
    errorHandler?(error.nsError)
    guard error.code == .invalidKey else { ProgrammerError.trap(error.message) }
    ProgrammerError.report(error.message)
  }

  // MARK: Writing

  /// Creates a record. A record without a key gets a generated key, which sorts after all keys that this
  /// process generated before. If a counter counts records of the class or is a field of the class, the
  /// creation fails if the record already exists. In other cases, the creation replaces an existing record.
  open func create(_ instance: any BaseItemProtocol, context: ResourceContext) {
    ResourceWrite(self, instance, context: context).create()
  }

  /// Replaces the stored fields that `dict` contains. Other stored fields do not change.
  open func update(_ instance: any BaseItemProtocol, context: ResourceContext) {
    ResourceWrite(self, instance, context: context).update()
  }

  /// Deletes a record. If the record does not exist, nothing is counted or logged.
  open func destroy(_ instance: any BaseItemProtocol, context: ResourceContext) {
    ResourceWrite(self, instance, context: context).destroy()
  }
}
