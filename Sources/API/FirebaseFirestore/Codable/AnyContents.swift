// Reads the contents of an `Any` without calls of the runtime.
//
// Layout: three words for the value, or for a box if the value is larger, and then the type.

/// The type with which an `Any` holds its value. For an object, this may be a superclass of its class.
@inline(__always)
func boxedType(_ any: Any) -> Any.Type {
  guard MemoryLayout<Any>.size == 4 * MemoryLayout<Int>.size else { return type(of: any) }
  // This is safe because every `Any` has the layout above.
  return unsafe withUnsafePointer(to: any) { any in
    unsafe UnsafeRawPointer(any).load(fromByteOffset: 3 * MemoryLayout<Int>.size, as: Any.Type.self)
  }
}

/// The value of an `Any` that holds it as a `Value`, without a dynamic cast.
@inline(__always)
func exact<Value>(_ any: Any, as type: Value.Type = Value.self) -> Value {
  // An `Any` holds values of up to three words in place; larger ones are in a box, which only a cast opens.
  guard MemoryLayout<Value>.size <= 3 * MemoryLayout<Int>.size,
    MemoryLayout<Value>.alignment <= MemoryLayout<Int>.alignment
  else { return any as! Value }
  // This is safe because the caller has compared the dynamic type with `Value`.
  return unsafe withUnsafePointer(to: any) { any in
    unsafe UnsafeRawPointer(any).assumingMemoryBound(to: Value.self).pointee
  }
}
