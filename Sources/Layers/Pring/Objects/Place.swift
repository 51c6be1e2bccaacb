// The memory location of a property inside an object. This is the only file of the module that accesses
// memory directly.

/// The location of a property's value in an object. The property's type comes from the runtime metadata.
struct Place<Value> {
  enum Kind {
    /// The value is in the object itself.
    case inline
    /// The value is in a `Field<Value>` box, which the object references.
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

  /// Returns a pointer into the object. The caller must keep the object alive.
  private func pointer<Stored>(_ object: Object, _ type: Stored.Type) -> UnsafeMutablePointer<Stored> {
    unsafe (Unmanaged.passUnretained(object).toOpaque() + offset).assumingMemoryBound(to: type)
  }
}
