// The memory of a property inside an object: the one file of this module that touches memory.

/// Where the value of a property is. The type is that which the runtime said lies there.
struct Place<Value> {
  enum Kind {
    /// In the object itself.
    case inline
    /// In a box of type `Field<Value>` that the object has.
    case boxed
  }

  let offset: Int
  let kind: Kind

  func read(_ object: Object) -> Value {
    switch kind {
    case .inline: unsafe pointer(object, Value.self).pointee
    case .boxed: box(object).content
    }
  }

  func write(_ value: Value, to object: Object) {
    switch kind {
    case .inline: unsafe pointer(object, Value.self).pointee = value
    case .boxed: box(object).content = value
    }
  }

  func box(_ object: Object) -> Field<Value> { unsafe pointer(object, Field<Value>.self).pointee }

  /// Into the object, which its caller keeps.
  private func pointer<Stored>(_ object: Object, _ type: Stored.Type) -> UnsafeMutablePointer<Stored> {
    unsafe (Unmanaged.passUnretained(object).toOpaque() + offset).assumingMemoryBound(to: type)
  }
}
