// The memory of a property inside an object. Only this file of the module accesses memory.

/// The location of a property's value. The runtime has confirmed its type.
struct Place<Value> {
  enum Kind {
    /// In the object itself.
    case inline
    /// In a `Field<Value>` box that the object has.
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

  /// Returns a pointer into the object, which the caller keeps alive.
  private func pointer<Stored>(_ object: Object, _ type: Stored.Type) -> UnsafeMutablePointer<Stored> {
    unsafe (Unmanaged.passUnretained(object).toOpaque() + offset).assumingMemoryBound(to: type)
  }
}
