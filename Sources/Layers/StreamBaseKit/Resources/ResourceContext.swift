// A stack of levels that contain named objects.

public import FirebaseFirestore

/// The named objects to which paths and counters refer, in a stack of levels. An object in an upper level
/// hides the objects with the same name in lower levels.
///
/// ```swift
/// let base = ResourceBase(firebase: Firestore.firestore())
/// let context = ResourceContext(base: base, resources: ["user": BaseItem(key: "ada")])
/// let inRoom = context.push(["room": BaseItem(key: "lobby")])
/// print(inRoom.get("user")?.key ?? "")
/// ```
open class ResourceContext: CustomDebugStringConvertible {
  private let base: ResourceBase
  private let parent: ResourceContext?
  private var resources: ResourceDict

  /// Creates a context with one level that contains these named objects.
  public init(base: ResourceBase, resources: ResourceDict?) {
    self.base = base
    parent = nil
    self.resources = resources ?? [:]
  }

  /// Creates a level that contains these objects. The level is above all levels of `parent`.
  public init(parent: ResourceContext, resources: ResourceDict?) {
    base = parent.base
    self.parent = parent
    self.resources = resources ?? [:]
  }

  // MARK: The stack

  /// The levels, from this level down to the lowest.
  public var stack: AnyIterator<ResourceContext> {
    var next: ResourceContext? = self
    return AnyIterator {
      defer { next = next?.parent }
      return next
    }
  }

  public var debugDescription: String {
    let levels = stack.map { level in
      let objects = level.resources.sorted { $0.key < $1.key }.map { name, object in
        "\(name): \(type(of: object))(\(object.key ?? "no key"))"
      }
      return "[\(objects.joined(separator: ", "))]"
    }
    return "ResourceContext \(levels.joined(separator: " over "))"
  }

  /// Returns the object with this name from the uppermost level that contains the name; nil if no level does.
  open func get(_ name: String) -> (any BaseItemProtocol)? {
    stack.lazy.compactMap { $0.resources[name] }.first { _ in true }
  }

  /// Replaces all objects of this level.
  open func reset(_ resources: ResourceDict? = nil) { self.resources = resources ?? [:] }

  /// Returns a new level above this level. This level does not change.
  open func push(_ resources: ResourceDict? = nil) -> ResourceContext {
    ResourceContext(parent: self, resources: resources)
  }

  // MARK: Records

  /// Returns the reference of the record, which need not exist. Traps if there is no reference, as
  /// `ResourceBase.ref` does.
  open func ref(_ instance: any BaseItemProtocol) -> DocumentReference { base.ref(instance, context: self) }

  /// Returns the collection of the class. Traps if there is no collection, as `ResourceBase.collectionRef`
  /// does.
  open func collectionRef(_ type: any BaseItemProtocol.Type) -> CollectionReference {
    base.collectionRef(type, context: self)
  }

  /// Creates the record. Hooks and the error handler receive the result.
  open func create(_ instance: any BaseItemProtocol) { base.create(instance, context: self) }

  /// Updates the record. Hooks and the error handler receive the result.
  open func update(_ instance: any BaseItemProtocol) { base.update(instance, context: self) }

  /// Destroys the record. Hooks and the error handler receive the result.
  open func destroy(_ instance: any BaseItemProtocol) { base.destroy(instance, context: self) }

  /// Updates the record if `exists` is true, and creates it otherwise.
  open func createOrUpdate(_ instance: any BaseItemProtocol, exists: Bool) {
    if exists { update(instance) } else { create(instance) }
  }

  /// Destroys the record if `exists` is true, and creates it otherwise.
  open func toggle(_ instance: any BaseItemProtocol, exists: Bool) {
    if exists { destroy(instance) } else { create(instance) }
  }
}

extension ResourceContext: Sequence {
  /// Iterates over all visible names. Each name occurs once, with the object that `get` returns for it. The
  /// levels are visited from this level downwards. Within a level, the names are sorted.
  public func makeIterator() -> AnyIterator<(String, any BaseItemProtocol)> {
    var seen = Set<String>()
    var found: [(String, any BaseItemProtocol)] = []
    for level in stack {
      for (name, object) in level.resources.sorted(by: { $0.key < $1.key }) where seen.insert(name).inserted {
        found.append((name, object))
      }
    }
    return AnyIterator(found.makeIterator())
  }
}
