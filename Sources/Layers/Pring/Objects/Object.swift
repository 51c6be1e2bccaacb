// The base class of models.
//
// An object contains its reference, its properties, and the notes of the properties from the last read or
// write (Object+Changes). Its children (collections, references, files, nested objects) hold weak references
// to it.

private import FirebaseCore
public import FirebaseFirestore
public import FirebaseStorage
public import Foundation
import LayerKit

/// A document whose fields are the stored properties of the class.
///
/// ```swift
/// class Member: Object {
///   var name: String?
///   var age = 0
///   let friends: ReferenceCollection<Member> = []
/// }
/// let ada = Member()
/// ada.name = "Ada"
/// try await ada.save()
/// ```
///
/// Use an object on one thread at a time. The completion handlers access the object on the callback queue.
open class Object: NSObject, Document, HasParent {
  // MARK: Class

  open class var modelVersion: Int { 1 }

  /// The lowercase name of the class.
  open class var modelName: String { TypeName.lowercased(of: self) }

  open class var path: String { "version/\(modelVersion)/\(modelName)" }

  open class var reference: CollectionReference { Firestore.firestore().collection(path) }

  open class var storageRef: StorageReference { Storage.storage().reference().child(path) }

  open class var shouldBeReplicated: Bool { false }

  private(set) lazy var pringSchema = Schema.of(type(of: self))

  // MARK: Location

  /// The reference of the document; nil until it is first needed. An object that is created from a snapshot
  /// therefore never generates a random id.
  private var place: DocumentReference? {
    didSet {
      for (_, collection) in pringChildren(.collection, (any PlacedCollection).self) {
        collection.pringLastParent = place
      }
    }
  }

  public var reference: DocumentReference {
    if let place { return place }
    let new = type(of: self).reference.document()
    place = new
    return new
  }

  public func setReference(_ reference: DocumentReference) { place = reference }

  public var path: String { reference.path }

  /// The document id. Setting the id makes this object represent another document of the same collection.
  #if canImport(ObjectiveC)
  @objc
  #endif
  public var id: String {
    get { reference.documentID }
    set { place = (place?.parent ?? type(of: self).reference).document(newValue) }
  }

  /// The folder of the document's files. The folder of a nested object is inside the folder of its parent.
  open var storageRef: StorageReference {
    if let parent, let key { return parent.storageRef.child(key) }
    return Storage.storage().reference().child(path)
  }

  /// The object that contains this nested object.
  public weak var parent: Object?
  public var key: String?

  public func setParent(_ object: Object, forKey key: String) {
    parent = object
    self.key = key
  }

  // MARK: State

  var pringTimes = DocumentTimes()

  /// The time when the document was created. While that time is unknown, this is the time when the object was
  /// constructed.
  #if canImport(ObjectiveC)
  @objc
  #endif
  public var createdAt: Timestamp {
    get { pringTimes.createdAt }
    set { pringTimes.createdAt = newValue }
  }

  #if canImport(ObjectiveC)
  @objc
  #endif
  public var updatedAt: Timestamp {
    get { pringTimes.updatedAt }
    set { pringTimes.updatedAt = newValue }
  }

  public internal(set) var isSaved = false
  public var batchID: String?
  var pringTracking = Tracking()
  private var read: DocumentSnapshot?

  /// The last snapshot that was assigned. Assigning a snapshot makes this object represent the snapshot's
  /// document, and sets the properties from the snapshot's fields.
  public var snapshot: DocumentSnapshot? {
    get { read }
    set {
      read = newValue
      if let newValue { take(newValue) }
    }
  }

  /// A global queue, for source compatibility with the original Pring. Uploads do not use it.
  public var uploadQueue: DispatchQueue { .global() }

  // MARK: For subclasses

  open var ignore: [String] { [] }

  /// Returns the stored form of a property, or nil to use the default form.
  open func encode(_ key: String, value: Any?) -> Any? { nil }

  /// Decodes the stored form of a property. `value` is nil if the field is absent. An override returns false
  /// to use the default decoding.
  open func decode(_ key: String, value: Any?) -> Bool { false }

  // MARK: Creating objects

  /// Creates an object for a new document in the collection of the class. The document has a random id.
  public override required init() {
    super.init()
    pringAdoptChildren()
    pringRemember()
  }

  /// Creates an object for a new document with this id.
  public convenience required init(id: String) {
    self.init()
    self.id = id
  }

  /// Creates the object of a snapshot; nil if the document does not exist.
  public convenience required init?(snapshot: DocumentSnapshot) {
    guard snapshot.exists else { return nil }
    self.init()
    self.snapshot = snapshot
  }

  /// Creates an object for a stored document with these fields.
  public convenience required init(id: String, value: [String: Any]) {
    self.init()
    self.id = id
    pringTakeFields(value)
    pringTimes.update(from: value)
    isSaved = true
  }

  private func take(_ snapshot: DocumentSnapshot) {
    place = snapshot.reference
    guard let fields = snapshot.data(with: .estimate) else {
      isSaved = false
      return
    }
    pringTakeFields(fields)
    pringTimes = DocumentTimes(read: snapshot, at: Date())
    isSaved = true
  }

  // MARK: Description and equality

  open override var description: String {
    let properties = allChildrenUpToRootObject.map { child in
      guard let field = child.value as? any AnyField else { return "  \(child.label ?? "_"): \(child.value)" }
      return "  \(child.label?.dropFirst() ?? "_"): \(field.anyContent)"
    }
    let lines = ["  id: \(id)", "  createdAt: \(createdAt)", "  updatedAt: \(updatedAt)"] + properties
    return (["\(type(of: self)) {"] + lines + ["}"]).joined(separator: "\n")
  }

  /// Whether both objects represent the same document. Their ids and model versions must be equal, and their
  /// classes must be the same or one must inherit from the other.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Object else { return false }
    if self === other { return true }
    return ExactKey(id) == ExactKey(other.id) && type(of: self).modelVersion == type(of: other).modelVersion
      && (isInstance(of: type(of: other)) || other.isInstance(of: type(of: self)))
  }

  private func isInstance(of type: Any.Type) -> Bool {
    func check<Model>(_ type: Model.Type) -> Bool { self is Model }
    return _openExistential(type, do: check)
  }

  open override var hash: Int { id.hashValue }

  /// Compares as `isEqual(_:)` does.
  public static func == (left: Object, right: Object) -> Bool { left.isEqual(right) }

  /// Accesses a property by its name.
  public subscript(key: String) -> Any? {
    get {
      switch key {
      case "id": return id
      case "createdAt": return createdAt
      case "updatedAt": return updatedAt
      default:
        guard let index = pringSchema.index(of: key) else { return nil }
        return pringSchema.properties[index].unwrappedValue(of: self)
      }
    }
    set {
      guard let index = pringSchema.index(of: key) else { return }
      _ = pringSchema.properties[index].assign(newValue, to: self)
      pringAdoptChildren()
    }
  }
}
