// Where records are created, changed and destroyed.

private import FirebaseCore
public import FirebaseFirestore
public import Foundation

/// Writes records where their classes are registered, counts them, and calls what subclasses add to that.
///
/// ```swift
/// let base = ResourceBase(firebase: Firestore.firestore())
/// base.errorHandler = { error in print(error) }
/// base.resource(BaseItem.self, path: "/rooms/@")
/// let rooms = ResourceContext(base: base, resources: nil)
/// rooms.create(BaseItem(key: "lobby"))
/// ```
///
/// All of it belongs to the callback queue of the database. Writes of one record happen in the order of the
/// calls, and write what it has when they are asked for.
open class ResourceBase: ResourceRegistry, CustomDebugStringConvertible {
  /// Where records are.
  public let firebase: Firestore
  public var errorHandler: ResourceErrorHandler?

  /// The collection that is put into paths whose components do not alternate between collections and
  /// documents. It is chosen before the first class is registered.
  public var paddingCollection = ResourceBase.standardPadding {
    didSet { precondition(paths.isEmpty, "The padding of paths is chosen before the first registration.") }
  }

  /// The padding of paths unless another is chosen.
  public static let standardPadding = "items"

  private var paths: [ObjectIdentifier: (type: any BaseItemProtocol.Type, path: String)] = [:]
  private(set) var kitCounters: [ResourceCounter] = []
  var kitLanes: ResourceLanes
  private static let registered = PerDatabase { RegisteredPaths() }
  private let registered: RegisteredPaths

  /// Knows no classes yet.
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
    precondition(ResourcePath(path).isSound, "\"\(path)\" is no path: it has an empty component.")
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

  /// Before anything is written. Nothing happens until `done` is called, and with an error nothing will. It
  /// may be called later, on any thread.
  open func willCreateInstance(
    _ instance: any BaseItemProtocol, key: String, context: ResourceContext,
    done: @escaping ResourceDoneHandler
  ) {
    done(nil)
  }

  /// The write is on its way, and reads see it.
  open func didCreateInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {}

  /// The write is durable, or was refused.
  open func didCreateAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  // MARK: Updating

  /// Called before a record is updated; `done` says whether it is.
  open func willUpdateInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) {
    done(nil)
  }

  /// Called when a record is updated here.
  open func didUpdateInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {}

  /// Called when that is stored, or has failed.
  open func didUpdateAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  // MARK: Destroying

  /// Called before a record is destroyed; `done` says whether it is.
  open func willDestroyInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) {
    done(nil)
  }

  /// Called when a record is destroyed here.
  open func didDestroyInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {}

  /// Called when that is stored, or has failed.
  open func didDestroyAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  // MARK: What else subclasses hear

  /// Something is written: `old` is what was there, `new` what will be. For a log that a server works off,
  /// for instance. `path` is the registered one, resolved, and `extraContext` the objects that it does not
  /// use.
  open func logAction(
    _ path: String, old: DocumentSnapshot?, new: (any BaseItemProtocol)?, extraContext: ResourceDict
  ) {}

  /// A record was not counted, because the context has no object of the counter's class. In debug builds the
  /// standard error output is told.
  open func didSkipCounter(
    _ name: String, of type: any BaseItemProtocol.Type, counting instance: any BaseItemProtocol,
    context: ResourceContext
  ) {
    #if DEBUG
    let message =
      "[StreamBaseKit] \(type).\(name) does not count: there is no \(type) in \(context.debugDescription)\n"
    // A log that cannot be written is no reason to fail.
    try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
    #endif
  }

  // MARK: Paths

  /// "/a/b/c", as a base that is there has registered it: without the collection that was put in. Where none
  /// has registered anything, it is the whole path.
  open class func refToPath(_ ref: DocumentReference) -> String {
    let components = splitPath(ref.path)
    return "/" + (registered[ref.firestore].components(of: components) ?? components).joined(separator: "/")
  }

  /// The parts of a path.
  open class func splitPath(_ path: String) -> [String] { ResourcePath.split(path) }

  /// The registered path; nil if there is none.
  open func findResourcePath(_ type: any BaseItemProtocol.Type, context: ResourceContext?) -> String? {
    paths[ObjectIdentifier(type)]?.path
  }

  /// Where a record with a key is. Ends the program if its class or the context does not say.
  open func ref(_ instance: any BaseItemProtocol, context: ResourceContext) -> DocumentReference {
    do throws(ResourceError) {
      return firebase.document(
        try kitPlace(of: instance, instance.key, context).document.joined(separator: "/"))
    } catch {
      refuse(error)
    }
  }

  /// Where the records of a class are. Ends the program if its registration or the context does not say.
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
    }
  }

  private func refuse(_ error: ResourceError) -> Never {
    errorHandler?(error.nsError)
    ProgrammerError.trap(error.message)
  }

  // MARK: Writing

  /// Writes a new record, with a new key if it has none, which sorts behind those made before. If its class
  /// is counted, or has counters, there may be none with the key yet; else it takes the place of what is
  /// there.
  open func create(_ instance: any BaseItemProtocol, context: ResourceContext) {
    ResourceWrite(self, instance, context).create()
  }

  /// Writes what is in `dict` over what is stored, field by field.
  open func update(_ instance: any BaseItemProtocol, context: ResourceContext) {
    ResourceWrite(self, instance, context).update()
  }

  /// Removes a record. If there is none, nothing is counted and nothing is logged.
  open func destroy(_ instance: any BaseItemProtocol, context: ResourceContext) {
    ResourceWrite(self, instance, context).destroy()
  }
}
