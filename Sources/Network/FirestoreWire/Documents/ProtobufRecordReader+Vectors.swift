// Finds vectors in protobuf: maps with two fields, the type `__vector__` and an array of doubles.

import ByteStore
import DocumentStore

extension ProtobufRecordReader {
  /// An element as a value of a double: the field of the array, its size, and the tag of the double.
  private static let elementBytes = 11

  /// The elements of a map that is a vector in the usual form; nil for other maps.
  func vector(_ range: Range<Int>) -> Range<Int>? {
    guard let first = namedValue(range.lowerBound, before: range.upperBound),
      let second = namedValue(first.value.upperBound, before: range.upperBound),
      second.value.upperBound == range.upperBound
    else { return nil }
    if isName("__type__", first.name), isName("value", second.name) {
      return isVectorType(first.value) ? elements(second.value) : nil
    }
    if isName("value", first.name), isName("__type__", second.name) {
      return isVectorType(second.value) ? elements(first.value) : nil
    }
    return nil
  }

  private func namedValue(_ offset: Int, before end: Int) -> (name: Range<Int>, value: Range<Int>)? {
    guard offset < end, bytes.byte(offset) == Tag.mapEntry,
      let entry = bytes.sized(offset &+ 1, before: end), !entry.isEmpty,
      bytes.byte(entry.lowerBound) == Tag.entryName,
      let name = bytes.sized(entry.lowerBound &+ 1, before: entry.upperBound),
      // No other maps have to be looked at.
      name.count == 8 || name.count == 5,
      name.upperBound < entry.upperBound, bytes.byte(name.upperBound) == Tag.entryValue,
      let value = bytes.sized(name.upperBound &+ 1, before: entry.upperBound),
      value.upperBound == entry.upperBound
    else { return nil }
    return (name, value)
  }

  private func isName(_ name: StaticString, _ range: Range<Int>) -> Bool {
    range.count == name.utf8CodeUnitCount && bytes.has(name, at: range.lowerBound)
  }

  private func isVectorType(_ value: Range<Int>) -> Bool {
    guard value.count == 13, bytes.byte(value.lowerBound) == 0x8A,
      let text = content(value.lowerBound, value.upperBound)
    else { return false }
    return isName("__vector__", text)
  }

  /// The elements of an array of doubles that a vector may have.
  private func elements(_ value: Range<Int>) -> Range<Int>? {
    guard value.count >= 2, bytes.byte(value.lowerBound) == 0x4A,
      let elements = bytes.sized(value.lowerBound &+ 1, before: value.upperBound),
      elements.upperBound == value.upperBound
    else { return nil }
    let (count, rest) = elements.count.quotientAndRemainder(dividingBy: Self.elementBytes)
    guard rest == 0, (1...ValueBudget.vectorDimensionsMax).contains(count) else { return nil }
    for offset in stride(from: elements.lowerBound, to: elements.upperBound, by: Self.elementBytes) {
      guard bytes.byte(offset) == Tag.element, bytes.byte(offset &+ 1) == 9, bytes.byte(offset &+ 2) == 0x19,
        !Double(bitPattern: bytes.littleEndianWord(offset &+ 3)).isNaN
      else { return nil }
    }
    return elements
  }

  func write(vector elements: Range<Int>, into writer: inout RecordWriter) {
    writer.beginVector()
    for offset in stride(from: elements.lowerBound, to: elements.upperBound, by: Self.elementBytes) {
      writer.vectorElement(bits: bytes.littleEndianWord(offset &+ 3))
    }
    writer.endVector(count: elements.count / Self.elementBytes)
  }
}
