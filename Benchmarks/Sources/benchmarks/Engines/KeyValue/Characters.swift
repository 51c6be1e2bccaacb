extension UnsafeRawBufferPointer {
  /// As C interfaces take bytes.
  var characters: UnsafePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }
}
