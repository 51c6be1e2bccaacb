// Objects by name, in levels.

public import FirebaseFirestore

/// What paths and counters refer to: named objects, those of the upper levels before those of the lower ones.
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

  /// A context with these records by name.
  public init(base: ResourceBase, resources: ResourceDict?) {
    self.base = base
    parent = nil
    self.resources = resources ?? [:]
  }

  /// A context with these records beside those of its parent.
  public init(parent: ResourceContext, resources: ResourceDict?) {
    base = parent.base
    self.parent = parent
    self.resources = resources ?? [:]
  }

  // MARK: The stack

  /// The levels from this one down to the first.
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

  /// Of the first level that has the name.
  open func get(_ name: String) -> (any BaseItemProtocol)? {
    stack.lazy.compactMap { $0.resources[name] }.first { _ in true }
  }

  /// Replaces all objects of this level.
  open func reset(_ resources: ResourceDict? = nil) { self.resources = resources ?? [:] }

  /// A new level above this one, which stays as it is.
  open func push(_ resources: ResourceDict? = nil) -> ResourceContext {
    ResourceContext(parent: self, resources: resources)
  }

  // MARK: Records

  /// Where the record is, or is to be.
  open func ref(_ instance: any BaseItemProtocol) -> DocumentReference { base.ref(instance, context: self) }

  /// Where records of the class are.
  open func collectionRef(_ type: any BaseItemProtocol.Type) -> CollectionReference {
    base.collectionRef(type, context: self)
  }

  /// Creates the record; hooks and the error handler are told how it went.
  open func create(_ instance: any BaseItemProtocol) { base.create(instance, context: self) }

  /// Updates the record; hooks and the error handler are told how it went.
  open func update(_ instance: any BaseItemProtocol) { base.update(instance, context: self) }

  /// Destroys the record; hooks and the error handler are told how it went.
  open func destroy(_ instance: any BaseItemProtocol) { base.destroy(instance, context: self) }

  /// An update of what exists, else a creation.
  open func createOrUpdate(_ instance: any BaseItemProtocol, exists: Bool) {
    if exists { update(instance) } else { create(instance) }
  }

  /// The end of what exists, else a creation.
  open func toggle(_ instance: any BaseItemProtocol, exists: Bool) {
    if exists { destroy(instance) } else { create(instance) }
  }
}

extension ResourceContext: Sequence {
  /// Each visible name once, with the object that `get` answers: from this level down, by name in each.
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
