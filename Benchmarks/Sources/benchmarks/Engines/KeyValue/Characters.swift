extension UnsafeRawBufferPointer {
  /// The bytes as C interfaces expect them.
  var characters: UnsafePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }
}
