// Where the stored properties of a class lie: what the runtime tells `Mirror`, and which of them are variables.
//
// The functions are those of the standard library's own reflection. Their names are part of the ABI; `Mirror` calls
// them from every program.

private import Foundation

/// A stored property of a class.
struct StoredVariable {
  var name: String
  var offset: Int
  var type: Any.Type
  /// Not a constant: constants are folded by the optimizer, and never written.
  var isVariable: Bool
}

enum ClassLayout {
  /// The stored properties of a class and its superclasses below `root`, those of superclasses first. Weak and unowned
  /// ones are left out: their memory is not what their type says.
  static func variables(of type: AnyClass, below root: AnyClass) -> [StoredVariable] {
    (recursiveCount(root)..<max(recursiveCount(root), recursiveCount(type))).compactMap {
      variable(of: type, at: $0)
    }
  }

  private static func variable(of type: AnyClass, at index: Int) -> StoredVariable? {
    var description = unsafe FieldDescription()
    let fieldType = unsafe recursiveChildMetadata(type, index, &description)
    defer { unsafe description.free?(description.name) }
    guard let name = unsafe description.name, unsafe description.isStrong else { return nil }
    return unsafe StoredVariable(
      name: String(cString: name), offset: recursiveChildOffset(type, index), type: fieldType,
      isVariable: description.isVariable)
  }
}

/// As the runtime fills it in.
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
  _ type: Any.Type, _ index: Int, _ description: UnsafeMutablePointer<FieldDescription>
) -> Any.Type

@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func recursiveChildOffset(_ type: Any.Type, _ index: Int) -> Int
