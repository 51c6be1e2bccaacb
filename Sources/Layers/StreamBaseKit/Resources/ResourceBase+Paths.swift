// Finds the locations of records, and reports errors.

import FirebaseFirestore
import Foundation

extension ResourceBase {
  func kitPath(
    of type: any BaseItemProtocol.Type, _ context: ResourceContext
  ) throws(ResourceError) -> ResourcePath {
    guard let path = findResourcePath(type, context: context) else {
      throw ResourceError(.unregistered, "\(type) is not registered: call resource(\(type).self, path:).")
    }
    return ResourcePath(path)
  }

  /// Returns the location that a record has with this key, which may differ from the instance's own key.
  func kitPlace(
    of instance: any BaseItemProtocol, _ key: String?, context: ResourceContext
  ) throws(ResourceError) -> ResourcePlace {
    let type = Swift.type(of: instance)
    let components = try kitPath(of: type, context).resolved(key) { name throws(ResourceError) in
      try self.kitKey(of: name, in: context, for: type)
    }
    return ResourcePlace(components, padding: paddingCollection)
  }

  func kitKey(
    of name: String, in context: ResourceContext, for type: any BaseItemProtocol.Type
  ) throws(ResourceError) -> String {
    guard let object = context.get(name) else {
      throw ResourceError(
        .missingName, "The path of \(type) needs $\(name), which is not in \(context.debugDescription).")
    }
    guard let key = object.key else {
      throw ResourceError(
        .missingName, "The path of \(type) needs the key of $\(name), which was not created yet.")
    }
    return key
  }

  func kitDocument(_ place: ResourcePlace) -> DocumentReference {
    DocumentReference(firebase, place.document)
  }

  /// Reports an error that prevents a write from starting. In debug builds, traps if there is no error
  /// handler.
  func kitReport(_ error: ResourceError) {
    if let errorHandler { return errorHandler(error.nsError) }
    assertionFailure(error.message)
  }

  func kitReport(_ error: NSError?) {
    if let error { errorHandler?(error) }
  }
}
