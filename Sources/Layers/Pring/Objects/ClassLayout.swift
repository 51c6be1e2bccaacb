// The layout of a class's stored properties, as reported by the Swift runtime.
//
// `Mirror` in the standard library calls the same runtime functions. Their names are part of the ABI.

private import FirebaseCore
private import Foundation

/// A stored property of a class.
struct StoredVariable {
  var name: String
  var offset: Int
  var type: Any.Type
  /// False for a constant. The optimizer may fold constants, so they are never written.
  var isVariable: Bool
  /// False for weak and unowned variables, whose memory layout differs from their type.
  var isStrong: Bool
}

enum ClassLayout {
  /// Returns the stored properties of a class and its superclasses below `root`, superclass properties first.
  /// Traps if the runtime hides properties, because hidden properties would silently not be stored.
  static func variables(of type: AnyClass, below root: AnyClass) -> [StoredVariable] {
    checkIsVisible(type, below: root)
    return (recursiveCount(root)..<max(recursiveCount(root), recursiveCount(type))).compactMap {
      variable(of: type, at: $0)
    }
  }

  /// Traps if a class hides its properties. A class without properties has the size of its superclass, so a
  /// class that is larger than its superclass must list properties.
  private static func checkIsVisible(_ type: AnyClass, below root: AnyClass) {
    var level: AnyClass = type
    while level != root, let base = _getSuperclass(level) {
      if instanceSize(level) > instanceSize(base), recursiveCount(level) <= recursiveCount(base) {
        ProgrammerError.trap(
          "The properties of \(level) cannot be seen, and would not be stored: its module was compiled "
            + "without reflection metadata. Remove -disable-reflection-metadata and "
            + "-reflection-metadata-for-debugger-only from its build settings; in Xcode, set Reflection "
            + "Metadata (SWIFT_REFLECTION_METADATA_LEVEL) to All.")
      }
      level = base
    }
  }

  private static func variable(of type: AnyClass, at index: Int) -> StoredVariable? {
    var description = unsafe FieldDescription()
    let fieldType = unsafe recursiveChildMetadata(type, index, description: &description)
    defer { unsafe description.free?(description.name) }
    guard let name = unsafe description.name.map({ unsafe String(cString: $0) }) else { return nil }
    // The runtime returns `Void` for a type that it cannot find.
    guard fieldType != Void.self else {
      ProgrammerError.trap(
        "The property \(name) of \(type) cannot be seen, and would not be stored: the runtime does not find "
          + "its type.")
    }
    return unsafe StoredVariable(
      name: name, offset: recursiveChildOffset(type, index), type: fieldType,
      isVariable: description.isVariable, isStrong: description.isStrong)
  }
}

/// The struct that the runtime fills in.
@unsafe private struct FieldDescription {
  var name: UnsafePointer<CChar>?
  var free: (@convention(c) (UnsafePointer<CChar>?) -> Void)?
  var isStrong = false
  var isVariable = false
}

@_silgen_name("swift_reflectionMirror_recursiveCount")
private func recursiveCount(_ type: Any.Type) -> Int

@_silgen_name("swift_reflectionMirror_recursiveChildMetadata")
private func recursiveChildMetadata(
  _ type: Any.Type, _ index: Int, description: UnsafeMutablePointer<FieldDescription>
) -> Any.Type

@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func recursiveChildOffset(_ type: Any.Type, _ index: Int) -> Int

@_silgen_name("$ss36_class_getInstancePositiveExtentSizeySiyXlXpF")
private func instanceSize(_ type: AnyClass) -> Int
