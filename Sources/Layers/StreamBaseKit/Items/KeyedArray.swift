// An array whose elements can be found by key.

import LayerKit

/// An array of objects with keys. Lookup by index or by key takes constant time, and so does appending.
/// Insertion and removal take time proportional to the number of objects that follow.
///
/// All keys differ, and no key is nil. Adding an object with a nil key or an existing key traps.
open class KeyedArray<T: KeyedObject> {
  /// The objects in order.
  public private(set) var rawArray: [T]
  private var places: [ExactKey: Int] = [:]

  /// Creates an array of these objects.
  public convenience init(objects: T...) { self.init(rawArray: objects) }

  /// Creates an array of these objects.
  public init(rawArray: [T]) {
    self.rawArray = rawArray
    number(from: 0)
  }

  // MARK: Finding

  /// Returns the index of the object with this key; nil if there is none.
  open func find(_ key: String) -> Int? { places[ExactKey(key)] }

  /// Returns whether there is an object with this key.
  open func has(_ key: String) -> Bool { find(key) != nil }

  // MARK: Changes

  /// Appends objects.
  open func append(_ objects: T...) { extend(objects) }

  /// Appends objects.
  open func extend(_ objects: [T]) {
    rawArray += objects
    number(from: rawArray.count - objects.count)
  }

  /// Inserts an object at an index.
  open func insert(_ object: T, atIndex: Int) {
    precondition((0...rawArray.count).contains(atIndex), "There is no place \(atIndex) in \(rawArray.count).")
    checkIsNew(object)
    rawArray.insert(object, at: atIndex)
    renumber(from: atIndex)
  }

  /// Removes the object at an index.
  open func removeAtIndex(_ atIndex: Int) {
    let removed = rawArray.remove(at: atIndex)
    if let key = removed.key { places[ExactKey(key)] = nil }
    renumber(from: atIndex)
  }

  /// Removes all objects.
  open func clear() { reset([]) }

  /// Replaces the objects with those of another array.
  open func reset(_ other: KeyedArray<T>) { reset(other.rawArray) }

  /// Replaces the objects.
  open func reset(_ rawArray: [T]) {
    self.rawArray = rawArray
    places = [:]
    number(from: 0)
  }

  // MARK: Places

  /// Records the indexes of new objects, which start at `start`.
  private func number(from start: Int) {
    for index in rawArray.indices.dropFirst(start) {
      places[checkIsNew(rawArray[index])] = index
    }
  }

  /// Updates the recorded indexes of objects that have moved.
  private func renumber(from start: Int) {
    for index in rawArray.indices.dropFirst(start) {
      guard let key = rawArray[index].key else { continue }
      places[ExactKey(key)] = index
    }
  }

  @discardableResult
  private func checkIsNew(_ object: T) -> ExactKey {
    guard let key = object.key else {
      preconditionFailure("An object in a KeyedArray needs a key, and this \(type(of: object)) has none.")
    }
    precondition(places[ExactKey(key)] == nil, "There is an object with the key \(key) already.")
    return ExactKey(key)
  }
}

extension KeyedArray: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { rawArray.count }
  public subscript(i: Int) -> T { rawArray[i] }
}
