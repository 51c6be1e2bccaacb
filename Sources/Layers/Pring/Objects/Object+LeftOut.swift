// Properties that are no fields although nobody said so: debug builds tell of each once.

private import Foundation

extension Object {
  /// Of a document that is about to be written as a whole.
  func pringTellWhatIsLeftOut(of fields: [String: Any]) {
    #if DEBUG
    let ignored = Set(ignore)
    for (name, reason) in pringSchema.hidden where !ignored.contains(name) { tell(name, reason) }
    for (_, property) in pringActiveProperties where property.isUntyped && fields[property.name] == nil {
      guard let value = property.unwrappedValue(of: self) else { continue }
      tell(property.name, "encode does not say how a \(type(of: value)) is stored")
    }
    #endif
  }

  private func tell(_ name: String, _ reason: String) {
    guard pringSchema.begins(telling: name) else { return }
    let message =
      "[Pring] \(type(of: self)).\(name) is not stored: \(reason). If that is as it should be, name it in "
      + "ignore.\n"
    // A log that cannot be written is no reason to fail.
    try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
  }
}
